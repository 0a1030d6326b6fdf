/* log_rows.c: the SQL of batches as rows. The contract is in log_rows.h. */
#include "store/log_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "base/mem.h"
#include "base/order.h"
#include "sql/pg.h"
#include "sql/pg_array.h"

#define DAY_MS       86400000ll
#define DAYS_FAR     1000000   /* about 2700 years: all days beyond that share one partition */
#define DAYS_AHEAD   2         /* partitions created before their day starts */
#define DAYS_KEEP    3         /* days that empty partitions stay */
#define ROW_OVERHEAD 64        /* approximate bytes of a row in addition to the frame */
#define PUT_BYTES    (1 << 30) /* larger than the queue */
#define KEEP_MAX     32        /* newest batches per node */
#define ANY_LOG      (-1)      /* index_node.log: the node's number is the same in all logs */

enum {
#define QUERY(name, sql) B_##name,
#include "store/log_rows.def"
    B_COUNT
};
static const char *const rows_sql[B_COUNT] = {
#define QUERY(name, sql) [B_##name] = sql,
#include "store/log_rows.def"
};

struct batch_rows {
    struct db *db;
    struct db_stmts st;
    int64_t known;      /* nodes that got their number over this connection */
    struct rows_place { /* position of B_GET */
        int64_t log, node, row;
        bool open, ahead; /* ahead: the row was read but not returned yet */
    } at;
};

#define RUN(x, stmt, ...) DB_RUN(&(x)->st, (stmt), __VA_ARGS__)

struct batch_rows *rows_new(struct db *db)
{
    struct batch_rows *x = NEW(struct batch_rows, .db = db);

    db_stmts_init(&x->st, db, rows_sql, B_COUNT);
    return x;
}

void rows_free(struct batch_rows *x)
{
    if (!x)
        return;
    db_stmts_fini(&x->st);
    free(x);
}

void rows_rest(struct batch_rows *x)
{
    if (x->st.v[B_GET])
        db_reset(x->st.v[B_GET]);
    x->at = (struct rows_place){0};
}

static int fail_write(struct batch_rows *x, int r, struct err *err)
{
    return db_fail(x->db, r, "write", err);
}

/* Ends a transaction. Returns its result or -errno. */
static int end(struct batch_rows *x, int r, struct err *err)
{
    int code = r > 0 ? db_commit(x->db) : r;

    if (code < 0)
        fail_write(x, code, err);
    if (code < 0 || r == 0)
        db_rollback(x->db);
    return code < 0 ? code : r;
}

/* ---- days ---- */

static int64_t day_of(int64_t ms)
{
    int64_t day = ms / DAY_MS - (ms % DAY_MS < 0);

    return MAX(-DAYS_FAR, MIN(day, DAYS_FAR));
}

/* The name of its partition, and the date, which uses dashes. */
static void day_name(int64_t day, char name[32], char date[16])
{
    time_t at = (time_t)(day * (DAY_MS / 1000));
    struct tm tm;

    gmtime_r(&at, &tm);
    strftime(name, 32, "batch_%Y%m%d", &tm);
    strftime(date, 16, "%Y-%m-%d", &tm);
}

/* Creates no partition if the default partition has rows of that day; that is not a failure. */
static void make_day(struct batch_rows *x, int64_t day)
{
    char name[32], next[32], from[16], to[16], sql[200];
    int64_t one;

    day_name(day + 1, next, to);
    day_name(day, name, from);
    if (db_one(DB_STMT(&x->st, B_HAS_DAY, DB_TEXT(name)), &one, NULL) != 0)
        return;
    snprintf(sql, sizeof(sql),
             "SET LOCAL lock_timeout = 2000; CREATE TABLE IF NOT EXISTS %s PARTITION OF batch FOR VALUES FROM ('%s') "
             "TO ('%s')",
             name, from, to);
    if (pg_lock_tables(x->db) == 0) /* another hub may create it concurrently: then it exists now */
        db_end(x->db, db_exec(x->db, sql));
}

