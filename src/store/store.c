/*
 * store.c: the store in a folder: muster.db, history.db, log-N.db, and a lock so that only one hub uses them; or on
 * PostgreSQL, for several. Puts go to the writer thread; queries run on the caller's thread over its own connection.
 */
#include "store/store.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"
#include "sql/pg.h"
#include "store/chunks.h"
#include "store/lock.h"
#include "store/log_rows.h"
#include "store/newest.h"

#define LIMIT_MS   60000
#define TOUCHED_MS 2000
#define HELPERS    4 /* maximum number of extra threads that read for one query */

/* ---- open and close ---- */

int store_explain_damage(const char *dir, int r, struct err *err)
{
    if (r != -EUCLEAN || pg_is_place(dir))
        return r;
    return err_prefix(err, r,
                      "'%s/muster.db' is damaged: nothing was changed. Put back a copy (`muster restore`), or what "
                      "`sqlite3 muster.db .recover` saves of it; without either `muster hub --start-empty` sets "
                      "everything there aside and starts from scratch",
                      dir);
}

void store_close(struct store *s)
{
    if (!s)
        return;
    past_free(s->past); /* first: the last connection to close a file removes its WAL, and a reader cannot */
    archiver_close(s->archiver);
    compact_close(s->compact);
    writer_close(s->w);
    s->w = NULL; /* makes appends of done fail */
    if (s->has_done)
        done_fini(&s->done);
    rows_free(s->rows);
    records_close(s->rec);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    free((char *)s->conf.dir);
    free(s);
}

/* Checks that the folder exists, is intact, and is locked by us. */
static int own_folder(struct store *s, struct err *err)
{
    int r = file_mkdirs(s->conf.dir, 0700, err);

    if (r == 0)
        r = store_lock(s->conf.dir, &s->lock_fd, err);
    return r < 0 ? r : data_folder_check(s->conf.dir, err);
}

/* Limits the wait of callers for a server that hangs. */
static void limit_waits(struct store *s)
{
    if (s->conf.url)
        pg_set_limit(records_db(s->rec), LIMIT_MS);
}

int store_open(struct store **ret, const struct store_conf *given, struct event_base *loop, struct err *err)
{
    struct store *s = NEW(struct store, .conf = *given, .lock_fd = -1);
    const struct store_conf *conf = &s->conf;

    s->conf.dir = mem_str(given->url ? given->url : given->dir);
    s->conf.url = given->url ? s->conf.dir : NULL;
    if (err)
        *err = (struct err){0};
    int r = conf->url ? 0 : own_folder(s, err);
    if (r == 0) {
        r = done_init(&s->done, loop);
        s->has_done = r == 0;
        if (r < 0)
            err_set(err, r, "cannot watch for the store's results: %s", strerror(-r));
    }
    if (r == 0)
        r = writer_open(&s->w, conf, &s->done, err);
    if (r == 0 && conf->decoder) {
        r = compact_open(&s->compact, conf, s->w, err);
        s->past = past_new(conf, s->w, given->dir);
    }
    if (r == 0 && conf->decoder && conf->archive)
        r = archiver_open(&s->archiver, conf, s->w, err);
    if (r == 0)
        r = records_open(&s->rec, conf->dir, DB_BESIDE, err);
    if (r < 0) {
        store_explain_damage(conf->dir, r, err);
        store_close(s);
        return r;
    }
    limit_waits(s);
    if (conf->url)
        s->rows = rows_new(records_db(s->rec));
    *ret = s;
    return 0;
}

int store_open_tools(struct store **ret, const char *dir, const struct store_decoder *decoder, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/history.db", dir);
    struct store *s = NEW(struct store, .conf = {.dir = mem_str(dir), .decoder = decoder}, .lock_fd = -1);
    struct chunks *c = NULL;
    bool shared = pg_is_place(dir);

    s->conf.url = shared ? s->conf.dir : NULL;
    if (err)
        *err = (struct err){0};
    int r = shared ? 0 : file_mkdirs(dir, 0700, err);
    if (r == 0 && !shared)
        r = data_folder_check(dir, err);
    if (r == 0)
        r = done_init(&s->done, NULL);
    s->has_done = r == 0;
    if (r == 0)
        r = store_explain_damage(dir, records_open(&s->rec, dir, DB_BESIDE, err), err);
    if (r < 0) {
        store_close(s);
        return r;
    }
    if (decoder && !shared && access(path, F_OK) == 0 && chunks_open(&c, dir, DB_BESIDE, NULL) == 0)
        chunks_close(c); /* upgrades an older one, as muster.db; a reader reports errors */
    limit_waits(s);
    s->past = decoder ? past_new(&s->conf, NULL, NULL) : NULL;
    *ret = s;
    return 0;
}

