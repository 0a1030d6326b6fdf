/* trail.h: the utilisation of every device and node, a value a tick, for small plots: what a hub has stored of it, then
 * what was seen since `muster top` began. */
#pragma once

#include "model/now.h"
#include "tui/lanes.h"

#define TRAIL_LEN 240 /* ticks kept */

struct trails;
struct trails *trails_new(void);
void trails_free(struct trails *t);
void trails_tick(struct trails *t, const struct view *v); /* take a value of each; those not in v any more go */
/* Before what was seen: these lanes, of a bin a tick. A value counts until the next, for a minute at most. */
void trails_seed(struct trails *t, const struct view *v, const struct lanes *past);
/* Percent, oldest first, above 100: not known; n in *ret_n. NULL: never seen. key: a device's uuid or a node's key. */
const uint8_t *trails_of(const struct trails *t, const char *key, size_t *ret_n);

/* The mean utilisation of a node's devices in 0.01 %; -1: not known. */
int64_t node_util(const struct node_now *n);