/* Uses the server's clock if the hub does not trust its own yet: a day that has rows elsewhere gets no partition. */
static void make_days(struct batch_rows *x, int64_t now_ms)
{
    if (now_ms <= 0 && db_one(db_stmt(&x->st, B_CLOCK), &now_ms, NULL) != 1)
        return;
    int64_t today = day_of(now_ms);
    for (int64_t day = today - 1; day <= today + DAYS_AHEAD; day++)
        make_day(x, day);
}

static void read_name(struct db_stmt *st, void *to)
{
    mem_copy_str(to, 32, db_text(st, 0));
}

/* The lock keeps other hubs from putting a batch of that day between the check and the drop. */
static int drop_day(struct batch_rows *x, const char *name)
{
    AUTO_FREE char *lock =
                       mem_fmt("SET LOCAL lock_timeout = 2000; LOCK TABLE batch, %s IN ACCESS EXCLUSIVE MODE", name),
                   *look = mem_fmt("SELECT EXISTS (SELECT 1 FROM %s)::int", name),
                   *drop = mem_fmt("DROP TABLE %s", name);
    int64_t any = 1;
    int r = db_int(x->db, look, &any);

    if (r < 0 || any)
        return r;
    r = pg_lock_tables(x->db);
    if (r == 0)
        r = db_exec(x->db, lock);
    if (r == 0)
        r = db_int(x->db, look, &any);
    if (r == 0 && !any)
        r = db_exec(x->db, drop);
    return db_end(x->db, r);
}

int rows_tidy_days(struct batch_rows *x, int64_t now_ms)
{
    char before[32], date[16], (*names)[32] = NULL;
    size_t n = 0;

    day_name(day_of(now_ms) - DAYS_KEEP, before, date);
    int r = db_list(DB_STMT(&x->st, B_OLD_DAYS, DB_TEXT(before)), sizeof(*names), read_name, &names, &n, NULL);
    for (size_t i = 0; i < n && r == 0; i++)
        r = drop_day(x, names[i]);
    free(names);
    return r;
}

int64_t rows_bytes(struct batch_rows *x)
{
    int64_t n = 0;

    db_one(db_stmt(&x->st, B_BYTES), &n, NULL);
    return n;
}

/* ---- writing ---- */

enum { A_DAY, A_NODE, A_RUN, A_NUMBER, A_ROW, A_AT, A_SHIFT, A_FACTS, A_PROCS, A_BYTES, A_COUNT };

struct rows_log {
    struct batch_rows *x;
    int64_t hub;
    struct log_sum sum, old_sum; /* old: before the reset */
    int64_t rows, first;         /* number of the last row; and before the reset */
    struct rows_put {            /* since the reset */
        struct index_node *node;
        int64_t at_ms;
        size_t len;
    } * puts;
    size_t n, cap;
    struct pg_array v[A_COUNT];
    bool *took; /* by row - first - 1 */
    size_t n_took;
    struct index_node **fresh; /* nodes that got their number since the reset */
    size_t n_fresh, cap_fresh;
};

int rows_log_begin(struct rows_log **ret, struct batch_rows *x, int64_t hub, int64_t now_ms, struct err *err)
{
    int64_t n = 0;

    make_days(x, now_ms);
    int r = db_one(DB_STMT(&x->st, B_BEGIN_LOG, DB_INT(hub)), &n, err);
    if (r != 1)
        return r < 0 ? r : -EIO;
    *ret = NEW(struct rows_log, .x = x, .hub = hub, .sum.n = n);
    return 0;
}

void rows_log_free(struct rows_log *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < A_COUNT; i++)
        pg_array_fini(&l->v[i]);
    FREE_ALL(l->puts, l->took, l->fresh);
    free(l);
}

const struct log_sum *rows_log_sum(const struct rows_log *l)
{
    return &l->sum;
}

int64_t rows_log_nodes(const struct rows_log *l)
{
    return l->x->known;
}

