/* gpu_index.h: which nodes have a GPU or a MIG instance, by its uuid. */
#ifndef NOW_GPU_INDEX_H
#define NOW_GPU_INDEX_H

#include "now/node.h"

struct gpu_ref {
    struct gpu_ref *next;
    uint64_t hash; /* of its uuid */
    struct live_node *n;
};

struct gpu_index {
    size_t n, buckets; /* a power of two */
    struct gpu_ref **by_uuid;
};

void gpu_index_add(struct gpu_index *g, struct live_node *n);
void gpu_index_remove(struct gpu_index *g, const struct live_node *n); /* all of n's */
void gpu_index_free(struct gpu_index *g);
/* The next node that has it, from at on (NULL: the first); at is where to go on. NULL: no more. */
struct live_node *gpu_index_find(const struct gpu_index *g, struct str uuid, const struct gpu_ref **at);
/* The device of n; NULL: it has none such. */
struct device_now *gpu_index_in(const struct live_node *n, struct str uuid);

#endif