void store_loaded(struct store *s)
{
    s->loaded = true;
    s->thread = pthread_self();
}

static bool is_loop(const struct store *s)
{
    return s->loaded && pthread_equal(s->thread, pthread_self());
}

/* Call before each disk access that the caller waits for. */
static void note_wait(struct store *s)
{
    if (is_loop(s)) /* no other thread writes it */
        s->waits++;
}

/* ---- puts ---- */

int store_flush(struct store *s, struct err *err)
{
    int r = s->w ? writer_flush(s->w, err) : 0;

    if (!s->done.ev)
        done_run(&s->done);
    return r;
}

int store_settle(struct store *s, struct err *err)
{
    int r = 0;

    if (s->compact) {
        writer_seal(s->w);
        r = store_flush(s, err);
        if (r == 0)
            r = compact_settle(s->compact, err);
    }
    if (r == 0 && s->archiver) {
        r = store_flush(s, err); /* so that compacted logs are due now */
        if (r == 0)
            r = archiver_settle(s->archiver, err);
    }
    return r < 0 ? r : store_flush(s, err); /* this deletes the files of compacted logs */
}

const char *store_error_text(int result)
{
    static const struct {
        int code;
        const char *why;
    } reasons[] = {
        {-ENOSPC, "the disk is full"},
        {-ENOTCONN, "the PostgreSQL server does not answer"},
        {-ECANCELED, "the PostgreSQL server did not confirm it in time"},
        {-EBUSY, "other hubs write the same rows"},
        {-ESTALE, "another hub changed it, or leads by now"},
        {-EEXIST, "another hub was faster"},
        {-EAGAIN, "too much waits to be stored"},
        {-EROFS, "the store is open for reading only"},
    };

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (reasons[i].code == result)
            return reasons[i].why;
    return strerror(-result);
}

static int refuse_as(struct store *s, int why, store_done_fn *done, void *arg)
{
    done_add(&s->done, (struct done){done, arg, why});
    done_wake(&s->done);
    return why;
}

static int refuse_put(struct store *s, store_done_fn *done, void *arg)
{
    return refuse_as(s, -EROFS, done, arg);
}

void store_append(struct store *s, const struct store_batch *b, size_t n, store_done_fn *done, void *arg)
{
    if (s->w)
        writer_append(s->w, b, n, done, arg);
    else
        refuse_put(s, done, arg);
}

void store_nudge(struct store *s)
{
    if (s->w)
        writer_nudge(s->w);
}

bool store_has(const struct store *s, const char *node, uint64_t run, uint64_t number)
{
    return s->w && writer_has(s->w, node, run, number);
}

/* A blob with id 0 is ignored. */
void store_put_blob(struct store *s, const char *node, enum blob_kind kind, uint64_t id, struct str bytes)
{
    if (id && s->w)
        writer_put_blob(s->w, node, kind, id, bytes);
}

static bool has_blob(struct store *s, const char *node, uint64_t id)
{
    if (s->w && writer_has_blob(s->w, node, id))
        return true;
    if (is_loop(s) || records_has_blob(s->rec, node, id) != 1)
        return false;
    if (s->w)
        writer_know_blob(s->w, node, id);
    return true;
}

int store_get_blob(struct store *s, const char *node, uint64_t id, struct buf *ret, struct err *err)
{
    if (!id)
        return 0;
    if (!ret)
        return has_blob(s, node, id);
    if (s->w && writer_get_blob(s->w, node, id, ret))
        return ret->err ? err_set(err, ret->err, "cannot read from the store: the blob is larger than expected") : 1;
    return is_loop(s) ? 0 : records_get_blob(s->rec, node, id, ret, err);
}

int store_put(struct store *s, enum store_kind kind, const void *v, size_t n, store_done_fn *done, void *arg)
{
    return s->w ? writer_put(s->w, 0, 0, kind, v, n, done, arg) : refuse_put(s, done, arg);
}

int store_put_led(struct store *s, int64_t epoch, enum store_kind kind, const void *v, size_t n, store_done_fn *done,
                  void *arg)
{
    if (epoch < 0)
        return refuse_as(s, -ESTALE, done, arg);
    return s->w ? writer_put(s->w, 0, epoch, kind, v, n, done, arg) : refuse_put(s, done, arg);
}

