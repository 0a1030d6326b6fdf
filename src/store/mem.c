/*
 * mem.c: the store in memory, for tests of what stands on it: vectors, searched from end to end. Results still come
 * back through the loop, never from inside store_append.
 */
#include <errno.h>

#include "base/mem.h"
#include "store/backend.h"
#include "store/index.h"
#include "store/mem_usage.h"
#include "store/past.h"

struct ram_batch {
    struct store_batch b;
    char node[NODE_KEY_MAX];
};
struct ram_blob {
    char node[NODE_KEY_MAX];
    uint64_t id;
    struct buf bytes;
};
struct ram_proc {
    struct store_proc p;
    char node[NODE_KEY_MAX], device[UUID_MAX];
};
struct ram_event {
    struct node_event e;
    char node[NODE_KEY_MAX], device[UUID_MAX];
};
struct ram_setting {
    char *name;
    struct buf value;
};

#define VEC(type)                                                                                                      \
    struct {                                                                                                           \
        type *v;                                                                                                       \
        size_t n, cap;                                                                                                 \
    }

struct ram {
    struct store store;
    struct done_queue done;
    struct index index;
    struct store_stat stat;
    int fail;
    const struct store_decoder *dec;
    VEC(struct ram_batch) batches;
    VEC(struct ram_blob) blobs;
    VEC(struct store_node) nodes;
    VEC(struct ram_proc) procs;
    VEC(struct ram_event) events;
    VEC(struct job_fact *) jobs;
    VEC(struct booking *) holds;
    VEC(struct note) notes;
    struct ram_usage usage;
    VEC(struct store_token) tokens;
    unsigned long long tokens_version;
    VEC(struct ram_setting) settings;
};

/* A zeroed element at the end of one of them. */
#define VEC_PUSH(to, vec)                                                                                              \
    do {                                                                                                               \
        VEC_ROOM((vec).v, (vec).n, (vec).cap);                                                                         \
        (to) = &(vec).v[(vec).n++];                                                                                    \
        memset((to), 0, sizeof(*(to)));                                                                                \
    } while (0)

static struct ram *ram(struct store *s)
{
    return (struct ram *)s;
}

static const struct store_ops ram_ops;

int store_open_mem(struct store **ret, struct event_base *loop)
{
    struct ram *m = mem_zero(1, sizeof(*m));
    int r = done_init(&m->done, loop);

    if (r < 0) {
        free(m);
        return r;
    }
    m->store.ops = &ram_ops;
    *ret = &m->store;
    return 0;
}

void store_mem_fail(struct store *s, int code)
{
    if (s->ops == &ram_ops)
        ram(s)->fail = code;
}

static void ram_close(struct store *s)
{
    struct ram *m = ram(s);

    done_fini(&m->done);
    for (size_t i = 0; i < m->batches.n; i++)
        free((char *)m->batches.v[i].b.bytes.p);
    for (size_t i = 0; i < m->blobs.n; i++)
        buf_fini(&m->blobs.v[i].bytes);
    for (size_t i = 0; i < m->settings.n; i++) {
        buf_fini(&m->settings.v[i].value);
        free(m->settings.v[i].name);
    }
    for (size_t i = 0; i < m->jobs.n; i++)
        free(m->jobs.v[i]);
    free(m->jobs.v);
    for (size_t i = 0; i < m->holds.n; i++)
        free(m->holds.v[i]);
    free(m->holds.v);
    for (size_t i = 0; i < m->notes.n; i++)
        free((char *)m->notes.v[i].bytes.p);
    free(m->notes.v);
    ram_usage_fini(&m->usage);
    free(m->batches.v);
    free(m->blobs.v);
    free(m->nodes.v);
    free(m->procs.v);
    free(m->events.v);
    free(m->tokens.v);
    free(m->settings.v);
    index_fini(&m->index);
    free(m);
}

static int ram_flush(struct store *s, struct err *err)
{
    (void)err;
    if (!ram(s)->done.ev)
        done_run(&ram(s)->done);
    return 0;
}

/* ---- batches ---- */

