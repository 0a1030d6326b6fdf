/* archive.c: the thread that sends logs to the archive, node by node, and queries of the archive. */
#include "store/archive.h"

#include <errno.h>
#include <poll.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/thread.h"
#include "store/log_rows.h"
#include "store/past.h"

#define LOOK_MS   5000  /* every screen shows whether the archive responds */
#define SEND_ROWS 30000 /* rows per request */
#define MARK      "archive_mark"
#define MARGIN_MS 300000 /* data that is about to expire here is read from the archive */

struct archiver {
    struct store_conf conf;
    struct archive *a;
    char *dir;
    struct writer *w;
    pthread_t thread;
    bool running;
    int wake_fd;

    /* owned by the thread */
    struct records *rec;
    struct batch_rows *rows; /* on PostgreSQL */
    void *dec;
    struct facts_cache facts;
    int64_t log; /* this many rows of this log, in sending order, were sent already */
    size_t sent;

    /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t settled;
    bool stop;
    uint64_t asked, done;
    struct err last;
};

static bool stopping(struct archiver *x)
{
    LOCKED(&x->lock);
    return x->stop;
}

/* ---- logs to archive ---- */

void due_init(struct due_logs *d)
{
    pthread_mutex_init(&d->lock, NULL);
}

void due_fini(struct due_logs *d)
{
    FREE_ALL(d->v, d->sent, d->rows);
    pthread_mutex_destroy(&d->lock);
}

void due_list(struct due_logs *d, struct log_sum *v, size_t n, uint64_t missed)
{
    LOCKED(&d->lock);
    free(d->v);
    d->v = v;
    d->n = n;
    d->files_missed = missed;
    if (n && d->wake)
        d->wake(d->wake_arg);
}

int due_rows(struct due_logs *d, int64_t log, int64_t keep_ms)
{
    LOCKED(&d->lock);
    size_t i = FIRST(d->n_rows, k, d->rows[k].log == log);
    int64_t now_ms = clock_mono_ms();
    if (i == d->n_rows) {
        VEC_ADD(d->rows, d->n_rows, d->cap_rows, (struct due_rows){.log = log, .since_ms = now_ms});
        if (d->wake)
            d->wake(d->wake_arg);
        return 0;
    }
    bool old = keep_ms && now_ms - d->rows[i].since_ms > keep_ms;
    if (!d->rows[i].sent && !old)
        return 0;
    d->rows_missed += !d->rows[i].sent;
    d->rows[i] = d->rows[--d->n_rows];
    return 1;
}

COMPARE(by_number, int64_t, ORDER(*x, *y))

size_t due_next(struct due_logs *d, int64_t **ret)
{
    LOCKED(&d->lock);
    size_t n = 0;
    *ret = mem_zero(d->n + d->n_rows + 1, sizeof(**ret));
    for (size_t i = 0; i < d->n; i++)
        if (!ANY(d->n_sent, k, d->sent[k] == d->v[i].n))
            (*ret)[n++] = d->v[i].n;
    for (size_t i = 0; i < d->n_rows; i++)
        if (!d->rows[i].sent)
            (*ret)[n++] = d->rows[i].log;
    SORT(*ret, n, by_number);
    return n;
}

void due_sent(struct due_logs *d, int64_t log)
{
    LOCKED(&d->lock);
    size_t i = FIRST(d->n_rows, k, d->rows[k].log == log);
    if (i < d->n_rows)
        d->rows[i].sent = true;
    else
        VEC_ADD(d->sent, d->n_sent, d->cap_sent, log);
}

int64_t due_take_sent(struct due_logs *d)
{
    LOCKED(&d->lock);
    return d->n_sent ? d->sent[--d->n_sent] : 0;
}

