/*
 * clickhouse.c: stores samples in ClickHouse with large INSERTs, and runs queries on it. The feeding thread has one
 * connection; queries use a pool.
 */
#include "clickhouse/clickhouse.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/file.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/order.h"
#include "clickhouse/link.h"
#include "clickhouse/rows.h"
#include "clickhouse/samples_query.h"
#include "clickhouse/schema.h"

#define LOOK_TIMEOUT_MS 4000
#define SEND_TIMEOUT_MS 60000
#define ASK_TIMEOUT_MS  25000
#define ASK_SETTINGS    "max_execution_time=20&max_query_size=8388608"
#define SQL_MAX         (4u << 20)
#define ANSWER_MAX      (128u << 20)
#define POOL_KEEP       4
#define TIDY_MS         3600000 /* interval of the deletion of old days */
#define DAY_MS          86400000

struct idle_link {
    struct click_link *l;
    struct idle_link *next;
};

struct click {
    struct archive a; /* must be first */
    struct click_place place;
    struct buf password;
    int64_t keep_ms;
    atomic_bool stopped, away;

    /* owned by the feeding thread */
    struct click_link *link;
    struct click_rows rows;
    unsigned made; /* a bit for each host: its tables exist, with all columns */
    int64_t tidied_ms;

    /* under the lock */
    pthread_mutex_t lock;
    struct idle_link *idle;
    size_t n_idle;
    char why[160]; /* why it is unreachable */
};

static struct click *own(struct archive *a)
{
    return (struct click *)a;
}

static bool is_stopped(void *arg)
{
    return atomic_load(&((struct click *)arg)->stopped);
}

/* ---- feeding ---- */

static int run(struct click *c, const char *sql, struct str body, const char *settings, int64_t timeout_ms,
               struct buf *ret, struct err *err)
{
    AUTO_BUF none = BUF_INIT(64u << 10);
    struct click_query q =
        {.sql = sql, .body = body, .settings = settings, .timeout_ms = timeout_ms, .stop = is_stopped, .arg = c};

    if (!c->link) {
        int r = click_link_new(&c->link, &c->place, c->password.p, err);
        if (r < 0)
            return r;
    }
    return click_query_run(c->link, &q, ret ? ret : &none, err);
}

static int make_tables(struct click *c, struct err *err)
{
    AUTO_BUF have = BUF_INIT(64u << 10);
    AUTO_BUF sql = BUF_INIT(64u << 10);
    int r = 0;

    for (int t = 0; t < CLICK_TABLES && r == 0; t++) {
        buf_reset(&sql);
        click_create(&sql, &c->place, (enum click_table)t);
        r = run(c, sql.p, (struct str){0}, NULL, SEND_TIMEOUT_MS, NULL, err);
    }
    if (r < 0)
        return r;
    buf_reset(&sql);
    buf_addf(&sql, "SELECT name FROM system.columns WHERE database = '%s' AND table = '%s' FORMAT TSV",
             c->place.database, click_tables[CLICK_SAMPLE]);
    r = run(c, sql.p, (struct str){0}, NULL, SEND_TIMEOUT_MS, &have, err);
    buf_reset(&sql);
    if (r == 0 && click_add_columns(&sql, &c->place, buf_str(&have)) == 0 && sql.len)
        r = run(c, sql.p, (struct str){0}, NULL, SEND_TIMEOUT_MS, NULL, err);
    return r;
}

/*
 * Creates the tables on each replica; otherwise a replica would be empty when it is needed. Unreachable ones are
 * retried; the one in use must succeed.
 */
static int make_everywhere(struct click *c, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < c->place.n_hosts; i++) {
        struct err why = {0};
        bool used = click_link_host(c->link) == i;
        if (c->made >> i & 1)
            continue;
        click_link_pin(c->link, i);
        int code = make_tables(c, &why);
        click_link_pin(c->link, c->place.n_hosts);
        c->made |= code == 0 ? 1u << i : 0;
        if (code < 0 && used)
            r = err_set(err, code, "%s", why.msg);
    }
    return r;
}

