/*
 * move.c: moves a store table by table, each in a transaction that also records the progress; chunks in batches, in the
 * order of their ids, so that the existing ones show where to continue.
 */
#include "backup/move.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "hub/decode.h"
#include "sql/lease.h"
#include "sql/pg.h"
#include "store/chunks.h"
#include "store/lock.h"
#include "store/schema.h"
#include "wandb/carry.h"

#define COLUMNS    64
#define SQL_MAX    8192
#define STEP_BYTES (4 << 20) /* chunks per transaction */

/* In this order: rows that a trigger adds to a table are deleted when it is that table's turn. */
static const struct {
    const char *name, *order;
} tables[] = {
    {"blobs", ""},
    {"nodes", ""},
    {"node_spans", ""},
    {"processes", ""},
    {"events", ""},
    {"jobs", ""},
    {"job_devices", ""},
    {"holds", ""},
    {"notes", ""},
    {"aliases", " ORDER BY seq"},
    {"usage_names", ""},
    {"usage_hours", ""},
    {"usage_days", ""},
    {"usage_marks", ""},
    {"tokens", " ORDER BY role = 'agent' DESC"}, /* agent tokens first: an enroll token that exists already would
                                                  * count them again */
    {"settings", ""},
};

struct move {
    const char *from, *to;
    bool to_server;
    struct records *source, *dest;
    struct chunks *source_chunks, *dest_chunks;
    struct db *a, *b;   /* of records */
    struct db *ca, *cb; /* of chunks */
    int lock[2];
    const struct backup_watch *watch;
    struct move_sum *sum;
    int64_t stage, done, total;
};

static int fail_read(struct db *db, int r, struct err *err)
{
    return r < 0 ? db_fail(db, r, "read", err) : r;
}

static int fail_write(struct db *db, int r, struct err *err)
{
    return r < 0 ? db_fail(db, r, "write", err) : r;
}

static void note_progress(struct move *m)
{
    m->done++;
    if (m->watch && m->watch->at)
        m->watch->at(m->watch->arg, m->done, MAX(m->total, m->done));
}

/* ---- checks before the move ---- */

static int refuse_hubs(const char *url, struct err *err)
{
    AUTO_FREE struct hub_row *v = NULL;
    struct leases leases;
    struct db *db;
    size_t n = 0;
    int r = db_open(&db, url, &lease_kind, DB_WRITE, err);

    if (r < 0)
        return r;
    leases_init(&leases, db);
    r = hub_rows(&leases, &v, &n, err);
    size_t i = FIRST(n, k, v[k].here);
    if (r == 0 && i < n)
        r = err_set(err, -EBUSY, "hub %lld (%s) uses it: stop all hubs first, then wait for some seconds",
                    (long long)v[i].id, v[i].name);
    leases_fini(&leases);
    db_close(db);
    return r;
}

static bool is_gone(UNUSED void *arg, UNUSED int64_t hub)
{
    return true;
}

/* V1: compacts all logs. */
static int settle_source(const char *from, struct err *err)
{
    bool server = pg_is_place(from);
    struct store_conf conf = {.dir = from,
                              .url = server ? from : NULL,
                              .hub = -clock_wall_ms(), /* no hub has it */
                              .gone = is_gone,
                              .now_ms = clock_wall_ms,
                              .decoder = &hub_decoder};
    struct store *s;
    int r = store_open(&s, &conf, NULL, err);

    if (r < 0)
        return r;
    r = store_settle(s, err);
    store_close(s);
    return r;
}

/* Checks that all logs were compacted. */
static int check_settled(struct move *m, struct err *err)
{
    int64_t left = 0;
    int r = db_int(m->a,
                   m->to_server ? "SELECT count(*) FROM logs WHERE compacted = 0"
                                : "SELECT count(*) FROM logs WHERE compacted = 0 AND batches > 0 AND NOT EXISTS"
                                  " (SELECT 1 FROM mark WHERE log = n AND done <> 0)",
                   &left);

    if (r < 0)
        return fail_read(m->a, r, err);
    return left ? err_set(err, -EBUSY, "%lld logs of '%s' could not be made into chunks", (long long)left, m->from) : 0;
}