static int ram_take(struct ram *m, const struct store_batch *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!index_get(&m->index, b[i].node))
            return -EINVAL;
    for (size_t i = 0; i < n && m->fail; i++) /* what is kept already needs no disk */
        if (!seen_has(&index_find(&m->index, b[i].node)->seen, b[i].run, b[i].number))
            return m->fail;
    for (size_t i = 0; i < n; i++) {
        struct index_node *node = index_find(&m->index, b[i].node);
        if (seen_has(&node->seen, b[i].run, b[i].number)) {
            m->stat.repeats++;
            continue;
        }
        seen_add(&node->seen, b[i].run, b[i].number, 1);
        struct ram_batch *to;
        VEC_PUSH(to, m->batches);
        to->b = b[i];
        to->b.bytes.p = mem_strn(b[i].bytes.p, b[i].bytes.len);
        mem_copy_str(to->node, sizeof(to->node), b[i].node);
        m->stat.batches++;
        m->stat.bytes += b[i].bytes.len;
    }
    return 0;
}

static void ram_append(struct store *s, const struct store_batch *b, size_t n, store_done_fn *done, void *arg)
{
    struct ram *m = ram(s);
    int r = ram_take(m, b, n);

    m->stat.last_error = r;
    m->stat.commits += r == 0;
    done_add(&m->done, (struct done){done, arg, r});
    done_wake(&m->done);
}

static bool ram_has(struct store *s, const char *node, uint64_t run, uint64_t number)
{
    struct index_node *n = index_find(&ram(s)->index, node);

    return n && seen_has(&n->seen, run, number);
}

static int ram_scan(struct store *s, int (*each)(void *arg, const struct store_batch *b), void *arg, struct err *err)
{
    int r = 0;

    (void)err;
    for (size_t i = 0; i < ram(s)->batches.n && r == 0; i++) {
        struct store_batch b = ram(s)->batches.v[i].b;
        b.node = ram(s)->batches.v[i].node;
        r = each(arg, &b);
    }
    return r;
}

/* ---- blobs, nodes ---- */

static struct ram_blob *ram_find_blob(struct ram *m, const char *node, uint64_t id)
{
    for (size_t i = 0; i < m->blobs.n; i++)
        if (m->blobs.v[i].id == id && strcmp(m->blobs.v[i].node, node) == 0)
            return &m->blobs.v[i];
    return NULL;
}

static void ram_put_blob(struct store *s, const char *node, enum blob_kind kind, uint64_t id, struct str bytes)
{
    (void)kind;
    if (ram_find_blob(ram(s), node, id))
        return;
    struct ram_blob *b;
    VEC_PUSH(b, ram(s)->blobs);
    mem_copy_str(b->node, sizeof(b->node), node);
    b->id = id;
    b->bytes = BUF_INIT(bytes.len);
    buf_addstr(&b->bytes, bytes);
}

static bool ram_has_blob(struct store *s, const char *node, uint64_t id)
{
    return ram_find_blob(ram(s), node, id) != NULL;
}

static int ram_give(const struct buf *from, struct buf *ret, struct err *err)
{
    if (ret->max == 0)
        *ret = BUF_INIT(from->len);
    int r = buf_addstr(ret, buf_str(from));
    return r < 0 ? err_set(err, r, "cannot read from the store: the value is larger than expected") : 1;
}

static int ram_get_blob(struct store *s, const char *node, uint64_t id, struct buf *ret, struct err *err)
{
    struct ram_blob *b = ram_find_blob(ram(s), node, id);

    return b ? ram_give(&b->bytes, ret, err) : 0;
}

static struct store_node *ram_find_node(struct ram *m, const char *key)
{
    for (size_t i = 0; i < m->nodes.n; i++)
        if (strcmp(m->nodes.v[i].key, key) == 0)
            return &m->nodes.v[i];
    return NULL;
}

static int64_t ram_earlier(int64_t a, int64_t b) /* 0: not known */
{
    return a == 0 ? b : b == 0 ? a : MIN(a, b);
}

static void ram_put_node(struct store *s, const struct store_node *n)
{
    struct store_node *to = ram_find_node(ram(s), n->key);
    int64_t first = ram_earlier(n->first_ms, to ? to->first_ms : 0), last = MAX(n->last_ms, to ? to->last_ms : 0);
    int64_t sampled = MAX(n->sampled_ms, to ? to->sampled_ms : 0);

    if (!to)
        VEC_PUSH(to, ram(s)->nodes);
    *to = *n;
    to->first_ms = first;
    to->last_ms = last;
    to->sampled_ms = sampled;
}

static int ram_node_order(const void *a, const void *b)
{
    return strcmp(((const struct store_node *)a)->key, ((const struct store_node *)b)->key);
}