/* Deletes whole days that are older than the retention. */
static int drop_old(struct click *c, int64_t now_ms, struct err *err)
{
    int r = 0;

    for (int t = 0; t < CLICK_TABLES && r == 0; t++) {
        AUTO_BUF sql = BUF_INIT(4096);
        AUTO_BUF days = BUF_INIT(1u << 20);
        struct str all, day;
        buf_addf(&sql,
                 "SELECT DISTINCT partition FROM system.parts WHERE active AND database = '%s' AND table = '%s' AND "
                 "toUInt64OrZero(partition) < %lld ORDER BY partition FORMAT TSV",
                 c->place.database, click_tables[t], (long long)((now_ms - c->keep_ms) / DAY_MS));
        r = run(c, sql.p, (struct str){0}, NULL, LOOK_TIMEOUT_MS, &days, err);
        all = buf_str(&days);
        for (uint64_t n; r == 0 && str_line(&all, &day);) {
            if (!str_uint(day, &n))
                continue;
            buf_reset(&sql);
            buf_addf(&sql, "ALTER TABLE %s.%s DROP PARTITION %llu", c->place.database, click_tables[t],
                     (unsigned long long)n);
            r = run(c, sql.p, (struct str){0}, NULL, SEND_TIMEOUT_MS, NULL, err);
        }
    }
    return r;
}

static void set_away(struct click *c, int r, const struct err *why)
{
    LOCKED(&c->lock);
    mem_copy_str(c->why, sizeof(c->why), r < 0 ? why->msg : "");
    atomic_store(&c->away, r < 0);
}

static int click_look(struct archive *a, int64_t now_ms, struct err *err)
{
    struct click *c = own(a);
    int r = run(c, "SELECT 1", (struct str){0}, NULL, LOOK_TIMEOUT_MS, NULL, err);

    if (r == 0)
        r = make_everywhere(c, err);
    if (r == 0 && c->keep_ms && now_ms && (!c->tidied_ms || now_ms - c->tidied_ms > TIDY_MS || now_ms < c->tidied_ms)) {
        r = drop_old(c, now_ms, err);
        c->tidied_ms = r == 0 ? now_ms : c->tidied_ms;
    }
    set_away(c, r, err);
    return r;
}

static size_t click_take(struct archive *a, const struct archive_batch *b)
{
    struct click *c = own(a);

    click_rows_add(&c->rows, b);
    return click_rows_count(&c->rows);
}

static void click_drop(struct archive *a)
{
    click_rows_reset(&own(a)->rows);
}

static int click_send(struct archive *a, struct err *err)
{
    struct click *c = own(a);
    char settings[40] = "";
    size_t n = click_rows_count(&c->rows);
    int r = 0;

    if (c->place.quorum)
        snprintf(settings, sizeof(settings), "insert_quorum=%lld", (long long)c->place.quorum);
    for (int t = 0; t < CLICK_TABLES && r == 0; t++) {
        AUTO_BUF sql = BUF_INIT(64u << 10);
        struct str piece;
        click_insert(&sql, &c->place, (enum click_table)t);
        for (size_t at = 0; r == 0 && click_heap_piece(&c->rows.heaps[t], &at, &piece);)
            r = c->rows.heaps[t].bytes.err
                    ? err_set(err, -E2BIG, "too much for one INSERT")
                    : run(c, sql.p, piece, settings[0] ? settings : NULL, SEND_TIMEOUT_MS, NULL, err);
    }
    if (r < 0 && r != -ECANCELED) {
        set_away(c, r, err);
        c->made = 0; /* the tables may have been changed */
    }
    click_rows_reset(&c->rows);
    return r < 0 ? r : (int)n;
}

static void click_stop(struct archive *a)
{
    atomic_store(&own(a)->stopped, true);
}

/* ---- queries ---- */

static int take_link(struct click *c, struct idle_link **ret, struct err *err)
{
    pthread_mutex_lock(&c->lock);
    struct idle_link *i = c->idle;
    if (i) {
        c->idle = i->next;
        c->n_idle--;
    }
    pthread_mutex_unlock(&c->lock);
    if (!i) {
        i = NEW(struct idle_link);
        int r = click_link_new(&i->l, &c->place, c->password.p, err);
        if (r < 0) {
            free(i);
            return r;
        }
    }
    *ret = i;
    return 0;
}

static void put_link(struct click *c, struct idle_link *i)
{
    pthread_mutex_lock(&c->lock);
    bool keep = c->n_idle < POOL_KEEP;
    if (keep) {
        i->next = c->idle;
        c->idle = i;
        c->n_idle++;
    }
    pthread_mutex_unlock(&c->lock);
    if (!keep) {
        click_link_free(i->l);
        free(i);
    }
}

struct either {
    struct click *c;
    const struct archive_out *out;
};
static bool either_stops(void *arg)
{
    struct either *e = arg;

    return is_stopped(e->c) || (e->out->stop && e->out->stop(e->out->stop_arg));
}