static int open_side(const char *place, enum db_mode mode, int *lock, struct records **ret, struct chunks **ret_chunks,
                     struct err *err)
{
    int r = pg_is_place(place) ? 0 : file_mkdirs(place, 0700, err);

    if (r == 0 && !pg_is_place(place))
        r = store_lock(place, lock, err);
    if (r == 0)
        r = records_open(ret, place, mode, err);
    return r < 0 ? r : chunks_open(ret_chunks, place, mode, err);
}

static void close_source(struct move *m)
{
    chunks_close(m->source_chunks);
    records_close(m->source);
    if (m->lock[0] >= 0)
        close(m->lock[0]);
    m->source = NULL;
    m->source_chunks = NULL;
    m->lock[0] = -1;
}

static int open_source(struct move *m, struct err *err)
{
    int r = open_side(m->from, DB_BESIDE, &m->lock[0], &m->source, &m->source_chunks, err);

    if (r == 0) {
        m->a = records_db(m->source);
        m->ca = chunks_db(m->source_chunks);
    }
    return r;
}

static int refuse_full(struct move *m, struct err *err)
{
    static const char *const questions[] = {"SELECT count(*) FROM nodes", "SELECT count(*) FROM tokens",
                                            "SELECT count(*) FROM logs WHERE batches > 0",
                                            "SELECT count(*) FROM blobs"};
    int64_t n = 0, chunks = 0;
    int r = db_int(m->cb, "SELECT count(*) FROM chunk", &chunks);

    for (size_t i = 0; i < ARRAY_LEN(questions) && r == 0 && n == 0; i++)
        r = db_int(m->b, questions[i], &n);
    if (r < 0)
        return fail_read(m->b, r, err);
    return n || chunks ? err_set(err, -ENOTEMPTY, "there is a store already where it is to go: nothing was changed")
                       : 0;
}

/* Changes when another process used the source in between: the chunks differ, or logs have rows. */
static char *mark_of(struct move *m)
{
    AUTO_BUF out = BUF_INIT(1 << 20);
    AUTO_FREE int64_t *logs = NULL;
    int64_t n = 0, last = 0, batches = 0;
    size_t n_logs = 0;

    db_int(m->ca, "SELECT count(*) FROM chunk", &n);
    db_int(m->ca, "SELECT coalesce(max(id), 0) FROM chunk", &last);
    buf_addf(&out, "%lld chunks, %lld", (long long)n, (long long)last);
    if (!m->to_server) {
        db_int(m->a, "SELECT coalesce(max(n), 0) FROM logs", &n);
        db_int(m->a, "SELECT coalesce(sum(batches), 0)::bigint FROM logs", &batches);
        buf_addf(&out, "; log %lld, %lld", (long long)n, (long long)batches);
    } else if (log_list(m->from, &logs, &n_logs, NULL, NULL) == 0) {
        for (size_t i = 0; i < n_logs; i++)
            buf_addf(&out, "; log %lld, %lld", (long long)logs[i], (long long)log_file_bytes(m->from, logs[i]));
    }
    return mem_str(buf_str(&out).p);
}

static int set_moving(struct move *m, const char *sql, struct err *err)
{
    AUTO_FREE char *mark = mark_of(m), *from = m->to_server ? mem_str(m->from) : pg_shown_place(m->from);
    struct db_stmt *st = db_prepare(m->b, sql);

    db_bind_text(st, 1, from);
    db_bind_text(st, 2, mark);
    int r = db_run(st);
    db_finish(st);
    return fail_write(m->b, r, err);
}

/* A move there is unfinished. Returns 1: resume; 0: start over, since the source has changed; -errno. */
static int find_moving(struct move *m, struct err *err)
{
    AUTO_FREE char *mark = mark_of(m), *from = m->to_server ? mem_str(m->from) : pg_shown_place(m->from);
    struct db_stmt *st = db_prepare(m->b, "SELECT source, mark, stage FROM " STORE_MOVING);
    int r = db_next(st, err);

    if (r == 1 && strcmp(db_text(st, 0), from) != 0)
        r = err_set(err, -ENOTEMPTY, "a move from '%s' was started there: continue that one", db_text(st, 0));
    if (r == 1) {
        m->stage = db_number(st, 2);
        r = strcmp(db_text(st, 1), mark) == 0;
        m->sum->resumed = r == 1;
    }
    db_finish(st);
    return r;
}

