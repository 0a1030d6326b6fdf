/*
 * group.c: writes one commit. It checks for repeats last: against the stored batches (the index), and against the
 * batches this commit has written already. So a repeat of a queued batch needs no bookkeeping, and if the first copy
 * cannot be written the second is written instead.
 */
#include "store/group.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "store/kinds.h"
#include "store/usage_table.h"

void group_fini(struct commit_group *g)
{
    free(g->touches);
    free(g->keys);
    *g = (struct commit_group){0};
}

void group_reset(struct commit_group *g)
{
    g->n_touches = 0;
    g->put = g->bytes = g->repeats = g->lost = g->records = 0;
    g->n_missing = 0;
    g->wrote = g->careful = false;
}

/* ---- records ---- */

/* The current log. */
struct group_log {
    int64_t n, last_row;
    bool shared; /* rows in PostgreSQL, other hubs write other logs */
};

/*
 * Covers all rows up to the last batch queued before the takeover. With several hubs: all logs that exist by now,
 * compacted or not, so everything before the first row of the next log. The writer starts a new one after this commit,
 * in which nothing follows the takeover.
 */
static int group_take_over(const struct op_take_over *o, struct records *r, const struct group_log *log,
                           int64_t batches_before)
{
    int64_t n = log->n, row = log->last_row + batches_before;
    int code = log->shared ? records_newest_log(r, &n) : 0;

    if (code < 0)
        return code;
    return records_take_over(r, o->from, o->to, log->shared ? n + 1 : n, log->shared ? 0 : row);
}

static int group_put_record(struct store_op *op, struct records *r, const struct group_log *log, int64_t batches_before)
{
    switch (op->kind) {
    case OP_BLOB: {
        struct op_blob *o = (struct op_blob *)op;
        return records_put_blob(r, o->node->key, o->kind, o->id, log->n, o->bytes);
    }
    case OP_NODE:
        return records_put_node(r, &((struct op_node *)op)->n);
    case OP_TAKE_OVER: {
        struct op_take_over *o = (struct op_take_over *)op;
        return o->to[0] ? group_take_over(o, r, log, batches_before) : records_drop_node(r, o->from);
    }
    case OP_JOB_CHANGE: {
        struct op_job_change *o = (struct op_job_change *)op;
        o->told.result = records_change_job(r, &o->change);
        return o->told.result;
    }
    case OP_RECORDS: {
        struct op_records *o = (struct op_records *)op;
        const char *at = o->bytes;
        union any_record rec;
        o->told.result = 0;
        for (size_t i = 0; i < o->n && o->told.result == 0; i++) {
            at = record_unpack(main_records[o->of], at, &rec);
            o->told.result = records_put(r, o->of, &rec);
        }
        return o->told.result;
    }
    case OP_USAGE: {
        AUTO_ARENA mem = {0};
        struct usage_put u;
        int code = op_usage_get((struct op_usage *)op, &mem, &u);
        if (code == 0 && op->epoch && !op->part) /* days, by the leader: hours must not change meanwhile */
            code = records_stop_part(r, u.node);
        return code < 0 ? code : records_put_usage(r, &u);
    }
    case OP_APPEND:
        break;
    }
    return 0;
}

/* The database will never accept the record: the rest must not wait for it. */
static bool group_is_refused(int code)
{
    return code == -EINVAL || code == -EMSGSIZE;
}

struct group_led { /* cached reads of this transaction */
    int64_t leader;
    bool parts_read;
    int64_t parts[LEASE_PARTS];
};

/* Reads the epochs of the parts of all following ops in one query. */
static int group_read_parts(const struct store_op *ops, struct records *r, struct group_led *led)
{
    uint32_t mask = 0;

    for (; ops; ops = ops->next)
        if (ops->part)
            mask |= 1u << (ops->part - 1);
    int code = records_parts(r, mask, led->parts);
    led->parts_read = code == 0;
    return code;
}

/* Returns 1, or 0 if the hub that put it no longer leads or owns the part: the op is skipped then. */
static int group_may(struct store_op *op, struct records *r, struct group_led *led)
{
    int code = 0;

    if (!op->epoch || (!op->part && op->epoch == led->leader))
        return 1;
    if (op->part) {
        code = led->parts_read ? 0 : group_read_parts(op, r, led);
        return code < 0 ? code : led->parts[op->part - 1] == op->epoch;
    }
    code = records_leads(r, op->epoch);
    if (code == 1)
        led->leader = op->epoch;
    else if (code == 0 && op_has_callback(op))
        ((struct op_callback *)op)->result = -ESTALE;
    return code;
}

static int group_put_one(struct commit_group *g, struct store_op *op, struct records *r, const struct group_log *log,
                         int64_t batches_before)
{
    int code = group_put_record(op, r, log, batches_before);

    g->records++;
    if (code == -EEXIST || code == -ESTALE) /* reported as its result; the transaction is intact */
        return 0;
    if (!group_is_refused(code) || (log->shared && !g->careful)) /* may be the error of another record: group_send
                                                                  * retries */
        return code;
    g->lost++;
    op->refused = true;
    return log->shared ? -EAGAIN : 0; /* on a server the failure aborts the transaction */
}

