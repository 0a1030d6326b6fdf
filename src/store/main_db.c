/*
 * main_db.c: writes to muster.db, one statement per record. The caller manages transactions, except for records_put_now
 * and similar. Reading is in recall.c.
 */
#include "store/main_db.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sql/pg.h"
#include "sql/pg_array.h"
#include "sql/record_sql.h"
#include "store/kinds.h"
#include "store/schema.h"
#include "store/usage_table.h"

#define SEEN_BYTES_MAX (SEEN_RANGES * (size_t)20) /* two varints each */

int records_open(struct records **ret, const char *dir, enum db_mode mode, struct err *err)
{
    AUTO_FREE char *place = db_place_of(dir, "muster.db");
    struct db *db;
    int r = db_open(&db, place, &records_kind, mode, err);

    if (r < 0)
        return r;
    struct records *rec = NEW(struct records, .db = db);
    db_stmts_init(&rec->st, db, records_sql, R_COUNT);
    rec->st.records = records_kind.records;
    rec->st.pg = records_pg;
    leases_init(&rec->leases, db);
    *ret = rec;
    return 0;
}

void records_close(struct records *r)
{
    if (!r)
        return;
    usage_known_free(r->known);
    leases_fini(&r->leases);
    db_stmts_fini(&r->st);
    db_close(r->db);
    free(r);
}

int64_t records_file_bytes(const char *dir)
{
    AUTO_FREE char *path = mem_fmt("%s/muster.db", dir);

    return db_file_bytes(path);
}

void records_stat(const char *dir, int64_t ret[4])
{
    static const char *const tails[] = {"", "-wal"};

    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        AUTO_FREE char *path = mem_fmt("%s/muster.db%s", dir, tails[i]);
        struct stat st = {0};
        if (stat(path, &st) < 0)
            st = (struct stat){0};
        ret[2 * i] = st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
        ret[2 * i + 1] = st.st_size;
    }
}

struct db *records_db(struct records *r)
{
    return r->db;
}

bool records_half_moved(struct records *r)
{
    return db_has_table(r->db, STORE_MOVING);
}

uint64_t records_steps(struct records *r)
{
    return db_stmts_steps(&r->st);
}

int records_fail(struct records *r, int code, struct err *err)
{
    return db_fail(r->db, code, "write", err);
}

int records_leads(struct records *r, int64_t epoch)
{
    return lease_fence(&r->leases, LEASE_LEADER, epoch, NULL);
}

int records_parts(struct records *r, uint32_t parts, int64_t ret_epochs[LEASE_PARTS])
{
    return lease_fence_parts(&r->leases, parts, ret_epochs, NULL);
}

int records_stop_part(struct records *r, const char *node)
{
    return lease_stop_part(&r->leases, lease_part_of(node), NULL);
}

int records_lock_bookings(struct records *r)
{
    return db_run(db_stmt(&r->st, R_LOCK_BOOKINGS));
}

int records_begin(struct records *r, struct err *err)
{
    int code = db_begin(r->db, true);

    return code < 0 ? records_fail(r, code, err) : 0;
}

int records_begin_snapshot(struct records *r, struct err *err)
{
    int code = db_begin(r->db, false);

    return code < 0 ? records_fail(r, code, err) : 0;
}

void records_rollback(struct records *r)
{
    db_rollback(r->db);
    usage_known_free(r->known); /* the rollback may have removed some of them */
    r->known = NULL;
}

int records_end(struct records *r, int code, struct err *err)
{
    if (code >= 0)
        code = db_commit(r->db);
    if (code < 0) {
        records_fail(r, code, err);
        records_rollback(r);
    }
    return code;
}

void records_set_posts(struct records *r, bool posts)
{
    if (pg_is(r->db))
        pg_set_posts(r->db, posts);
}

void records_tidy(struct records *r)
{
    db_tidy(r->db, false);
}

int records_put_blob(struct records *r, const char *node, enum blob_kind kind, uint64_t id, int64_t log,
                     struct str bytes)
{
    return RECORDS_POST(r, R_PUT_BLOB, DB_TEXT(node), DB_INT((int64_t)id), DB_INT(kind), DB_INT(log), DB_BYTES(bytes));
}

static int touch_blob(struct records *r, struct blob_touch *t)
{
    int code = RECORDS_RUN(r, R_TOUCH_BLOB, DB_TEXT(t->node->key), DB_INT((int64_t)t->id), DB_INT(t->until));

    if (code == 0 && db_changes(r->db) == 0) { /* or a log at least as new names it already */
        code = records_has_blob(r, t->node->key, t->id);
        t->missing = code == 0;
    }
    return MIN(code, 0);
}

