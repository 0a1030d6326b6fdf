/*
 * log.c: batches appended to a separate SQLite file. Rows are in arrival order without an index: a key on (node, run,
 * number) costs four times the WAL. The contract is in log.h.
 */
#include "store/log.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "sql/sqlite.h"
#include "store/log_rows.h"

#define ROW_OVERHEAD 64 /* approximate bytes of a row in addition to the frame */

const struct db_kind log_kind = {
    .magic = DB_MAGIC_LOG,
    .version = 1,
    .schema = "CREATE TABLE node(id INTEGER PRIMARY KEY, key TEXT NOT NULL);"
              "CREATE TABLE batch(id INTEGER PRIMARY KEY, node INTEGER NOT NULL, run INTEGER NOT NULL,"
              " number INTEGER NOT NULL, at INTEGER NOT NULL, shift INTEGER NOT NULL, facts INTEGER NOT NULL,"
              " procs INTEGER NOT NULL, bytes BLOB NOT NULL)",
};

enum { L_NODE, L_BATCH, L_COUNT };
static const char *const log_sql[L_COUNT] = {
    [L_NODE] = "INSERT INTO node(id, key) VALUES(?1, ?2)",
    [L_BATCH] = ("INSERT INTO batch(id, node, run, number, at, shift, facts, procs, bytes)"
                 " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"),
};

struct log {
    struct db *db;
    struct db_stmts st;
    char *dir;
    struct log_sum sum, old_sum; /* old: before log_begin */
    int64_t rows, old_rows;      /* number of the last row */
    int64_t nodes, old_nodes;
    struct index_node **fresh; /* nodes that got their number since log_begin */
    size_t n_fresh, cap_fresh;
};

/* ---- names ---- */

char *log_path(const char *dir, int64_t n)
{
    return mem_fmt("%s/log-%" PRId64 ".db", dir, n);
}

/* "log-12.db" gives 12; with_aside also accepts "log-12.db.damaged" and "log-12.db.damaged.2". */
static bool log_number(const char *name, bool with_aside, int64_t *ret)
{
    size_t aside = with_aside ? quarantine_name_length(name) : 0;
    struct str s = aside ? str_n(name, aside) : str_of(name);
    int64_t n;

    if (!str_skip(&s, "log-") || !str_ends(s, ".db"))
        return false;
    s.len -= strlen(".db");
    if (!str_int(s, &n) || n < 1 || n > INT64_MAX / 2)
        return false;
    *ret = n;
    return true;
}

int log_list(const char *dir, int64_t **ret, size_t *ret_n, int64_t *ret_last, struct err *err)
{
    DIR *d = opendir(dir);
    int64_t *v = NULL, n, last = 0;
    size_t len = 0, cap = 0;

    if (!d)
        return err_set(err, -errno, "cannot list '%s': %s", dir, strerror(errno));
    for (struct dirent *e; (e = readdir(d));) {
        if (log_number(e->d_name, true, &n))
            last = MAX(last, n);
        if (!log_number(e->d_name, false, &n))
            continue;
        VEC_ADD(v, len, cap, n);
    }
    closedir(d);
    SORT(v, len, order_numbers);
    *ret = v;
    *ret_n = len;
    if (ret_last)
        *ret_last = last;
    return 0;
}

int log_quarantine(const char *dir, int64_t n, char ret[ASIDE_NAME])
{
    AUTO_FREE char *name = mem_fmt("log-%" PRId64 ".db", n);

    return quarantine_file(dir, name, ret);
}

int log_unlink(const char *dir, int64_t n)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    AUTO_FREE char *path = log_path(dir, n);

    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        AUTO_FREE char *name = mem_fmt("%s%s", path, tails[i]);
        if (unlink(name) < 0 && errno != ENOENT)
            return -errno;
    }
    return 0;
}

