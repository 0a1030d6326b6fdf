/* recall.c: reads muster.db. Every query is a loop over rows of one prepared statement. */
#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sql/record_sql.h"
#include "store/kinds.h"
#include "store/main_db.h"
#include "store/samples.h"
#include "store/schema.h"
#include "store/usage_table.h"

#define RECALL_MAX (64u << 20) /* for a buffer without its own limit */

#define TEXT(field, i) mem_copy_str((field), sizeof(field), db_text(st, (i)))
#define INT(i)         db_number(st, (i))

int records_load_seen(struct records *r, struct index *x, struct err *err)
{
    struct db_stmt *st = db_stmt(&r->st, R_SEEN);
    int code;

    while ((code = db_next(st, err)) == 1) {
        struct index_node *node = index_get(x, db_text(st, 0));
        if (!node || seen_read(&node->seen, (uint64_t)INT(1), INT(2), db_bytes(st, 3)) < 0) {
            db_reset(st);
            return db_fail(r->db, -EUCLEAN, "read", err);
        }
    }
    return code;
}

static void read_log_sum(struct db_stmt *st, void *to)
{
    *(struct log_sum *)to = (struct log_sum){.n = INT(0),
                                             .batches = INT(1),
                                             .bytes = INT(2),
                                             .first_ms = INT(3),
                                             .last_ms = INT(4),
                                             .compacted = INT(5) != 0};
}

int records_load_logs(struct records *r, struct log_sum **ret, size_t *ret_n, struct err *err)
{
    return db_list(db_stmt(&r->st, R_LOGS), sizeof(**ret), read_log_sum, ret, ret_n, err);
}

int records_last_log(struct records *r, int64_t *ret, struct err *err)
{
    int code = db_one(db_stmt(&r->st, R_LAST_LOG), ret, err);

    return MIN(code, 0);
}

int records_newest_log(struct records *r, int64_t *ret)
{
    return MIN(db_one(db_stmt(&r->st, R_NEWEST_LOG), ret, NULL), 0);
}

static void read_alias(struct db_stmt *st, void *to)
{
    struct alias *a = to;

    TEXT(a->from, 0);
    TEXT(a->to, 1);
    a->log = INT(2);
    a->row = INT(3);
}

int records_aliases(struct records *r, struct alias **ret, size_t *ret_n, struct err *err)
{
    return db_list(db_stmt(&r->st, R_ALIASES), sizeof(**ret), read_alias, ret, ret_n, err);
}

int records_has_blob(struct records *r, const char *node, uint64_t id)
{
    int64_t one;

    return db_one(DB_STMT(&r->st, R_HAS_BLOB, DB_TEXT(node), DB_INT((int64_t)id)), &one, NULL);
}

/* Appends the first column of at most one row to ret. */
static int recall_bytes(struct db_stmt *st, struct buf *ret, struct err *err)
{
    int code = db_next(st, err);

    if (code != 1)
        return code;
    if (ret->max == 0)
        *ret = BUF_INIT(RECALL_MAX);
    int added = buf_addstr(ret, db_bytes(st, 0));
    db_reset(st);
    return added < 0 ? err_set(err, added, "cannot read from the store: the value is larger than expected") : 1;
}

int records_get_blob(struct records *r, const char *node, uint64_t id, struct buf *ret, struct err *err)
{
    return recall_bytes(DB_STMT(&r->st, R_GET_BLOB, DB_TEXT(node), DB_INT((int64_t)id)), ret, err);
}

/* Binds a named parameter; ignored if the statement does not have it. */
static void bind_as(struct db_stmt *st, const char *name, struct db_value v)
{
    int at = db_place(st, name);

    if (at)
        db_bind_value(st, at, &v);
}

int records_get(struct records *r, const struct store_get *g, struct err *err)
{
    static const size_t by[] =
        {[STORE_JOB] = R_JOB, [STORE_BOOKING] = R_HOLD, [STORE_TOKEN] = R_TOKEN_GET, [STORE_SETTING] = R_SETTING_GET};
    struct db_stmt *st = db_stmt(&r->st, g->kind == STORE_BOOKING && !g->id ? R_LAST_HOLD : by[g->kind]);
    union any_record rec = {0};

    bind_as(st, ":id", DB_INT(g->id));
    bind_as(st, ":name", DB_TEXT(g->name));
    if (g->kind == STORE_SETTING)
        return recall_bytes(st, g->ret.setting, err);
    int code = db_next(st, err);
    if (code != 1)
        return code;
    record_read(st, main_records[g->kind], &rec);
    if (g->kind == STORE_JOB)
        *g->ret.job = job_copy(&rec.job);
    else if (g->kind == STORE_BOOKING)
        *g->ret.booking = booking_copy(&rec.booking);
    else
        *g->ret.token = rec.token;
    db_reset(st);
    return 1;
}

