/*
 * compact_merge.h: merges the chunks of a node in a bucket into fewer, and aggregates minutes into hours.
 *
 * M1 Each step is one transaction: before and after it a reader sees the same samples.
 * M2 A damaged chunk is not merged, so that no more data is lost and readers keep reporting the damage.
 * M3 Hours are written when a day of minutes is complete. Until then readers compute them from the minutes
 *    (chunk_row.summed).
 */
#pragma once

#include "store/chunks.h"

#define MERGE_FRESH 12 /* this many fresh chunks of a bucket are merged into one */

/*
 * over: the bucket is complete, merge all of it into one chunk. Adds the damage found to *damaged. Returns 0 or -errno.
 */
int merge_group(struct chunks *db, struct chunk_writer *w, const struct chunk_group *q, bool over, uint32_t *damaged);