void due_stat(struct due_logs *d, struct store_stat *ret)
{
    LOCKED(&d->lock);
    ret->archive_error = d->last.code;
    mem_copy_str(ret->archive_why, sizeof(ret->archive_why), d->last.code ? d->last.msg : "");
    ret->archive_rows = d->taken;
    ret->archive_missed = d->files_missed + d->rows_missed;
    ret->archive_logs = d->n;
    for (size_t i = 0; i < d->n; i++)
        ret->archive_bytes += d->v[i].bytes;
    for (size_t i = 0; i < d->n_rows; i++)
        ret->archive_logs += !d->rows[i].sent;
}

static void set_wake(struct due_logs *d, void (*wake)(void *arg), void *arg)
{
    LOCKED(&d->lock);
    d->wake = wake;
    d->wake_arg = arg;
}

static void set_last(struct due_logs *d, uint64_t rows, const struct err *why)
{
    LOCKED(&d->lock);
    d->taken += rows;
    d->last = *why;
}

/* ---- progress per log ---- */

static void load_mark(struct archiver *x)
{
    AUTO_BUF b = BUF_INIT(256);
    struct str s, log;
    uint64_t n = 0, sent = 0;

    if (records_get(x->rec, GET_SETTING(MARK, &b), NULL) != 1)
        return;
    s = buf_str(&b);
    if (str_cut(&s, ' ', &log) && str_uint(log, &n) && str_uint(s, &sent) && n <= INT64_MAX) {
        x->log = (int64_t)n;
        x->sent = (size_t)sent;
    }
}

static void set_mark(struct archiver *x, int64_t log, size_t sent)
{
    char text[48];

    x->log = log;
    x->sent = sent;
    snprintf(text, sizeof(text), "%lld %zu", (long long)log, sent);
    writer_put(x->w, 0, 0, STORE_SETTING, &(struct store_setting){MARK, str_of(text)}, 1, NULL, NULL);
}

/* ---- sending a log ---- */

struct due_log { /* its rows, by node */
    struct log_reader *l;
    struct log_key *keys;
    size_t n_keys;
    struct due_row {
        int64_t node, row;
    } * rows;
    size_t n_rows, cap_rows;
};

static void note_row(void *arg, int64_t row, int64_t node, UNUSED int64_t at_ms)
{
    struct due_log *g = arg;

    VEC_ADD(g->rows, g->n_rows, g->cap_rows, (struct due_row){node, row});
}

COMPARE(by_node, struct due_row, ORDER(x->node, y->node) ?: ORDER(x->row, y->row))

/* Adds a row. Returns the number of waiting rows, or -errno. Unreadable rows were counted during compaction. */
static int64_t take_row(struct archiver *x, struct due_log *g, const struct due_row *row, int64_t log)
{
    const struct log_key *key = FIND(g->keys, g->n_keys, k, k->id == row->node);
    struct store_batch sb;
    struct batch b;
    const struct node_fact *f;
    int r = key ? log_reader_get(g->l, row->node, row->row, &sb, NULL) : 0;

    if (r <= 0 || x->conf.decoder->batch(x->dec, sb.bytes, &b, NULL) < 0)
        return r == -EUCLEAN ? 0 : MIN(r, 0);
    r = facts_get(&x->facts, x->rec, x->conf.decoder, x->dec, key->key, sb.facts, &f);
    if (r < 0)
        return r;
    struct archive_batch give =
        {.node = key->key, .log = log, .row = row->row, .b = &b, .facts = f, .shift_ms = sb.shift_ms};
    return (int64_t)x->a->take(x->a, &give);
}

static int send_waiting(struct archiver *x, struct err *err)
{
    int r = x->a->send(x->a, err);

    if (r >= 0)
        set_last(writer_due(x->w), (uint64_t)r, &(struct err){0});
    return MIN(r, 0);
}