/* Runs these queries with one SELECT per table. */
static int ask_some(struct click *c, struct click_link *l, const struct archive_query *v, size_t n,
                    const struct archive_out *out, struct err *err)
{
    struct either e = {c, out};
    int r = 0;

    for (int t = 0; t < CLICK_TABLES && r == 0; t++) {
        AUTO_BUF sql = BUF_INIT(SQL_MAX);
        AUTO_BUF answer = BUF_INIT(ANSWER_MAX);
        struct click_shape *shape = NEW(struct click_shape);
        if (click_shape_of(shape, (enum click_table)t, v, n)) {
            click_select(&sql, &c->place, shape, v, n);
            struct click_query q = {.sql = sql.p,
                                    .settings = ASK_SETTINGS,
                                    .timeout_ms = ASK_TIMEOUT_MS,
                                    .stop = either_stops,
                                    .arg = &e};
            r = sql.err ? err_set(err, -E2BIG, "the query is too long") : click_query_run(l, &q, &answer, err);
            if (r == 0 && click_answer(buf_str(&answer), shape, v, n, out) < 0)
                r = err_set(err, -EIO, "ClickHouse returned an invalid response");
        }
        free(shape);
    }
    return r;
}

static int click_bins(struct archive *a, const struct archive_query *v, size_t n, const struct archive_out *out,
                      struct err *err)
{
    struct click *c = own(a);
    struct idle_link *i;
    int r = 0;

    if (n == 0 || v[0].to_ms <= MAX(v[0].from_ms, 0))
        return 0;
    if (atomic_load(&c->away)) {
        LOCKED(&c->lock);
        return err_set(err, -EIO, "%s", c->why);
    }
    r = take_link(c, &i, err);
    if (r < 0)
        return r;
    for (size_t at = 0, end; at < n && r == 0; at = end) {
        for (end = at + 1; end < n && click_plain(&v[at]) && click_plain(&v[end]);)
            end++;
        r = ask_some(c, i->l, v + at, end - at, out, err);
    }
    put_link(c, i);
    return r;
}

/* ---- open and close ---- */

int clickhouse_check(const struct click_conf *conf, struct err *err)
{
    struct click_place p;

    return click_place_read(str_of(conf->url), &p, err);
}

bool clickhouse_in_clear(const char *url, char ret[SECRET_HOST_MAX])
{
    struct click_place p;

    if (click_place_read(str_of(url), &p, NULL) < 0 || p.secure)
        return false;
    size_t i = FIRST(p.n_hosts, k, !secret_host_is_local(str_of(p.hosts[k])));
    if (i == p.n_hosts)
        return false;
    snprintf(ret, SECRET_HOST_MAX, "%.*s", STR_ARG(secret_host(str_of(p.hosts[i]))));
    return true;
}

bool clickhouse_is_place(const char *url)
{
    return url && str_starts(str_of(url), "clickhouse://");
}

int clickhouse_init(const struct click_conf *conf, struct err *err)
{
    struct archive *a;
    int r = clickhouse_open(&a, conf, err);

    if (r < 0)
        return r;
    r = a->look(a, 0, err);
    clickhouse_close(a);
    return r;
}

int clickhouse_print(const char *url, struct buf *out, struct err *err)
{
    struct click_place p;
    int r = click_place_read(str_of(url), &p, err);

    return r < 0 ? r : click_print(out, &p);
}

int clickhouse_open(struct archive **ret, const struct click_conf *conf, struct err *err)
{
    struct click *c = NEW(struct click,
                          .a = {.take = click_take,
                                .send = click_send,
                                .drop = click_drop,
                                .look = click_look,
                                .stop = click_stop,
                                .bins = click_bins},
                          .keep_ms = conf->keep_ms);
    int r = click_place_read(str_of(conf->url), &c->place, err);

    pthread_mutex_init(&c->lock, NULL);
    if (r == 0 && conf->password_file)
        r = file_read_secret(conf->password_file, &c->password, err);
    if (r < 0) {
        clickhouse_close(&c->a);
        return r;
    }
    *ret = &c->a;
    return 0;
}

void clickhouse_close(struct archive *a)
{
    struct click *c = own(a);

    if (!c)
        return;
    click_link_free(c->link);
    for (struct idle_link *i = c->idle, *next; i; i = next) {
        next = i->next;
        click_link_free(i->l);
        free(i);
    }
    click_rows_fini(&c->rows);
    pthread_mutex_destroy(&c->lock);
    buf_fini(&c->password);
    free(c);
}
