/*
 * GPUs that two nodes report: a copied disk image, a driver that invents uuids, or a user who copied them from the
 * page. Data of a GPU is stored by its uuid. So the second node has the GPU as "UUID~2": in its facts as stored, in its
 * batches, and therefore everywhere.
 *
 * GPUs of a node that does not report may have moved. Then the new node has them by their own uuid, and an admin must
 * confirm (registry_join).
 *
 * MIG instances follow their GPU, and are checked themselves: a node cannot claim another node's GPU by listing it as
 * an instance.
 */
#include "nodes/feature.h"

#include "base/order.h"
#include "base/rand.h"
#include "model/names.h"

/* The device of n that is this GPU under another uuid; NULL if none. */
static const char *known_as(const struct node_now *n, const char *uuid)
{
    const struct device_now *d = FIND(n->devices, n->n_devices, e, name_is_nth(uuid, e->fact.uuid));

    return d ? d->fact.uuid : NULL;
}

static bool has(const struct node_now *n, const char *uuid)
{
    return ANY(n->n_devices, i, str_eq(str_of(uuid), n->devices[i].fact.uuid) && !n->devices[i].fact.lost);
}

/* A GPU and its instances get the same number. */
static void rename_gpu(struct hub *h, struct node_now *n, struct node_fact *f, const char *from, unsigned nth)
{
    char gpu[UUID_MAX], to[UUID_MAX], was[UUID_MAX];
    mem_copy_str(gpu, sizeof(gpu), from);
    for (size_t i = 0; i < f->n_devices; i++) {
        struct device_fact *d = &f->devices[i];
        bool whole = strcmp(d->uuid, gpu) == 0;
        if (!whole && strcmp(d->parent, gpu) != 0)
            continue;
        mem_copy_str(was, sizeof(was), d->uuid);
        name_nth(was, nth, to, sizeof(to));
        live_rename_gpu(h->live, n, was, to);
        mem_copy_str(d->uuid, sizeof(d->uuid), to);
        if (!whole) {
            name_nth(gpu, nth, to, sizeof(to));
            mem_copy_str(d->parent, sizeof(d->parent), to);
        }
    }
}

/* No other node has the GPU now. */
static void rename_back(struct hub *h, struct node_now *n, const struct node_fact *f, const char *gpu)
{
    char from[UUID_MAX];
    for (size_t i = 0; i < f->n_devices; i++)
        if (strcmp(f->devices[i].uuid, gpu) == 0 || strcmp(f->devices[i].parent, gpu) == 0) {
            const char *as = known_as(n, f->devices[i].uuid);
            if (!as)
                continue;
            mem_copy_str(from, sizeof(from), as);
            live_rename_gpu(h->live, n, from, f->devices[i].uuid);
        }
}

static unsigned nth_of(const char *name)
{
    return (unsigned)strtoul(strrchr(name, '~') + 1, NULL, 10);
}

/* Whether the new uuid of the GPU or of one of its instances is in use. */
static bool nth_taken(const struct hub *h, const struct node_fact *f, const char *gpu, unsigned nth)
{
    char to[UUID_MAX];
    for (size_t i = 0; i < f->n_devices; i++) {
        const struct device_fact *d = &f->devices[i];
        if (strcmp(d->uuid, gpu) != 0 && strcmp(d->parent, gpu) != 0)
            continue;
        name_nth(d->uuid, nth, to, sizeof(to));
        if (live_has_gpu(h->live, to))
            return true;
    }
    return false;
}

static unsigned next_nth(const struct hub *h, const struct node_fact *f, const char *gpu)
{
    unsigned nth = 2;
    while (nth_taken(h, f, gpu, nth))
        nth++;
    return nth;
}

/* Makes instances of GPUs missing in these facts separate devices. Returns true if there were any. */
static bool drop_parents(struct node_fact *f)
{
    bool dropped = false;
    for (size_t i = 0; i < f->n_devices; i++) {
        const char *parent = f->devices[i].parent;
        if (!parent[0] || ANY(f->n_devices, k, !f->devices[k].parent[0] && strcmp(f->devices[k].uuid, parent) == 0))
            continue;
        f->devices[i].parent[0] = 0;
        dropped = true;
    }
    return dropped;
}