static int empty_dest(struct move *m, struct err *err)
{
    int r = db_exec(m->cb, "DELETE FROM chunk");

    if (r == 0)
        r = db_exec(m->cb, "DELETE FROM node");
    m->stage = 0;
    return fail_write(m->cb, r, err);
}

/* V2: the table with the progress. */
static int begin_move(struct move *m, struct err *err)
{
    bool begun = db_has_table(m->b, STORE_MOVING);
    int r = begun ? find_moving(m, err) : refuse_full(m, err);

    if (r != 0)
        return MIN(r, 0);
    close_source(m);
    r = settle_source(m->from, err);
    if (r == 0)
        r = open_source(m, err);
    if (r == 0)
        r = check_settled(m, err);
    if (r == 0 && begun)
        r = empty_dest(m, err);
    if (r == 0 && !begun)
        r = fail_write(m->b,
                       db_exec(m->b, "CREATE TABLE " STORE_MOVING
                                     "(source TEXT NOT NULL, mark TEXT NOT NULL, stage INTEGER NOT NULL)"),
                       err);
    if (r == 0 && begun)
        r = fail_write(m->b, db_exec(m->b, "DELETE FROM " STORE_MOVING), err);
    return r < 0 ? r : set_moving(m, "INSERT INTO " STORE_MOVING " VALUES(?1, ?2, 0)", err);
}

/* ---- one table ---- */

struct move_column {
    char name[64];
    enum { INTS = 20, TEXTS = 25, BYTES = 17 } type; /* type OIDs of the server */
};

static void read_column(struct db_stmt *st, void *to)
{
    struct move_column *c = to;

    mem_copy_str(c->name, sizeof(c->name), db_text(st, 0));
    c->type = (int)db_number(st, 1);
}

/* Columns that both sides have: a server has some additional ones. */
static int find_columns(struct move *m, const char *table, struct move_column ret[COLUMNS], size_t *ret_n,
                        struct err *err)
{
    struct db *server = m->to_server ? m->b : m->a, *file = m->to_server ? m->a : m->b;
    struct db_stmt *st = db_prepare(server, "SELECT attname::text, atttypid::bigint FROM pg_attribute WHERE"
                                            " attrelid = to_regclass(?1) AND attnum > 0 AND NOT attisdropped AND"
                                            " atttypid IN (17, 20, 25) ORDER BY attnum"),
                   *have;
    AUTO_FREE struct move_column *v = NULL;
    size_t n = 0;

    db_bind_text(st, 1, table);
    int r = db_list(st, sizeof(*v), read_column, &v, &n, err);
    db_finish(st);
    *ret_n = 0;
    have = db_prepare(file, file->engine->columns);
    db_bind_text(have, 1, table);
    while (r >= 0 && (r = db_step(have)) == 1)
        for (size_t i = 0; i < n && *ret_n < COLUMNS; i++)
            if (strcmp(v[i].name, db_text(have, 0)) == 0)
                ret[(*ret_n)++] = v[i];
    db_finish(have);
    return r < 0 ? fail_read(file, r, err) : *ret_n ? 0 : err_set(err, -ENODATA, "there is no table '%s'", table);
}

static void write_names(struct buf *out, const struct move_column *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "%s%s", i ? ", " : "", c[i].name);
}

static void bind_row(struct db_stmt *to, struct db_stmt *from, const struct move_column *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int place = (int)i + 1;
        if (c[i].type == INTS)
            db_bind_int(to, place, db_number(from, (int)i));
        else if (c[i].type == TEXTS)
            db_bind_text(to, place, db_text(from, (int)i));
        else
            db_bind_bytes(to, place, db_bytes(from, (int)i));
    }
}