/* One query to a server for all of them. */
static int touch_blobs_pg(struct records *r, struct blob_touch *v, size_t n)
{
    struct db_stmt *st = db_stmt(&r->st, R_TOUCH_BLOB);
    struct pg_array nodes = {0}, ids = {0}, until = {0};

    pg_array_reset(&nodes, PG_TEXTS, n * (NODE_KEY_MAX + 8) + 64);
    pg_array_reset(&ids, PG_INTS, n * 16 + 64);
    pg_array_reset(&until, PG_INTS, n * 16 + 64);
    for (size_t i = 0; i < n; i++) {
        pg_array_add_str(&nodes, str_of(v[i].node->key));
        pg_array_add(&ids, (int64_t)v[i].id);
        pg_array_add(&until, v[i].until);
    }
    int code = pg_array_bind(&nodes, st, 1);
    if (code == 0)
        code = pg_array_bind(&ids, st, 2);
    if (code == 0)
        code = pg_array_bind(&until, st, 3);
    while (code >= 0 && (code = db_step(st)) == 1) {
        int64_t at = db_number(st, 0);
        if (at >= 1 && at <= (int64_t)n)
            v[at - 1].missing = true;
    }
    db_reset(st);
    pg_array_fini(&nodes);
    pg_array_fini(&ids);
    pg_array_fini(&until);
    return code;
}

int records_touch_blobs(struct records *r, struct blob_touch *v, size_t n)
{
    int code = 0;

    if (n && pg_is(r->db))
        return touch_blobs_pg(r, v, n);
    for (size_t i = 0; i < n && code == 0; i++)
        code = touch_blob(r, &v[i]);
    return code;
}

/* -ESTALE: the booking was changed since it was read. */
static int put_booking(struct records *r, const void *record)
{
    struct db_stmt *st = db_stmt(&r->st, STORE_BOOKING);

    record_bind(st, main_records[STORE_BOOKING], record);
    int code = db_run(st);
    return code < 0 || db_changes(r->db) > 0 ? code : -ESTALE;
}

/* -EEXIST: a device is booked already. The transaction continues without it. */
static int put_exclusive(struct records *r, const void *record)
{
    int code = db_exec(r->db, "SAVEPOINT exclusive");
    if (code < 0)
        return code;
    code = put_booking(r, record);
    if (code == -EEXIST) {
        int undone = db_exec(r->db, "ROLLBACK TO SAVEPOINT exclusive");
        return undone < 0 ? undone : code;
    }
    int released = code == 0 || code == -ESTALE ? db_exec(r->db, "RELEASE SAVEPOINT exclusive") : 0;
    return released < 0 ? released : code;
}

int records_put(struct records *r, enum store_kind kind, const void *record)
{
    size_t stmt = kind;

    if (kind == STORE_JOB)
        return records_put_job(r, record);
    if (kind == STORE_NOTE && ((const struct note *)record)->over_ms == NOTE_GONE)
        stmt = R_DROP_NOTE;
    if (kind == STORE_USAGE_MARK && ((const struct usage_mark *)record)->seq <= 0)
        stmt = R_DROP_USAGE_MARKS_AT;
    if (kind == STORE_BOOKING)
        return pg_is(r->db) && db_in_transaction(r->db) ? put_exclusive(r, record) : put_booking(r, record);
    struct db_stmt *st = db_stmt(&r->st, stmt);
    record_bind(st, main_records[kind], record); /* binds as many fields as the statement has parameters */
    return db_post(st);
}

int records_put_node(struct records *r, const struct store_node *n)
{
    int code = records_put(r, STORE_NODE, n);

    if (code == 0 && n->named)
        code =
            RECORDS_POST(r, R_NAME_NODE, DB_TEXT(n->key), DB_TEXT(n->name), DB_INT(n->retired), DB_INT(n->maintenance));
    return code;
}

int records_find_facts(struct records *r, struct err *err)
{
    int code = RECORDS_RUN(r, R_FIND_SPAN_FACTS);

    if (code == 0)
        code = RECORDS_RUN(r, R_FIND_FACTS);
    return code < 0 ? records_fail(r, code, err) : (int)db_changes(r->db);
}

int records_put_now(struct records *r, enum store_kind kind, const void *record, struct err *err)
{
    struct db_stmt *st = db_stmt(&r->st, kind == STORE_TOKEN ? R_TOKEN_PUT_NOW : kind);

    record_bind(st, main_records[kind], record);
    int code = db_run(st);
    return code < 0 ? records_fail(r, code, err) : 0;
}