void rows_log_reset(struct rows_log *l)
{
    for (size_t i = 0; i < A_COUNT; i++)
        pg_array_reset(&l->v[i], i == A_DAY ? PG_DATES : i == A_BYTES ? PG_BYTES : PG_INTS, PUT_BYTES);
    l->old_sum = l->sum;
    l->first = l->rows;
    l->n = l->n_fresh = l->n_took = 0;
}

int64_t rows_log_put(struct rows_log *l, struct index_node *node, const struct store_batch *b)
{
    int64_t own_ms;

    if (__builtin_sub_overflow(b->at_ms, b->shift_ms, &own_ms))
        own_ms = b->at_ms;
    VEC_ADD(l->puts, l->n, l->cap, (struct rows_put){node, b->at_ms, b->bytes.len});
    pg_array_add(&l->v[A_DAY], day_of(own_ms));
    pg_array_add(&l->v[A_RUN], (int64_t)b->run);
    pg_array_add(&l->v[A_NUMBER], (int64_t)b->number);
    pg_array_add(&l->v[A_ROW], ++l->rows);
    pg_array_add(&l->v[A_AT], b->at_ms);
    pg_array_add(&l->v[A_SHIFT], b->shift_ms);
    pg_array_add(&l->v[A_FACTS], (int64_t)b->facts);
    pg_array_add(&l->v[A_PROCS], (int64_t)b->procs);
    pg_array_add_str(&l->v[A_BYTES], b->bytes);
    return l->rows;
}

/* Assigns numbers to nodes without one. */
static int number_nodes(struct rows_log *l)
{
    for (size_t i = 0; i < l->n; i++) {
        struct index_node *node = l->puts[i].node;
        int64_t id = 0;
        if (node->log != ANY_LOG) {
            int r = rows_node(l->x, node->key, &id, NULL);
            if (r == 0)
                r = db_one(DB_STMT(&l->x->st, B_PUT_NODE, DB_TEXT(node->key)), &id, NULL);
            if (r != 1)
                return r < 0 ? r : -EIO;
            node->log = ANY_LOG;
            node->log_id = id;
            VEC_ADD(l->fresh, l->n_fresh, l->cap_fresh, node);
        }
        pg_array_add(&l->v[A_NODE], node->log_id);
    }
    return 0;
}

static void count_row(struct rows_log *l, const struct rows_put *p)
{
    struct log_sum *s = &l->sum;

    s->first_ms = s->batches ? MIN(s->first_ms, p->at_ms) : p->at_ms;
    s->last_ms = s->batches ? MAX(s->last_ms, p->at_ms) : p->at_ms;
    s->batches++;
    s->bytes += (int64_t)p->len + ROW_OVERHEAD;
}

static int insert_rows(struct rows_log *l)
{
    struct db_stmt *st = db_stmt(&l->x->st, B_PUT);
    int r = 0;

    free(l->took);
    l->took = mem_zero(l->n, sizeof(*l->took));
    l->n_took = l->n;
    for (int i = 0; i < A_COUNT && r == 0; i++)
        r = pg_array_bind(&l->v[i], st, i + 1);
    db_bind_int(st, A_COUNT + 1, l->sum.n);
    while (r >= 0 && (r = db_step(st)) == 1) {
        int64_t row = db_number(st, 0);
        if (row > l->first && row <= l->rows) {
            l->took[row - l->first - 1] = true;
            count_row(l, &l->puts[row - l->first - 1]);
        }
    }
    db_reset(st);
    return r;
}

int rows_log_send(struct rows_log *l)
{
    int r = number_nodes(l);

    if (r == 0 && l->n)
        r = insert_rows(l);
    if (r == 0)
        r = RUN(l->x, B_BEAT, DB_INT(l->sum.n), DB_INT(l->sum.batches), DB_INT(l->sum.bytes), DB_INT(l->sum.first_ms),
                DB_INT(l->sum.last_ms), DB_INT(l->hub));
    return r == 0 && db_changes(l->x->db) == 0 ? -ESTALE : r;
}