static int ram_nodes(struct store *s, void (*each)(void *arg, const struct store_node *n), void *arg, struct err *err)
{
    struct ram *m = ram(s);

    (void)err;
    if (m->nodes.n)
        qsort(m->nodes.v, m->nodes.n, sizeof(m->nodes.v[0]), ram_node_order);
    for (size_t i = 0; i < m->nodes.n; i++)
        each(arg, &m->nodes.v[i]);
    return 0;
}

/* ---- processes, events ---- */

static void ram_put_proc(struct store *s, const struct store_proc *p)
{
    struct ram *m = ram(s);
    struct ram_proc *to = NULL;
    int64_t first = p->first_ms, last = p->last_ms, mem_max = p->mem_max;
    bool ended = p->ended;
    uint8_t kind = 0;
    int32_t sm = -1;

    for (size_t i = 0; i < m->procs.n && !to; i++) {
        struct ram_proc *q = &m->procs.v[i];
        if (q->p.fact.pid == p->fact.pid && q->p.fact.start_ms == p->fact.start_ms && strcmp(q->node, p->node) == 0 &&
            strcmp(q->device, p->device) == 0)
            to = q;
    }
    if (to) {
        ended = p->last_ms >= to->p.last_ms ? p->ended : to->p.ended;
        first = MIN(first, to->p.first_ms);
        last = MAX(last, to->p.last_ms);
        mem_max = MAX(mem_max, to->p.mem_max);
        kind = to->p.kind;
        sm = to->p.sm;
    } else {
        VEC_PUSH(to, m->procs);
        mem_copy_str(to->node, sizeof(to->node), p->node);
        mem_copy_str(to->device, sizeof(to->device), p->device);
    }
    char user[sizeof(p->fact.user)];
    memcpy(user, p->fact.user[0] ? p->fact.user : to->p.fact.user, sizeof(user));
    to->p = *p;
    memcpy(to->p.fact.user, user, sizeof(user));
    to->p.first_ms = first;
    to->p.last_ms = last;
    to->p.mem_max = mem_max;
    to->p.ended = ended;
    to->p.kind = p->kind ? p->kind : kind;
    to->p.sm = p->sm >= 0 ? p->sm : sm;
}

static int ram_proc_order(const void *x, const void *y)
{
    const struct ram_proc *a = x, *b = y;
    int c = strcmp(a->node, b->node);

    c = c ? c : strcmp(a->device, b->device);
    c = c ? c : (a->p.fact.start_ms > b->p.fact.start_ms) - (a->p.fact.start_ms < b->p.fact.start_ms);
    return c ? c : (a->p.fact.pid > b->p.fact.pid) - (a->p.fact.pid < b->p.fact.pid);
}

static int ram_procs(struct store *s, const char *node, int64_t from_ms,
                     void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err)
{
    struct ram *m = ram(s);

    (void)err;
    if (m->procs.n)
        qsort(m->procs.v, m->procs.n, sizeof(m->procs.v[0]), ram_proc_order);
    for (size_t i = 0; i < m->procs.n; i++) {
        struct store_proc p = m->procs.v[i].p;
        p.node = m->procs.v[i].node;
        p.device = m->procs.v[i].device;
        if (p.last_ms >= from_ms && (!*node || strcmp(node, p.node) == 0))
            each(arg, &p);
    }
    return 0;
}

static int ram_procs_at(struct store *s, const char *node, int64_t at_ms,
                        void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err)
{
    return ram_procs(s, node, at_ms - 600000, each, arg, err);
}

static int ram_event_order(const void *x, const void *y) /* newest first */
{
    const struct ram_event *a = x, *b = y;
    int c = (a->e.at_ms < b->e.at_ms) - (a->e.at_ms > b->e.at_ms);

    c = c ? c : strcmp(a->node, b->node);
    c = c ? c : strcmp(a->device, b->device);
    c = c ? c : (int)a->e.kind - (int)b->e.kind;
    return c ? c : (a->e.code > b->e.code) - (a->e.code < b->e.code);
}

static void ram_put_event(struct store *s, const char *node, const char *device, const struct node_event *e)
{
    struct ram *m = ram(s);
    struct ram_event ev = {.e = *e};

    mem_copy_str(ev.node, sizeof(ev.node), node);
    mem_copy_str(ev.device, sizeof(ev.device), device);
    for (size_t i = 0; i < m->events.n; i++)
        if (ram_event_order(&ev, &m->events.v[i]) == 0)
            return;
    struct ram_event *to;
    VEC_PUSH(to, m->events);
    *to = ev;
}

