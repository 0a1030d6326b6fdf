/* recall.c: reading muster.db. Every query is a loop over rows of one prepared statement. */
#include <errno.h>

#include "base/mem.h"
#include "store/history.h"
#include "store/kinds.h"
#include "store/record_sql.h"
#include "store/records.h"
#include "store/schema.h"

#define RECALL_MAX (64u << 20) /* for a buffer that came without a limit of its own */

/* The next row: 1, 0 at the end, or -errno with a sentence. The statement is ready for the next use unless 1. */
static int recall_step(struct records *r, sqlite3_stmt *st, struct err *err)
{
    int rc = st ? sqlite3_step(st) : sqlite3_errcode(r->h);

    if (rc == SQLITE_ROW)
        return 1;
    int code = rc == SQLITE_DONE ? 0 : db_fail(r->h, rc, "read", err);
    sqlite3_reset(st);
    return code;
}

#define TEXT(field, i) mem_copy_str((field), sizeof(field), db_text(st, (i)))
#define INT(i)         sqlite3_column_int64(st, (i))

int records_load_seen(struct records *r, struct index *x, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_SEEN);
    int code;

    while ((code = recall_step(r, st, err)) == 1) {
        struct index_node *node = index_get(x, db_text(st, 0));
        if (!node || seen_read(&node->seen, (uint64_t)INT(1), INT(2), db_bytes(st, 3)) < 0) {
            sqlite3_reset(st);
            return db_fail(r->h, SQLITE_CORRUPT, "read", err);
        }
    }
    return code;
}

int records_load_logs(struct records *r, struct log_sum **ret, size_t *ret_n, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_LOGS);
    struct log_sum *v = NULL;
    size_t n = 0, cap = 0;
    int code;

    while ((code = recall_step(r, st, err)) == 1) {
        VEC_ROOM(v, n, cap);
        struct log_sum sum = {.n = INT(0),
                              .batches = INT(1),
                              .bytes = INT(2),
                              .first_ms = INT(3),
                              .last_ms = INT(4),
                              .compacted = INT(5) != 0};
        v[n++] = sum;
    }
    if (code < 0) {
        free(v);
        return code;
    }
    *ret = v;
    *ret_n = n;
    return 0;
}

int records_last_log(struct records *r, int64_t *ret, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_LAST_LOG);
    int code = recall_step(r, st, err);

    if (code < 0)
        return code;
    *ret = INT(0);
    sqlite3_reset(st);
    return 0;
}

int records_aliases(struct records *r, struct alias **ret, size_t *ret_n, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_ALIASES);
    struct alias *v = NULL;
    size_t n = 0, cap = 0;
    int code;

    while ((code = recall_step(r, st, err)) == 1) {
        VEC_ROOM(v, n, cap);
        struct alias *a = &v[n++];
        TEXT(a->from, 0);
        TEXT(a->to, 1);
        a->log = INT(2);
        a->row = INT(3);
    }
    if (code < 0) {
        free(v);
        return code;
    }
    *ret = v;
    *ret_n = n;
    return 0;
}

int records_has_blob(struct records *r, const char *node, uint64_t id)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_HAS_BLOB);

    db_bind_text(st, 1, node);
    db_bind_int(st, 2, (int64_t)id);
    int code = recall_step(r, st, NULL);
    if (code == 1)
        sqlite3_reset(st);
    return code;
}

/* The first column of at most one row, added to ret. */
static int recall_bytes(struct records *r, sqlite3_stmt *st, struct buf *ret, struct err *err)
{
    int code = recall_step(r, st, err);

    if (code != 1)
        return code;
    if (ret->max == 0)
        *ret = BUF_INIT(RECALL_MAX);
    int added = buf_addstr(ret, db_bytes(st, 0));
    sqlite3_reset(st);
    return added < 0 ? err_set(err, added, "cannot read from the store: the value is larger than expected") : 1;
}

int records_get_blob(struct records *r, const char *node, uint64_t id, struct buf *ret, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_GET_BLOB);

    db_bind_text(st, 1, node);
    db_bind_int(st, 2, (int64_t)id);
    return recall_bytes(r, st, ret, err);
}

int records_setting_get(struct records *r, const char *name, struct buf *ret, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_SETTING_GET);

    db_bind_text(st, 1, name);
    return recall_bytes(r, st, ret, err);
}

int records_nodes(struct records *r, void (*each)(void *arg, const struct store_node *n), void *arg, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_NODES);
    int code;

    while ((code = recall_step(r, st, err)) == 1) {
        struct store_node n = {0};
        record_read(st, &node_record, &n);
        each(arg, &n);
    }
    return code;
}

