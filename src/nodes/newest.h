/*
 * newest.h: the visible part of a batch: the newest value of each metric, the last time of work, and the processes. As
 * bytes that are fast to read, for hubs without connected clients. Pure. Events are not included.
 *
 * Format: "N", the key's run and number, the relevant times (count, the last, then how long before it each other one
 * is, longest first), the columns, each with the index of its time, then uses.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "now/live.h"

#define NEWEST_TICKS 16 /* times; a batch with more relevant times is refused */

/* Returns 0, or -E2BIG or -EMSGSIZE and adds nothing. rule: defines work. */
int newest_put(struct buf *out, const struct batch *b, const struct state_rule *rule);
bool newest_is(struct str bytes);
/* free(*ret_mem) frees ret and all it points to; NULL on failure. The result is a batch in which a column may occur
 * twice, for two of its times. */
int newest_get(struct str bytes, struct batch *ret, void **ret_mem, struct err *err);
