/*
 * together.h: a node's devices as one, for questions that need only what they add up to: of each bin how many samples
 * each device has, which must be the same for all, and the sum of all. Where it is not the same a sink is left
 * (SINK_LEAVES), and the node is asked again, each device by itself. What was added up of a small column of a tier is
 * kept with it.
 */
#pragma once

#include "store/sink.h"

/* 0, SINK_LEAVES or what ended the reading. Of a column that has just the devices asked for, and of b->of of a batch.
 */
int together_tier(struct bins_sink *b, const struct chunk *c, size_t column, size_t metric);
int together_raw(struct bins_sink *b, const struct chunk *c, size_t metric);
int together_batch(struct bins_sink *b, size_t metric);