/* Within a transaction of dest. */
static int copy_rows(struct move *m, const char *table, const char *order, struct err *err)
{
    struct move_column c[COLUMNS];
    AUTO_BUF get = BUF_INIT(SQL_MAX), put = BUF_INIT(SQL_MAX);
    size_t n;
    int r = find_columns(m, table, c, &n, err);

    if (r < 0)
        return r;
    buf_adds(&get, "SELECT ");
    write_names(&get, c, n);
    buf_addf(&get, " FROM %s%s", table, order);
    buf_addf(&put, "INSERT INTO %s(", table);
    write_names(&put, c, n);
    buf_adds(&put, ") VALUES(");
    for (size_t i = 0; i < n; i++)
        buf_addf(&put, "%s?%zu", i ? ", " : "", i + 1);
    buf_adds(&put, ")");
    struct db_stmt *from = db_prepare(m->a, buf_str(&get).p), *to = db_prepare(m->b, buf_str(&put).p);
    while ((r = db_next(from, err)) == 1) {
        bind_row(to, from, c, n);
        r = fail_write(m->b, db_run(to), err);
        if (r < 0)
            break;
        m->sum->records++;
        note_progress(m);
    }
    db_finish(from);
    db_finish(to);
    return MIN(r, 0);
}

static int64_t count_rows(struct db *db, const char *table)
{
    AUTO_FREE char *sql = mem_fmt("SELECT count(*) FROM %s", table);
    int64_t n = -1;

    db_int(db, sql, &n);
    return n;
}

static int copy_table(struct move *m, size_t i, struct err *err)
{
    AUTO_FREE char *empty = mem_fmt("DELETE FROM %s", tables[i].name);
    int r = m->to_server ? db_exec(m->b, "SET LOCAL " STORE_IS_MOVED " = '1'") : 0;

    return fail_write(m->b, r ?: db_exec(m->b, empty), err) ?: copy_rows(m, tables[i].name, tables[i].order, err);
}

/* ---- accepted batches ---- */

static int put_range(struct db_stmt *st, int64_t node, uint64_t run, uint64_t first, uint64_t last, int64_t log)
{
    db_bind_int(st, 1, node);
    db_bind_int(st, 2, (int64_t)run);
    db_bind_int(st, 3, (int64_t)first);
    db_bind_int(st, 4, (int64_t)last);
    db_bind_int(st, 5, log);
    return db_run(st);
}

/* The server's numbers are signed: a range across the sign is split in two. */
static int seen_to_server(struct move *m, struct err *err)
{
    struct db_stmt *node = db_prepare(m->b, "INSERT INTO batch_node(key) VALUES(?1) RETURNING id"),
                   *put = db_prepare(m->b, "INSERT INTO taken(node, run, first, last, log) VALUES(?1, ?2, ?3, ?4, ?5)");
    struct index x = {0};
    const uint64_t half = 1ull << 63;
    int r = db_exec(m->b, "DELETE FROM taken; DELETE FROM batch_node");

    if (r == 0)
        r = records_load_seen(m->source, &x, err);
    for (size_t i = 0; i < x.n && r == 0; i++) {
        const struct seen *s = &x.v[i]->seen;
        int64_t id = 0;
        db_bind_text(node, 1, x.v[i]->key);
        r = MIN(db_one(node, &id, err), 0);
        for (size_t k = 0; k < s->n && r == 0; k++)
            for (size_t j = 0; j < s->v[k].n && r == 0; j++) {
                const struct seen_range *g = &s->v[k].v[j];
                bool two = g->first < half && g->last >= half;
                r = put_range(put, id, s->v[k].run, g->first, two ? half - 1 : g->last, s->v[k].last_log);
                if (r == 0 && two)
                    r = put_range(put, id, s->v[k].run, half, g->last, s->v[k].last_log);
            }
    }
    db_finish(node);
    db_finish(put);
    index_fini(&x);
    return fail_write(m->b, r, err);
}

COMPARE(by_first, struct seen_range, ORDER(x->first, y->first))