static int ram_events(struct store *s, const char *node, int64_t from_ms, size_t limit,
                      void (*each)(void *arg, const char *node, const char *device, const struct node_event *e),
                      void *arg, struct err *err)
{
    struct ram *m = ram(s);

    (void)err;
    if (m->events.n)
        qsort(m->events.v, m->events.n, sizeof(m->events.v[0]), ram_event_order);
    for (size_t i = 0; i < m->events.n && limit; i++) {
        const struct ram_event *e = &m->events.v[i];
        if (e->e.at_ms < from_ms || (*node && strcmp(node, e->node) != 0))
            continue;
        each(arg, e->node, e->device, &e->e);
        limit--;
    }
    return 0;
}

/* ---- jobs ---- */

static struct job_fact **ram_find_job(struct ram *m, int64_t id)
{
    for (size_t i = 0; i < m->jobs.n; i++)
        if (m->jobs.v[i]->id == id)
            return &m->jobs.v[i];
    return NULL;
}

static void ram_done(struct ram *m, store_done_fn *done, void *arg)
{
    done_add(&m->done, (struct done){done, arg, m->fail});
    done_wake(&m->done);
}

static void ram_job_put(struct store *s, const struct job_fact *j, store_done_fn *done, void *arg)
{
    struct ram *m = ram(s);
    struct job_fact **to;

    if (!m->fail && !ram_find_job(m, j->id)) {
        VEC_PUSH(to, m->jobs);
        *to = job_copy(j);
    }
    ram_done(m, done, arg);
}

static void ram_job_to(struct job_fact **at, const struct job_change *c)
{
    struct job_fact j = job_changed(*at, c), *old = *at;

    *at = job_copy(&j);
    free(old);
}

static void ram_job_change(struct store *s, const struct job_change *c, store_done_fn *done, void *arg)
{
    struct ram *m = ram(s);
    struct job_fact **at = ram_find_job(m, c->id);

    if (!m->fail && at)
        ram_job_to(at, c);
    ram_done(m, done, arg);
}

static int ram_job_get(struct store *s, int64_t id, struct job_fact **ret, struct err *err)
{
    struct job_fact **at = ram_find_job(ram(s), id);

    (void)err;
    if (at)
        *ret = job_copy(*at);
    return at != NULL;
}

static int ram_jobs(struct store *s, const struct job_ask *ask, void (*each)(void *arg, const struct job_fact *j),
                    void *arg, struct err *err)
{
    struct ram *m = ram(s);
    size_t given = 0;

    if (m->jobs.n)
        qsort(m->jobs.v, m->jobs.n, sizeof(m->jobs.v[0]), job_order);
    for (size_t i = 0; i < m->jobs.n && given < MAX(ask->limit, 1u); i++) {
        if (ask->stop && ask->stop(ask->stop_arg))
            return err_set(err, -ECANCELED, "stopped");
        if (job_fits(m->jobs.v[i], ask)) {
            each(arg, m->jobs.v[i]);
            given++;
        }
    }
    return 0;
}

struct ram_in { /* ram_procs, cut off */
    int64_t to_ms;
    void (*each)(void *arg, const struct store_proc *p);
    void *arg;
};

static void ram_before(void *arg, const struct store_proc *p)
{
    struct ram_in *k = arg;

    if (p->first_ms < k->to_ms)
        k->each(k->arg, p);
}

static int ram_procs_in(struct store *s, const char *node, int64_t from_ms, int64_t to_ms,
                        void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err)
{
    struct ram_in k = {to_ms, each, arg};

    return ram_procs(s, node, from_ms, ram_before, &k, err);
}

/* ---- usage ---- */

static void ram_put_usage(struct store *s, const struct usage_put *u)
{
    ram_usage_put(&ram(s)->usage, u);
}

static void ram_mark_usage(struct store *s, const char *node, int64_t at_ms, int64_t seq)
{
    ram_usage_mark(&ram(s)->usage, node, at_ms, seq);
}

static int ram_ask_usage(struct store *s, const struct usage_ask *ask,
                         int (*each)(void *arg, const char *node, const struct usage_span *span), void *arg,
                         struct err *err)
{
    return ram_usage_ask(&ram(s)->usage, ask, each, arg, err);
}

