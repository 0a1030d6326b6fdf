/*
 * table.h: decoded samples of one node, as rows (ticks) and series (device, metric), on their way into chunks. Rows may
 * come in any order. Holds at most about TABLE_CELLS cells: when full, write it out, reset it and go on.
 */
#ifndef STORE_TABLE_H
#define STORE_TABLE_H

#include "codec/chunk.h"
#include "model/batch.h"
#include "store/history.h"

#define TABLE_CELLS (2u << 20) /* 16 MB */

/* The lanes of a tier's cells. What is written is relative to the least value, since that is smaller. */
enum tier_lane { LANE_COUNT, LANE_MIN, LANE_MAX, LANE_LAST, LANE_SUM, LANE_POS, LANES };
#define LANE_POS_UNITS 64 /* where in its bin the newest value was: in parts of the bin's length */
/* In LANE_LAST, in place of the difference to the least, which is never negative: */
#define LAST_IS_MEAN (-1) /* the newest value was not kept; the mean stands for it */
#define LAST_IS_MOST (-2) /* as counters nearly always are */

int64_t tier_bin_ms(int tier);    /* length of a bin: 1 for raw */
int64_t tier_bucket_ms(int tier); /* no chunk crosses a multiple of this */

/* A bin that knows when its newest value was. */
struct part_bin {
    struct bin b;
    int64_t last_ms;
};
void part_bin_add(struct part_bin *to, const struct part_bin *more);
void part_bin_point(struct part_bin *to, int64_t at_ms, int64_t v);
/* Out of and into lanes: lane[k * stride]. start: of the bin. */
void part_bin_get(struct part_bin *ret, const int64_t *lane, size_t stride, int64_t start, int64_t len);
void part_bin_put(const struct part_bin *b, bool keep_last, int64_t *lane, size_t stride, int64_t start, int64_t len);
bool tier_keeps_last(struct chunk_key key);
int64_t lane_last(int64_t last, int64_t min, int64_t max);
int64_t lane_pos(int64_t at_ms, int64_t start, int64_t len); /* what LANE_POS is for this moment */

/* Names of a batch's slots and custom metrics; f NULL: not known. */
struct str slot_name(const struct node_fact *f, unsigned slot, char room[24]);
struct str custom_name(const struct node_fact *f, unsigned metric, char room[24]);
int64_t floor_to(int64_t v, int64_t step);

struct table;
struct table *table_new(void);
void table_free(struct table *t);
bool table_full(const struct table *t);
size_t table_rows(const struct table *t);
/* facts: of the batch, or NULL. */
void table_add(struct table *t, const struct batch *b, const struct node_fact *facts, int64_t shift_ms);
void table_reset(struct table *t);

struct table_chunk {
    int tier;
    int64_t bucket, from_ms, to_ms; /* first and last tick */
    struct str bytes;               /* borrowed */
};
/* All of it as chunks, raw and minutes. Stops when each returns other than 0. */
int table_write(struct table *t, struct chunk_writer *w, int (*each)(void *arg, const struct table_chunk *c),
                void *arg);

int table_write_raw(struct table *t, struct chunk_writer *w, int (*each)(void *arg, const struct table_chunk *c),
                    void *arg); /* the samples alone */

/*
 * Chunks of one tier become one, of the same tier or a coarser one: rows are put in order, bins that meet are added up.
 * Every column must be whole (chunk_whole), or it is left out and *ret_damaged grows. -E2BIG: too much for one chunk.
 * ret: from_ms, to_ms and bytes are appended to out.
 */
int chunks_merge(struct chunk_writer *w, int from_tier, int tier, const struct str *from, size_t n, struct buf *out,
                 struct table_chunk *ret, uint32_t *ret_damaged);
bool chunk_whole(struct str bytes, int tier); /* head and columns are as they were written */

#endif
