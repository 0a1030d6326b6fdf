/* chunks.c: the SQL of history.db. */
#include "store/chunks.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "sql/pg.h"

#define DB_MAGIC_HISTORY 0x6d737468 /* "msth" */

static const char *const upgrades[] = {
    /* 1 to 2: before, hours were written together with minutes */
    "ALTER TABLE chunk ADD COLUMN summed INTEGER NOT NULL DEFAULT 1",
    /* 2 to 3: the same tables; they may hold chunks of version 3 now, which older programs treat as damage */
    "SELECT 1",
    /* 3 to 4: the same for version 4 */
    "SELECT 1",
};

#define TABLES                                                                                                         \
    "CREATE TABLE node(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);"                                             \
    "CREATE TABLE chunk(id INTEGER PRIMARY KEY, node INTEGER NOT NULL, tier INTEGER NOT NULL,"                         \
    " bucket INTEGER NOT NULL, level INTEGER NOT NULL, from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL,"              \
    " log INTEGER NOT NULL, bytes BLOB NOT NULL, summed INTEGER NOT NULL DEFAULT 1);"                                  \
    "CREATE INDEX chunk_at ON chunk(tier, bucket, node);"                                                              \
    "CREATE INDEX chunk_open ON chunk(tier, bucket, node, level) WHERE level < 2;"                                     \
    "CREATE TABLE mark(log INTEGER PRIMARY KEY, upto INTEGER NOT NULL, done INTEGER NOT NULL)"

const struct db_kind chunks_kind = {
    .magic = DB_MAGIC_HISTORY,
    .version = 4,
    .upgrades = upgrades,
    .shrinks = true,
    .schema = TABLES,
    .pg_schema =
        TABLES "; ALTER TABLE chunk ALTER bytes SET STORAGE EXTERNAL;" /* compressed already, and read in parts */
               "CREATE TABLE chunk_change(n INTEGER NOT NULL); INSERT INTO chunk_change VALUES(1)",
};

#define SUMS "SELECT count(*), sum(id), sum(node), sum(tier), sum(bucket / 1000)"

enum {
#define QUERY(name, sql) C_##name,
#include "store/chunks.def"
    C_COUNT
};
static const char *const chunks_sql[C_COUNT] =
    {
#define QUERY(name, sql) [C_##name] = sql,
#include "store/chunks.def"
},
                         *const chunks_pg[C_COUNT] = {
#define QUERY_PG(name, sql) [C_##name] = sql,
#include "store/chunks.def"
};

struct chunks {
    struct db *db;
    struct db_stmts st;
    char node[NODE_KEY_MAX]; /* the last node looked up in this transaction; empty: none */
    int64_t node_id;
    uint64_t commits;
    _Atomic uint64_t *told; /* chunks_set_counter */
    int64_t takeovers;      /* chunks_expect */
    bool later;             /* chunks_begin_later() was called, and no read followed yet */
    int64_t later_version;
    int failed; /* the error of that start, until the end: cached data and the database may be of two snapshots */
};

int chunks_open(struct chunks **ret, const char *dir, enum db_mode mode, struct err *err)
{
    AUTO_FREE char *place = db_place_of(dir, "history.db");
    struct db *db;
    int r = db_open(&db, place, &chunks_kind, mode, err);

    if (r < 0)
        return r;
    struct chunks *c = NEW(struct chunks, .db = db, .takeovers = -1);
    db_stmts_init(&c->st, db, chunks_sql, C_COUNT);
    c->st.pg = chunks_pg;
    *ret = c;
    return 0;
}

void chunks_close(struct chunks *c)
{
    if (!c)
        return;
    db_stmts_fini(&c->st);
    db_close(c->db);
    free(c);
}

int64_t chunks_file_bytes(const char *dir)
{
    AUTO_FREE char *path = mem_fmt("%s/history.db", dir);

    return db_file_bytes(path);
}

int chunks_begin(struct chunks *c, bool write)
{
    c->node[0] = 0;
    return db_begin(c->db, write);
}

void chunks_begin_later(struct chunks *c, int64_t version)
{
    c->later = true;
    c->later_version = version;
}