static int ram_usage_marks(struct store *s, void (*each)(void *arg, const char *node, int64_t at_ms, int64_t seq),
                           void *arg, struct err *err)
{
    struct ram_usage *u = &ram(s)->usage;

    (void)err;
    for (size_t i = 0; i < u->n_marks; i++)
        each(arg, u->marks[i].node, u->marks[i].at_ms, u->marks[i].seq);
    return 0;
}

static int ram_reach_usage(struct store *s,
                           void (*each)(void *arg, const char *node, int64_t first_ms, int64_t last_ms), void *arg,
                           struct err *err)
{
    (void)err;
    ram_usage_reach(&ram(s)->usage, each, arg);
    return 0;
}

/* ---- notes ---- */

static struct note *ram_find_note(struct ram *m, int32_t kind, int64_t id)
{
    for (size_t i = 0; i < m->notes.n; i++)
        if (m->notes.v[i].kind == kind && m->notes.v[i].id == id)
            return &m->notes.v[i];
    return NULL;
}

static int note_order(const void *x, const void *y)
{
    const struct note *a = x, *b = y;

    return (a->id > b->id) - (a->id < b->id);
}

static void ram_notes_put(struct store *s, const struct note *v, size_t n, store_done_fn *done, void *arg)
{
    struct ram *m = ram(s);

    for (size_t i = 0; i < n && !m->fail; i++) {
        struct note *at = ram_find_note(m, v[i].kind, v[i].id);
        if (at) {
            free((char *)at->bytes.p);
            *at = m->notes.v[--m->notes.n];
        }
        if (v[i].gone)
            continue;
        VEC_PUSH(at, m->notes);
        *at = v[i];
        at->bytes = str_n(mem_strn(v[i].bytes.p, v[i].bytes.len), v[i].bytes.len);
    }
    if (m->notes.n)
        qsort(m->notes.v, m->notes.n, sizeof(m->notes.v[0]), note_order);
    ram_done(m, done, arg);
}

static int ram_notes(struct store *s, int32_t kind, bool open, void (*each)(void *arg, const struct note *n), void *arg,
                     struct err *err)
{
    struct ram *m = ram(s);

    (void)err;
    for (size_t i = 0; i < m->notes.n; i++)
        if (m->notes.v[i].kind == kind && (!open || !m->notes.v[i].over_ms))
            each(arg, &m->notes.v[i]);
    return 0;
}

/* ---- holds ---- */

static struct booking **ram_find_booking(struct ram *m, int64_t id)
{
    struct booking **most = NULL;

    for (size_t i = 0; i < m->holds.n; i++) {
        if (id && m->holds.v[i]->id == id)
            return &m->holds.v[i];
        if (!id && (!most || m->holds.v[i]->id > (*most)->id))
            most = &m->holds.v[i];
    }
    return most;
}

static void ram_booking_put(struct store *s, const struct booking *h, store_done_fn *done, void *arg)
{
    struct ram *m = ram(s);
    struct booking **at = ram_find_booking(m, h->id);

    if (!m->fail) {
        if (!at)
            VEC_PUSH(at, m->holds);
        free(*at);
        *at = booking_copy(h);
    }
    ram_done(m, done, arg);
}

static int ram_booking_get(struct store *s, int64_t id, struct booking **ret, struct err *err)
{
    struct booking **at = ram_find_booking(ram(s), id);

    (void)err;
    if (at)
        *ret = booking_copy(*at);
    return at != NULL;
}

static int ram_holds(struct store *s, int64_t from_ms, int64_t to_ms, void (*each)(void *arg, const struct booking *h),
                     void *arg, struct err *err)
{
    struct ram *m = ram(s);

    (void)err;
    if (m->holds.n)
        qsort(m->holds.v, m->holds.n, sizeof(m->holds.v[0]), booking_order);
    for (size_t i = 0; i < m->holds.n; i++)
        if (m->holds.v[i]->until_ms > from_ms && (!to_ms || m->holds.v[i]->from_ms < to_ms))
            each(arg, m->holds.v[i]);
    return 0;
}

/* ---- takeover ---- */