bool rows_log_accepted(const struct rows_log *l, int64_t row)
{
    return row > l->first && (size_t)(row - l->first) <= l->n_took && l->took[row - l->first - 1];
}

void rows_log_done(struct rows_log *l, bool committed)
{
    if (committed)
        l->x->known += (int64_t)l->n_fresh;
    else
        l->sum = l->old_sum;
    for (size_t i = 0; i < l->n_fresh && !committed; i++)
        l->fresh[i]->log = 0;
    l->n_fresh = 0;
}

/* ---- logs ---- */

static void read_log(struct db_stmt *st, void *to)
{
    *(struct row_log *)to = (struct row_log){.n = db_number(st, 0),
                                             .owner = db_number(st, 1),
                                             .epoch = db_number(st, 2),
                                             .sealed = db_number(st, 3) != 0,
                                             .ripe = db_number(st, 4) != 0};
}

int rows_list(struct batch_rows *x, struct row_log **ret, size_t *ret_n, struct err *err)
{
    return db_list(db_stmt(&x->st, B_LIST), sizeof(**ret), read_log, ret, ret_n, err);
}

int rows_fence(struct batch_rows *x, const struct row_log *l)
{
    int64_t one;

    return db_one(DB_STMT(&x->st, B_FENCE, DB_INT(l->n), DB_INT(l->owner), DB_INT(l->epoch)), &one, NULL);
}

/* R2, R3: locks the log's row first, which waits for a commit in progress; then that commit's rows are visible. */
int rows_seal(struct batch_rows *x, const struct row_log *l, int64_t now_ms, struct err *err)
{
    int64_t one;
    int r = db_begin(x->db, true);

    if (r < 0)
        return fail_write(x, r, err);
    r = rows_fence(x, l);
    if (r == 1)
        r = db_one(DB_STMT(&x->st, B_STILL_OPEN, DB_INT(l->n)), &one, NULL);
    if (r == 1)
        r = db_run(db_stmt(&x->st, B_LOCK_TAKEN)) ?: RUN(x, B_TAKE, DB_INT(l->n)) ?: 1;
    if (r == 1)
        r = RUN(x, B_SEALED, DB_INT(l->n), DB_INT(now_ms)) ?: 1;
    return end(x, r, err);
}

int rows_adopt(struct batch_rows *x, const struct row_log *l, int64_t hub, struct err *err)
{
    int r = RUN(x, B_ADOPT, DB_INT(l->n), DB_INT(l->owner), DB_INT(l->epoch), DB_INT(hub));

    return r < 0 ? fail_write(x, r, err) : db_changes(x->db) > 0;
}

/* Deletes in short steps; the mark stays until the last. */
int rows_drop(struct batch_rows *x, const struct row_log *l, struct err *err)
{
    int64_t went = 1;

    while (went) {
        int r = db_begin(x->db, true);
        if (r < 0)
            return fail_write(x, r, err);
        r = rows_fence(x, l);
        if (r == 1)
            r = RUN(x, B_DROP_SOME, DB_INT(l->n)) ?: 1;
        went = db_changes(x->db);
        if (r == 1 && went == 0)
            r = RUN(x, B_DROP_MARK, DB_INT(l->n)) ?: RUN(x, B_COMPACTED, DB_INT(l->n)) ?: 1;
        r = end(x, r, err);
        if (r != 1)
            return r;
    }
    return 1;
}

int rows_drop_older(struct batch_rows *x, int64_t hub, int64_t current, int64_t before_ms, struct err *err)
{
    int r = RUN(x, B_DROP_OLDER, DB_INT(hub), DB_INT(current), DB_INT(before_ms));

    return r < 0 ? fail_write(x, r, err) : (int)MIN(db_changes(x->db), INT32_MAX);
}

/* ---- reading ---- */

int rows_node(struct batch_rows *x, const char *key, int64_t *ret, struct err *err)
{
    return db_one(DB_STMT(&x->st, B_NODE, DB_TEXT(key)), ret, err);
}