/* Starts the transaction of chunks_begin_later(). */
static int begin_now(struct chunks *c)
{
    int64_t version = 0;

    if (!c->later)
        return c->failed;
    c->later = false;
    int r = chunks_begin(c, false);
    if (r == 0)
        r = chunks_version(c, &version);
    if (r == 0 && version != c->later_version)
        r = -ESTALE;
    c->failed = r == -EUCLEAN ? -EIO : r; /* must not look like a single damaged page, which readers skip */
    return c->failed;
}

void chunks_rollback(struct chunks *c)
{
    c->node[0] = 0;
    if (!c->later)
        db_rollback(c->db);
    c->later = false;
    c->failed = 0;
}

void chunks_expect(struct chunks *c, int64_t takeovers)
{
    c->takeovers = pg_is(c->db) ? takeovers : -1;
}

int chunks_lock(struct chunks *c)
{
    return pg_is(c->db) ? db_run(db_stmt(&c->st, C_CHANGED)) : 0; /* SQLite has only one writer */
}

void chunks_set_counter(struct chunks *c, _Atomic uint64_t *changes)
{
    c->told = changes;
}

/* Other connections see a new version; the content may be the same. */
static int touched(struct chunks *c, int r)
{
    if (c->told)
        atomic_fetch_add(c->told, 1);
    return r;
}

static void changed(struct chunks *c)
{
    c->commits++;
    touched(c, 0);
}

static int check_takeovers(struct chunks *c)
{
    int64_t n = 0;
    int r = c->takeovers < 0 ? 0 : MIN(db_one(db_stmt(&c->st, C_TAKEOVERS), &n, NULL), 0);

    return r < 0 || c->takeovers < 0 || n == c->takeovers ? r : -ESTALE;
}

int chunks_end(struct chunks *c, int r, struct err *err)
{
    if (r >= 0)
        r = chunks_lock(c); /* SQLite serialises by itself */
    if (r >= 0)
        r = check_takeovers(c); /* under the lock: a hub that moves chunks to another node does so before or after */
    if (r >= 0)
        r = db_commit(c->db);
    if (r < 0) {
        db_fail(c->db, r, "write", err);
        chunks_rollback(c);
    }
    if (r >= 0)
        changed(c);
    return r;
}

uint64_t chunks_commits(const struct chunks *c)
{
    return c->commits;
}

void chunks_tidy(struct chunks *c, bool all)
{
    db_tidy(c->db, all);
    if (all)
        touched(c, 0);
}

/* ---- statements ---- */

/* Runs a statement without result rows: 0 or -errno. */
#define CHUNKS_RUN(c, i, ...) DB_RUN(&(c)->st, (i), __VA_ARGS__)

#define INT(i) db_number(st, (i))

int chunks_version(struct chunks *c, int64_t *ret)
{
    int r = db_one(db_stmt(&c->st, C_VERSION), ret, NULL);

    return MIN(r, 0);
}

static int chunks_node_key(struct chunks *c, int64_t id, char ret[NODE_KEY_MAX])
{
    struct db_stmt *st = DB_STMT(&c->st, C_NODE_KEY, DB_INT(id));
    int r = db_next(st, NULL);

    if (r == 1) {
        mem_copy_str(ret, NODE_KEY_MAX, db_text(st, 0));
        db_reset(st);
    }
    return r;
}

static int find_node(struct chunks *c, const char *key, bool make, int64_t *ret)
{
    int r = db_one(DB_STMT(&c->st, C_NODE, DB_TEXT(key)), ret, NULL);

    if (r == 1 && !pg_is(c->db)) {
        char name[NODE_KEY_MAX];
        r = chunks_node_key(c, *ret, name); /* verify: a damaged index must not return another node's data */
        return r < 0 ? r : r == 1 && strcmp(name, key) == 0 ? 1 : -EUCLEAN;
    }
    if (r != 0 || !make)
        return r;
    return db_one(DB_STMT(&c->st, C_PUT_NODE, DB_TEXT(key)), ret, NULL);
}

/* Chunks of one node are put consecutively: send one query to a server. */
int chunks_node(struct chunks *c, const char *key, bool make, int64_t *ret)
{
    if (c->node[0] && db_in_transaction(c->db) && strcmp(c->node, key) == 0) {
        *ret = c->node_id;
        return 1;
    }
    int r = find_node(c, key, make, ret);
    mem_copy_str(c->node, sizeof(c->node), r == 1 ? key : "");
    c->node_id = r == 1 ? *ret : 0;
    return r;
}