int64_t log_file_bytes(const char *dir, int64_t n)
{
    AUTO_FREE char *path = log_path(dir, n);

    return db_file_bytes(path);
}

/* ---- opening ---- */

struct log_keys { /* nodes of the index, by their number in the file */
    struct index_node **v;
    int64_t n;
};

static int log_load_nodes(struct log *l, struct index *x, struct log_keys *keys)
{
    struct db_stmt *st = db_prepare(l->db, "SELECT id, key FROM node ORDER BY id");
    size_t cap = 0, n = 0;
    int r;

    while ((r = db_step(st)) == 1) {
        struct index_node *node = index_get(x, db_text(st, 1));
        bool whole = node && db_number(st, 0) == (int64_t)n + 1;
        VEC_ADD(keys->v, n, cap, node);
        keys->n = (int64_t)n;
        if (!whole) {
            r = -EUCLEAN;
            break;
        }
    }
    db_finish(st);
    return r;
}

static void log_count(struct log *l, int64_t at_ms, size_t len)
{
    struct log_sum *s = &l->sum;

    s->first_ms = s->batches ? MIN(s->first_ms, at_ms) : at_ms;
    s->last_ms = s->batches ? MAX(s->last_ms, at_ms) : at_ms;
    s->batches++;
    s->bytes += (int64_t)len + ROW_OVERHEAD;
}

/* Two passes: checks every row before it counts the first, so that a damaged file leaves no trace. */
static int log_load_batches(struct log *l, const struct log_keys *keys, bool count)
{
    struct db_stmt *st = db_prepare(l->db, "SELECT id, node, run, number, at, length(bytes) FROM batch ORDER BY id");
    int r;

    while ((r = db_step(st)) == 1) {
        int64_t node = db_number(st, 1);
        if (node < 1 || node > keys->n) {
            r = -EUCLEAN;
            break;
        }
        if (!count)
            continue;
        seen_add(&keys->v[node - 1]->seen, (uint64_t)db_number(st, 2), (uint64_t)db_number(st, 3), l->sum.n);
        log_count(l, db_number(st, 4), (size_t)db_number(st, 5));
        l->rows = db_number(st, 0);
    }
    db_finish(st);
    return r;
}

static int log_load(struct log *l, struct index *x, struct err *err)
{
    struct log_keys keys = {0};
    int r = sqlite_sound(l->db, err); /* a file that was not sealed: at most one rotation's worth of pages */
    int load = 0;

    if (r == 0)
        load = log_load_nodes(l, x, &keys);
    if (r == 0 && load == 0)
        load = log_load_batches(l, &keys, false);
    if (r == 0 && load == 0)
        load = log_load_batches(l, &keys, true);
    if (load < 0)
        r = db_fail(l->db, load, "read", err);
    for (int64_t i = 0; i < keys.n && r == 0; i++) {
        keys.v[i]->log = l->sum.n;
        keys.v[i]->log_id = i + 1;
    }
    l->nodes = keys.n;
    free(keys.v);
    return r;
}

int log_open(struct log **ret, const char *dir, int64_t n, struct index *x, struct err *err)
{
    AUTO_FREE char *path = log_path(dir, n);
    struct db *db;
    int r = db_open(&db, path, &log_kind, DB_WRITE, err);

    if (r < 0)
        return r;
    struct log *l = NEW(struct log, .db = db, .dir = mem_str(dir));
    l->sum.n = n;
    db_stmts_init(&l->st, db, log_sql, L_COUNT);
    r = log_load(l, x, err);
    if (r < 0) {
        log_close(l);
        return r;
    }
    *ret = l;
    return 0;
}

void log_close(struct log *l)
{
    if (!l)
        return;
    db_stmts_fini(&l->st);
    db_close(l->db);
    free(l->fresh);
    free(l->dir);
    free(l);
}

const struct log_sum *log_sum(const struct log *l)
{
    return &l->sum;
}

int64_t log_nodes(const struct log *l)
{
    return l->nodes;
}

