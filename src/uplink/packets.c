/* packets.c: a list of packets, oldest first, and a list of the blobs that the hub is known to have. */
#include "uplink/packets.h"

#include "base/mem.h"
#include "base/order.h"

#define KNOWN_MAX 128

void packets_fini(struct packets *q)
{
    while (q->n)
        packets_remove(q, q->n - 1);
    free(q->v);
    free(q->known);
    *q = (struct packets){0};
}

size_t packet_bytes(const struct packet *p)
{
    return p->frame.len + (p->facts ? p->facts->frame.len : 0) + (p->procs ? p->procs->frame.len : 0);
}

void packets_push(struct packets *q, struct packet *p)
{
    VEC_ADD(q->v, q->n, q->cap, (struct waiting_packet){.p = packet_ref(p)});
    q->bytes += packet_bytes(p);
}

void packets_remove(struct packets *q, size_t i)
{
    q->bytes -= packet_bytes(q->v[i].p);
    packet_unref(q->v[i].p);
    memmove(&q->v[i], &q->v[i + 1], (--q->n - i) * sizeof(q->v[0]));
}

/* Where it is, or n. */
static size_t find_packet(const struct packets *q, uint64_t run, uint64_t number)
{
    return FIRST(q->n, i, q->v[i].p->run == run && q->v[i].p->number == number);
}

bool packets_have(const struct packets *q, uint64_t run, uint64_t number)
{
    return find_packet(q, run, number) < q->n;
}

/* ---- blobs ---- */

/* Its place among the blobs the hub has, or NULL. */
static uint64_t *find_known(const struct packets *q, uint64_t id)
{
    return FIND(q->known, MIN(q->n_known, (size_t)KNOWN_MAX), e, *e == id);
}

static void add_known(struct packets *q, uint64_t id)
{
    if (find_known(q, id))
        return;
    if (q->n_known < KNOWN_MAX)
        VEC_ROOM(q->known, q->n_known, q->cap_known);
    q->known[q->n_known++ % KNOWN_MAX] = id;
}

bool packets_want(const struct packets *q, struct sent_blobs *sent, uint64_t id)
{
    if (id == 0 || find_known(q, id) || ANY(sent->n, i, sent->v[i] == id))
        return false;
    VEC_ADD(sent->v, sent->n, sent->cap, id);
    return true;
}

void packets_learn(struct packets *q, const struct sent_blobs *sent, const struct answer *a)
{
    uint64_t *lacks;

    for (size_t i = 0; i < sent->n; i++)
        add_known(q, sent->v[i]);
    for (size_t i = 0; i < a->n_need; i++)
        if ((lacks = find_known(q, a->need[i])))
            *lacks = 0;
}

/* ---- requests ---- */

static void put_blob(const struct packets *q, struct sent_blobs *sent, const struct enclosure *b, struct buf *body)
{
    if (b && packets_want(q, sent, b->id))
        buf_addstr(body, buf_str(&b->frame));
}

bool packets_fill(struct packets *q, struct sent_blobs *sent, struct buf *body, size_t most, size_t bytes)
{
    for (size_t i = 0; i < q->n; i++) {
        const struct packet *p = q->v[i].p;
        if (i == most || (i && body->len + p->frame.len > bytes))
            return false;
        put_blob(q, sent, p->facts, body);
        put_blob(q, sent, p->procs, body);
        buf_addstr(body, buf_str(&p->frame));
        q->v[i].sent = true;
        q->v[i].tries++;
    }
    return true;
}

void packets_unsend(struct packets *q)
{
    for (size_t i = 0; i < q->n; i++)
        q->v[i].sent = false;
}

size_t packets_stored(struct packets *q, const struct answer *a, packets_stored_fn *stored, void *arg)
{
    size_t n = 0;

    for (size_t k = 0; k < a->n_stored; k++) {
        size_t i = find_packet(q, a->stored[k].run, a->stored[k].number);
        if (i == q->n)
            continue;
        if (stored)
            stored(arg, &q->v[i]);
        packets_remove(q, i);
        n++;
    }
    return n;
}
