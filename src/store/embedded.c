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
#include "store/main_db.h"
#include "store/newest.h"
#include "store/past.h"
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
    e->store.conf.dir = e->dir = mem_str(dir);
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
    e->store.conf = *conf;
    e->store.conf.dir = e->dir;
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

int store_open_tools(struct store **ret, const char *dir, const struct store_decoder *decoder, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/history.db", dir);
    struct embedded *e = embedded_new(dir);
    struct chunks *c = NULL;

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
    if (decoder && access(path, F_OK) == 0 && chunks_open(&c, dir, DB_BESIDE, NULL) == 0)
        chunks_close(c); /* an older one is up to date now, as muster.db is; what failed is told by whoever reads */
    e->store.conf.decoder = decoder;
    e->past = decoder ? past_new(&e->store.conf, NULL) : NULL;
    *ret = &e->store;
    return 0;
}

/* ---- puts ---- */

static int embedded_flush(struct store *s, bool settle, struct err *err)
{
    struct embedded *e = emb(s);
    int r = 0;

    if (settle && e->compact) {
        writer_seal(e->w);
        r = embedded_flush(s, false, err);
        if (r == 0)
            r = compact_settle(e->compact, err); /* files of compacted logs go with the next */
        if (r < 0)
            return r;
    }
    r = e->w ? writer_flush(e->w, err) : 0;
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

static bool embedded_has_blob(struct embedded *e, const char *node, uint64_t id)
{
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

    if (!ret)
        return embedded_has_blob(e, node, id);
    if (e->w && writer_get_blob(e->w, node, id, ret))
        return ret->err ? err_set(err, ret->err, "cannot read from the store: the blob is larger than expected") : 1;
    return records_get_blob(e->rec, node, id, ret, err);
}

static void embedded_take_over(struct store *s, const char *from, const char *to)
{
    if (emb(s)->w)
        writer_take_over(emb(s)->w, from, to);
}

static int embedded_put(struct store *s, enum store_kind kind, const void *v, size_t n, store_done_fn *done, void *arg)
{
    struct embedded *e = emb(s);

    if (e->w)
        return writer_put(e->w, kind, v, n, done, arg);
    embedded_refuse(e, done, arg);
    return -EROFS;
}

static int embedded_put_now(struct store *s, enum store_kind kind, const void *record, struct err *err)
{
    return records_put_now(emb(s)->rec, kind, record, err);
}

/* ---- questions ---- */

static int embedded_get(struct store *s, const struct store_get *g, struct err *err)
{
    return records_get(emb(s)->rec, g, err);
}

static int embedded_each(struct store *s, const struct store_each *e, struct err *err)
{
    if (e->kind == STORE_PROC && e->at_ms && emb(s)->past)
        return past_procs_at(emb(s)->past, e, err);
    return records_each(emb(s)->rec, e, err);
}

static int embedded_node_at(struct store *s, const char *node, int64_t at_ms, struct node_was *ret, struct err *err)
{
    return emb(s)->past ? past_node_at(emb(s)->past, node, at_ms, ret, err) : 0;
}

static void *embedded_session(struct store *s)
{
    return emb(s)->past ? past_session_new(emb(s)->past) : NULL;
}

static void embedded_session_end(UNUSED struct store *s, void *session)
{
    past_session_free(session);
}

static void embedded_stat(struct store *s, struct store_stat *ret)
{
    *ret = (struct store_stat){0};
    if (emb(s)->w)
        writer_stat(emb(s)->w, ret);
}

/* ---- batches ---- */

static int embedded_each_batch(struct store *s, const struct newest_ask *ask,
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
    return newest_each(e->dir, logs, n, aliases, n_aliases, ask->back_ms, ask->max, each, arg, err);
}

/* ---- history ---- */

static int embedded_history(struct store *s, const char *node, int tier, struct sink *sink, struct err *err)
{
    if (!emb(s)->past)
        return err_set(err, -ENOTSUP, "this store was opened without history");
    return past_read(emb(s)->past, node, tier, sink, err);
}

static const struct store_ops embedded_ops = {
    .name = "embedded",
    .close = embedded_close,
    .flush = embedded_flush,
    .put = embedded_put,
    .put_now = embedded_put_now,
    .get = embedded_get,
    .each = embedded_each,
    .append = embedded_append,
    .has = embedded_has,
    .put_blob = embedded_put_blob,
    .get_blob = embedded_get_blob,
    .each_batch = embedded_each_batch,
    .take_over = embedded_take_over,
    .stat = embedded_stat,
    .session = embedded_session,
    .session_end = embedded_session_end,
    .history = embedded_history,
    .node_at = embedded_node_at,
};
