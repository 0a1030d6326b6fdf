/*
 * writer.c: the store's writer thread; writer_query.c has its queue. The first operation after a quiet period is
 * committed immediately. After each commit the thread rests for commit_ms, so that under load a commit covers
 * everything that arrived meanwhile. A nudge ends the rest: operations that arrive together are committed together, as
 * soon as they are complete. Checkpoints, rotation and retention run after the results were delivered.
 */
#include "store/writer_parts.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>

#include "base/buf.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/thread.h"
#include "sql/pg.h"
#include "store/archive.h"
#include "store/group.h"
#include "store/usage_table.h"

#define COMMIT_MS   200
#define TICK_MS     60000 /* interval of the checks of age and size of the files when idle */
#define LOOK_ROUNDS 64    /* and after this many commits under load */
/* old records are deleted in steps of this size: a commit that waits for one is hardly delayed */
#define DROP_ROWS  256
#define DROP_AUDIT 4096 /* audit log entries are small; deleting must keep up with new ones */
#define RETRY_MS   1000 /* a failed write is retried after this, if nothing else arrives */
#define REST_LEAST 100  /* minimum ms of a rest, not cut short */
#define TRIES      4    /* on a server that other hubs write to */
#define BLOB_AHEAD 8    /* a blob is kept for less than this many logs after the one that names it */

/* Returns false on timeout. Uses poll because timed condition variables need the wall clock. */
static bool writer_sleep(struct writer *w, int64_t ms)
{
    struct pollfd p = {.fd = w->wake_fd, .events = POLLIN};
    int n = poll(&p, 1, (int)MIN(ms, INT32_MAX));

    if (n > 0)
        wake_clear(w->wake_fd);
    return n != 0;
}

/* ---- the commit ---- */

/*
 * If all blobs were kept up to this log only, the next log would touch the blobs of every node in one commit, and
 * agents would wait for that.
 */
static int64_t blob_ahead(const struct index_node *n, int64_t log)
{
    return (int64_t)((fnv64(n->key, strlen(n->key)) >> 8 ^ (uint64_t)log) % BLOB_AHEAD);
}

/* Finds blobs that the log does not name yet. Marks them as written; unmarks them on failure. */
static void writer_find_touches(struct writer *w, struct store_op *ops, int64_t log)
{
    struct commit_group *g = &w->group;

    LOCKED(&w->lock);
    for (; ops; ops = ops->next) {
        struct op_append *a = (struct op_append *)ops;
        for (size_t i = 0; ops->kind == OP_APPEND && i < 2 * a->n; i++) {
            struct op_batch *b = &a->v[i / 2];
            uint64_t id = i % 2 ? b->b.procs : b->b.facts;
            struct node_blob *blob = id ? index_put_blob(b->node, id) : NULL;
            if (!blob || blob->log >= log)
                continue;
            blob->log = log + blob_ahead(b->node, log);
            VEC_ADD(g->touches, g->n_touches, g->cap_touches, (struct blob_touch){b->node, id, blob->log, false});
        }
    }
}

static void writer_undo_touches(struct writer *w)
{
    for (size_t i = 0; i < w->group.n_touches; i++) {
        struct node_blob *blob = index_blob(w->group.touches[i].node, w->group.touches[i].id);
        if (blob)
            blob->log = 0;
    }
}

/* With the lock: blobs that expired must be sent again before batches that name them are accepted. */
static void writer_lose_missing(struct writer *w)
{
    for (size_t i = 0; i < w->group.n_touches; i++) {
        const struct blob_touch *t = &w->group.touches[i];
        struct node_blob *b = t->missing ? index_put_blob(t->node, t->id) : NULL;
        if (b && !b->queued)
            *b = (struct node_blob){.id = t->id, .lost = true};
    }
}

static void writer_list(struct writer *w)
{
    struct log_ref *v;
    struct log_sum *due;
    size_t n = logs_list(w->logs, &v), n_due = logs_due(w->logs, &due);

    pthread_mutex_lock(&w->lock);
    free(w->logs_now);
    w->logs_now = v;
    w->n_logs_now = n;
    pthread_mutex_unlock(&w->lock);
    due_list(&w->due, due, n_due, logs_missed(w->logs));
    w->listed = logs_number(w->logs);
}

static int writer_write(struct writer *w, struct store_op *ops, struct err *err)
{
    int r = logs_current(w->logs, err);

    group_reset(&w->group);
    if (r < 0)
        return r;
    writer_find_touches(w, ops, logs_number(w->logs));
    if (w->shared)
        r = group_write_rows(&w->group, ops, w->rec, logs_rows(w->logs), err);
    else
        r = group_write_records(&w->group, ops, w->rec, logs_file(w->logs), err);
    if (r < 0) {
        pthread_mutex_lock(&w->lock);
        writer_undo_touches(w);
        pthread_mutex_unlock(&w->lock);
        return r;
    }
    if (!w->shared)
        r = group_write_batches(&w->group, ops, logs_file(w->logs), err);
    if (r == -EUCLEAN)
        logs_quarantine(w->logs);
    return r;
}

