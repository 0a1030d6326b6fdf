/*
 * table.h: collects decoded samples of one node, as rows (ticks) and series (device, metric), to write chunks. Rows may
 * arrive in any order. Holds at most about TABLE_CELLS cells: when it is full, write it, reset it and continue.
 */
#pragma once

#include "codec/bin.h"
#include "codec/chunk.h"
#include "model/batch.h"

#define TABLE_CELLS (2u << 20) /* 16 MB */

struct table;
struct table *table_new(void);
void table_free(struct table *t);
bool table_full(const struct table *t);
size_t table_rows(const struct table *t);
int64_t table_newest_ms(const struct table *t); /* of its rows; INT64_MIN if none */
/* facts: of the batch, or NULL. */
void table_add(struct table *t, const struct batch *b, const struct node_fact *facts, int64_t shift_ms);
void table_reset(struct table *t);

struct table_chunk {
    int tier;
    int64_t bucket, from_ms, to_ms; /* first and last tick */
    struct str bytes;               /* borrowed */
};
/* Writes everything as chunks, raw and up to the tier last. Stops when each returns other than 0. */
int table_write(struct table *t, struct chunk_writer *w, int last, int (*each)(void *arg, const struct table_chunk *c),
                void *arg);

/*
 * Merges chunks of one tier into one, of the same tier or a coarser one: sorts rows, adds up bins of equal time.
 * Columns that are not whole (chunk_whole) are omitted and counted in *ret_damaged. Returns -E2BIG if it is too much
 * for one chunk. ret: from_ms, to_ms and bytes are appended to out.
 */
int chunks_merge(struct chunk_writer *w, int from_tier, int tier, const struct str *from, size_t n, struct buf *out,
                 struct table_chunk *ret, uint32_t *ret_damaged);
bool chunk_whole(struct str bytes, int tier); /* head and columns are undamaged */
