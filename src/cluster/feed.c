/* feed.c: reads all tables that the hubs keep in memory, from one snapshot. */
#include "cluster/feed.h"

#include <errno.h>

#include "base/mem.h"
#include "sql/pg.h"
#include "sql/record_sql.h"
#include "store/kinds.h"

#define BACK 1000 /* transactions */
/*
 * Rows restored by pg_restore from another server have its transaction ids, which may be far ahead here: each read
 * would return them again until this server reaches those ids.
 */
#define AHEAD           "changed > (pg_current_xact_id()::text::bigint + 1000)::text::xid8;"
#define IS_BEFORE(name) "UPDATE " name " SET changed = '0' WHERE " AHEAD
enum { NEWS, OLDEST, NODES, HOLDS, NOTES, SETTINGS, MARKS, GONE, TIDY, COUNT };

#define SINCE               " WHERE changed >= ?100::text::xid8 AND by_hub <> ?101 ORDER BY changed"
#define OLDEST_RUNNING      "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
#define HUB_EVENT_OF(table) "EXISTS (SELECT FROM " table " WHERE changed >= ?1::text::xid8 AND by_hub <> ?2)"
/* clang-format off */
#define FORGET_AHEAD                                                                                                   \
    IS_BEFORE("nodes") IS_BEFORE("holds") IS_BEFORE("notes") IS_BEFORE("settings") IS_BEFORE("usage_marks")            \
    "DELETE FROM gone WHERE " AHEAD
static const char *const texts[COUNT] = {
    [NEWS] = "SELECT CASE WHEN " HUB_EVENT_OF("nodes") " OR " HUB_EVENT_OF("holds") " OR " HUB_EVENT_OF("notes")
             " OR " HUB_EVENT_OF("settings") " OR " HUB_EVENT_OF("usage_marks") " OR " HUB_EVENT_OF("gone") " THEN 0 ELSE " OLDEST_RUNNING " END",
    [OLDEST] = "SELECT " OLDEST_RUNNING,
    [NODES] = "SELECT {nodes} FROM nodes" SINCE,
    [HOLDS] = "SELECT {holds} FROM holds" SINCE,
    [NOTES] = "SELECT {notes} FROM notes" SINCE,
    [SETTINGS] = "SELECT {settings} FROM settings" SINCE,
    [MARKS] = "SELECT {usage_marks} FROM usage_marks" SINCE,
    [GONE] = "SELECT kind, id, key FROM gone" SINCE,
    [TIDY] = "DELETE FROM gone WHERE at < clock_timestamp() - ?1 * interval '1 ms'",
};
/* clang-format on */

static const struct {
    int stmt;
    enum store_kind kind;
} tables[] = {{NODES, STORE_NODE},
              {HOLDS, STORE_BOOKING},
              {NOTES, STORE_NOTE},
              {SETTINGS, STORE_SETTING},
              {MARKS, STORE_USAGE_MARK}};

void feed_init(struct change_feed *f, struct db *db, int64_t hub)
{
    *f = (struct change_feed){.hub = hub};
    db_stmts_init(&f->st, db, texts, COUNT);
    f->st.records = main_records;
}

void feed_fini(struct change_feed *f)
{
    db_stmts_fini(&f->st);
}

static void add_item(struct feed_item ***tail, enum store_kind kind, bool gone, const void *record)
{
    size_t n = record_pack(main_records[kind], record, NULL);
    struct feed_item *i = mem_alloc(sizeof(*i) + n);

    *i = (struct feed_item){.kind = kind, .gone = gone};
    record_pack(main_records[kind], record, i->bytes);
    **tail = i;
    *tail = &i->next;
}

static struct db_stmt *since(struct change_feed *f, int stmt)
{
    struct db_stmt *st = db_stmt(&f->st, (size_t)stmt);

    db_bind_int(st, RECORD_MORE, f->from);
    db_bind_int(st, RECORD_MORE + 1, f->hub);
    return st;
}

static int read_table(struct change_feed *f, int stmt, enum store_kind kind, struct feed_item ***tail, struct err *err)
{
    struct db_stmt *st = since(f, stmt);
    union any_record rec = {0};
    int r;

    while ((r = db_next(st, err)) == 1) {
        record_read(st, main_records[kind], &rec);
        add_item(tail, kind, false, &rec);
    }
    return r;
}

/* kind: of a note; 0: a node. */
static int read_gone(struct change_feed *f, struct feed_item ***tail, struct err *err)
{
    struct db_stmt *st = since(f, GONE);
    int r;

    while ((r = db_next(st, err)) == 1) {
        struct note n = {.kind = (int32_t)db_number(st, 0), .id = db_number(st, 1), .over_ms = NOTE_GONE};
        struct store_node node = {0};
        mem_copy_str(node.key, sizeof(node.key), db_text(st, 2));
        add_item(tail, n.kind ? STORE_NOTE : STORE_NODE, true, n.kind ? (const void *)&n : &node);
    }
    return r;
}

/* Usually only this hub changed anything: then one query is enough. Returns 1: nothing to read, 0, or -errno. */
static int find_none(struct change_feed *f, struct err *err)
{
    struct db *db = f->st.db;
    int64_t oldest = 0;

    if (!f->from || f->connection != pg_connection(db))
        return 0;
    int r = db_one(DB_STMT(&f->st, NEWS, DB_INT(f->from), DB_INT(f->hub)), &oldest, err);
    if (r < 0 || !oldest || f->connection != pg_connection(db))
        return MIN(r, 0);
    f->from = oldest;
    return 1;
}

static int forget_ahead(struct change_feed *f, struct err *err)
{
    struct db *db = f->st.db;
    int r = db_begin(db, true);

    if (r == 0)
        r = db_end(db, db_exec(db, FORGET_AHEAD));
    return r < 0 ? db_fail(db, r, "write", err) : 0;
}

int feed_read(struct change_feed *f, struct feed_item ***tail, struct err *err)
{
    struct db *db = f->st.db;
    int64_t oldest = 0;
    int r = find_none(f, err);

    if (r)
        return MIN(r, 0);
    if (!f->from && (r = forget_ahead(f, err)) < 0)
        return r;
    r = db_begin(db, false);

    if (r < 0)
        return db_fail(db, r, "read", err);
    if (f->connection != pg_connection(db)) { /* a server that crashed may reuse the last transaction ids */
        f->from = f->from ? MAX(f->from - BACK, 1) : 0;
        f->connection = pg_connection(db);
    }
    r = db_one(db_stmt(&f->st, OLDEST), &oldest, err);
    r = MIN(r, 0);
    if (r == 0 && f->from) { /* deletions first: a deleted record may have been put again since */
        r = read_gone(f, tail, err);
        for (size_t i = 0; i < ARRAY_LEN(tables) && r == 0; i++)
            r = read_table(f, tables[i].stmt, tables[i].kind, tail, err);
    }
    db_rollback(db);
    if (r == 0)
        f->from = oldest;
    return r;
}

int64_t feed_tidy(struct change_feed *f, int64_t older_ms)
{
    int r = DB_RUN(&f->st, TIDY, DB_INT(older_ms));

    return r < 0 ? r : db_changes(f->st.db);
}
