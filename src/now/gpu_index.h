/* gpu_index.h: which nodes have a GPU or a MIG instance, by its uuid. */
#pragma once

#include "base/lookup.h"
#include "now/node.h"

void gpu_index_add(struct lookup *gpus, struct live_node *n);
void gpu_index_remove(struct lookup *gpus, const struct live_node *n); /* all of n's */
/* The next node that has it, from at on (0: the first); at is where to go on. NULL: no more. */
struct live_node *gpu_index_find(const struct lookup *gpus, struct str uuid, size_t *at);
/* The device of n; NULL: it has none such. */
struct device_now *gpu_index_in(const struct live_node *n, struct str uuid);
