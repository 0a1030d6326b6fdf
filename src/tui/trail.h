/* trail.h: utilisation of every device and node, one value per tick, for small plots: the hub's stored values, then
 * those since the start of `muster top`. */
#pragma once

#include "model/now.h"
#include "tui/lanes.h"

#define TRAIL_LEN 240 /* ticks kept */

struct trails;
struct trails *trails_new(void);
void trails_free(struct trails *t);
void trails_tick(struct trails *t, const struct view *v); /* adds a value of each; drops those not in v */
/* Prepends the values of these lanes, with one bin per tick. A value is used until the next, for at most a minute. */
void trails_seed(struct trails *t, const struct view *v, const struct lanes *past);
/* Percent, oldest first, above 100: unknown; n in *ret_n. NULL if not found. key: a device's uuid or a node's key. */
const uint8_t *trails_of(const struct trails *t, const char *key, size_t *ret_n);

/* Mean utilisation of a node's devices in 0.01 %; -1: unknown. */
int64_t node_util(const struct node_now *n);
