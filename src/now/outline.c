/* outline.c: hashes a node without its values and their times. */
#include "now/outline.h"

#include "base/rand.h"

static uint64_t mix(uint64_t h, uint64_t v)
{
    return (h ^ v) * 0x9e3779b97f4a7c15ull + (h >> 29);
}

static uint64_t mix_text(uint64_t h, const char *text)
{
    return mix(h, text ? fnv64(text, strlen(text)) : 0);
}

static uint64_t mix_booking(uint64_t h, const struct booking_now *b)
{
    return b ? mix(mix(mix(h, (uint64_t)b->id), (uint64_t)b->from_ms), (uint64_t)b->until_ms) : mix(h, 0);
}

static uint64_t mix_device(uint64_t h, const struct device_now *d)
{
    h = mix_text(h, d->fact.uuid);
    h = mix(h, (uint64_t)d->state);
    h = mix(h, (uint64_t)d->since_ms);
    if (d->state != DEV_FREE && d->state != DEV_HELD && d->state != DEV_BUSY) /* of these it has values in it */
        h = mix_text(h, d->reason);
    h = mix(h, d->n_procs);
    for (size_t i = 0; i < d->n_procs; i++)
        h = mix(mix(h, (uint64_t)d->procs[i].fact->pid), (uint64_t)d->procs[i].fact->start_ms);
    h = mix(h, d->n_advice);
    for (size_t i = 0; i < d->n_advice; i++)
        h = mix(h, (uint64_t)d->advice[i].from_ms);
    return mix_booking(mix_booking(h, d->booking), d->next);
}

uint64_t node_outline(const struct node_now *n)
{
    uint64_t h = mix_text(0, n->name);

    h = mix(h, (uint64_t)n->state);
    h = mix(h, (uint64_t)n->since_ms);
    h = mix_text(h, n->reason);
    h = mix_text(h, n->was);
    h = mix(h, (uint64_t)n->collect << 3 | (uint64_t)n->retired << 2 | (uint64_t)n->maintenance << 1 | n->awaited);
    h = mix(h, n->n_devices);
    for (size_t i = 0; i < n->n_devices; i++)
        h = mix_device(h, &n->devices[i]);
    return h;
}
