/* writer_query.c: the writer's queue: puts and reads, from the loop and other threads. */
#include "store/writer_parts.h"

#include <errno.h>

#include "base/buf.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"

/* additional limit for operations without a result: refusing a batch is cheap, losing a record is not */
#define QUEUE_MORE (16 << 20)

/* With the lock. */
static void writer_push(struct writer *w, struct store_op *op)
{
    op_push(&w->queue, op);
    w->bytes += op->size;
    w->news = true;
    if (w->idle)
        wake_ring(w->wake_fd);
    w->stat.usage_queued += op->kind == OP_USAGE;
}

/* With the lock. */
static void writer_cut_rest(struct writer *w)
{
    w->nudged = true;
    if (w->resting)
        wake_ring(w->wake_fd);
    w->resting = false;
}

void writer_nudge(struct writer *w)
{
    LOCKED(&w->lock);
    if (w->queue.head)
        writer_cut_rest(w);
}

/* Queues an operation without a result. Drops and counts it if far too much is queued already. */
static bool writer_push_record(struct writer *w, struct store_op *op)
{
    bool room = w->bytes + op->size <= w->queue_max + QUEUE_MORE;

    if (room) {
        writer_push(w, op);
    } else {
        w->stat.lost++;
        free(op);
    }
    return room;
}

static bool writer_lost_blob(struct index_node *node, uint64_t id)
{
    struct node_blob *b = index_blob(node, id);

    return b && b->lost;
}

/* With the lock. Does not copy batches that are stored already. */
static int writer_queue_append(struct writer *w, const struct store_batch *b, size_t n, store_done_fn *done, void *arg)
{
    size_t fresh = 0, bytes = 0, repeats = 0;
    AUTO_FREE struct index_node **nodes = mem_alloc(n * sizeof(*nodes));

    for (size_t i = 0; i < n; i++) {
        struct index_node *node = nodes[i] = index_get(&w->index, b[i].node);
        if (!node)
            return -EINVAL;
        if (seen_has(&node->seen, b[i].run, b[i].number)) {
            nodes[i] = NULL;
            repeats++;
            continue;
        }
        if (writer_lost_blob(node, b[i].facts) || writer_lost_blob(node, b[i].procs))
            return -EAGAIN;
        fresh++;
        bytes += b[i].bytes.len;
        if (bytes > w->queue_max)
            return -EMSGSIZE;
    }
    if (fresh && w->bytes + bytes > w->queue_max)
        return -EAGAIN;
    w->stat.repeats += repeats;
    struct op_append *a = op_append_new(fresh, bytes);
    a->done = done;
    a->arg = arg;
    a->fresh = fresh > 0;
    a->refused = false;
    a->n = 0;
    for (size_t i = 0; i < n; i++)
        if (nodes[i])
            a->v[a->n++] = (struct op_batch){.node = nodes[i], .b = b[i]};
    char *room = op_append_room(a);
    for (size_t i = 0; i < a->n; i++) {
        struct store_batch *to = &a->v[i].b;
        if (to->bytes.len)
            memcpy(room, to->bytes.p, to->bytes.len);
        to->bytes.p = room;
        to->node = a->v[i].node->key;
        room += to->bytes.len;
    }
    writer_push(w, &a->op);
    return 0;
}

void writer_append(struct writer *w, const struct store_batch *b, size_t n, store_done_fn *done, void *arg)
{
    pthread_mutex_lock(&w->lock);
    int r = w->stop ? -ESHUTDOWN : writer_queue_append(w, b, n, done, arg);
    pthread_mutex_unlock(&w->lock);
    if (r < 0) {
        done_add(w->done, (struct done){done, arg, r});
        done_wake(w->done);
    }
}

bool writer_has(struct writer *w, const char *node, uint64_t run, uint64_t number)
{
    LOCKED(&w->lock);
    struct index_node *n = index_find(&w->index, node);
    return n && seen_has(&n->seen, run, number);
}