static int put_run(struct move *m, const char *key, struct seen_run *run)
{
    size_t n = 0;

    SORT(run->v, run->n, by_first);
    for (size_t i = 0; i < run->n; i++)
        if (n && run->v[n - 1].last + 1 == run->v[i].first)
            run->v[n - 1].last = run->v[i].last;
        else
            run->v[n++] = run->v[i];
    run->n = n;
    int r = n ? records_put_seen(m->dest, key, run) : 0;
    run->n = 0;
    run->last_log = 0;
    return r;
}

static int seen_to_folder(struct move *m, struct err *err)
{
    struct db_stmt *st = db_prepare(m->a, "SELECT key, run, first, last, log FROM taken JOIN batch_node ON id = node"
                                          " ORDER BY key, run, first");
    struct seen_run run = {0};
    char key[NODE_KEY_MAX] = "";
    int r = db_exec(m->b, "DELETE FROM seen"), put = r;

    while (put == 0 && (r = db_next(st, err)) == 1) {
        if (strcmp(key, db_text(st, 0)) != 0 || run.run != (uint64_t)db_number(st, 1))
            put = put_run(m, key, &run);
        mem_copy_str(key, sizeof(key), db_text(st, 0));
        run.run = (uint64_t)db_number(st, 1);
        run.last_log = MAX(run.last_log, db_number(st, 4));
        struct seen_range g = {(uint64_t)db_number(st, 2), (uint64_t)db_number(st, 3)};
        VEC_ADD(run.v, run.n, run.cap, g);
    }
    if (put == 0 && r == 0)
        put = put_run(m, key, &run);
    free(run.v);
    db_finish(st);
    return r < 0 ? r : fail_write(m->b, put, err);
}

/* All logs are in chunks; runs and blobs are kept for as long as their rows. */
static int copy_logs(struct move *m, struct err *err)
{
    AUTO_FREE struct log_sum *v = NULL;
    size_t n = 0;
    int r = records_load_logs(m->source, &v, &n, err);

    if (r < 0)
        return r;
    r = db_exec(m->b, "DELETE FROM logs");
    for (size_t i = 0; i < n && r == 0; i++) {
        r = records_put_log(m->dest, &v[i]);
        if (r == 0)
            r = records_compacted(m->dest, v[i].n, 0);
    }
    return fail_write(m->b, r, err);
}

static int copy_seen(struct move *m, struct err *err)
{
    int r = copy_logs(m, err);

    return r < 0 ? r : m->to_server ? seen_to_server(m, err) : seen_to_folder(m, err);
}

/* ---- stages ---- */

enum { STAGES = ARRAY_LEN(tables) + 1 };

static int run_stage(struct move *m, struct err *err)
{
    int r = fail_write(m->b, db_begin(m->b, true), err);

    if (r < 0)
        return r;
    r = m->stage < (int64_t)ARRAY_LEN(tables) ? copy_table(m, (size_t)m->stage, err) : copy_seen(m, err);
    if (r == 0)
        r = fail_write(m->b, db_exec(m->b, "UPDATE " STORE_MOVING " SET stage = stage + 1"), err);
    if (r < 0)
        db_rollback(m->b);
    else
        r = fail_write(m->b, db_end(m->b, 0), err);
    m->stage += r == 0;
    return r;
}

/* ---- chunks ---- */

#define CHUNK_COLUMNS "id, node, tier, bucket, level, from_ms, to_ms, log, summed, bytes"

static int copy_chunk(struct db_stmt *to, struct db_stmt *from)
{
    for (int i = 0; i < 9; i++)
        db_bind_int(to, i + 1, db_number(from, i));
    db_bind_bytes(to, 10, db_bytes(from, 9));
    return db_run(to);
}

static int copy_some_chunks(struct move *m, struct db_stmt *from, struct db_stmt *to, struct err *err)
{
    size_t bytes = 0;
    int r = 1, put = fail_write(m->cb, db_begin(m->cb, true), err);

    while (put == 0 && bytes < STEP_BYTES && (r = db_next(from, err)) == 1) {
        size_t len = db_bytes(from, 9).len;
        put = fail_write(m->cb, copy_chunk(to, from), err);
        bytes += len;
        note_progress(m);
    }
    if (r < 0 || put < 0) {
        db_rollback(m->cb);
        return MIN(r, put);
    }
    put = fail_write(m->cb, db_end(m->cb, 0), err);
    db_tidy(m->cb, false);
    return put < 0 ? put : r;
}

