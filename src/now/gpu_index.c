/* gpu_index.c: a hash table from uuids to the nodes that have them. */
#include "now/gpu_index.h"

#include "base/rand.h"
#include "now/live.h"

static struct gpu_ref **bucket_of(const struct gpu_index *g, uint64_t hash)
{
    return &g->by_uuid[hash & (g->buckets - 1)];
}

static void grow(struct gpu_index *g)
{
    size_t was = g->buckets;
    struct gpu_ref **old = g->by_uuid;

    g->buckets = was ? was * 4 : 256;
    g->by_uuid = mem_zero(g->buckets, sizeof(*g->by_uuid));
    for (size_t i = 0; i < was; i++)
        while (old[i]) {
            struct gpu_ref *r = old[i], **at = bucket_of(g, r->hash);
            old[i] = r->next;
            r->next = *at;
            *at = r;
        }
    free(old);
}

static uint64_t hash_of(const struct device_fact *d)
{
    return fnv64(d->uuid, strlen(d->uuid));
}

void gpu_index_add(struct gpu_index *g, struct live_node *n)
{
    for (size_t i = 0; i < n->now.n_devices; i++) {
        if (g->n >= g->buckets)
            grow(g);
        struct gpu_ref *r = mem_alloc(sizeof(*r)), **at;
        r->hash = hash_of(&n->now.devices[i].fact);
        r->n = n;
        at = bucket_of(g, r->hash);
        r->next = *at;
        *at = r;
        g->n++;
    }
}

void gpu_index_remove(struct gpu_index *g, const struct live_node *n)
{
    for (size_t i = 0; i < n->now.n_devices && g->buckets; i++)
        for (struct gpu_ref **at = bucket_of(g, hash_of(&n->now.devices[i].fact)); *at;) {
            struct gpu_ref *r = *at;
            if (r->n != n) {
                at = &r->next;
                continue;
            }
            *at = r->next;
            free(r);
            g->n--;
        }
}

void gpu_index_free(struct gpu_index *g)
{
    for (size_t i = 0; i < g->buckets; i++)
        while (g->by_uuid[i]) {
            struct gpu_ref *r = g->by_uuid[i];
            g->by_uuid[i] = r->next;
            free(r);
        }
    free(g->by_uuid);
    *g = (struct gpu_index){0};
}

struct device_now *gpu_index_in(const struct live_node *n, struct str uuid)
{
    for (size_t i = 0; i < n->now.n_devices; i++)
        if (str_eq(uuid, n->now.devices[i].fact.uuid))
            return &n->now.devices[i];
    return NULL;
}

struct live_node *gpu_index_find(const struct gpu_index *g, struct str uuid, const struct gpu_ref **at)
{
    uint64_t hash = fnv64(uuid.p, uuid.len);
    const struct gpu_ref *r = *at ? (*at)->next : g->buckets ? *bucket_of(g, hash) : NULL;

    while (r && (r->hash != hash || !gpu_index_in(r->n, uuid)))
        r = r->next;
    *at = r;
    return r ? r->n : NULL;
}

bool live_brings_gpus(const struct node_now *old, const struct node_fact *facts)
{
    size_t gpus = 0, brought = 0;

    for (size_t i = 0; i < old->n_devices; i++) {
        const struct device_fact *d = &old->devices[i].fact;
        if (d->parent[0])
            continue;
        gpus++;
        for (size_t k = 0; k < facts->n_devices; k++)
            if (strcmp(d->uuid, facts->devices[k].uuid) == 0) {
                brought++;
                break;
            }
    }
    return brought * 2 > gpus;
}