/* The same on a server: another hub may have adopted the log, or another commit may conflict. */
static int writer_write_shared(struct writer *w, struct store_op *ops, struct err *err)
{
    int r = 0;

    for (int i = 0; i < TRIES; i++) {
        *err = (struct err){0};
        r = writer_write(w, ops, err);
        if (r < 0 && r != -EBUSY) /* the commit may have succeeded: R5 of log_rows.h */
            logs_quarantine(w->logs);
        if (r != -EBUSY && r != -ESTALE)
            break;
    }
    return r;
}

static void blob_is_kept(const struct op_blob *op)
{
    struct node_blob *b = index_blob(op->node, op->id);

    if (b && b->queued == op)
        b->queued = NULL;
}

/* With the lock: makes durable data readable; the rest waits for the next commit. */
static void writer_publish(struct writer *w, struct store_op *ops, int r, const struct err *err,
                           struct op_list *ret_old)
{
    struct op_list again = {0};
    int64_t log = logs_number(w->logs);
    struct store_stat *st = &w->stat;

    for (struct store_op *op = ops, *next; op; op = next) {
        next = op->next;
        if (op->kind != OP_APPEND && !op_has_callback(op) && !op->durable) {
            op_push(&again, op);
            continue;
        }
        struct op_append *a = (struct op_append *)op;
        for (size_t i = 0; op->kind == OP_APPEND && r == 0 && i < a->n; i++)
            if (a->v[i].put || a->v[i].known) {
                seen_add(&a->v[i].node->seen, a->v[i].b.run, a->v[i].b.number, log);
                if (w->notes)
                    index_add_row(a->v[i].node, log, a->v[i].row);
                changes_add(&w->changes, a->v[i].b.at_ms);
            }
        if (op->kind == OP_TAKE_OVER && op->durable) {
            w->take_overs++;
            changes_add(&w->changes, INT64_MIN);
        }
        if (op->kind == OP_BLOB)
            blob_is_kept((struct op_blob *)op);
        w->bytes -= op->size;
        st->usage_queued -= op->kind == OP_USAGE;
        op_push(ret_old, op);
    }
    writer_lose_missing(w);
    if (r == 0) {
        st->batches += w->group.put;
        st->bytes += w->group.bytes;
        st->commits += w->group.wrote;
    }
    st->repeats += w->group.repeats;
    st->lost += w->group.lost;
    st->records += w->group.records;
    if (r < 0 || w->group.wrote) { /* a commit of repeats only says nothing about the disk */
        st->last_error = r;
        mem_copy_str(st->error, sizeof(st->error), r < 0 ? err->msg : "");
    }
    w->flying = NULL;
    op_push_front(&w->queue, &again);
}

static void writer_commit(struct writer *w, struct store_op *ops)
{
    struct err err = {0};
    struct op_list old = {0};
    bool failed = false;
    int r = w->shared ? writer_write_shared(w, ops, &err) : writer_write(w, ops, &err);

    if (w->listed != logs_number(w->logs))
        writer_list(w);
    pthread_mutex_lock(&w->lock);
    writer_publish(w, ops, r, &err, &old);
    pthread_mutex_unlock(&w->lock);
    for (struct store_op *op = old.head; op; op = op->next)
        if (op->kind == OP_APPEND) {
            struct op_append *a = (struct op_append *)op;
            failed |= a->fresh && r < 0;
            done_add(w->done, (struct done){a->done, a->arg, !a->fresh ? 0 : r == 0 && a->refused ? -EAGAIN : r});
        } else if (op_has_callback(op)) {
            struct op_callback *t = (struct op_callback *)op;
            done_add(w->done, (struct done){t->done, t->arg, op->durable ? t->result : r});
        }
    done_wake(w->done);
    op_free_all(old.head);
    uint64_t steps = records_steps(w->rec);
    pthread_mutex_lock(&w->lock);
    if (failed)
        w->failed = err;
    w->last = err;
    w->stat.steps += steps;
    pthread_mutex_unlock(&w->lock);
}

/* ---- between commits ---- */