_Static_assert(STORE_PARTS == LEASE_PARTS, "a part is a lease");

unsigned store_part_of(const char *node)
{
    return lease_part_of(node);
}

int store_put_part(struct store *s, unsigned part, int64_t epoch, enum store_kind kind, const void *v, size_t n)
{
    if (epoch < 0)
        return -ESTALE;
    return s->w ? writer_put(s->w, part + 1, epoch, kind, v, n, NULL, NULL) : refuse_put(s, NULL, NULL);
}

int store_put_now(struct store *s, enum store_kind kind, const void *record, struct err *err)
{
    note_wait(s);
    return records_put_now(s->rec, kind, record, err);
}

int store_put_few(struct store *s, const struct note *n, int64_t now_ms, int64_t most, struct err *err)
{
    note_wait(s);
    return records_put_few(s->rec, n, now_ms, most, err);
}

int store_take_note(struct store *s, int32_t kind, int64_t id, int64_t *ret_over_ms, struct buf *ret, struct err *err)
{
    note_wait(s);
    return records_take_note(s->rec, kind, id, ret_over_ms, ret, err);
}

int store_find_facts(struct store *s, struct err *err)
{
    note_wait(s);
    return records_find_facts(s->rec, err);
}

void store_take_over(struct store *s, const char *from, const char *to)
{
    if (s->w && *from && strcmp(from, to) != 0)
        writer_take_over(s->w, from, to);
}

/* ---- queries ---- */

int store_get(struct store *s, const struct store_get *g, struct err *err)
{
    note_wait(s);
    return records_get(s->rec, g, err);
}

int store_each(struct store *s, const struct store_each *e, struct err *err)
{
    note_wait(s);
    if (e->kind == STORE_PROC && e->at_ms && s->past)
        return past_procs_at(s->past, e, err);
    return records_each(s->rec, e, err);
}

int store_has_jobs(struct store *s, struct err *err)
{
    note_wait(s);
    return records_has_jobs(s->rec, err);
}

int store_each_batch(struct store *s, const struct newest_query *newest,
                     int (*each)(void *arg, const struct store_batch *b), void *arg, struct err *err)
{
    AUTO_FREE struct alias *aliases = NULL;
    AUTO_FREE struct log_ref *logs = NULL;
    size_t n_aliases = 0;

    note_wait(s);
    int r = records_aliases(s->rec, &aliases, &n_aliases, err);
    if (r < 0 || !s->w)
        return r;
    if (s->rows)
        return newest_of_rows(s->rows, newest, &(struct newest_to){aliases, n_aliases, each, arg}, err);
    size_t n = writer_logs(s->w, &logs);
    return newest_each(s->conf.dir, logs, n, aliases, n_aliases, newest->back_ms, newest->max, each, arg, err);
}

void store_stat(const struct store *s, struct store_stat *ret)
{
    *ret = (struct store_stat){0};
    if (s->w)
        writer_stat(s->w, ret);
    if (s->past)
        ret->damaged_columns += past_damaged(s->past);
    ret->waits = s->waits;
}

bool store_touched(const struct store *s, struct store_file_stat *last, int64_t now_ms)
{
    struct store_file_stat now;

    if (s->conf.url)
        return true;
    records_stat(s->conf.dir, now.v);
    bool same = memcmp(&now, last, sizeof(now)) == 0;
    *last = now;
    /* file system timestamps are coarse: two consecutive writes may look like one */
    return !same || now_ms - MAX(now.v[0], now.v[2]) < TOUCHED_MS;
}

/* ---- history ---- */

struct history_session *store_session(struct store *s)
{
    return s->past ? past_session_new(s->past) : NULL;
}

void store_session_end(struct history_session *x)
{
    past_session_free(x);
}

int store_node_at(struct store *s, struct history_session *x, const char *node, int64_t at_ms, struct node_at *ret,
                  struct err *err)
{
    *ret = (struct node_at){0};
    note_wait(s);
    return s->past ? past_node_at(s->past, x, node, at_ms, ret, err) : 0;
}

int store_facts_at(struct store *s, struct history_session *x, const char *node, int64_t at_ms, uint64_t known,
                   struct facts_at *ret, struct err *err)
{
    *ret = (struct facts_at){0};
    note_wait(s);
    return s->past ? past_facts_at(s->past, x, node, at_ms, known, ret, err) : 0;
}

