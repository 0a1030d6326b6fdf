/* gather.h: collects samples, tick by tick, into one batch: for an agent, a simulation and other senders. */
#pragma once

#include "model/batch.h"

struct gather;
struct gather *gather_new(void);
void gather_free(struct gather *g);

size_t gather_ticks(const struct gather *g);
/* Begin a tick. Times must ascend; one that does not is moved to 1 ms after the last. False when the batch is full
 * (TICKS_MAX). */
bool gather_tick(struct gather *g, int64_t at_ms);
void gather_sample(struct gather *g, uint16_t slot,
                   const struct sample *s); /* into the current tick; at_ms of s is ignored */
void gather_value(struct gather *g, uint16_t slot, uint16_t metric, int64_t v); /* wire number; custom metrics */
void gather_uses(struct gather *g, const struct proc_use *uses, size_t n);      /* the newest list replaces the last */
void gather_event(struct gather *g, const struct node_event *e);
/* Hand out what was gathered (borrowed until the next call on g) with key and blob names left to the caller. */
void gather_batch(struct gather *g, struct batch *ret);
void gather_reset(struct gather *g);
