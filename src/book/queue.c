/*
 * queue.c: grants GPUs to waits. Waits are bookings without devices, by id; this file only remembers their last
 * heartbeats.
 */
#include "book/queue.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

/* ---- wishes ---- */

void gpu_request_format(const struct gpu_request *w, struct buf *out)
{
    buf_addf(out, "mem=%" PRId64 "%s%s%s free=%" PRId64 " need=%" PRId64 " hold=%" PRId64 " node=%.*s", w->mem,
             w->one_node ? " one" : "", w->told ? " told" : "", w->said ? " said" : "", w->free_ms, w->need_ms,
             w->hold_ms, STR_ARG(w->node));
}

static void read_number(struct str word, const char *name, int64_t *ret)
{
    size_t len = strlen(name);
    int64_t v;

    if (word.len > len && memcmp(word.p, name, len) == 0 && str_int(str_n(word.p + len, word.len - len), &v) && v >= 0)
        *ret = v;
}

void gpu_request_parse(const struct booking *h, struct gpu_request *ret)
{
    struct str rest = str_of(h->where), word;
    int node = str_find(rest, "node=");

    *ret = (struct gpu_request){.count = h->count,
                                .model = str_of(h->model),
                                .free_ms = QUEUE_FREE_MS,
                                .need_ms = QUEUE_NEED_MS,
                                .hold_ms = QUEUE_HOLD_MS};
    if (node >= 0) { /* the last: a pattern may hold anything */
        ret->node = str_n(rest.p + node + 5, rest.len - (size_t)node - 5);
        rest.len = (size_t)node;
    }
    while (str_word(&rest, &word)) {
        ret->one_node |= str_eq(word, "one");
        ret->told |= str_eq(word, "told");
        ret->said |= str_eq(word, "said");
        read_number(word, "mem=", &ret->mem);
        read_number(word, "free=", &ret->free_ms);
        read_number(word, "need=", &ret->need_ms);
        read_number(word, "hold=", &ret->hold_ms);
    }
}

struct pick_request gpu_request_pick(const struct gpu_request *w, const char *person, int64_t id, int64_t now_ms)
{
    return (struct pick_request){.count = w->count,
                                 .model = w->model,
                                 .node = w->node,
                                 .from_ms = now_ms,
                                 .until_ms = now_ms + MAX(w->need_ms, w->hold_ms),
                                 .now_ms = now_ms,
                                 .person = person,
                                 .except = id,
                                 .idle = true,
                                 .idle_ms = w->free_ms,
                                 .mem = w->mem,
                                 .one_node = w->one_node};
}

/* ---- heartbeats ---- */

struct last_beat {
    int64_t id, at_ms;
    bool seen; /* in this round */
    bool said; /* the message about its grant was made */
};

struct queue {
    struct last_beat *v;
    size_t n, cap;
};

struct queue *queue_new(void)
{
    return mem_zero(1, sizeof(struct queue));
}

void queue_free(struct queue *q)
{
    if (q)
        free(q->v);
    free(q);
}

static struct last_beat *find(struct queue *q, int64_t id)
{
    return FIND(q->v, q->n, e, e->id == id);
}

static struct last_beat *hear(struct queue *q, int64_t id, int64_t now_ms)
{
    struct last_beat *e = find(q, id);

    if (!e) {
        VEC_ADD(q->v, q->n, q->cap, (struct last_beat){.id = id});
        e = &q->v[q->n - 1];
    }
    e->at_ms = now_ms;
    e->seen = true;
    return e;
}

void queue_seen(struct queue *q, int64_t id, int64_t now_ms)
{
    hear(q, id, now_ms);
}

bool queue_first_notice(struct queue *q, int64_t id)
{
    struct last_beat *e = find(q, id) ?: hear(q, id, 0);
    bool first = !e->said;

    e->said = true;
    return first;
}

/* ---- grants ---- */

COMPARE(by_id, struct booking *const, ORDER((*x)->id, (*y)->id))

struct line { /* those who wait, first come first: copies, since serving one changes the book */
    struct booking **v;
    size_t n, cap;
};
#define AUTO_LINE __attribute__((cleanup(line_fini))) struct line

static struct line line_read(struct book *b)
{
    size_t n;
    const struct booking *const *all = book_all(b, &n);
    struct line l = {0};

