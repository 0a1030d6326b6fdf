/*
 * embedded.c: the store in a folder: muster.db, log-N.db, and a lock so that only one hub has them. Puts go to the
 * writer thread; questions are answered on the caller's thread over a connection of its own.
 */
#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "store/backend.h"
#include "store/chunks.h"
#include "store/compact.h"
#include "store/lock.h"
#include "store/log.h"
#include "store/newest.h"
#include "store/past.h"
#include "store/records.h"
#include "store/usage_table.h"
#include "store/writer.h"

struct embedded {
    struct store store;
    char *dir;
    int lock_fd;
    struct done_queue done;
    bool has_done;
    struct records *rec; /* the caller's */
    struct writer *w;    /* NULL: tools */
    struct compact *compact;
    struct past *past; /* NULL: no decoder */
    struct store_conf conf;
};

static struct embedded *emb(struct store *s)
{
    return (struct embedded *)s;
}

/* ---- open and close ---- */

static int embedded_say_damage(const char *dir, int r, struct err *err)
{
    if (r != -EUCLEAN)
        return r;
    return err_prefix(err, r,
                      "'%s/muster.db' is damaged: nothing was changed. Put back a copy (`muster restore`), or what "
                      "`sqlite3 muster.db .recover` saves of it; without either `muster hub --start-empty` sets "
                      "everything there aside and begins anew",
                      dir);
}

static void embedded_close(struct store *s)
{
    struct embedded *e = emb(s);

    past_free(e->past); /* first: the last to close a file removes its WAL, and a reader cannot */
    compact_close(e->compact);
    writer_close(e->w);
    e->w = NULL; /* a done that appends now is refused */
    if (e->has_done)
        done_fini(&e->done);
    records_close(e->rec);
    if (e->lock_fd >= 0)
        close(e->lock_fd);
    free(e->dir);
    free(e);
}

static const struct store_ops embedded_ops;

static struct embedded *embedded_new(const char *dir)
{
    struct embedded *e = mem_zero(1, sizeof(*e));

    e->store.ops = &embedded_ops;
    e->dir = mem_str(dir);
    e->lock_fd = -1;
    return e;
}

int store_open(struct store **ret, const struct store_conf *conf, struct event_base *loop, struct err *err)
{
    struct embedded *e = embedded_new(conf->dir);

    if (err)
        *err = (struct err){0};
    int r = file_mkdirs(conf->dir, 0700, err);
    if (r == 0)
        r = store_lock(e->dir, &e->lock_fd, err);
    if (r == 0)
        r = aside_check(e->dir, err);
    if (r == 0) {
        r = done_init(&e->done, loop);
        e->has_done = r == 0;
        if (r < 0)
            err_set(err, r, "cannot watch for the store's results: %s", strerror(-r));
    }
    if (r == 0)
        r = embedded_say_damage(conf->dir, writer_open(&e->w, conf, &e->done, err), err);
    e->conf = *conf;
    if (r == 0 && conf->decoder) {
        r = compact_open(&e->compact, conf, e->w, err);
        e->past = past_new(conf, e->w);
    }
    if (r == 0)
        r = records_open(&e->rec, conf->dir, DB_BESIDE, err);
    if (r < 0) {
        embedded_close(&e->store);
        return r;
    }
    *ret = &e->store;
    return 0;
}

int store_open_tools(struct store **ret, const char *dir, struct err *err)
{
    struct embedded *e = embedded_new(dir);

    if (err)
        *err = (struct err){0};
    int r = file_mkdirs(dir, 0700, err);
    if (r == 0)
        r = aside_check(dir, err);
    if (r == 0)
        r = done_init(&e->done, NULL);
    e->has_done = r == 0;
    if (r == 0)
        r = embedded_say_damage(dir, records_open(&e->rec, dir, DB_BESIDE, err), err);
    if (r < 0) {
        embedded_close(&e->store);
        return r;
    }
    *ret = &e->store;
    return 0;
}

/* ---- puts ---- */

static int embedded_flush(struct store *s, struct err *err)
{
    struct embedded *e = emb(s);
    int r = e->w ? writer_flush(e->w, err) : 0;

    if (!e->done.ev)
        done_run(&e->done);
    return r;
}

static void embedded_refuse(struct embedded *e, store_done_fn *done, void *arg)
{
    done_add(&e->done, (struct done){done, arg, -EROFS});
    done_wake(&e->done);
}

static void embedded_append(struct store *s, const struct store_batch *b, size_t n, store_done_fn *done, void *arg)
{
    struct embedded *e = emb(s);

    if (e->w)
        writer_append(e->w, b, n, done, arg);
    else
        embedded_refuse(e, done, arg);
}

