/*
 * device_slots.c: merges the readings of several collectors into one list of devices. Pure except for memory
 * allocation.
 */
#include "collect/device_slots.h"

#include "base/mem.h"
#include "base/order.h"

#define NO_SOURCE  UINT32_MAX
#define EVENTS_MAX 1024 /* of one tick */

struct device_slots_seat {
    unsigned source; /* the collector that last saw it */
    bool seen;       /* in this tick */
};

void device_slots_fini(struct device_slots *r)
{
    if (!r)
        return;
    node_fact_fini(&r->facts);
    FREE_ALL(r->samples, r->uses, r->custom, r->events, r->seats);
    *r = (struct device_slots){0};
}

static void device_slots_event(struct device_slots *r, const struct node_event *e)
{
    if (r->n_events >= EVENTS_MAX)
        return;
    VEC_ADD(r->events, r->n_events, r->cap_events, *e);
}

static void device_slots_tell(struct device_slots *r, enum event_kind kind, size_t at, const char *text)
{
    struct node_event e = {.at_ms = r->at_ms, .kind = kind, .slot = (uint16_t)(at + 1)};

    mem_copy_str(e.text, sizeof(e.text), text);
    device_slots_event(r, &e);
}

/* ---- the list ---- */

static void device_slots_remove(struct device_slots *r, size_t at)
{
    size_t after = r->facts.n_devices - at - 1;

    memmove(&r->facts.devices[at], &r->facts.devices[at + 1], after * sizeof(*r->facts.devices));
    memmove(&r->seats[at], &r->seats[at + 1], after * sizeof(*r->seats));
    memmove(&r->samples[at + 1], &r->samples[at + 2], after * sizeof(*r->samples));
    r->facts.n_devices--;
    r->n_samples--;
}

/* Room for one more, at the end. False when the list is full. */
static bool device_slots_append(struct device_slots *r, const struct device_fact *fact)
{
    size_t n = r->facts.n_devices;

    if (n >= DEVICES_MAX)
        return false;
    if (n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 8;
        r->facts.devices = mem_grow(r->facts.devices, r->cap, sizeof(*r->facts.devices));
        r->seats = mem_grow(r->seats, r->cap, sizeof(*r->seats));
        r->samples = mem_grow(r->samples, r->cap + 1, sizeof(*r->samples));
    }
    r->facts.devices[n] = *fact;
    r->seats[n] = (struct device_slots_seat){.source = NO_SOURCE};
    r->samples[n + 1] = (struct sample){.at_ms = r->at_ms};
    r->facts.n_devices++;
    r->n_samples = n + 2;
    return true;
}

void device_slots_seed(struct device_slots *r, const struct node_fact *before)
{
    for (size_t i = 0; i < before->n_devices; i++)
        if (before->devices[i].uuid[0])
            device_slots_append(r, &before->devices[i]);
}

/* The device of this reading in the list, or its length. A GPU changed for another in the same place is a new one. */
static size_t device_slots_find(const struct device_slots *r, unsigned source, const struct device_fact *d, size_t hint)
{
    size_t n = r->facts.n_devices;
    const struct device_fact *v = r->facts.devices;

    if (hint < n && strcmp(v[hint].uuid, d->uuid) == 0)
        return hint;
    size_t at = FIRST(n, i, strcmp(v[i].uuid, d->uuid) == 0);
    if (at < n || !d->pci[0] || d->parent[0])
        return at;
    return FIRST(n, i,
                 r->seats[i].seen && r->seats[i].source != source && !v[i].parent[0] && !strcmp(v[i].pci, d->pci));
}

static void device_identity(struct device_fact *d, unsigned source)
{
    if (!d->uuid[0] && d->pci[0])
        snprintf(d->uuid, sizeof(d->uuid), "pci-%s", d->pci);
    else if (!d->uuid[0])
        snprintf(d->uuid, sizeof(d->uuid), "source%u-%d", source, (int)d->index);
}

/* ---- custom metrics ---- */

/* A metric keeps the unit and scale it was first declared with; its number is its place. */
static size_t device_slots_declare(struct device_slots *r, const struct custom_reading *c)
{
    struct node_fact *f = &r->facts;

    size_t at = FIRST(f->n_custom, i, strcmp(f->custom[i].name, c->name) == 0);
    if (at < f->n_custom || at == CUSTOM_MAX)
        return at;
    VEC_ADD(f->custom, f->n_custom, r->cap_facts_custom,
            (struct custom_fact){.unit = c->unit, .kind = c->kind, .per = c->per});
    memcpy(f->custom[at].name, c->name, sizeof(f->custom[at].name));
    return at;
}

static bool device_slots_slot_of(const struct device_slots *r, const char *device, uint16_t *ret)
{
    int64_t index = -1;

    if (!device[0]) {
        *ret = 0;
        return true;
    }
    str_int(str_of(device), &index);
    const struct device_fact *v = r->facts.devices;
    size_t at =
        FIRST(r->facts.n_devices, i, strcmp(v[i].uuid, device) == 0 || (!v[i].parent[0] && v[i].index == index));
    *ret = (uint16_t)(at + 1);
    return at < r->facts.n_devices;
}

static void device_slots_value(struct device_slots *r, const struct custom_reading *c)
{
    struct child_value v = {0};

    if (r->n_custom >= CHILD_VALUES_MAX || c->per < 1 || !c->name[0] || !device_slots_slot_of(r, c->device, &v.slot))
        return;
    size_t at = device_slots_declare(r, c);
    if (at == CUSTOM_MAX)
        return;
    int64_t half = c->v < 0 ? -(c->per / 2) : c->per / 2;
    __int128 scaled = ((__int128)c->v * r->facts.custom[at].per + half) / c->per;
    if (scaled > INT64_MAX || scaled < INT64_MIN)
        return;
    v.metric = (uint16_t)(METRIC_CUSTOM + at);
    v.v = (int64_t)scaled;
    VEC_ADD(r->custom, r->n_custom, r->cap_custom, v);
}