int records_put_few(struct records *r, const struct note *n, int64_t now_ms, int64_t most, struct err *err)
{
    int code = records_put_now(r, STORE_NOTE, n, err);

    if (code == 0)
        code = RECORDS_RUN(r, R_FEW_NOTES, DB_INT(n->kind), DB_INT(now_ms), DB_INT(most));
    return code < 0 ? records_fail(r, code, err) : 0;
}

int records_take_note(struct records *r, int32_t kind, int64_t id, int64_t *ret_over_ms, struct buf *ret,
                      struct err *err)
{
    struct db_stmt *st = db_stmt(&r->st, R_TAKE_NOTE);
    int code, got = 0;

    db_bind_int(st, 1, kind);
    db_bind_int(st, 2, id);
    while ((code = db_step(st)) == 1) { /* step to the end: only then the row is deleted */
        got = 1;
        *ret_over_ms = db_number(st, 0);
        buf_addstr(ret, db_bytes(st, 1));
    }
    db_reset(st);
    return code < 0 ? records_fail(r, code, err) : got;
}

/* Moves rows of a node to another. Rows that already exist under the new key are deleted. */
int records_take_over(struct records *r, const char *from, const char *to, int64_t log, int64_t row)
{
    static const int steps[] =
        {R_ALIAS,         R_FIRST_SEEN,       R_MOVE_NODE,          R_DROP_NODE,  R_MOVE_PROCS,
         R_DROP_PROCS_OF, R_MOVE_EVENTS,      R_DROP_EVENTS_OF,     R_MOVE_SPANS, R_DROP_SPANS_OF,
         R_MOVE_JOBS,     R_MOVE_USAGE_MARKS, R_DROP_USAGE_MARKS_OF};
    int code = 0;

    for (size_t i = 0; i < ARRAY_LEN(steps) && code == 0; i++)
        code = RECORDS_RUN(r, (size_t)steps[i], DB_TEXT(from), DB_TEXT(to), DB_INT(log), DB_INT(row));
    return code < 0 ? code : records_move_usage(r, from, to);
}

/* Its blobs stay until their log is deleted: the in-memory index lists them. */
int records_drop_node(struct records *r, const char *key)
{
    static const int steps[] = {R_DROP_TOKENS_OF, R_DROP_NODE, R_DROP_PROCS_OF, R_DROP_EVENTS_OF, R_DROP_SPANS_OF};
    int code = 0;

    for (size_t i = 0; i < ARRAY_LEN(steps) && code == 0; i++)
        code = RECORDS_RUN(r, (size_t)steps[i], DB_TEXT(key));
    return code;
}

int records_put_log(struct records *r, const struct log_sum *sum)
{
    return RECORDS_RUN(r, R_PUT_LOG, DB_INT(sum->n), DB_INT(sum->batches), DB_INT(sum->bytes), DB_INT(sum->first_ms),
                       DB_INT(sum->last_ms));
}

int records_put_seen(struct records *r, const char *node, const struct seen_run *run)
{
    AUTO_BUF b = BUF_INIT(SEEN_BYTES_MAX);

    if (seen_write(run, &b) < 0)
        return b.err;
    return RECORDS_RUN(r, R_PUT_SEEN, DB_TEXT(node), DB_INT((int64_t)run->run), DB_INT(run->last_log),
                       DB_BYTES(buf_str(&b)));
}

int records_drop_log(struct records *r, int64_t n)
{
    return RECORDS_RUN(r, R_DROP_LOG, DB_INT(n));
}

int records_drop_before(struct records *r, int64_t oldest_log)
{
    int code = RECORDS_RUN(r, R_DROP_SEEN, DB_INT(oldest_log));

    return code < 0 ? code : RECORDS_RUN(r, R_DROP_BLOBS, DB_INT(oldest_log));
}

int records_compacted(struct records *r, int64_t n, int64_t now_ms)
{
    return RECORDS_RUN(r, R_COMPACTED, DB_INT(n), DB_INT(now_ms));
}

int records_drop_old_logs(struct records *r, int64_t before_ms)
{
    return RECORDS_RUN(r, R_DROP_OLD_LOGS, DB_INT(before_ms));
}

int records_oldest_log(struct records *r, int64_t *ret)
{
    int code = db_one(db_stmt(&r->st, R_OLDEST_LOG), ret, NULL);

    return MIN(code, 0);
}
