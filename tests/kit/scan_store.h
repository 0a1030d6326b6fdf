/* scan_store.h: all batches that a store has in its logs, read from the files themselves. */
#ifndef TESTS_KIT_SCAN_STORE_H
#define TESTS_KIT_SCAN_STORE_H

#include <errno.h>

#include "base/mem.h"
#include "store/store.h"

/* The same of rows, which are those of all logs: each gets the log's number too. */
static inline int scan_rows(const char *url,
                            int (*each)(void *arg, const struct store_batch *b, int64_t log, int64_t row), void *arg,
                            struct err *err)
{
    struct records *rec;
    int r = records_open(&rec, url, DB_READ, err), more = 0;

    if (r < 0)
        return r;
    struct db_stmt *st =
        db_prepare(records_db(rec), "SELECT b.row, n.key, b.run, b.number, b.at, b.shift, b.facts, b.procs, b.bytes,"
                                    " b.log FROM batch b JOIN batch_node n ON n.id = b.node ORDER BY b.log, b.row");
    while (r == 0 && (more = db_step(st)) == 1) {
        struct store_batch b = {
            .node = db_text(st, 1),
            .run = (uint64_t)db_number(st, 2),
            .number = (uint64_t)db_number(st, 3),
            .at_ms = db_number(st, 4),
            .shift_ms = db_number(st, 5),
            .facts = (uint64_t)db_number(st, 6),
            .procs = (uint64_t)db_number(st, 7),
            .bytes = db_bytes(st, 8),
        };
        r = each(arg, &b, db_number(st, 9), db_number(st, 0));
    }
    if (r == 0 && more < 0)
        r = db_fail(records_db(rec), more, "read", err);
    db_finish(st);
    records_close(rec);
    return r;
}

/* Read-only, beside a writer or not. each gets the row's number too. */
static inline int scan_log(const char *dir, int64_t n, bool sealed,
                           int (*each)(void *arg, const struct store_batch *b, int64_t row), void *arg, struct err *err)
{
    AUTO_FREE char *path = log_path(dir, n);
    struct db *db;
    int r = log_open_read(&db, path, sealed, err), more = 0;

    if (r < 0)
        return r == -ENODATA ? 0 : r;
    struct db_stmt *st = db_prepare(db, "SELECT b.id, n.key, b.run, b.number, b.at, b.shift, b.facts, b.procs, b.bytes"
                                        " FROM batch b LEFT JOIN node n ON n.id = b.node ORDER BY b.id");
    while (r == 0 && (more = db_step(st)) == 1) {
        struct store_batch b = {
            .node = db_text(st, 1),
            .run = (uint64_t)db_number(st, 2),
            .number = (uint64_t)db_number(st, 3),
            .at_ms = db_number(st, 4),
            .shift_ms = db_number(st, 5),
            .facts = (uint64_t)db_number(st, 6),
            .procs = (uint64_t)db_number(st, 7),
            .bytes = db_bytes(st, 8),
        };
        if (!*b.node) {
            more = -EUCLEAN;
            break;
        }
        r = each(arg, &b, db_number(st, 0));
    }
    if (r == 0 && more < 0)
        r = db_fail(db, more, "read", err);
    db_finish(st);
    db_close(db);
    return r;
}

struct scan {
    int (*each)(void *arg, const struct store_batch *b);
    void *arg;
    const struct alias *aliases;
    size_t n_aliases;
    int64_t log;
    int stopped; /* what each said */
};

static inline int scan_row(void *arg, const struct store_batch *b, int64_t row)
{
    struct scan *sc = arg;
    struct store_batch now = *b;

    now.node = alias_resolve(sc->aliases, sc->n_aliases, b->node, sc->log, row);
    sc->stopped = sc->each(sc->arg, &now);
    return sc->stopped;
}

static inline int scan_shared_row(void *arg, const struct store_batch *b, int64_t log, int64_t row)
{
    ((struct scan *)arg)->log = log;
    return scan_row(arg, b, row);
}

/* Every durable batch, oldest log first, in the order of appends. Stops when each returns other than 0, and returns
 * that. A damaged log costs only itself: the others are read, then -EUCLEAN is returned with a sentence naming it. */
static inline int scan_store(const struct store *s, int (*each)(void *arg, const struct store_batch *b), void *arg,
                             struct err *err)
{
    struct scan sc = {.each = each, .arg = arg};
    AUTO_FREE struct alias *aliases = NULL;
    AUTO_FREE int64_t *logs = NULL;
    AUTO_FREE struct log_sum *sealed = NULL;
    size_t n = 0, n_sealed = 0, at = 0;
    int worst = 0;
    struct records *rec = NULL;
    int r = records_open(&rec, s->conf.dir, DB_READ, err);

    if (r == 0)
        r = records_aliases(rec, &aliases, &sc.n_aliases, err);
    if (r == 0)
        r = records_load_logs(rec, &sealed, &n_sealed, err);
    records_close(rec);
    if (r == 0 && s->conf.url) {
        sc.aliases = aliases;
        return scan_rows(s->conf.url, scan_shared_row, &sc, err);
    }
    if (r == 0)
        r = log_list(s->conf.dir, &logs, &n, NULL, err);
    if (r < 0)
        return r;
    sc.aliases = aliases;
    for (size_t i = 0; i < n; i++) {
        struct err why = {0};
        sc.log = logs[i];
        while (at < n_sealed && sealed[at].n < logs[i])
            at++;
        r = scan_log(s->conf.dir, logs[i], at < n_sealed && sealed[at].n == logs[i], scan_row, &sc, &why);
        if (sc.stopped)
            return sc.stopped;
        if (r < 0 && r != -ENOENT) /* ENOENT: dropped for its age a moment ago */
            worst = err_set(err, r, "%s", why.msg);
    }
    return worst;
}

#endif