/* ---- a tick ---- */

void device_slots_begin(struct device_slots *r, int64_t at_ms)
{
    if (!r->samples)
        r->samples = mem_zero(1, sizeof(*r->samples));
    r->at_ms = at_ms;
    r->n_samples = r->facts.n_devices + 1;
    for (size_t i = 0; i < r->n_samples; i++)
        r->samples[i] = (struct sample){.at_ms = at_ms};
    for (size_t i = 0; i < r->facts.n_devices; i++)
        r->seats[i].seen = false;
    r->n_uses = r->n_custom = r->n_events = 0;
    r->driver[0] = r->cuda[0] = 0;
}

static void device_slots_device(struct device_slots *r, unsigned source, const struct device_reading *d, size_t at)
{
    struct device_fact *f = &r->facts.devices[at];
    char uuid[UUID_MAX];
    bool was_lost = f->lost;

    memcpy(uuid, f->uuid, sizeof(uuid));
    *f = d->fact;
    memcpy(f->uuid, uuid, sizeof(uuid)); /* found by its PCI address: it keeps the name it has */
    if (f->lost && !was_lost)
        device_slots_tell(r, EVENT_LOST, at, f->note[0] ? f->note : "the driver has lost it");
    if (!f->lost && was_lost)
        device_slots_tell(r, EVENT_BACK, at, "answers again");
    r->seats[at] = (struct device_slots_seat){.source = source, .seen = true};
    r->samples[at + 1] = d->sample;
    r->samples[at + 1].at_ms = r->at_ms;
    for (size_t i = 0; i < d->n_uses && r->n_uses < CHILD_USES_MAX; i++)
        VEC_ADD(r->uses, r->n_uses, r->cap_uses, (struct device_slots_use){(uint16_t)(at + 1), &d->uses[i]});
}

void device_slots_take(struct device_slots *r, unsigned source, const struct reading *reading)
{
    uint16_t slots[DEVICES_MAX] = {0}; /* of this reading's devices; 0: another collector's, or no room */

    for (size_t i = 0; i < reading->n_devices && i < DEVICES_MAX; i++) {
        struct device_reading d = reading->devices[i];
        device_identity(&d.fact, source);
        size_t at = device_slots_find(r, source, &d.fact, i);
        if (at < r->facts.n_devices && r->seats[at].seen)
            continue;
        if (at == r->facts.n_devices && !device_slots_append(r, &d.fact))
            continue;
        device_slots_device(r, source, &d, at);
        slots[i] = (uint16_t)(at + 1);
    }
    for (size_t i = 0; i < reading->n_events; i++) {
        struct node_event e = reading->events[i];
        if (e.slot > DEVICES_MAX || (e.slot && !slots[e.slot - 1]))
            continue;
        e.slot = e.slot ? slots[e.slot - 1] : 0;
        device_slots_event(r, &e);
    }
    for (unsigned m = 0; m < M_COUNT; m++)
        if (bits_has(&reading->node.have, m) && !bits_has(&r->samples[0].have, m))
            sample_set(&r->samples[0], m, reading->node.v[m]);
    for (size_t i = 0; i < reading->n_custom; i++)
        device_slots_value(r, &reading->custom[i]);
    if (!r->driver[0])
        memcpy(r->driver, reading->driver, sizeof(r->driver));
    if (!r->cuda[0])
        memcpy(r->cuda, reading->cuda, sizeof(r->cuda));
}

void device_slots_excuse(struct device_slots *r, unsigned source)
{
    for (size_t i = 0; i < r->facts.n_devices; i++)
        if (r->seats[i].source == source)
            r->seats[i].seen = true;
}

static bool device_slots_has(const struct device_slots *r, const char *uuid)
{
    return ANY(r->facts.n_devices, i,
               r->seats[i].seen && !r->facts.devices[i].lost && strcmp(r->facts.devices[i].uuid, uuid) == 0);
}

/* Uses and events refer to slots: after the removed device's slot they move up by one; its own are dropped. */
static void device_slots_close_gap(struct device_slots *r, uint16_t slot)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->n_uses; i++)
        r->uses[i].slot = (uint16_t)(r->uses[i].slot - (r->uses[i].slot > slot));
    for (size_t i = 0; i < r->n_custom; i++)
        r->custom[i].slot = (uint16_t)(r->custom[i].slot - (r->custom[i].slot > slot));
    for (size_t i = 0; i < r->n_events; i++) {
        struct node_event e = r->events[i];
        if (e.slot == slot)
            continue;
        e.slot = (uint16_t)(e.slot - (e.slot > slot));
        r->events[kept++] = e;
    }
    r->n_events = kept;
}

void device_slots_end(struct device_slots *r)
{
    for (size_t i = 0; i < r->facts.n_devices;) {
        struct device_fact *d = &r->facts.devices[i];
        if (!r->seats[i].seen && d->parent[0] && device_slots_has(r, d->parent)) {
            device_slots_remove(r, i);
            device_slots_close_gap(r, (uint16_t)(i + 1));
            continue;
        }
        if (!r->seats[i].seen && !d->lost) {
            d->lost = true;
            d->asleep = false;
            collect_text(d->note, sizeof(d->note), STR("no longer found"));
            device_slots_tell(r, EVENT_LOST, i, "no longer found");
        }
        i++;
    }
    if (r->driver[0])
        memcpy(r->facts.driver, r->driver, sizeof(r->driver));
    if (r->cuda[0])
        memcpy(r->facts.cuda, r->cuda, sizeof(r->cuda));
}