/* Handles one GPU or instance of f. Returns true if it changed. *was: the offline node that had it. */
static bool part_one(struct hub *h, struct peer *peer, struct node_now *n, struct node_fact *f, size_t i,
                     int64_t now_ms, const struct node_now **was)
{
    const char *uuid = f->devices[i].uuid;
    if (strchr(uuid, '~') || strlen(uuid) + 12 >= UUID_MAX)
        return false;
    const struct node_now *twin = live_find_dup_gpu(h->live, uuid, n, now_ms);
    const char *as = known_as(n, uuid);
    if (!twin) {
        if (as)
            rename_back(h, n, f, uuid);
        return false;
    }
    struct peer *other = peers_find(h->peers, twin->key);
    bool silent = live_silent(twin, now_ms), elder = live_is_older(twin, n);
    peer->shares = true;
    if (as || (!silent && (!has(n, uuid) || elder))) {
        rename_gpu(h, n, f, uuid, as ? nth_of(as) : next_nth(h, f, uuid));
        return true;
    }
    if (silent && elder && live_has_gpus_of(twin, f))
        *was = twin;
    else if (other)
        other->shares = true; /* the other node must be checked again */
    return false;
}

bool dup_gpus_resolve(struct hub *h, struct peer *peer, struct node_now *n, struct node_fact *f, int64_t now_ms)
{
    const struct node_now *was = NULL;
    bool renamed = drop_parents(f), shared = peer->shares;
    peer->shares = false;
    for (int instances = 0; instances < 2; instances++) /* a GPU is renamed before its instances */
        for (size_t i = 0; i < f->n_devices; i++)
            if ((f->devices[i].parent[0] != 0) == instances)
                renamed |= part_one(h, peer, n, f, i, now_ms, &was);
    live_set_replaced(h->live, n, was, now_ms);
    if (shared || peer->shares)
        hub_publish(h, &(struct hub_event){.kind = HUB_EVENT_DEVICES, .now_ms = now_ms, .node = n->key});
    return renamed;
}

static uint64_t mix(uint64_t sum, const char *text)
{
    return (sum ^ fnv64(text, strlen(text))) * 31;
}

uint64_t dup_gpus_hash(const struct hub *h, const struct node_now *n, int64_t now_ms)
{
    char gpu[UUID_MAX];
    uint64_t sum = 1;
    for (size_t i = 0; i < n->n_devices; i++) {
        const struct device_fact *d = &n->devices[i].fact;
        const struct node_now *on = n;
        snprintf(gpu, sizeof(gpu), "%.*s", (int)strcspn(d->uuid, "~"), d->uuid);
        const struct node_now *twin = live_find_dup_gpu(h->live, gpu, n, now_ms);
        live_find_device(h->live, str_of(d->uuid), &on);
        sum = mix(sum, d->uuid) + d->lost;
        sum = mix(sum, twin ? twin->key : "") + (twin && live_silent(twin, now_ms));
        sum = mix(mix(sum, twin ? twin->name : ""), on->key);
    }
    return sum;
}

void dup_gpus_invalidate(struct hub *h, const struct node_now *n, int64_t now_ms)
{
    for (size_t i = 0; i < n->n_devices; i++) {
        const struct node_now *twin = live_find_dup_gpu(h->live, n->devices[i].fact.uuid, n, now_ms);
        struct peer *other = twin ? peers_find(h->peers, twin->key) : NULL;
        if (other)
            other->shares = true;
    }
}

void dup_gpus_load(struct hub *h, struct node_now *n)
{
    const struct node_now *was = NULL;
    struct node_fact f = {.n_devices = n->n_devices};
    AUTO_FREE struct device_fact *devices = mem_zero(MAX(n->n_devices, 1), sizeof(*devices));
    for (size_t i = 0; i < n->n_devices; i++)
        devices[i] = n->devices[i].fact;
    f.devices = devices;
    for (size_t i = 0; i < f.n_devices && !was; i++) {
        const struct node_now *twin =
            f.devices[i].parent[0] ? NULL : live_find_dup_gpu(h->live, f.devices[i].uuid, n, h->started_ms);
        if (twin && live_is_older(twin, n) && live_has_gpus_of(twin, &f))
            was = twin;
    }
    live_set_replaced(h->live, n, was, 0);
}

uint64_t dup_gpus_resolve_facts(struct hub *h, struct peer *peer, struct node_now *n, uint64_t id, struct node_fact *f,
                                int64_t now_ms)
{
    if (!dup_gpus_resolve(h, peer, n, f, now_ms))
        return id;
    return facts_keep(h, n->key, f, id);
}

uint64_t dup_gpus_cached(struct hub *h, struct peer *peer, const struct node_now *n, uint64_t id, int64_t now_ms)
{
    if (peer->shares && peer->sight != dup_gpus_hash(h, n, now_ms))
        memset(peer->facts, 0, sizeof(peer->facts));
    for (size_t i = 0; i < ARRAY_LEN(peer->facts) && id; i++)
        if (peer->facts[i].told == id)
            return peer->facts[i].own;
    return 0;
}