static int send_rows(struct archiver *x, struct due_log *g, int64_t log, struct err *err)
{
    int r = 0;

    for (size_t i = x->log == log ? x->sent : 0; i < g->n_rows && r == 0; i++) {
        int64_t waiting = stopping(x) ? -ECANCELED : take_row(x, g, &g->rows[i], log);
        r = (int)MIN(waiting, 0);
        if (waiting < SEND_ROWS)
            continue;
        r = send_waiting(x, err);
        if (r == 0)
            set_mark(x, log, i + 1);
    }
    return r == 0 ? send_waiting(x, err) : r;
}

static int send_log(struct archiver *x, int64_t log, struct err *err)
{
    struct due_log g = {.l = x->rows ? log_reader_of_rows(x->rows, log) : NULL};
    int r = x->rows ? 0 : log_reader_open(&g.l, x->dir, log, true, err);

    if (r == 0) {
        log_reader_whole(g.l);
        r = log_reader_nodes(g.l, &g.keys, &g.n_keys, err);
    }
    if (r == 0)
        r = log_reader_rows(g.l, INT64_MAX, note_row, &g, err);
    SORT(g.rows, g.n_rows, by_node);
    if (r == 0)
        r = send_rows(x, &g, log, err);
    x->a->drop(x->a);
    if (x->rows)
        rows_rest(x->rows);
    log_reader_close(g.l);
    FREE_ALL(g.keys, g.rows);
    if (r == -EUCLEAN && !x->rows) { /* keep it for a manual recovery; continue with the other logs */
        log_quarantine(x->dir, log, NULL);
        r = 0;
    }
    if (r == 0 || r == -ENOENT)
        writer_sent(x->w, log);
    return r == -ENOENT ? 0 : r;
}

/* ---- rounds ---- */

static int archive_round(struct archiver *x, struct err *err)
{
    AUTO_FREE int64_t *due = NULL;
    int r = x->a->look(x->a, x->conf.now_ms ? x->conf.now_ms() : 0, err);
    size_t n = r == 0 ? due_next(writer_due(x->w), &due) : 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = stopping(x) ? -ECANCELED : send_log(x, due[i], err);
    if (r < 0 && r != -ECANCELED && !*err->msg)
        err_set(err, r, "cannot send samples: %s", strerror(-r));
    err->code = r == -ECANCELED ? 0 : r;
    set_last(writer_due(x->w), 0, err);
    return r;
}

static void *archive_main(void *arg)
{
    struct archiver *x = arg;
    struct pollfd p = {.fd = x->wake_fd, .events = POLLIN};

    while (!stopping(x)) {
        struct err err = {0};
        pthread_mutex_lock(&x->lock);
        uint64_t asked = x->asked;
        pthread_mutex_unlock(&x->lock);
        int r = archive_round(x, &err);
        pthread_mutex_lock(&x->lock);
        x->done = asked;
        x->last = err;
        x->last.code = r;
        pthread_cond_broadcast(&x->settled);
        bool more = x->asked != asked;
        pthread_mutex_unlock(&x->lock);
        if (!more && poll(&p, 1, LOOK_MS) > 0)
            wake_clear(x->wake_fd);
    }
    return NULL;
}

/* Called when a log is due; thread-safe. */
static void archive_wake(void *arg)
{
    wake_ring(((struct archiver *)arg)->wake_fd);
}

int archiver_settle(struct archiver *x, struct err *err)
{
    LOCKED(&x->lock);
    uint64_t mine = ++x->asked;
    archive_wake(x);
    while (x->done < mine)
        pthread_cond_wait(&x->settled, &x->lock);
    struct err last = x->last;
    return last.code ? err_set(err, last.code, "%s", last.msg) : 0;
}

