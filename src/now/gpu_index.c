/* gpu_index.c: finds the nodes that have a device, by its uuid. */
#include "now/gpu_index.h"

#include "base/order.h"
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
        n = lookup_next(gpus, lookup_hash_str(uuid), at);
    while (n && !gpu_index_in(n, uuid));
    return n;
}

const struct device_now *live_named_device(const struct live *l, struct str word, const struct node_now **ret_node)
{
    *ret_node = NULL;
    const struct device_now *d = live_find_device(l, word, ret_node);
    int colon = str_rfind(word, ":");
    char name[NAME_MAX_LEN], text[24];

    if (d || colon <= 0 || (size_t)colon >= sizeof(name))
        return d;
    snprintf(name, sizeof(name), "%.*s", colon, word.p);
    const struct node_now *n = *ret_node = live_find(l, name);
    struct str index = str_n(word.p + colon + 1, word.len - (size_t)colon - 1);
    for (size_t i = 0; n && i < n->n_devices; i++) /* prefer a replacement to the lost device */
        if (str_eq(index, device_index_text(&n->devices[i].fact, text)) && (!d || d->fact.lost))
            d = &n->devices[i];
    return d;
}

bool live_has_gpus_of(const struct node_now *old, const struct node_fact *facts)
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