static size_t stmt_of(const struct store_each *e)
{
    bool one = e->node && e->node[0];

    switch (e->kind) {
    case STORE_NODE:
        return R_NODES;
    case STORE_PROC:
        return e->at_ms ? R_PROCS_AT : e->to_ms ? R_PROCS_IN : one ? R_PROCS_OF : R_PROCS;
    case STORE_EVENT:
        return one ? R_EVENTS_OF : R_EVENTS;
    case STORE_BOOKING:
        return R_HOLDS;
    case STORE_NOTE:
        return e->open ? R_OPEN_NOTES : e->limit ? R_LAST_NOTES : R_NOTES;
    case STORE_TOKEN:
        return one ? R_TOKENS_OF : R_TOKENS;
    case STORE_USAGE_MARK:
        return R_USAGE_MARKS;
    default:
        return R_USAGE_REACH;
    }
}

static void give_record(const struct store_each *e, const union any_record *rec)
{
    switch (e->kind) {
    case STORE_NODE:
        e->give.node(e->arg, &rec->node);
        break;
    case STORE_PROC:
        e->give.proc(e->arg, &rec->proc);
        break;
    case STORE_EVENT:
        e->give.event(e->arg, rec->event.node, rec->event.device, &rec->event.event);
        break;
    case STORE_BOOKING:
        e->give.booking(e->arg, &rec->booking);
        break;
    case STORE_NOTE:
        e->give.note(e->arg, &rec->note);
        break;
    case STORE_TOKEN:
        e->give.token(e->arg, &rec->token);
        break;
    default:
        e->give.usage_mark(e->arg, rec->mark.node, rec->mark.at_ms, rec->mark.seq);
    }
}

int records_each(struct records *r, const struct store_each *e, struct err *err)
{
    const struct record_kind *kind = main_records[e->kind < STORE_TABLES ? e->kind : STORE_USAGE_MARK];
    union any_record rec = {0};
    int code;

    if (e->kind == STORE_JOB)
        return records_jobs(r, e->jobs, e->give.job, e->arg, err);
    if (e->kind == STORE_USAGE)
        return records_usage(r, e->usage, e->give.usage, e->arg, err);
    struct db_stmt *st = db_stmt(&r->st, stmt_of(e));
    bind_as(st, ":node", DB_TEXT(e->node));
    bind_as(st, ":from", DB_INT(e->from_ms));
    bind_as(st, ":to", DB_INT(e->to_ms ? e->to_ms : INT64_MAX));
    bind_as(st, ":at", DB_INT(e->at_ms));
    bind_as(st, ":limit", DB_INT((int64_t)MIN(e->limit, (size_t)INT64_MAX)));
    bind_as(st, ":note", DB_INT(e->note));
    while ((code = db_next(st, err)) == 1) {
        record_read(st, kind, &rec);
        give_record(e, &rec);
    }
    return code;
}

int records_node_at(struct records *r, const char *node, int64_t at_ms, struct node_at *ret, uint64_t *ret_facts,
                    struct err *err)
{
    struct db_stmt *st = DB_STMT(&r->st, R_UPSET_AT, DB_TEXT(node), DB_INT(at_ms));
    int code = db_next(st, err);
    if (code == 1) {
        ret->hung_since_ms = INT(0) == EVENT_HUNG ? INT(1) : 0;
        db_reset(st);
    }
    if (code < 0)
        return code;
    st = DB_STMT(&r->st, R_SPAN_AT, DB_TEXT(node), DB_INT(at_ms));
    code = db_next(st, err);
    if (code == 1) {
        *ret_facts = (uint64_t)INT(0);
        TEXT(ret->name, 1);
        if (!ret->name[0])
            TEXT(ret->name, 2);
        ret->maintenance = INT(3) != 0;
        db_reset(st);
    }
    return code;
}

int records_facts_at(struct records *r, const char *node, int64_t at_ms,
                     void (*give)(void *arg, uint64_t id, int64_t from_ms, struct str bytes), void *arg,
                     struct err *err)
{
    struct db_stmt *st = DB_STMT(&r->st, R_FACTS_AT, DB_TEXT(node), DB_INT(at_ms));
    int code = db_next(st, err);

    if (code == 1) {
        give(arg, (uint64_t)INT(0), INT(1), db_bytes(st, 2));
        db_reset(st);
    }
    return code;
}