static bool embedded_has(struct store *s, const char *node, uint64_t run, uint64_t number)
{
    return emb(s)->w && writer_has(emb(s)->w, node, run, number);
}

static void embedded_put_blob(struct store *s, const char *node, enum blob_kind kind, uint64_t id, struct str bytes)
{
    if (emb(s)->w)
        writer_put_blob(emb(s)->w, node, kind, id, bytes);
}

static bool embedded_has_blob(struct store *s, const char *node, uint64_t id)
{
    struct embedded *e = emb(s);

    if (e->w && writer_has_blob(e->w, node, id))
        return true;
    if (records_has_blob(e->rec, node, id) != 1)
        return false;
    if (e->w)
        writer_know_blob(e->w, node, id);
    return true;
}

static int embedded_get_blob(struct store *s, const char *node, uint64_t id, struct buf *ret, struct err *err)
{
    struct embedded *e = emb(s);

    if (e->w && writer_get_blob(e->w, node, id, ret))
        return ret->err ? err_set(err, ret->err, "cannot read from the store: the blob is larger than expected") : 1;
    return records_get_blob(e->rec, node, id, ret, err);
}

static void embedded_put_node(struct store *s, const struct store_node *n)
{
    if (emb(s)->w)
        writer_put_node(emb(s)->w, n);
}

static void embedded_take_over(struct store *s, const char *from, const char *to)
{
    if (emb(s)->w)
        writer_take_over(emb(s)->w, from, to);
}

static void embedded_put_proc(struct store *s, const struct store_proc *p)
{
    if (emb(s)->w)
        writer_put_proc(emb(s)->w, p);
}

static void embedded_put_event(struct store *s, const char *node, const char *device, const struct node_event *e)
{
    if (emb(s)->w)
        writer_put_event(emb(s)->w, node, device, e);
}

static void embedded_job_put(struct store *s, const struct job_fact *j, store_done_fn *done, void *arg)
{
    if (emb(s)->w)
        writer_put_job(emb(s)->w, j, done, arg);
    else
        embedded_refuse(emb(s), done, arg);
}

static void embedded_job_change(struct store *s, const struct job_change *c, store_done_fn *done, void *arg)
{
    if (emb(s)->w)
        writer_change_job(emb(s)->w, c, done, arg);
    else
        embedded_refuse(emb(s), done, arg);
}

static void embedded_notes_put(struct store *s, const struct note *v, size_t n, store_done_fn *done, void *arg)
{
    if (emb(s)->w)
        writer_put_notes(emb(s)->w, v, n, done, arg);
    else
        embedded_refuse(emb(s), done, arg);
}

static void embedded_booking_put(struct store *s, const struct booking *h, store_done_fn *done, void *arg)
{
    if (emb(s)->w)
        writer_put_booking(emb(s)->w, h, done, arg);
    else
        embedded_refuse(emb(s), done, arg);
}

/* ---- questions ---- */

static int embedded_notes(struct store *s, int32_t kind, bool open, void (*each)(void *arg, const struct note *n),
                          void *arg, struct err *err)
{
    return records_notes(emb(s)->rec, kind, open, each, arg, err);
}

static int embedded_booking_get(struct store *s, int64_t id, struct booking **ret, struct err *err)
{
    return records_booking(emb(s)->rec, id, ret, err);
}

static int embedded_holds(struct store *s, int64_t from_ms, int64_t to_ms,
                          void (*each)(void *arg, const struct booking *h), void *arg, struct err *err)
{
    return records_holds(emb(s)->rec, from_ms, to_ms, each, arg, err);
}

static int embedded_job_get(struct store *s, int64_t id, struct job_fact **ret, struct err *err)
{
    return records_job(emb(s)->rec, id, ret, err);
}

static int embedded_jobs(struct store *s, const struct job_ask *ask, void (*each)(void *arg, const struct job_fact *j),
                         void *arg, struct err *err)
{
    return records_jobs(emb(s)->rec, ask, each, arg, err);
}

static int embedded_nodes(struct store *s, void (*each)(void *arg, const struct store_node *n), void *arg,
                          struct err *err)
{
    return records_nodes(emb(s)->rec, each, arg, err);
}

static int embedded_procs(struct store *s, const char *node, int64_t from_ms,
                          void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err)
{
    return records_procs(emb(s)->rec, node, from_ms, each, arg, err);
}

static int embedded_procs_in(struct store *s, const char *node, int64_t from_ms, int64_t to_ms,
                             void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err)
{
    return records_procs_in(emb(s)->rec, node, from_ms, to_ms, each, arg, err);
}