static int read_into(struct store *s, const char *node, int tier, struct sink *sink, struct err *err)
{
    note_wait(s);
    if (!s->past)
        return err_set(err, -ENOTSUP, "this store was opened without history");
    return past_read(s->past, node, tier, sink, err);
}

/* The query's tier, or the coarsest whose bins fit and that is still kept. */
static int choose_tier(const struct store_conf *conf, const struct bins_query *ask)
{
    const int64_t keep[] = {conf->keep_raw_ms, conf->keep_minute_ms, conf->keep_hour_ms};
    int tier = ask->tier;

    if (tier >= 0 && tier < TIER_COUNT)
        return tier;
    for (tier = TIER_HOUR; tier > TIER_RAW && (ask->step_ms < tier_bin_ms(tier) || ask->step_ms % tier_bin_ms(tier));)
        tier--;
    while (tier < TIER_HOUR && !conf->archive && conf->now_ms && keep[tier] &&
           ask->from_ms < conf->now_ms() - keep[tier])
        tier++;
    return tier;
}

static void put_archived(void *arg, size_t ask, size_t series, size_t bin, const struct part_bin *p)
{
    struct history *v = arg;

    bins_put(&v[ask], series, bin, p);
}

/* Reads the part before until, which was not read here. If the archive does not respond, ret->missing reports it. */
static int read_archive(struct store *s, const struct bins_query *v, size_t n, int64_t until, struct history *ret,
                        struct err *err)
{
    AUTO_FREE struct archive_query *asks = mem_zero(n, sizeof(*asks));
    AUTO_FREE struct alias *aliases = NULL;
    size_t n_aliases = 0;
    struct err why = {0};
    struct archive_out out = {.each = put_archived, .arg = ret, .stop = v[0].stop, .stop_arg = v[0].arg};
    int r = past_aliases(s->past, &aliases, &n_aliases, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        struct archive_name *names;
        int64_t from_ms = ret[i].from_ms, steps = (v[i].to_ms - from_ms + v[i].step_ms - 1) / v[i].step_ms;
        asks[i] = (struct archive_query){.ask = &v[i],
                                         .from_ms = v[i].exact ? v[i].from_ms : from_ms,
                                         .to_ms = MIN(until, v[i].exact ? v[i].to_ms : from_ms + steps * v[i].step_ms),
                                         .n_names = archive_names(aliases, n_aliases, v[i].node, &names)};
        asks[i].names = names;
    }
    r = s->conf.archive->bins(s->conf.archive, asks, n, &out, &why);
    for (size_t i = 0; i < n; i++) {
        free((struct archive_name *)asks[i].names);
        if (r < 0)
            mem_copy_str(ret[i].missing, sizeof(ret[i].missing), why.msg);
    }
    return r == -ECANCELED || r == -E2BIG ? err_set(err, r, "%s", why.msg) : 0;
}

/* The queries of several nodes. Each reader takes the next of them. */
struct shared_queries {
    struct store *s;
    const struct bins_query *asks;
    struct history *ret;
    size_t n;
    int tier;
    int64_t until;
    atomic_size_t next;
    atomic_bool older, failed;
};

static int read_one(struct shared_queries *k, const struct bins_query *ask, struct history_session *x,
                    struct bins_sink *b, struct err *err)
{
    int r = bins_begin(b, ask, k->tier, err);

    if (r < 0)
        return r;
    b->s.session = x ? x : ask->session;
    if (k->until > b->s.from_ms) {
        atomic_store(&k->older, true);
        bins_apart(b); /* because an archive returns them separately */
    }
    b->s.from_ms = MAX(b->s.from_ms, MIN(k->until, b->s.to_ms));
    if (b->s.from_ms < b->s.to_ms)
        r = read_into(k->s, ask->node, k->tier, &b->s, err);
    if (r == SINK_LEAVES) {
        bins_apart(b);
        r = read_into(k->s, ask->node, k->tier, &b->s, err);
    }
    return r;
}

/* Runs until no query is left, or one failed. x NULL: the session of each query. */
static int read_asked(struct shared_queries *k, struct history_session *x, struct err *err)
{
    struct bins_sink b;
    int r = 0;

    bins_init(&b);
    for (size_t i; r == 0 && !atomic_load(&k->failed) && (i = atomic_fetch_add(&k->next, 1)) < k->n;) {
        r = read_one(k, &k->asks[i], x, &b, err);
        if (r < 0)
            break;
        k->ret[i] = b.h;
        k->ret[i].damaged = b.s.damaged;
        b.h = (struct history){0};
    }
    bins_fini(&b);
    if (r < 0)
        atomic_store(&k->failed, true);
    return r;
}