static void writer_rotate(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    size_t n = w->index.n;
    AUTO_FREE struct index_node **nodes = mem_dup(w->index.v, n, sizeof(*nodes));
    pthread_mutex_unlock(&w->lock);
    logs_rotate(w->logs, nodes, n, NULL); /* errors: retried after the next commit */
    writer_list(w);
    pthread_mutex_lock(&w->lock);
    void (*fn)(void *arg) = w->on_seal;
    void *arg = w->on_seal_arg;
    pthread_mutex_unlock(&w->lock);
    if (fn)
        fn(arg);
}

/* Deletes files of compacted logs. Failures are retried. */
static void writer_drop_compacted(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    int64_t log = w->n_compacted ? w->compacted[--w->n_compacted] : 0;
    pthread_mutex_unlock(&w->lock);
    bool any = log != 0;
    for (; log;) {
        int64_t oldest = 0;
        if (logs_compacted(w->logs, log, &oldest, NULL) < 0) {
            writer_compacted(w, log);
            break;
        }
        writer_list(w);
        pthread_mutex_lock(&w->lock);
        for (size_t i = 0; i < w->index.n; i++) {
            index_drop_rows(w->index.v[i], log);
            if (oldest)
                index_prune(w->index.v[i], oldest);
        }
        log = w->n_compacted ? w->compacted[--w->n_compacted] : 0;
        pthread_mutex_unlock(&w->lock);
    }
    if (any)
        malloc_trim(0); /* memory of compaction, which runs again only in minutes */
}

/* Deletes files of archived logs. Failures are retried. */
static void writer_drop_sent(struct writer *w)
{
    int64_t log = due_take_sent(&w->due);
    bool any = log != 0;

    for (; log && logs_sent(w->logs, log) == 0; log = due_take_sent(&w->due))
        ;
    if (log)
        due_sent(&w->due, log);
    if (any)
        writer_list(w);
}

static void writer_drop_records(struct writer *w)
{
    int64_t before_ms = w->now_ms && w->keep_records_ms ? w->now_ms() - w->keep_records_ms : 0;

    w->dropping = before_ms > 0 && records_drop_old(w->rec, before_ms, DROP_ROWS) == DROP_ROWS;
    before_ms = w->now_ms && w->keep_audit_ms ? w->now_ms() - w->keep_audit_ms : 0;
    int64_t first = note_id_at(before_ms);
    w->dropping |= records_drop_first_notes(w->rec, NOTE_AUDIT, first, AUDIT_MAX, DROP_AUDIT) == DROP_AUDIT;
    before_ms = w->now_ms && w->keep_usage_ms ? w->now_ms() - w->keep_usage_ms : 0;
    if (before_ms > 0 && records_begin(w->rec, NULL) == 0)
        records_end(w->rec, records_drop_usage(w->rec, before_ms), NULL);
}

static void writer_upkeep(struct writer *w, bool quiet)
{
    pthread_mutex_lock(&w->lock);
    bool seal = w->seal;
    w->seal = false;
    pthread_mutex_unlock(&w->lock);
    bool full = logs_full(w->logs) || (seal && logs_any(w->logs));

    logs_tidy(w->logs);
    records_tidy(w->rec);
    if (full)
        writer_rotate(w);
    writer_drop_compacted(w);
    writer_drop_sent(w);
    bool look = full || quiet || ++w->rounds % LOOK_ROUNDS == 0;
    if (look || w->dropping)
        writer_drop_records(w);
    if (!look)
        return;
    uint64_t missed = logs_missed(w->logs);
    int64_t oldest = logs_retain(w->logs);
    int64_t bytes = logs_bytes(w->logs) + records_file_bytes(w->dir);
    if (oldest || missed != logs_missed(w->logs))
        writer_list(w);
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; oldest && i < w->index.n; i++)
        index_prune(w->index.v[i], oldest);
    w->stat.files_bytes = bytes;
    w->stat.damaged = logs_damaged(w->logs);
    pthread_mutex_unlock(&w->lock);
}

/* With the lock: sleeps until there is work or a check is due. */
static void writer_wait(struct writer *w)
{
    while (!w->news && !w->stop) {
        int64_t ms = w->queue.head || w->dropping ? RETRY_MS : TICK_MS;
        w->idle = true;
        pthread_mutex_unlock(&w->lock);
        bool woken = writer_sleep(w, ms);
        pthread_mutex_lock(&w->lock);
        w->idle = false;
        if (!woken)
            break;
    }
}

/*
 * With the lock: returns the operations to commit now. On a server a takeover ends the commit and the log (see
 * group.c): more may follow.
 */
static struct store_op *writer_take_queue(struct writer *w, bool *ret_more)
{
    struct store_op *ops = w->queue.head, *op = ops;