static int embedded_events(struct store *s, const char *node, int64_t from_ms, size_t limit,
                           void (*each)(void *arg, const char *node, const char *device, const struct node_event *e),
                           void *arg, struct err *err)
{
    return records_events(emb(s)->rec, node, from_ms, limit, each, arg, err);
}

static void embedded_usage_put(struct store *s, const struct usage_put *u)
{
    if (emb(s)->w)
        writer_put_usage(emb(s)->w, u);
}

static void embedded_usage_mark(struct store *s, const char *node, int64_t at_ms, int64_t seq)
{
    if (emb(s)->w)
        writer_mark_usage(emb(s)->w, node, at_ms, seq);
}

static int embedded_usage(struct store *s, const struct usage_ask *ask,
                          int (*each)(void *arg, const char *node, const struct usage_span *span), void *arg,
                          struct err *err)
{
    return records_usage(emb(s)->rec, ask, each, arg, err);
}

static int embedded_usage_marks(struct store *s, void (*each)(void *arg, const char *node, int64_t at_ms, int64_t seq),
                                void *arg, struct err *err)
{
    return records_usage_marks(emb(s)->rec, each, arg, err);
}

static int embedded_usage_reach(struct store *s,
                                void (*each)(void *arg, const char *node, int64_t first_ms, int64_t last_ms), void *arg,
                                struct err *err)
{
    return records_usage_reach(emb(s)->rec, each, arg, err);
}

static int embedded_token_put(struct store *s, const struct store_token *t, struct err *err)
{
    return records_token_put(emb(s)->rec, t, err);
}

static int embedded_token_put_soon(struct store *s, const struct store_token *t, struct err *err)
{
    return emb(s)->w ? writer_put_token(emb(s)->w, t) : records_token_put(emb(s)->rec, t, err);
}

static int embedded_token_get(struct store *s, const char *id, struct store_token *ret, struct err *err)
{
    return records_token_get(emb(s)->rec, id, ret, err);
}

static int embedded_tokens(struct store *s, const char *node, void (*each)(void *arg, const struct store_token *t),
                           void *arg, struct err *err)
{
    return records_tokens(emb(s)->rec, node, each, arg, err);
}

static int embedded_setting_get(struct store *s, const char *name, struct buf *ret, struct err *err)
{
    return records_setting_get(emb(s)->rec, name, ret, err);
}

static int embedded_setting_put(struct store *s, const char *name, struct str value, struct err *err)
{
    return records_setting_put(emb(s)->rec, name, value, err);
}

static int embedded_node_at(struct store *s, const char *node, int64_t at_ms, struct node_was *ret, struct err *err)
{
    return emb(s)->past ? past_node_at(emb(s)->past, node, at_ms, ret, err) : 0;
}

static int embedded_procs_at(struct store *s, const char *node, int64_t at_ms,
                             void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err)
{
    return emb(s)->past ? past_procs_at(emb(s)->past, node, at_ms, each, arg, err) : 0;
}

static void *embedded_session(struct store *s)
{
    return emb(s)->past ? past_session_new(emb(s)->past) : NULL;
}

static void embedded_session_end(struct store *s, void *session)
{
    (void)s;
    past_session_free(session);
}

static void embedded_stat(struct store *s, struct store_stat *ret)
{
    *ret = (struct store_stat){0};
    if (emb(s)->w)
        writer_stat(emb(s)->w, ret);
}

/* ---- scan ---- */

struct scan {
    int (*each)(void *arg, const struct store_batch *b);
    void *arg;
    const struct alias *aliases;
    size_t n_aliases;
    int64_t log;
    int stopped; /* what each said */
};

static int scan_row(void *arg, const struct store_batch *b, int64_t row)
{
    struct scan *sc = arg;
    struct store_batch now = *b;

    now.node = alias_resolve(sc->aliases, sc->n_aliases, b->node, sc->log, row);
    sc->stopped = sc->each(sc->arg, &now);
    return sc->stopped;
}

static int embedded_scan(struct store *s, int (*each)(void *arg, const struct store_batch *b), void *arg,
                         struct err *err)
{
    struct embedded *e = emb(s);
    struct scan sc = {.each = each, .arg = arg};
    AUTO_FREE struct alias *aliases = NULL;
    AUTO_FREE int64_t *logs = NULL;
    AUTO_FREE struct log_sum *sealed = NULL;
    size_t n = 0, n_sealed = 0, at = 0;
    int worst = 0;
    int r = records_aliases(e->rec, &aliases, &sc.n_aliases, err);