static void ram_drop_node(struct ram *m, const char *key)
{
    struct store_node *n = ram_find_node(m, key);

    for (size_t i = m->procs.n; i-- > 0;)
        if (strcmp(m->procs.v[i].node, key) == 0)
            m->procs.v[i] = m->procs.v[--m->procs.n];
    for (size_t i = m->events.n; i-- > 0;)
        if (strcmp(m->events.v[i].node, key) == 0)
            m->events.v[i] = m->events.v[--m->events.n];
    for (size_t i = m->tokens.n; i-- > 0;)
        if (strcmp(m->tokens.v[i].node, key) == 0 && strcmp(m->tokens.v[i].role, "agent") == 0)
            m->tokens.v[i] = m->tokens.v[--m->tokens.n];
    if (n)
        *n = m->nodes.v[--m->nodes.n];
}

static void ram_take_over(struct store *s, const char *from, const char *to)
{
    struct ram *m = ram(s);
    if (!*to) {
        ram_drop_node(m, from);
        return;
    }
    struct store_node *old = ram_find_node(m, from), *new = ram_find_node(m, to);

    for (size_t i = 0; i < m->batches.n; i++)
        if (strcmp(m->batches.v[i].node, from) == 0)
            mem_copy_str(m->batches.v[i].node, NODE_KEY_MAX, to);
    for (size_t i = m->blobs.n; i-- > 0;)
        if (strcmp(m->blobs.v[i].node, from) == 0)
            ram_put_blob(s, to, 0, m->blobs.v[i].id, buf_str(&m->blobs.v[i].bytes));
    for (size_t i = 0; i < m->procs.n; i++)
        if (strcmp(m->procs.v[i].node, from) == 0)
            mem_copy_str(m->procs.v[i].node, NODE_KEY_MAX, to);
    for (size_t i = 0; i < m->events.n; i++)
        if (strcmp(m->events.v[i].node, from) == 0)
            mem_copy_str(m->events.v[i].node, NODE_KEY_MAX, to);
    for (size_t i = 0; i < m->jobs.n; i++)
        if (strcmp(m->jobs.v[i]->node, from) == 0)
            ram_job_to(&m->jobs.v[i], &(struct job_change){.end_ms = -1, .node = to});
    ram_usage_move(&m->usage, from, to);
    if (old && new) {
        new->first_ms = ram_earlier(new->first_ms, old->first_ms);
        *old = m->nodes.v[--m->nodes.n];
    } else if (old) {
        mem_copy_str(old->key, sizeof(old->key), to);
    }
}

/* ---- tokens, settings ---- */

static struct ram_setting *ram_find_setting(struct ram *m, const char *name)
{
    for (size_t i = 0; i < m->settings.n; i++)
        if (strcmp(m->settings.v[i].name, name) == 0)
            return &m->settings.v[i];
    return NULL;
}

static int ram_setting_get(struct store *s, const char *name, struct buf *ret, struct err *err)
{
    struct ram_setting *v = ram_find_setting(ram(s), name);

    return v ? ram_give(&v->value, ret, err) : 0;
}

static int ram_setting_put(struct store *s, const char *name, struct str value, struct err *err)
{
    struct ram_setting *v = ram_find_setting(ram(s), name);

    (void)err;
    if (!v) {
        VEC_PUSH(v, ram(s)->settings);
        v->name = mem_str(name);
    }
    buf_fini(&v->value);
    v->value = BUF_INIT(value.len);
    buf_addstr(&v->value, value);
    return 0;
}

static int ram_token_put(struct store *s, const struct store_token *t, struct err *err)
{
    struct ram *m = ram(s);
    char version[24];

    (void)err;
    snprintf(version, sizeof(version), "%llu", ++m->tokens_version);
    ram_setting_put(s, STORE_TOKENS_VERSION, str_of(version), NULL);
    for (size_t i = 0; i < m->tokens.n; i++)
        if (strcmp(m->tokens.v[i].id, t->id) == 0) {
            m->tokens.v[i] = *t;
            return 0;
        }
    struct store_token *to;
    if (strcmp(t->role, "agent") == 0 && str_starts(str_of(t->note), STORE_ENROLLED_WITH))
        for (size_t i = 0; i < m->tokens.n; i++)
            if (strcmp(m->tokens.v[i].id, t->note + strlen(STORE_ENROLLED_WITH)) == 0)
                m->tokens.v[i].enrolled++;
    VEC_PUSH(to, m->tokens);
    *to = *t;
    return 0;
}

static int ram_token_get(struct store *s, const char *id, struct store_token *ret, struct err *err)
{
    struct ram *m = ram(s);

    (void)err;
    for (size_t i = 0; i < m->tokens.n; i++)
        if (strcmp(m->tokens.v[i].id, id) == 0) {
            *ret = m->tokens.v[i];
            return 1;
        }
    return 0;
}