void writer_put_blob(struct writer *w, const char *node, enum blob_kind kind, uint64_t id, struct str bytes)
{
    LOCKED(&w->lock);
    struct index_node *n = index_get(&w->index, node);
    struct node_blob *b = n ? index_blob(n, id) : NULL;
    if (n && !(b && b->have)) {
        struct op_blob *op = op_blob_new(n, kind, id, bytes);
        b = index_put_blob(n, id);
        b->have = writer_push_record(w, &op->op);
        b->lost = !b->have;
        b->queued = b->have ? op : NULL;
    }
}

bool writer_has_blob(struct writer *w, const char *node, uint64_t id)
{
    LOCKED(&w->lock);
    struct index_node *n = index_find(&w->index, node);
    struct node_blob *b = n ? index_blob(n, id) : NULL;
    return b && b->have;
}

void writer_know_blob(struct writer *w, const char *node, uint64_t id)
{
    LOCKED(&w->lock);
    struct index_node *n = index_get(&w->index, node);
    struct node_blob *b = n ? index_put_blob(n, id) : NULL;
    if (b) {
        b->have = true;
        b->lost = false;
    }
}

static const struct op_blob *writer_find_blob(const struct store_op *op, const char *node, uint64_t id)
{
    for (; op; op = op->next) {
        const struct op_blob *b = (const struct op_blob *)op;
        if (op->kind == OP_BLOB && b->id == id && strcmp(b->node->key, node) == 0)
            return b;
    }
    return NULL;
}

bool writer_get_blob(struct writer *w, const char *node, uint64_t id, struct buf *ret)
{
    LOCKED(&w->lock);
    struct index_node *n = index_find(&w->index, node);
    const struct node_blob *known = n ? index_blob(n, id) : NULL;
    const struct op_blob *b = known ? known->queued : writer_find_blob(w->flying, node, id);
    if (!b && !known)
        b = writer_find_blob(w->queue.head, node, id);
    if (b && ret->max == 0)
        *ret = BUF_INIT(QUEUE_BYTES);
    if (b)
        buf_addstr(ret, b->bytes);
    return b != NULL;
}

/* Keeps only the newest of a node's queued records: the hub may write one per batch. */
static int writer_put_node(struct writer *w, const struct store_node *rec)
{
    LOCKED(&w->lock);
    struct index_node *n = index_get(&w->index, rec->key);
    int r = n ? 0 : -EINVAL;
    if (n && n->queued) {
        op_node_set(n->queued, rec);
    } else if (n) {
        struct op_node *op = op_node_new(n, rec);
        if (writer_push_record(w, &op->op))
            n->queued = op;
        else
            r = -EAGAIN;
    }
    return r;
}

/* As an append: refused if too much is queued; done is called when it is durable. */
static int writer_tell(struct writer *w, struct op_callback *o, store_done_fn *done, void *arg)
{
    o->done = done;
    o->arg = arg;
    pthread_mutex_lock(&w->lock);
    int r = w->stop ? -ESHUTDOWN : w->bytes + o->op.size > w->queue_max ? -EAGAIN : 0;
    if (r == 0) {
        writer_push(w, &o->op);
        writer_cut_rest(w); /* a user may be waiting */
    }
    pthread_mutex_unlock(&w->lock);
    if (r == 0)
        return 0;
    free(o);
    done_add(w->done, (struct done){done, arg, r});
    done_wake(w->done);
    return r;
}

int writer_put(struct writer *w, unsigned part, int64_t epoch, enum store_kind kind, const void *v, size_t n,
               store_done_fn *done, void *arg)
{
    if (kind == STORE_NODE)
        return writer_put_node(w, v);
    struct store_op *op = op_records_new(kind, v, n);
    if (!op)
        return -EMSGSIZE;
    op->epoch = epoch;
    op->part = part;
    if (op_has_callback(op))
        return writer_tell(w, (struct op_callback *)op, done, arg);
    LOCKED(&w->lock);
    bool room = writer_push_record(w, op);
    return room ? 0 : -EAGAIN;
}

