/*
 * newest.h: of a batch what is shown of it: the newest value of each metric, when work was last seen, who is on the
 * devices; as bytes that are quick to read, for hubs at which nobody looks. Pure. Events are not in it.
 *
 * "N", the key's run and number, the times that count (how many, the last, then how long before it each other is, the
 * longest first), the columns, each with the number of its time, then uses.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "now/live.h"

#define NEWEST_TICKS 16 /* times; of a batch with more of them that count it is not made */

/* 0, or -E2BIG, -EMSGSIZE: nothing was added. rule: what work is. */
int newest_put(struct buf *out, const struct batch *b, const struct state_rule *rule);
bool newest_is(struct str bytes);
/* ret and all it points to are for one free() of *ret_mem, which is NULL on failure. A batch as any other, though a
 * column may be there twice, for two of its times. */
int newest_get(struct str bytes, struct batch *ret, void **ret_mem, struct err *err);
