/* packet.c: counts references to packets and enclosures. Not thread-safe: the count is a plain number. */
#include "wire/packet.h"

#include "base/mem.h"

struct enclosure *enclosure_new(uint64_t id, struct buf *frame)
{
    struct enclosure *b = NEW(struct enclosure, .refs = 1, .id = id, .frame = *frame);
    *frame = (struct buf){.max = frame->max};
    return b;
}

bool enclosure_renew(struct enclosure **e, uint64_t id, struct buf *frame)
{
    if (*e && (*e)->id == id)
        return false;
    enclosure_unref(*e);
    *e = enclosure_new(id, frame);
    return true;
}

struct enclosure *enclosure_ref(struct enclosure *b)
{
    if (b)
        b->refs++;
    return b;
}

void enclosure_unref(struct enclosure *b)
{
    if (!b || --b->refs)
        return;
    buf_fini(&b->frame);
    free(b);
}

struct packet *packet_new(const struct batch_key *key, int64_t at_ms, struct enclosure *facts, struct enclosure *procs,
                          struct buf *frame)
{
    struct packet *p = NEW(struct packet, .refs = 1, .run = key->run, .number = key->number, .at_ms = at_ms,
                           .facts = enclosure_ref(facts), .procs = enclosure_ref(procs), .frame = *frame);
    *frame = (struct buf){.max = frame->max};
    return p;
}

struct packet *packet_ref(struct packet *p)
{
    p->refs++;
    return p;
}

void packet_unref(struct packet *p)
{
    if (!p || --p->refs)
        return;
    enclosure_unref(p->facts);
    enclosure_unref(p->procs);
    buf_fini(&p->frame);
    free(p);
}