int64_t log_last_row(const struct log *l)
{
    return l->rows;
}

/* ---- appending ---- */

int log_begin(struct log *l, struct err *err)
{
    int r = db_begin(l->db, true);

    if (r < 0)
        return db_fail(l->db, r, "write", err);
    l->old_sum = l->sum;
    l->old_rows = l->rows;
    l->old_nodes = l->nodes;
    l->n_fresh = 0;
    return 0;
}

static int log_put_node(struct log *l, struct index_node *node)
{
    int r = DB_RUN(&l->st, L_NODE, DB_INT(l->nodes + 1), DB_TEXT(node->key));

    if (r < 0)
        return r;
    node->log = l->sum.n;
    node->log_id = ++l->nodes;
    VEC_ADD(l->fresh, l->n_fresh, l->cap_fresh, node);
    return 0;
}

int log_put(struct log *l, struct index_node *node, const struct store_batch *b, struct err *err)
{
    int r = node->log == l->sum.n ? 0 : log_put_node(l, node);

    if (r == 0)
        r = DB_RUN(&l->st, L_BATCH, DB_INT(l->rows + 1), DB_INT(node->log_id), DB_INT((int64_t)b->run),
                   DB_INT((int64_t)b->number), DB_INT(b->at_ms), DB_INT(b->shift_ms), DB_INT((int64_t)b->facts),
                   DB_INT((int64_t)b->procs), DB_BYTES(b->bytes));
    if (r < 0)
        return db_fail(l->db, r, "write", err);
    l->rows++;
    log_count(l, b->at_ms, b->bytes.len);
    return 0;
}

void log_rollback(struct log *l)
{
    db_rollback(l->db);
    l->sum = l->old_sum;
    l->rows = l->old_rows;
    l->nodes = l->old_nodes;
    for (size_t i = 0; i < l->n_fresh; i++)
        l->fresh[i]->log = 0;
    l->n_fresh = 0;
}

int log_commit(struct log *l, struct err *err)
{
    int r = db_commit(l->db);

    if (r < 0) {
        db_fail(l->db, r, "write", err);
        log_rollback(l);
    }
    return r;
}

void log_tidy(struct log *l)
{
    db_tidy(l->db, false);
}

static bool log_has_wal(const char *path)
{
    AUTO_FREE char *wal = mem_fmt("%s-wal", path);

    return access(wal, F_OK) == 0;
}

void log_seal(struct log *l)
{
    if (!l)
        return;
    db_tidy(l->db, true);
    log_close(l); /* the last connection to close removes the WAL */
}

void log_finish(const char *dir, int64_t n)
{
    AUTO_FREE char *path = log_path(dir, n);
    struct db *db;

    if (!log_has_wal(path) || db_open(&db, path, &log_kind, DB_WRITE, NULL) < 0)
        return;
    db_tidy(db, true);
    db_close(db);
}

/* ---- reading ---- */

int log_open_read(struct db **ret, const char *path, bool sealed, struct err *err)
{
    return db_open(ret, path, &log_kind, sealed && !log_has_wal(path) ? DB_STILL : DB_READ, err);
}

int log_probe(const char *dir, int64_t n, struct err *err)
{
    AUTO_FREE char *path = log_path(dir, n);
    struct db *db;
    int r = log_open_read(&db, path, true, err);

    if (r == 0)
        db_close(db);
    return r;
}

/* ---- a node at a time ---- */

enum { LR_GET, LR_ROWS, LR_NODES, LR_COUNT };
static const char *const reader_sql[LR_COUNT] = {
    [LR_GET] = "SELECT run, number, at, shift, facts, procs, bytes FROM batch WHERE id = ?1",
    [LR_ROWS] = "SELECT id, node, at FROM batch WHERE id < ?1 ORDER BY id",
    [LR_NODES] = "SELECT id, key FROM node ORDER BY id",
};