int chunks_put(struct chunks *c, const struct chunk_row *row)
{
    return DB_POST(&c->st, C_PUT, DB_INT(row->node), DB_INT(row->tier), DB_INT(row->bucket), DB_INT(row->level),
                   DB_INT(row->from_ms), DB_INT(row->to_ms), DB_INT(row->log), DB_INT(row->summed),
                   DB_BYTES(row->bytes));
}

int chunks_any(struct chunks *c, int64_t node, int tier, int64_t bucket)
{
    int64_t one;

    return db_one(DB_STMT(&c->st, C_ANY, DB_INT(node), DB_INT(tier), DB_INT(bucket)), &one, NULL);
}

struct db *chunks_db(struct chunks *c)
{
    return c->db;
}

/* Returns 0 if the statement changed a row, else -ESTALE: another hub was faster. */
static int changed_one(struct chunks *c, int r)
{
    return r == 0 && db_changes(c->db) == 0 ? -ESTALE : r;
}

int chunks_drop(struct chunks *c, int64_t id, bool summed)
{
    return changed_one(c, CHUNKS_RUN(c, C_DROP, DB_INT(id), DB_INT(summed)));
}

int chunks_final(struct chunks *c, int64_t node, int tier, int64_t bucket, bool all)
{
    return touched(c, CHUNKS_RUN(c, C_FINAL, DB_INT(node), DB_INT(tier), DB_INT(bucket),
                                 DB_INT(tier == TIER_MINUTE && !all)));
}

int chunks_set_summed(struct chunks *c, int64_t id)
{
    return changed_one(c, CHUNKS_RUN(c, C_SUMMED, DB_INT(id)));
}

/* bytes: pass the bytes, or only their length. node 0: use the row's columns. */
static int give_rows(struct db_stmt *st, bool bytes, int64_t node, int tier, int64_t bucket,
                     int (*each)(void *arg, const struct chunk_row *row), void *arg)
{
    int64_t before = INT64_MIN, end = bucket + tier_bucket_ms(tier);
    bool bad = false;
    int r;

    while ((r = db_next(st, NULL)) == 1) {
        if (INT(0) <= before || (node && INT(6) != node) || INT(7) != tier || INT(8) != bucket || INT(2) < bucket ||
            INT(2) > INT(3) || INT(3) >= end) {
            bad = true; /* a page of another table, or a damaged one */
            continue;
        }
        before = INT(0);
        struct chunk_row row = {.id = INT(0),
                                .node = INT(6),
                                .bucket = bucket,
                                .from_ms = INT(2),
                                .to_ms = INT(3),
                                .log = INT(4),
                                .tier = tier,
                                .level = (int)INT(1),
                                .summed = INT(9) != 0};
        if (bytes)
            row.bytes = db_bytes(st, 5);
        else
            row.bytes.len = (size_t)MAX(INT(5), 0);
        r = each(arg, &row);
        if (r) {
            db_reset(st);
            return r;
        }
    }
    return r == 0 && bad ? -EUCLEAN : r;
}

int chunks_each(struct chunks *c, bool bytes, int64_t node, int tier, int64_t bucket,
                int (*each)(void *arg, const struct chunk_row *row), void *arg)
{
    struct db_stmt *st = DB_STMT(&c->st, bytes ? C_EACH : C_LIST, DB_INT(node), DB_INT(tier), DB_INT(bucket));

    return give_rows(st, bytes, node, tier, bucket, each, arg);
}

int chunks_list(struct chunks *c, const char *key, int tier, int64_t bucket,
                int (*each)(void *arg, const struct chunk_row *row), void *arg)
{
    int64_t node;
    int r = begin_now(c);

    if (r < 0)
        return r;
    if (pg_is(c->db))
        return give_rows(DB_STMT(&c->st, C_LIST_OF, DB_TEXT(key), DB_INT(tier), DB_INT(bucket)), false, 0, tier, bucket,
                         each, arg);
    r = chunks_node(c, key, false, &node);
    return r == 1 ? chunks_each(c, false, node, tier, bucket, each, arg) : r;
}