    if (r == 0)
        r = records_load_logs(e->rec, &sealed, &n_sealed, err);
    if (r == 0)
        r = log_list(e->dir, &logs, &n, NULL, err);
    if (r < 0)
        return r;
    sc.aliases = aliases;
    for (size_t i = 0; i < n; i++) {
        struct err why = {0};
        sc.log = logs[i];
        while (at < n_sealed && sealed[at].n < logs[i])
            at++;
        r = log_scan(e->dir, logs[i], at < n_sealed && sealed[at].n == logs[i], scan_row, &sc, &why);
        if (sc.stopped)
            return sc.stopped;
        if (r < 0 && r != -ENOENT) /* ENOENT: dropped for its age a moment ago */
            worst = err_set(err, r, "%s", why.msg);
    }
    return worst;
}

static int embedded_newest(struct store *s, int64_t back_ms, size_t max,
                           int (*each)(void *arg, const struct store_batch *b), void *arg, struct err *err)
{
    struct embedded *e = emb(s);
    AUTO_FREE struct alias *aliases = NULL;
    AUTO_FREE struct log_ref *logs = NULL;
    size_t n_aliases = 0;
    int r = records_aliases(e->rec, &aliases, &n_aliases, err);

    if (r < 0 || !e->w)
        return r;
    size_t n = writer_logs(e->w, &logs);
    return newest_each(e->dir, logs, n, aliases, n_aliases, back_ms, max, each, arg, err);
}

/* ---- history ---- */

static int embedded_history_tier(struct store *s, const struct history_ask *ask)
{
    return past_tier(&emb(s)->conf, ask);
}

static int embedded_history(struct store *s, const char *node, int tier, struct sink *sink, struct err *err)
{
    if (!emb(s)->past)
        return err_set(err, -ENOTSUP, "this store was opened without history");
    return past_read(emb(s)->past, node, tier, sink, err);
}

static void embedded_set_decoder(struct store *s, const struct store_decoder *d)
{
    struct embedded *e = emb(s);

    if (e->w || e->past)
        return; /* it came with the configuration */
    AUTO_FREE char *path = mem_fmt("%s/history.db", e->dir);
    struct chunks *c = NULL;
    if (access(path, F_OK) == 0 && chunks_open(&c, e->dir, DB_BESIDE, NULL) == 0)
        chunks_close(c); /* an older one is up to date now, as muster.db is; what failed is told by whoever reads */
    e->conf.dir = e->dir;
    e->conf.decoder = d;
    e->past = past_new(&e->conf, NULL);
}

static int embedded_settle(struct store *s, struct err *err)
{
    struct embedded *e = emb(s);

    if (!e->compact)
        return embedded_flush(s, err);
    writer_seal(e->w);
    int r = embedded_flush(s, err);
    if (r == 0)
        r = compact_settle(e->compact, err);
    if (r == 0)
        r = embedded_flush(s, err); /* files of compacted logs go */
    return r;
}

static const struct store_ops embedded_ops = {
    .name = "embedded",
    .close = embedded_close,
    .flush = embedded_flush,
    .append = embedded_append,
    .has = embedded_has,
    .put_blob = embedded_put_blob,
    .has_blob = embedded_has_blob,
    .get_blob = embedded_get_blob,
    .put_node = embedded_put_node,
    .nodes = embedded_nodes,
    .take_over = embedded_take_over,
    .put_proc = embedded_put_proc,
    .procs = embedded_procs,
    .procs_in = embedded_procs_in,
    .put_event = embedded_put_event,
    .events = embedded_events,
    .job_put = embedded_job_put,
    .job_change = embedded_job_change,
    .job_get = embedded_job_get,
    .jobs = embedded_jobs,
    .notes_put = embedded_notes_put,
    .notes = embedded_notes,
    .booking_put = embedded_booking_put,
    .booking_get = embedded_booking_get,
    .holds = embedded_holds,
    .usage_put = embedded_usage_put,
    .usage_mark = embedded_usage_mark,
    .usage = embedded_usage,
    .usage_marks = embedded_usage_marks,
    .usage_reach = embedded_usage_reach,
    .token_put = embedded_token_put,
    .token_put_soon = embedded_token_put_soon,
    .token_get = embedded_token_get,
    .tokens = embedded_tokens,
    .setting_get = embedded_setting_get,
    .setting_put = embedded_setting_put,
    .newest = embedded_newest,
    .scan = embedded_scan,
    .stat = embedded_stat,
    .history_tier = embedded_history_tier,
    .history = embedded_history,
    .node_at = embedded_node_at,
    .procs_at = embedded_procs_at,
    .session = embedded_session,
    .session_end = embedded_session_end,
    .set_decoder = embedded_set_decoder,
    .settle = embedded_settle,
};