struct log_reader {
    struct db *db;
    struct db_stmts st;
    struct batch_rows *rows; /* NULL: a file */
    int64_t n;               /* number of the log, for rows */
};

struct log_reader *log_reader_of_rows(struct batch_rows *rows, int64_t n)
{
    return NEW(struct log_reader, .rows = rows, .n = n);
}

int log_reader_open(struct log_reader **ret, const char *dir, int64_t n, bool sealed, struct err *err)
{
    AUTO_FREE char *path = log_path(dir, n);
    struct db *db;
    int r = log_open_read(&db, path, sealed, err);

    if (r < 0)
        return r;
    struct log_reader *l = NEW(struct log_reader, .db = db);
    db_stmts_init(&l->st, db, reader_sql, LR_COUNT);
    *ret = l;
    return 0;
}

void log_reader_close(struct log_reader *l)
{
    if (!l)
        return;
    db_stmts_fini(&l->st);
    db_close(l->db);
    free(l);
}

/* For rows, the owner of the connection has the snapshot. */
void log_reader_begin(struct log_reader *l)
{
    if (!l->rows && !db_in_transaction(l->db))
        db_begin(l->db, false);
}

void log_reader_whole(struct log_reader *l)
{
    if (l->rows)
        return;
    /* KiB: a node's rows are spread over the whole log, between those of others */
    db_exec(l->db, "PRAGMA cache_size=-1024");
    log_reader_begin(l);
}

void log_reader_end(struct log_reader *l)
{
    if (l->rows) {
        rows_rest(l->rows);
        return;
    }
    if (l->st.v[LR_GET])
        db_reset(l->st.v[LR_GET]); /* of the last call: it would keep the snapshot open */
    db_rollback(l->db);
}

static void read_key(struct db_stmt *st, void *to)
{
    struct log_key *k = to;

    k->id = db_number(st, 0);
    mem_copy_str(k->key, sizeof(k->key), db_text(st, 1));
}

int log_reader_nodes(struct log_reader *l, struct log_key **ret, size_t *ret_n, struct err *err)
{
    if (l->rows)
        return rows_nodes(l->rows, l->n, ret, ret_n, err);
    return db_list(db_stmt(&l->st, LR_NODES), sizeof(**ret), read_key, ret, ret_n, err);
}

int log_reader_rows(struct log_reader *l, int64_t before,
                    void (*each)(void *arg, int64_t row, int64_t node, int64_t at_ms), void *arg, struct err *err)
{
    if (l->rows)
        return rows_each(l->rows, l->n, before, each, arg, err);
    struct db_stmt *st = DB_STMT(&l->st, LR_ROWS, DB_INT(before));
    int r;

    while ((r = db_next(st, err)) == 1)
        each(arg, db_number(st, 0), db_number(st, 1), db_number(st, 2));
    return r;
}

int log_reader_get(struct log_reader *l, int64_t node, int64_t row, struct store_batch *ret, struct err *err)
{
    if (l->rows)
        return rows_get(l->rows, l->n, node, row, ret, err);
    struct db_stmt *st = db_stmt(&l->st, LR_GET);

    db_reset(st); /* of the last call */
    db_bind_int(st, 1, row);
    int r = db_next(st, err);
    if (r == 0 && db_in_transaction(l->db)) { /* newer than this snapshot: a log only grows, so open a later one */
        log_reader_end(l);
        log_reader_begin(l);
        r = db_next(st, err);
    }
    if (r == 1)
        *ret = (struct store_batch){
            .run = (uint64_t)db_number(st, 0),
            .number = (uint64_t)db_number(st, 1),
            .at_ms = db_number(st, 2),
            .shift_ms = db_number(st, 3),
            .facts = (uint64_t)db_number(st, 4),
            .procs = (uint64_t)db_number(st, 5),
            .bytes = db_bytes(st, 6),
        };
    return r;
}