COMPARE(by_key, struct op_blob *const, strcmp((*x)->node->key, (*y)->node->key) ?: ORDER((*x)->id, (*y)->id))

/* On a server: sorted, because hubs that put the same blobs in different order would deadlock. */
static int group_put_blobs(struct commit_group *g, struct store_op *ops, struct records *r, const struct group_log *log)
{
    AUTO_FREE struct op_blob **v = NULL;
    size_t n = 0, cap = 0;
    int code = 0;

    for (struct store_op *op = ops; op; op = op->next)
        if (op->kind == OP_BLOB && !op->refused)
            VEC_ADD(v, n, cap, (struct op_blob *)op);
    SORT(v, n, by_key);
    for (size_t i = 0; i < n && code == 0; i++)
        code = group_put_one(g, &v[i]->op, r, log, 0);
    return code;
}

static int group_put_records(struct commit_group *g, struct store_op *ops, struct records *r,
                             const struct group_log *log)
{
    struct group_led led = {0};
    int64_t batches = 0;
    int code = log->shared ? group_put_blobs(g, ops, r, log) : 0;

    for (struct store_op *op = ops; op && code == 0; op = op->next) {
        if (op->kind == OP_APPEND)
            batches += (int64_t)((struct op_append *)op)->n;
        if (op->kind == OP_APPEND || op->refused || (op->kind == OP_BLOB && log->shared))
            continue;
        int may = group_may(op, r, &led);
        code = may == 1 ? group_put_one(g, op, r, log, batches) : may;
    }
    if (code == 0)
        code = records_touch_blobs(r, g->touches, g->n_touches);
    g->n_missing = 0;
    for (size_t i = 0; i < g->n_touches; i++)
        g->n_missing += g->touches[i].missing;
    return code;
}

static bool group_has_records(const struct commit_group *g, const struct store_op *ops)
{
    for (; ops; ops = ops->next)
        if (ops->kind != OP_APPEND)
            return true;
    return g->n_touches > 0;
}

/* Called before the first batch is written: a log that is empty later has been truncated. */
static int name_log(struct records *r, int64_t log)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)log);
    return records_put(r, STORE_SETTING, &(struct store_setting){STORE_LOG_NAMED, str_of(text)});
}

int group_write_records(struct commit_group *g, struct store_op *ops, struct records *r, struct log *log,
                        struct err *err)
{
    const struct group_log at = {.n = log_sum(log)->n, .last_row = log_last_row(log)};

    bool names = g->named_log != at.n;
    if (!names && !group_has_records(g, ops))
        return 0;
    int code = records_begin(r, err);
    if (code < 0)
        return code;
    code = group_put_records(g, ops, r, &at);
    if (code == 0 && names)
        code = name_log(r, at.n);
    code = records_end(r, code, err);
    g->named_log = code == 0 ? at.n : g->named_log;
    g->wrote |= code == 0;
    for (struct store_op *op = ops; op && code == 0; op = op->next)
        op->durable = op->kind != OP_APPEND;
    return code;
}

/* ---- batches ---- */

/* It would be in the log, but the names of its numbers would be unknown. */
static bool group_is_missing(const struct commit_group *g, const struct op_batch *b)
{
    return g->n_missing && ANY(g->n_touches, i,
                               g->touches[i].missing && g->touches[i].node == b->node &&
                                   (g->touches[i].id == b->b.facts || g->touches[i].id == b->b.procs));
}

static void group_size_keys(struct commit_group *g, const struct store_op *ops)
{
    size_t n = 0, want = 64;

    for (; ops; ops = ops->next)
        if (ops->kind == OP_APPEND)
            n += ((const struct op_append *)ops)->n;
    while (want < 2 * n)
        want *= 2;
    if (want > g->n_keys || want * 16 < g->n_keys) {
        free(g->keys);
        g->keys = mem_alloc(want * sizeof(g->keys[0]));
        g->n_keys = want;
    }
    memset(g->keys, 0, g->n_keys * sizeof(g->keys[0]));
}

