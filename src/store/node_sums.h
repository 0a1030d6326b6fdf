/*
 * node_sums.h: sums over a node's devices, for queries that need only the sum. Per bin it computes the number of
 * samples of each device, which must be the same for all, and the sum of all. If the numbers differ, the sink stops
 * (SINK_LEAVES) and the node is read again, each device separately. Sums of small tier columns are cached with the
 * column.
 */
#pragma once

#include "store/sink.h"

/*
 * Return 0, SINK_LEAVES or the error that ended the read. The column has exactly the queried devices; for a batch these
 * are in b->of.
 */
int node_sums_tier(struct bins_sink *b, const struct chunk *c, size_t column, size_t metric);
int node_sums_raw(struct bins_sink *b, const struct chunk *c, size_t metric);
int node_sums_batch(struct bins_sink *b, size_t metric);