static int ram_token_order(const void *x, const void *y)
{
    const struct store_token *a = x, *b = y;
    int c = (a->created_ms > b->created_ms) - (a->created_ms < b->created_ms);

    return c ? c : strcmp(a->id, b->id);
}

static int ram_tokens(struct store *s, const char *node, void (*each)(void *arg, const struct store_token *t),
                      void *arg, struct err *err)
{
    struct ram *m = ram(s);

    (void)err;
    if (m->tokens.n)
        qsort(m->tokens.v, m->tokens.n, sizeof(m->tokens.v[0]), ram_token_order);
    for (size_t i = 0; i < m->tokens.n; i++)
        if (!node[0] || strcmp(m->tokens.v[i].node, node) == 0)
            each(arg, &m->tokens.v[i]);
    return 0;
}

/* ---- history: every batch is decoded, every time ---- */

static void ram_set_decoder(struct store *s, const struct store_decoder *d)
{
    ram(s)->dec = d;
}

static int ram_history_tier(struct store *s, const struct history_ask *ask)
{
    return past_tier(&(struct store_conf){.decoder = ram(s)->dec}, ask);
}

static int ram_read(struct ram *m, void *d, const struct ram_batch *from, struct sink *sink)
{
    struct batch b;
    struct node_fact f = {0};
    struct ram_blob *blob = from->b.facts ? ram_find_blob(m, from->node, from->b.facts) : NULL;

    if (sink->stop && sink->stop(sink->stop_arg))
        return -ECANCELED;
    bool known = blob && m->dec->facts(d, buf_str(&blob->bytes), &f, NULL) == 0;
    int r = m->dec->batch(d, from->b.bytes, &b, NULL);
    if (r < 0)
        sink->damaged++;
    else
        r = sink->batch(sink, &b, known ? &f : NULL, from->b.shift_ms);
    if (known)
        node_fact_fini(&f);
    return r == -ECANCELED || r == -E2BIG ? r : 0;
}

static int ram_history(struct store *s, const char *node, int tier, struct sink *sink, struct err *err)
{
    struct ram *m = ram(s);
    int r = 0;

    (void)tier;
    if (!m->dec)
        return err_set(err, -ENOTSUP, "this store has no decoder");
    void *d = m->dec->make();
    for (size_t i = 0; i < m->batches.n && r == 0; i++)
        if (strcmp(m->batches.v[i].node, node) == 0)
            r = ram_read(m, d, &m->batches.v[i], sink);
    m->dec->end(d);
    return r < 0 ? err_set(err, r, "cannot read history: %s", strerror(-r)) : 0;
}

static void ram_stat(struct store *s, struct store_stat *ret)
{
    *ret = ram(s)->stat;
}

static const struct store_ops ram_ops = {
    .name = "mem",
    .close = ram_close,
    .flush = ram_flush,
    .append = ram_append,
    .has = ram_has,
    .put_blob = ram_put_blob,
    .has_blob = ram_has_blob,
    .get_blob = ram_get_blob,
    .put_node = ram_put_node,
    .nodes = ram_nodes,
    .take_over = ram_take_over,
    .put_proc = ram_put_proc,
    .procs = ram_procs,
    .procs_in = ram_procs_in,
    .put_event = ram_put_event,
    .events = ram_events,
    .job_put = ram_job_put,
    .job_change = ram_job_change,
    .job_get = ram_job_get,
    .jobs = ram_jobs,
    .usage_put = ram_put_usage,
    .usage_mark = ram_mark_usage,
    .usage = ram_ask_usage,
    .usage_marks = ram_usage_marks,
    .usage_reach = ram_reach_usage,
    .notes_put = ram_notes_put,
    .notes = ram_notes,
    .booking_put = ram_booking_put,
    .booking_get = ram_booking_get,
    .holds = ram_holds,
    .token_put = ram_token_put,
    .token_put_soon = ram_token_put,
    .token_get = ram_token_get,
    .tokens = ram_tokens,
    .setting_get = ram_setting_get,
    .setting_put = ram_setting_put,
    .scan = ram_scan,
    .stat = ram_stat,
    .history_tier = ram_history_tier,
    .history = ram_history,
    .procs_at = ram_procs_at,
    .set_decoder = ram_set_decoder,
    .settle = ram_flush,
};