int archiver_open(struct archiver **ret, const struct store_conf *conf, struct writer *w, struct err *err)
{
    struct archiver *x = NEW(struct archiver, .conf = *conf, .a = conf->archive, .dir = mem_str(conf->dir), .w = w,
                             .wake_fd = wake_new());

    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->settled, NULL);
    int r = x->wake_fd < 0 ? err_set(err, -errno, "cannot make an eventfd: %s", strerror(errno))
                           : records_open(&x->rec, conf->dir, conf->url ? DB_BESIDE : DB_READ, err);
    if (r == 0) {
        x->rows = conf->url ? rows_new(records_db(x->rec)) : NULL;
        load_mark(x);
        x->dec = conf->decoder->make();
        r = thread_start(&x->thread, NULL, archive_main, x);
        x->running = r == 0;
        if (r < 0)
            err_set(err, r, "cannot start the thread that sends samples: %s", strerror(-r));
    }
    if (r < 0) {
        archiver_close(x);
        return r;
    }
    set_wake(writer_due(w), archive_wake, x);
    *ret = x;
    return 0;
}

void archiver_close(struct archiver *x)
{
    if (!x)
        return;
    set_wake(writer_due(x->w), NULL, NULL);
    if (x->running) {
        pthread_mutex_lock(&x->lock);
        x->stop = true;
        pthread_mutex_unlock(&x->lock);
        x->a->stop(x->a);
        archive_wake(x);
        pthread_join(x->thread, NULL);
    }
    rows_free(x->rows);
    facts_fini(&x->facts);
    if (x->dec)
        x->conf.decoder->end(x->dec);
    records_close(x->rec);
    if (x->wake_fd >= 0)
        close(x->wake_fd);
    pthread_cond_destroy(&x->settled);
    pthread_mutex_destroy(&x->lock);
    free(x->dir);
    free(x);
}

/* ---- queries ---- */

int64_t archive_until(const struct store_conf *conf, int tier)
{
    const int64_t keep[] = {conf->keep_raw_ms, conf->keep_minute_ms, conf->keep_hour_ms};
    int64_t now = conf->archive && keep[tier] && conf->now_ms ? conf->now_ms() : 0;

    if (!now)
        return INT64_MIN;
    return floor_to(now - keep[tier] + MIN(MARGIN_MS, keep[tier] / 8), tier_bin_ms(tier));
}

struct place_in_time {
    int64_t log, row;
};
COMPARE(by_place, struct place_in_time, ORDER(x->log, y->log) ?: ORDER(x->row, y->row))

/* Takeovers split the rows of a sender into stretches that each belong to one node. */
static void add_stretches(const struct alias *v, size_t n, const char *name, const char *node,
                          struct archive_name **ret, size_t *ret_n, size_t *cap)
{
    AUTO_FREE struct place_in_time *cuts = mem_zero(n + 1, sizeof(*cuts));
    size_t n_cuts = 0;

    for (size_t i = 0; i < n; i++)
        cuts[n_cuts++] = (struct place_in_time){v[i].log, v[i].row};
    cuts[n_cuts++] = (struct place_in_time){INT64_MAX, INT64_MAX};
    SORT(cuts, n_cuts, by_place);
    for (size_t i = 0; i < n_cuts; i++) {
        struct archive_name one = {.node = name, .upto = {cuts[i].log, cuts[i].row}};
        if (i) {
            one.after[0] = cuts[i - 1].log;
            one.after[1] = cuts[i - 1].row;
        }
        if (strcmp(alias_resolve(v, n, name, cuts[i].log, cuts[i].row), node) != 0)
            continue;
        struct archive_name *before = *ret_n ? &(*ret)[*ret_n - 1] : NULL;
        if (before && before->node == name && memcmp(before->upto, one.after, sizeof(one.after)) == 0)
            memcpy(before->upto, one.upto, sizeof(one.upto));
        else
            VEC_ADD(*ret, *ret_n, *cap, one);
    }
}

size_t archive_names(const struct alias *v, size_t n, const char *node, struct archive_name **ret)
{
    size_t n_names = 0, cap = 0;

    *ret = NULL;
    add_stretches(v, n, node, node, ret, &n_names, &cap);
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].from, node) != 0 && FIRST(n, k, strcmp(v[k].from, v[i].from) == 0) == i)
            add_stretches(v, n, v[i].from, node, ret, &n_names, &cap);
    return n_names;
}