static int recall_procs(struct records *r, sqlite3_stmt *st, void (*each)(void *arg, const struct store_proc *p),
                        void *arg, struct err *err)
{
    int code;

    while ((code = recall_step(r, st, err)) == 1) {
        struct store_proc p = {0};
        record_read(st, &proc_record, &p);
        each(arg, &p);
    }
    return code;
}

int records_procs(struct records *r, const char *node, int64_t from_ms,
                  void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, node && *node ? R_PROCS_OF : R_PROCS);

    db_bind_text(st, 1, node);
    db_bind_int(st, 2, from_ms);
    return recall_procs(r, st, each, arg, err);
}

int records_procs_at(struct records *r, const char *node, int64_t at_ms,
                     void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_PROCS_AT);

    db_bind_text(st, 1, node);
    db_bind_int(st, 2, at_ms);
    return recall_procs(r, st, each, arg, err);
}

int records_procs_in(struct records *r, const char *node, int64_t from_ms, int64_t to_ms,
                     void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_PROCS_IN);

    db_bind_text(st, 1, node);
    db_bind_int(st, 2, from_ms);
    db_bind_int(st, 3, to_ms);
    return recall_procs(r, st, each, arg, err);
}

int records_node_at(struct records *r, const char *node, int64_t at_ms, struct node_was *ret, uint64_t *ret_facts,
                    struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_UPSET_AT);

    db_bind_text(st, 1, node);
    db_bind_int(st, 2, at_ms);
    int code = recall_step(r, st, err);
    if (code == 1) {
        ret->hung_since_ms = INT(0) == EVENT_HUNG ? INT(1) : 0;
        sqlite3_reset(st);
    }
    if (code < 0)
        return code;
    st = db_stmt(&r->st, R_SPAN_AT);
    db_bind_text(st, 1, node);
    db_bind_int(st, 2, at_ms);
    code = recall_step(r, st, err);
    if (code == 1) {
        *ret_facts = (uint64_t)INT(0);
        TEXT(ret->name, 1);
        if (!ret->name[0])
            TEXT(ret->name, 2);
        ret->maintenance = INT(3) != 0;
        sqlite3_reset(st);
    }
    return code;
}

int records_events(struct records *r, const char *node, int64_t from_ms, size_t limit,
                   void (*each)(void *arg, const char *node, const char *device, const struct node_event *e), void *arg,
                   struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, node && *node ? R_EVENTS_OF : R_EVENTS);
    int code;

    db_bind_text(st, 1, node);
    db_bind_int(st, 2, from_ms);
    db_bind_int(st, 3, limit > INT64_MAX ? INT64_MAX : (int64_t)limit);
    while ((code = recall_step(r, st, err)) == 1) {
        struct store_event e = {0};
        record_read(st, &event_record, &e);
        each(arg, e.node, e.device, &e.event);
    }
    return code;
}

/* ---- tokens: looked up for every request, so straight from the table: 3 us, and never out of date ---- */

int records_token_get(struct records *r, const char *id, struct store_token *ret, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_TOKEN_GET);

    db_bind_text(st, 1, id);
    int code = recall_step(r, st, err);
    if (code == 1) {
        *ret = (struct store_token){0};
        record_read(st, &token_record, ret);
        sqlite3_reset(st);
    }
    return code;
}

int records_tokens(struct records *r, const char *node, void (*each)(void *arg, const struct store_token *t), void *arg,
                   struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, node[0] ? R_TOKENS_OF : R_TOKENS);
    int code;

    if (node[0])
        db_bind_text(st, 1, node);
    while ((code = recall_step(r, st, err)) == 1) {
        struct store_token t = {0};
        record_read(st, &token_record, &t);
        each(arg, &t);
    }
    return code;
}

/* Outside a transaction each of these is one of its own, synced before it returns. */
static int recall_put(struct records *r, sqlite3_stmt *st, struct err *err)
{
    int rc = st ? db_run(st) : sqlite3_errcode(r->h);

    return rc == SQLITE_OK ? 0 : db_fail(r->h, rc, "write", err);
}

static sqlite3_stmt *recall_bind_token(struct records *r, size_t i, const struct store_token *t)
{
    sqlite3_stmt *st = db_stmt(&r->st, i);

    record_bind(st, &token_record, t);
    return st;
}

int records_token_put(struct records *r, const struct store_token *t, struct err *err)
{
    return recall_put(r, recall_bind_token(r, R_TOKEN_PUT, t), err);
}

int records_token_note(struct records *r, const struct store_token *t)
{
    return recall_put(r, recall_bind_token(r, R_TOKEN_NOTE, t), NULL);
}

int records_setting_put(struct records *r, const char *name, struct str value, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_SETTING_PUT);

    db_bind_text(st, 1, name);
    db_bind_bytes(st, 2, value);
    return recall_put(r, st, err);
}
