/* gpu_index.h: index of nodes by the uuid of their GPUs and MIG instances. */
#pragma once

#include "base/lookup.h"
#include "now/node.h"

void gpu_index_add(struct lookup *gpus, struct live_node *n);
void gpu_index_remove(struct lookup *gpus, const struct live_node *n); /* all devices of n */
/* Returns the next node with this GPU; start with *at = 0. Returns NULL at the end. */
struct live_node *gpu_index_find(const struct lookup *gpus, struct str uuid, size_t *at);
/* The device of n, or NULL if not found. */
struct device_now *gpu_index_in(const struct live_node *n, struct str uuid);