int chunks_bytes(struct chunks *c, int64_t id, size_t off, size_t len, void *to)
{
    int r = begin_now(c);

    return r < 0 ? r : db_read_part(c->db, "chunk", id, off, len, to);
}

int chunks_next_bucket(struct chunks *c, bool open, int tier, int64_t from, int64_t *ret)
{
    int64_t at = 0;
    int r = begin_now(c);

    if (r == 0)
        r = db_one(DB_STMT(&c->st, open ? C_NEXT_OPEN : C_NEXT, DB_INT(tier), DB_INT(from)), &at, NULL);
    if (r == 1 && at < from)
        return -EUCLEAN; /* a damaged index: a caller that iterates over buckets must not loop forever */
    if (r == 1)
        *ret = at;
    return r;
}

int64_t chunks_newest_ms(struct chunks *c)
{
    int64_t v = 0;

    db_one(db_stmt(&c->st, C_NEWEST), &v, NULL);
    return v;
}

static void read_group(struct db_stmt *st, void *to)
{
    *(struct chunk_group *)to =
        (struct chunk_group){.tier = (int)INT(0), .bucket = INT(1), .node = INT(2), .fresh = INT(3), .merged = INT(4)};
}

int chunks_groups(struct chunks *c, struct chunk_group **ret, size_t *ret_n)
{
    return db_list(db_stmt(&c->st, C_GROUPS), sizeof(**ret), read_group, ret, ret_n, NULL);
}

/* ---- marks ---- */

static void read_mark(struct db_stmt *st, void *to)
{
    *(struct chunk_mark *)to = (struct chunk_mark){INT(0), INT(1), INT(2) != 0};
}

int chunks_marks(struct chunks *c, struct chunk_mark **ret, size_t *ret_n)
{
    int r = begin_now(c);

    return r < 0 ? r : db_list(db_stmt(&c->st, C_MARKS), sizeof(**ret), read_mark, ret, ret_n, NULL);
}

int chunks_set_mark(struct chunks *c, const struct chunk_mark *m)
{
    return CHUNKS_RUN(c, C_SET_MARK, DB_INT(m->log), DB_INT(m->upto), DB_INT(m->done));
}

int chunks_drop_mark(struct chunks *c, int64_t log)
{
    return touched(c, CHUNKS_RUN(c, C_DROP_MARK, DB_INT(log)));
}

int chunks_rehome(struct chunks *c, const char *from, const char *to, int64_t before_log)
{
    int64_t a, b;
    int r = chunks_node(c, from, false, &a);

    if (r == 1)
        r = chunks_node(c, to, true, &b);
    if (r != 1)
        return r;
    return CHUNKS_RUN(c, C_REHOME, DB_INT(a), DB_INT(b), DB_INT(before_log));
}

/* ---- retention ---- */

int chunks_drop_bucket(struct chunks *c, int tier, int64_t bucket, int n)
{
    int r = CHUNKS_RUN(c, C_DROP_BUCKET, DB_INT(tier), DB_INT(bucket), DB_INT(n));
    return r < 0 ? r : (int)db_changes(c->db);
}

/* Sums over all chunks, of the rows or of an index. */
static int chunks_sums(struct chunks *c, size_t which, int64_t ret[5])
{
    struct db_stmt *st = db_stmt(&c->st, which);
    int r = db_step(st);

    for (int i = 0; i < 5 && r == 1; i++)
        ret[i] = INT(i);
    db_reset(st);
    return MIN(r, 0);
}

int chunks_mend(struct chunks *c)
{
    int64_t rows[5], index[5];
    int r = chunks_sums(c, C_SUMS_ROWS, rows);

    if (r < 0)
        return r;
    r = chunks_sums(c, C_SUMS_INDEX, index);
    if (r == 0 && memcmp(rows, index, sizeof(rows)) == 0)
        return 0;
    if (r < 0 && r != -EUCLEAN)
        return r;
    r = db_exec(c->db, "REINDEX");
    if (r >= 0)
        changed(c);
    return r < 0 ? r : 1;
}

int64_t chunks_used_bytes(struct chunks *c)
{
    return db_used_bytes(c->db, "chunk");
}

int chunks_vacuum(struct chunks *c, int n)
{
    return touched(c, db_give_back(c->db, n));
}