/* Copies names of nodes and applied takeovers completely each time; chunks from where it stopped. */
static int copy_history(struct move *m, struct err *err)
{
    struct db_stmt *from = db_prepare(m->ca, "SELECT " CHUNK_COLUMNS " FROM chunk WHERE id > ?1 ORDER BY id"),
                   *to = db_prepare(m->cb, "INSERT INTO chunk(" CHUNK_COLUMNS ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
                                           " ?9, ?10)"),
                   *nodes = db_prepare(m->ca, "SELECT id, key FROM node ORDER BY id"),
                   *node = db_prepare(m->cb, "INSERT INTO node(id, key) VALUES(?1, ?2) ON CONFLICT DO NOTHING");
    AUTO_FREE struct chunk_mark *marks = NULL;
    size_t n_marks = 0;
    int64_t last = 0;
    int r, put = 0;

    while (put == 0 && (r = db_next(nodes, err)) == 1) {
        db_bind_int(node, 1, db_number(nodes, 0));
        db_bind_text(node, 2, db_text(nodes, 1));
        put = fail_write(m->cb, db_run(node), err);
    }
    r = put < 0 ? put : r;
    if (r == 0)
        r = chunks_marks(m->source_chunks, &marks, &n_marks);
    const struct chunk_mark *applied = FIND(marks, n_marks, x, x->log == 0);
    if (r == 0 && applied)
        r = fail_write(m->cb, chunks_set_mark(m->dest_chunks, applied), err);
    if (r == 0)
        r = fail_read(m->cb, db_int(m->cb, "SELECT coalesce(max(id), 0) FROM chunk", &last), err);
    db_bind_int(from, 1, last);
    if (r == 0)
        do
            r = copy_some_chunks(m, from, to, err);
        while (r == 1);
    db_finish(from);
    db_finish(to);
    db_finish(nodes);
    db_finish(node);
    return r;
}

/* ---- after the move ---- */

/* V4 */
static int compare(struct move *m, struct err *err)
{
    static const char *const sums = "SELECT coalesce(sum(length(bytes)), 0) + 0 FROM chunk";
    int64_t there = count_rows(m->cb, "chunk"), here = count_rows(m->ca, "chunk"), a = 0, b = 0;

    m->sum->chunks = there;
    if (there != here || there < 0)
        return err_set(err, -EIO, "%lld chunks of %lld are there", (long long)there, (long long)here);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        there = count_rows(m->b, tables[i].name);
        here = count_rows(m->a, tables[i].name);
        if (there != here || there < 0)
            return err_set(err, -EIO, "%lld rows of %lld of '%s' are there", (long long)there, (long long)here,
                           tables[i].name);
    }
    AUTO_FREE char *pg_sums = mem_fmt("SELECT (%s)::bigint", sums);
    if (db_int(m->ca, m->to_server ? sums : pg_sums, &a) < 0 || db_int(m->cb, m->to_server ? pg_sums : sums, &b) < 0 ||
        a != b)
        return err_set(err, -EIO, "the chunks have %lld bytes of %lld", (long long)b, (long long)a);
    m->sum->bytes = b;
    return 0;
}