    for (; op && !(w->shared && op->kind == OP_TAKE_OVER); op = op->next)
        if (op->kind == OP_NODE)
            ((struct op_node *)op)->node->queued = NULL;
    w->queue.head = op ? op->next : NULL;
    w->news = w->hurry = *ret_more = w->queue.head != NULL;
    w->nudged = false;
    if (op) {
        op->next = NULL;
        w->seal = true;
    }
    return ops;
}

/* After a commit. */
static void writer_rest(struct writer *w)
{
    int64_t least_ms = MIN(w->commit_ms, REST_LEAST);
    bool woken = writer_sleep(w, least_ms);

    pthread_mutex_lock(&w->lock);
    w->resting = !woken && !w->nudged && w->commit_ms > least_ms;
    bool rest = w->resting;
    pthread_mutex_unlock(&w->lock);
    if (rest)
        writer_sleep(w, w->commit_ms - least_ms);
    pthread_mutex_lock(&w->lock);
    w->resting = false;
    pthread_mutex_unlock(&w->lock);
}

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    bool stop = false, more = false;

    while (!stop) {
        pthread_mutex_lock(&w->lock);
        writer_wait(w);
        uint64_t asked = w->flush_asked;
        struct store_op *ops = w->flying = writer_take_queue(w, &more);
        stop = w->stop && !more;
        pthread_mutex_unlock(&w->lock);

        if (ops)
            writer_commit(w, ops);
        writer_upkeep(w, !ops);
        pthread_mutex_lock(&w->lock);
        w->flush_done = more ? w->flush_done : asked;
        if (!ops)
            w->last = (struct err){0};
        pthread_cond_broadcast(&w->flushed);
        bool hurry = w->hurry || w->stop;
        pthread_mutex_unlock(&w->lock);
        if (!hurry && ops)
            writer_rest(w);
    }
    return NULL;
}

/* ---- open and close ---- */

int writer_open(struct writer **ret, const struct store_conf *conf, struct done_queue *done, struct err *err)
{
    struct writer *w = NEW(struct writer, .commit_ms = conf->commit_ms ? conf->commit_ms : COMMIT_MS,
                           .queue_max = conf->queue_bytes ? (size_t)conf->queue_bytes : QUEUE_BYTES, .done = done,
                           .dir = mem_str(conf->dir), .keep_records_ms = conf->keep_records_ms,
                           .keep_usage_ms = conf->keep_usage_ms, .keep_audit_ms = conf->keep_audit_ms,
                           .now_ms = conf->now_ms, .wake_fd = wake_new(), .shared = conf->url != NULL);

    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->flushed, NULL);
    due_init(&w->due);
    int r = w->wake_fd < 0 ? err_set(err, -errno, "cannot make an eventfd: %s", strerror(errno)) : 0;
    if (r == 0)
        r = records_open(&w->rec, conf->dir, DB_WRITE, err);
    if (r == 0 && records_half_moved(w->rec))
        r = err_set(err, -EBUSY, "a move into this store is not finished: go on with `muster store move FROM TO`");
    if (r == 0 && w->shared)
        pg_set_limit(records_db(w->rec), ROWS_LIMIT_MS);
    if (r == 0)
        r = logs_open(&w->logs, conf, w->rec, &w->index, err);
    if (r == 0) {
        int made = logs_current(w->logs, NULL); /* a full disk must not stop the hub from starting */
        w->notes = conf->decoder != NULL && made == 0 && !w->shared; /* rows in logs of other hubs are unknown */
        w->notes_from = w->notes ? index_row(logs_number(w->logs), log_last_row(logs_file(w->logs)) + 1) : UINT64_MAX;
        writer_list(w);
        w->stat.damaged = logs_damaged(w->logs);
        w->stat.files_bytes = logs_bytes(w->logs) + records_file_bytes(w->dir);
        r = thread_start(&w->thread, NULL, writer_main, w);
        w->running = r == 0;
        if (r < 0)
            err_set(err, r, "cannot start the store's thread: %s", strerror(-r));
    }
    if (r < 0) {
        writer_close(w);
        return r;
    }
    *ret = w;
    return 0;
}

void writer_close(struct writer *w)
{
    if (!w)
        return;
    if (w->running) {
        pthread_mutex_lock(&w->lock);
        w->stop = true;
        wake_ring(w->wake_fd);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
    }
    op_free_all(w->queue.head); /* records that the last attempt could not write */
    logs_close(w->logs);
    records_close(w->rec);
    group_fini(&w->group);
    index_fini(&w->index);
    free(w->logs_now);
    free(w->compacted);
    due_fini(&w->due);
    pthread_cond_destroy(&w->flushed);
    pthread_mutex_destroy(&w->lock);
    if (w->wake_fd >= 0)
        close(w->wake_fd);
    free(w->dir);
    free(w);
}