/* Returns false for a repeat. */
static bool group_add_key(struct commit_group *g, struct index_node *node, uint64_t run, uint64_t number)
{
    uint64_t h = ((uint64_t)(uintptr_t)node >> 4 ^ run ^ number * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    size_t i = (h >> 32) & (g->n_keys - 1);

    for (; g->keys[i].node; i = (i + 1) & (g->n_keys - 1))
        if (g->keys[i].node == node && g->keys[i].run == run && g->keys[i].number == number)
            return false;
    g->keys[i] = (struct group_key){node, run, number};
    return true;
}

static int group_put_append(struct commit_group *g, struct op_append *a, struct log *log, struct err *err)
{
    bool fresh = false;
    int r = 0;

    for (size_t i = 0; i < a->n && r == 0; i++) {
        struct op_batch *b = &a->v[i];
        if (seen_has(&b->node->seen, b->b.run, b->b.number)) {
            g->repeats++;
            continue;
        }
        fresh = true;
        if (group_is_missing(g, b)) {
            a->refused = true;
            continue;
        }
        if (!group_add_key(g, b->node, b->b.run, b->b.number)) {
            g->repeats++;
            continue;
        }
        if (g->put == 0)
            r = log_begin(log, err);
        if (r < 0)
            return r;
        g->put++; /* the transaction has started */
        g->bytes += b->b.bytes.len;
        b->put = true;
        r = log_put(log, b->node, &b->b, err);
        b->row = log_last_row(log);
    }
    if (r == 0)
        a->fresh = fresh;
    return r;
}

int group_write_batches(struct commit_group *g, struct store_op *ops, struct log *log, struct err *err)
{
    int r = 0;

    group_size_keys(g, ops);
    for (struct store_op *op = ops; op && r == 0; op = op->next)
        if (op->kind == OP_APPEND)
            r = group_put_append(g, (struct op_append *)op, log, err);
    if (g->put == 0)
        return r;
    if (r < 0) {
        log_rollback(log);
        return r;
    }
    r = log_commit(log, err);
    g->wrote |= r == 0;
    return r;
}

/* ---- both, as rows ---- */

/* Possibly new batches go to the log; the server returns which of them are. */
static void group_collect(struct commit_group *g, struct op_append *a, struct rows_log *log)
{
    bool fresh = false;

    for (size_t i = 0; i < a->n; i++) {
        struct op_batch *b = &a->v[i];
        bool known = seen_has(&b->node->seen, b->b.run, b->b.number), missing = !known && group_is_missing(g, b);
        fresh |= !known;
        a->refused |= missing;
        b->known = b->put = false;
        if (missing)
            continue;
        b->put = !known && group_add_key(g, b->node, b->b.run, b->b.number);
        if (b->put)
            b->row = rows_log_put(log, b->node, &b->b);
        g->put += b->put;
        g->repeats += !b->put;
    }
    a->fresh = fresh;
}

static void group_collect_all(struct commit_group *g, struct store_op *ops, struct rows_log *log)
{
    g->put = g->repeats = 0;
    group_size_keys(g, ops);
    rows_log_reset(log);
    for (struct store_op *op = ops; op; op = op->next)
        if (op->kind == OP_APPEND)
            group_collect(g, (struct op_append *)op, log);
}

static void group_sort_out(struct commit_group *g, struct op_append *a, const struct rows_log *log)
{
    for (size_t i = 0; i < a->n; i++) {
        struct op_batch *b = &a->v[i];
        b->known = b->put && !rows_log_accepted(log, b->row);
        g->bytes += b->put && !b->known ? b->b.bytes.len : 0;
        g->put -= b->known;
        g->repeats += b->known;
        b->put &= !b->known;
    }
}

/* -EBUSY: a deadlock, or another hub holds the lock. */
static bool group_may_be_a_record(int code)
{
    static const int others[] = {-EAGAIN, -ENOTCONN, -ESTALE, -ECANCELED, -EBUSY};

    return code < 0 && !ANY(ARRAY_LEN(others), i, others[i] == code);
}

static bool group_has_bookings(const struct store_op *ops)
{
    for (; ops; ops = ops->next)
        if (ops->kind == OP_RECORDS && ((const struct op_records *)ops)->of == STORE_BOOKING)
            return true;
    return false;
}

static int group_send(struct commit_group *g, struct store_op *ops, struct records *r, struct rows_log *log, bool any,
                      struct err *err)
{
    const struct group_log at = {.n = rows_log_sum(log)->n, .shared = true};
    int code = records_begin(r, err);

    if (code < 0)
        return code;
    g->records = 0;
    records_set_posts(r, !g->careful);
    size_t n_missing = g->n_missing;
    /* first, so that a hub waiting for it holds no other lock */
    code = group_has_bookings(ops) ? records_lock_bookings(r) : 0;
    if (code == 0)
        code = group_put_records(g, ops, r, &at);
    if (code == 0 && any)
        code = g->n_missing > n_missing ? -EAGAIN : rows_log_send(log);
    code = records_end(r, code, err);
    if (!group_may_be_a_record(code) || g->careful)
        return code;
    g->careful = true; /* the retry waits for each record to find the faulty one */
    return -EAGAIN;
}

int group_write_rows(struct commit_group *g, struct store_op *ops, struct records *r, struct rows_log *log,
                     struct err *err)
{
    int code;

    do { /* repeat without the refused ones */
        if (err)
            *err = (struct err){0};
        group_collect_all(g, ops, log);
        if (!g->put && !group_has_records(g, ops))
            return 0;
        code = group_send(g, ops, r, log, g->put > 0, err);
        rows_log_done(log, code == 0);
    } while (code == -EAGAIN);
    g->wrote = code == 0;
    for (struct store_op *op = ops; op; op = op->next)
        if (op->kind == OP_APPEND && code == 0)
            group_sort_out(g, (struct op_append *)op, log);
        else
            op->durable = code == 0 && op->kind != OP_APPEND;
    if (code < 0)
        g->put = g->repeats = 0;
    return code;
}
