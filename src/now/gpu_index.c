/* gpu_index.c: finds the nodes that have a device, by its uuid. */
#include "now/gpu_index.h"

#include "base/order.h"
#include "base/rand.h"
#include "now/live.h"

void gpu_index_add(struct lookup *gpus, struct live_node *n)
{
    for (size_t i = 0; i < n->now.n_devices; i++)
        lookup_add(gpus, lookup_hash(n->now.devices[i].fact.uuid), n);
}

void gpu_index_remove(struct lookup *gpus, const struct live_node *n)
{
    for (size_t i = 0; i < n->now.n_devices; i++)
        lookup_drop(gpus, lookup_hash(n->now.devices[i].fact.uuid), n);
}

struct device_now *gpu_index_in(const struct live_node *n, struct str uuid)
{
    return FIND(n->now.devices, n->now.n_devices, d, str_eq(uuid, d->fact.uuid));
}

struct live_node *gpu_index_find(const struct lookup *gpus, struct str uuid, size_t *at)
{
    struct live_node *n;

    do
        n = lookup_next(gpus, fnv64(uuid.p, uuid.len), at);
    while (n && !gpu_index_in(n, uuid));
    return n;
}

bool live_brings_gpus(const struct node_now *old, const struct node_fact *facts)
{
    size_t gpus = 0, brought = 0;

    for (size_t i = 0; i < old->n_devices; i++) {
        const struct device_fact *d = &old->devices[i].fact;
        if (d->parent[0])
            continue;
        gpus++;
        brought += ANY(facts->n_devices, k, strcmp(d->uuid, facts->devices[k].uuid) == 0);
    }
    return brought * 2 > gpus;
}