/* A helper thread, with its own connections. */
struct helper {
    struct shared_queries *k;
    pthread_t thread;
    int r;
    struct err err;
};

static void *help_reading(void *arg)
{
    struct helper *h = arg;
    struct history_session *x = store_session(h->k->s);

    h->r = read_asked(h->k, x, &h->err);
    store_session_end(x);
    return NULL;
}

/* Reserves idle processors other than the caller's; a query uses no more than others have left. */
static size_t take_helpers(struct store *s, size_t most)
{
    int left = (int)MIN(sysconf(_SC_NPROCESSORS_ONLN) - 1, HELPERS) - atomic_load(&s->helpers);
    size_t n = s->past && !s->conf.url && left > 0 ? MIN((size_t)left, most) : 0;

    atomic_fetch_add(&s->helpers, (int)n); /* concurrent callers may reserve a few more */
    return n;
}

static int read_all_asked(struct shared_queries *k, struct err *err)
{
    size_t taken = k->n > 1 ? take_helpers(k->s, MIN(k->n - 1, HELPERS)) : 0, n = 0;

    if (!taken)
        return read_asked(k, NULL, err);
    struct helper helpers[HELPERS] = {{0}};
    for (; n < taken; n++) {
        helpers[n].k = k;
        if (thread_start(&helpers[n].thread, NULL, help_reading, &helpers[n]) < 0)
            break;
    }
    int r = read_asked(k, NULL, err);
    for (size_t i = 0; i < n; i++) {
        pthread_join(helpers[i].thread, NULL);
        if (r == 0 && helpers[i].r < 0)
            r = err_set(err, helpers[i].r, "%s", helpers[i].err.msg);
    }
    atomic_fetch_sub(&k->s->helpers, (int)taken);
    return r;
}

int store_histories(struct store *s, const struct bins_query *asks, size_t n, struct history *ret, struct err *err)
{
    int tier = n ? choose_tier(&s->conf, asks) : TIER_RAW;
    int64_t until = archive_until(&s->conf, tier);
    struct shared_queries k = {.s = s, .asks = asks, .ret = ret, .n = n, .tier = tier, .until = until};

    for (size_t i = 0; i < n; i++)
        ret[i] = (struct history){0};
    int r = read_all_asked(&k, err);
    if (r == 0 && atomic_load(&k.older) && s->past)
        r = read_archive(s, asks, n, until, ret, err);
    for (size_t i = 0; i < n && r < 0; i++)
        history_fini(&ret[i]);
    return r;
}

/* On a server other hubs write too, and an archive may change independently. */
static bool is_stamped(const struct store *s)
{
    return s->w && !s->conf.url && !s->conf.archive;
}

uint64_t store_stamp(struct store *s)
{
    return is_stamped(s) ? writer_changes(s->w, INT64_MAX) + 1 : 0;
}

bool store_same(struct store *s, uint64_t stamp, int64_t to_ms)
{
    return is_stamped(s) && stamp && writer_changes(s->w, to_ms) < stamp;
}

int store_history(struct store *s, const struct bins_query *ask, struct history *ret, struct err *err)
{
    return store_histories(s, ask, 1, ret, err);
}

int store_points(struct store *s, const char *node, const char *device, const char *metric, int64_t from_ms,
                 int64_t to_ms, int (*each)(void *arg, int64_t at_ms, int64_t v), void *arg, struct err *err)
{
    struct points_sink p;

    points_init(&p, device, metric, from_ms, to_ms);
    int r = read_into(s, node, TIER_RAW, &p.s, err);
    if (r == 0)
        r = points_give(&p, each, arg);
    points_fini(&p);
    return r;
}

/* Reads hours: they have every series of the finer tiers, in few chunks. */
int store_series(struct store *s, const char *node, int64_t from_ms, int64_t to_ms,
                 int (*each)(void *arg, const char *device, const char *metric), void *arg, struct err *err)
{
    struct series_sink p;

    series_init(&p, from_ms, to_ms);
    int r = read_into(s, node, TIER_MINUTE, &p.s, err);
    if (r == 0)
        r = series_give(&p, each, arg);
    series_fini(&p);
    return r;
}