static void read_key(struct db_stmt *st, void *to)
{
    struct log_key *k = to;

    k->id = db_number(st, 0);
    mem_copy_str(k->key, sizeof(k->key), db_text(st, 1));
}

int rows_nodes(struct batch_rows *x, int64_t log, struct log_key **ret, size_t *ret_n, struct err *err)
{
    return db_list(DB_STMT(&x->st, B_NODES, DB_INT(log)), sizeof(**ret), read_key, ret, ret_n, err);
}

int rows_each(struct batch_rows *x, int64_t log, int64_t before,
              void (*each)(void *arg, int64_t row, int64_t node, int64_t at_ms), void *arg, struct err *err)
{
    struct db_stmt *st = DB_STMT(&x->st, B_ROWS, DB_INT(log), DB_INT(before));
    int r;

    while ((r = db_next(st, err)) == 1)
        each(arg, db_number(st, 0), db_number(st, 1), db_number(st, 2));
    return r;
}

int rows_of(struct batch_rows *x, int64_t log, const char *key, int64_t after, int64_t *ret_node, int64_t **ret,
            size_t *ret_n, struct err *err)
{
    struct db_stmt *st = DB_STMT(&x->st, B_ROWS_OF, DB_INT(log), DB_TEXT(key), DB_INT(after));
    int64_t *v = NULL, node = 0;
    size_t n = 0, cap = 0;
    int r;

    while ((r = db_next(st, err)) == 1) {
        VEC_ADD(v, n, cap, db_number(st, 0));
        node = db_number(st, 1);
    }
    if (r < 0) {
        free(v);
        return r;
    }
    *ret_node = node;
    *ret = v;
    *ret_n = n;
    return 0;
}

static struct store_batch batch_of(struct db_stmt *st)
{
    return (struct store_batch){
        .run = (uint64_t)db_number(st, 0),
        .number = (uint64_t)db_number(st, 1),
        .at_ms = db_number(st, 2),
        .shift_ms = db_number(st, 3),
        .facts = (uint64_t)db_number(st, 4),
        .procs = (uint64_t)db_number(st, 5),
        .bytes = db_bytes(st, 6),
    };
}

int rows_get(struct batch_rows *x, int64_t log, int64_t node, int64_t row, struct store_batch *ret, struct err *err)
{
    struct rows_place *at = &x->at;
    struct db_stmt *st = db_stmt(&x->st, B_GET);
    int r = 1;

    if (!at->open || at->log != log || at->node != node || row < at->row || (row == at->row && !at->ahead)) {
        db_reset(st);
        st = DB_STMT(&x->st, B_GET, DB_INT(log), DB_INT(node), DB_INT(row));
        *at = (struct rows_place){.log = log, .node = node, .row = row - 1, .open = true};
    }
    while (r == 1 && at->row < row) {
        r = db_next(st, err);
        at->open = r == 1;
        at->row = r == 1 ? db_number(st, 7) : INT64_MAX;
    }
    at->ahead = r == 1 && at->row > row;
    if (r != 1 || at->ahead)
        return MIN(r, 0);
    *ret = batch_of(st);
    return 1;
}

int rows_newest(struct batch_rows *x, int64_t back_ms, size_t max,
                int (*each)(void *arg, const struct store_batch *b, int64_t log, int64_t row), void *arg,
                struct err *err)
{
    int64_t nodes = 0;
    int r = db_one(db_stmt(&x->st, B_COUNT_NODES), &nodes, err), stop = 0;

    if (r < 0)
        return r;
    int64_t keep = MIN(MAX((int64_t)max / MAX(nodes, 1), 1), KEEP_MAX);
    struct db_stmt *st = DB_STMT(&x->st, B_NEWEST, DB_INT(keep), DB_INT(back_ms));
    while (!stop && (r = db_next(st, err)) == 1) {
        struct store_batch b = batch_of(st);
        b.node = db_text(st, 9);
        stop = each(arg, &b, db_number(st, 8), db_number(st, 7));
    }
    db_reset(st);
    return stop ? stop : r;
}
