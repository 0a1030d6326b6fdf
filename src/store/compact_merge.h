/*
 * compact_merge.h: chunks of a node in a bucket become fewer, and minutes become hours.
 *
 * M1 Each step is one transaction: before and after it a reader sees the same samples. M2 A chunk that has any damage
 * is left as it is, so that no more is lost than was, and readers keep telling. M3 Hours are made when a day of minutes
 * is over; until then they are what its minutes add up to (chunk_row.summed).
 */
#pragma once

#include "store/chunks.h"

#define MERGE_FRESH 12 /* fresh chunks of a bucket that become one */

/* over: the bucket is; all of it becomes one chunk. *damaged grows by what is found to be. 0 or -errno. */
int merge_group(struct chunks *db, struct chunk_writer *w, const struct chunk_group *q, bool over, uint32_t *damaged);