    for (size_t i = 0; i < n; i++)
        if (hold_waits(all[i]) && !book_changing(b, all[i]->id))
            VEC_ADD(l.v, l.n, l.cap, booking_copy(all[i]));
    SORT(l.v, l.n, by_id);
    return l;
}

static void line_fini(struct line *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
}

/* The nodes that have anything to give: while people wait they are few. For free(). */
static const struct node_now **with_room(const struct node_now *const *nodes, size_t n, size_t *ret_n)
{
    const struct node_now **v = mem_zero(MAX(n, 1u), sizeof(*v));

    *ret_n = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < nodes[i]->n_devices; k++) {
            const struct device_now *d = &nodes[i]->devices[k];
            if (d->state == DEV_FREE || (d->state == DEV_HELD && d->booking)) {
                v[(*ret_n)++] = nodes[i];
                break;
            }
        }
    return v;
}

/* Reserves GPUs that suit this wait once they are free for long enough, so that later waits do not get them. */
static void keep(struct book *b, const struct node_now *const *nodes, size_t n, struct pick_request *p,
                 struct buf *kept)
{
    p->idle_ms = 0;
    pick_every(nodes, n, b, p, kept);
}

static void forget_others(struct queue *q)
{
    size_t n = 0;

    for (size_t i = 0; i < q->n; i++)
        if (q->v[i].seen)
            q->v[n++] = q->v[i];
    q->n = n;
}

void queue_serve(struct queue *q, struct book *b, const struct node_now *const *nodes, size_t n, int64_t now_ms,
                 const struct queue_calls *calls)
{
    enum { FRESH_MS = 15000 }; /* a wait with a heartbeat in this time is present */
    AUTO_LINE l = line_read(b);
    size_t n_some;
    AUTO_BUF kept = BUF_INIT(1u << 20);

    for (size_t i = 0; i < q->n; i++)
        q->v[i].seen = book_find(b, q->v[i].id) || book_changing(b, q->v[i].id);
    forget_others(q);
    if (!l.n)
        return;
    AUTO_FREE const struct node_now **some = with_room(nodes, n, &n_some);
    for (size_t i = 0; i < l.n; i++) {
        AUTO_BUF got = BUF_INIT(BOOKING_DEVICES * (size_t)UUID_MAX);
        const struct last_beat *e = find(q, l.v[i]->id);
        struct gpu_request w;
        gpu_request_parse(l.v[i], &w);
        struct pick_request p = gpu_request_pick(&w, l.v[i]->person, l.v[i]->id, now_ms);
        p.kept = &kept;
        if (w.told)
            e = hear(q, l.v[i]->id, now_ms);
        else if (!e) /* from before this hub started: it has the full lease for its next heartbeat */
            e = hear(q, l.v[i]->id, now_ms - FRESH_MS);
        if (now_ms - e->at_ms > QUEUE_LEASE_MS)
            calls->out(calls->arg, l.v[i]);
        else if (now_ms - e->at_ms < FRESH_MS && pick_among(some, n_some, b, &p, &got, NULL) == 0)
            calls->give(calls->arg, l.v[i], &w, got.p);
        else if (pick_possible(nodes, n, &p, NULL) == 0)
            keep(b, some, n_some, &p, &kept);
    }
}

void queue_reserved(struct book *b, const struct node_now *const *nodes, size_t n, int64_t now_ms, struct buf *ret)
{
    AUTO_LINE l = line_read(b);
    size_t n_some;

    AUTO_FREE const struct node_now **some = with_room(nodes, l.n ? n : 0, &n_some);
    for (size_t i = 0; i < l.n; i++) {
        struct gpu_request w;
        gpu_request_parse(l.v[i], &w);
        struct pick_request p = gpu_request_pick(&w, l.v[i]->person, l.v[i]->id, now_ms);
        p.kept = ret;
        if (pick_possible(nodes, n, &p, NULL) == 0)
            keep(b, some, n_some, &p, ret);
    }
}

size_t queue_ahead(struct book *b, int64_t id)
{
    size_t n, ahead = 0;
    const struct booking *const *all = book_all(b, &n);

    for (size_t i = 0; i < n; i++)
        ahead += hold_waits(all[i]) && all[i]->id < id;
    return ahead;
}