void writer_take_over(struct writer *w, const char *from, const char *to)
{
    LOCKED(&w->lock);
    struct index_node *n = index_find(&w->index, from);
    if (n)
        n->queued = NULL; /* a record put after this is a new one, not part of the takeover */
    writer_push_record(w, &op_take_over_new(from, to)->op);
}

void writer_stat(struct writer *w, struct store_stat *ret)
{
    LOCKED(&w->lock);
    *ret = w->stat;
    ret->queue_bytes = w->bytes;
    ret->files_bytes += w->history_bytes;
    ret->damaged_columns = w->history_damaged;
    due_stat(&w->due, ret);
}

uint64_t writer_changes(struct writer *w, int64_t to_ms)
{
    LOCKED(&w->lock);
    return changes_before(&w->changes, to_ms);
}

void writer_changed(struct writer *w)
{
    LOCKED(&w->lock);
    changes_add(&w->changes, INT64_MIN);
}

size_t writer_logs(struct writer *w, struct log_ref **ret)
{
    LOCKED(&w->lock);
    *ret = mem_dup(w->logs_now, w->n_logs_now, sizeof(**ret));
    return w->n_logs_now;
}

uint64_t writer_take_overs(struct writer *w)
{
    LOCKED(&w->lock);
    return w->take_overs;
}

_Atomic uint64_t *writer_history_versions(struct writer *w)
{
    return &w->history_versions;
}

bool writer_has_logs(struct writer *w, const struct log_ref *v, size_t n)
{
    LOCKED(&w->lock);
    size_t found = 0;

    for (size_t i = 0; i < w->n_logs_now && found < n; i++) /* both are sorted by number */
        found += w->logs_now[i].n == v[found].n;
    return found == n;
}

size_t writer_rows(struct writer *w, const char *node, uint64_t **ret, uint64_t *ret_from)
{
    LOCKED(&w->lock);
    struct index_node *x = index_find(&w->index, node);
    *ret = x ? mem_dup(x->rows, x->n_rows, sizeof(**ret)) : NULL;
    *ret_from = w->notes_from;
    return x ? x->n_rows : 0;
}

void writer_seal(struct writer *w)
{
    LOCKED(&w->lock);
    w->seal = true;
}

void writer_compacted(struct writer *w, int64_t log)
{
    LOCKED(&w->lock);
    VEC_ADD(w->compacted, w->n_compacted, w->cap_compacted, log);
    w->news = true;
    if (w->idle)
        wake_ring(w->wake_fd);
}

struct due_logs *writer_due(struct writer *w)
{
    return &w->due;
}

void writer_sent(struct writer *w, int64_t log)
{
    due_sent(&w->due, log);
    LOCKED(&w->lock);
    w->news = true;
    if (w->idle)
        wake_ring(w->wake_fd);
}

void writer_on_seal(struct writer *w, void (*fn)(void *arg), void *arg)
{
    LOCKED(&w->lock);
    w->on_seal = fn;
    w->on_seal_arg = arg;
}

void writer_set_history(struct writer *w, int64_t files_bytes, uint32_t damaged, const struct err *why)
{
    LOCKED(&w->lock);
    w->stat.history_error = why->code;
    mem_copy_str(w->stat.history_why, sizeof(w->stat.history_why), why->code ? why->msg : "");
    w->history_bytes = files_bytes;
    w->history_damaged = damaged;
}

int writer_flush(struct writer *w, struct err *err)
{
    LOCKED(&w->lock);
    uint64_t mine = ++w->flush_asked;
    w->news = w->hurry = true;
    wake_ring(w->wake_fd);
    while (w->flush_done < mine)
        pthread_cond_wait(&w->flushed, &w->lock);
    struct err e = w->failed.code ? w->failed : w->last;
    w->failed = (struct err){0};
    return e.code ? err_set(err, e.code, "%s", e.msg) : 0;
}