/* Counters continue after the existing values. */
static int set_counters(struct move *m, struct err *err)
{
    static const struct {
        const char *table, *column;
    } counted[] = {{"aliases", "seq"}, {"usage_names", "id"}, {"jobs", "id"},      {"holds", "id"},
                   {"chunk", "id"},    {"node", "id"},        {"batch_node", "id"}};
    int64_t last = 0, chunks = 0;
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(counted) && r == 0; i++) {
        AUTO_FREE char *sql = mem_fmt("SELECT setval(pg_get_serial_sequence('%s', '%s'), coalesce(max(%s), 0) + 1,"
                                      " false) FROM %s",
                                      counted[i].table, counted[i].column, counted[i].column, counted[i].table);
        r = db_exec(m->b, sql);
    }
    if (r == 0)
        r = records_last_log(m->dest, &last, err);
    if (r == 0)
        r = db_int(m->cb, "SELECT coalesce(max(log), 0) FROM chunk", &chunks);
    AUTO_FREE char *sql = mem_fmt("SELECT setval('log_number', %lld, false)", (long long)MAX(last, chunks) + 1);
    return fail_write(m->b, r < 0 ? r : db_exec(m->b, sql), err);
}

/* New logs of a folder must have numbers above those of chunks: a row stores the highest. */
static int note_last_log(struct move *m, struct err *err)
{
    int64_t last = 0, chunks = 0;
    int r = records_last_log(m->dest, &last, err);

    if (r == 0)
        r = db_int(m->ca, "SELECT coalesce(max(log), 0) FROM chunk", &chunks);
    if (r == 0 && chunks > last)
        r = records_put_log(m->dest, &(struct log_sum){.n = chunks, .last_ms = clock_wall_ms()});
    if (r == 0 && chunks > last)
        r = records_compacted(m->dest, chunks, 0);
    return fail_write(m->b, r, err);
}

/* These are separate from the rest, and existing rows do no harm: copies everything each time. */
static int carry_wandb(struct move *m, struct err *err)
{
    struct wandb_delivered c;
    int r = wandb_carry(m->from, m->to, NULL, NULL, &c, err);

    m->sum->records += c.runs + c.days;
    return MIN(r, 0);
}

static int end_move(struct move *m, struct err *err)
{
    int r = m->to_server ? set_counters(m, err) : note_last_log(m, err);

    return r < 0 ? r : fail_write(m->b, db_exec(m->b, "DROP TABLE " STORE_MOVING), err);
}

static int move_all(struct move *m, struct err *err)
{
    int r = open_source(m, err);

    if (r == 0)
        r = open_side(m->to, DB_WRITE, &m->lock[1], &m->dest, &m->dest_chunks, err);
    if (r < 0)
        return r;
    m->b = records_db(m->dest);
    m->cb = chunks_db(m->dest_chunks);
    r = begin_move(m, err);
    for (size_t i = 0; i < ARRAY_LEN(tables) && r == 0; i++)
        m->total += i >= (size_t)m->stage ? count_rows(m->a, tables[i].name) : 0;
    if (r == 0)
        m->total += count_rows(m->ca, "chunk") - count_rows(m->cb, "chunk");
    while (r == 0 && m->stage < STAGES)
        r = run_stage(m, err);
    if (r == 0)
        r = copy_history(m, err);
    if (r == 0)
        r = compare(m, err);
    if (r == 0)
        r = carry_wandb(m, err);
    return r < 0 ? r : end_move(m, err);
}

/* Opening a folder without a store would create one. */
static int refuse_nothing(const char *from, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/muster.db", from);

    if (pg_is_place(from) || access(path, F_OK) == 0)
        return 0;
    return err_set(err, -ENOENT, "there is no store in '%s'", from);
}

int store_move(const char *from, const char *to, const struct backup_watch *watch, struct move_sum *ret,
               struct err *err)
{
    struct move m =
        {.from = from, .to = to, .to_server = pg_is_place(to), .lock = {-1, -1}, .watch = watch, .sum = ret};

    *ret = (struct move_sum){0};
    if (pg_is_place(from) == m.to_server)
        return err_set(err, -EINVAL,
                       m.to_server ? "both are on a server: pg_dump and pg_restore do that"
                                   : "both are folders: `muster backup` and `muster restore` do that");
    int r = refuse_nothing(from, err);
    if (r == 0)
        r = refuse_hubs(m.to_server ? to : from, err);
    if (r == 0)
        r = move_all(&m, err);
    close_source(&m);
    chunks_close(m.dest_chunks);
    records_close(m.dest);
    if (m.lock[1] >= 0)
        close(m.lock[1]);
    return r;
}
