/*
 * bin.h: what is kept of a series in a span of time: count, sum, least, most and newest value. The past is kept in
 * tiers, whose bins have a minute or an hour; a chunk has a bin's numbers in lanes.
 */
#pragma once

#include "model/fact.h"

struct chunk_key;

enum tier { TIER_RAW, TIER_MINUTE, TIER_HOUR, TIER_COUNT };

struct bin {        /* [at, at + step) */
    uint32_t count; /* 0: a gap */
    int64_t sum, min, max, last;
};

/* The lanes of a tier's cells. What is written is relative to the least value, since that is smaller. */
enum tier_lane { LANE_COUNT, LANE_MIN, LANE_MAX, LANE_LAST, LANE_SUM, LANE_POS, LANES };
#define LANE_POS_UNITS 64 /* where in its bin the newest value was: in parts of the bin's length */
/* In LANE_LAST, in place of the difference to the least, which is never negative: */
#define LAST_IS_MEAN (-1) /* the newest value was not kept; the mean stands for it */
#define LAST_IS_MOST (-2) /* as counters nearly always are */

int64_t tier_bin_ms(int tier);    /* length of a bin: 1 for raw */
int64_t tier_bucket_ms(int tier); /* no chunk crosses a multiple of this */

/* Moments in order, cut into bins: those up to this one, from the cut before, are in this bin. None is empty. */
struct cut {
    uint32_t end, bin;
};
size_t ticks_before(const int64_t *ticks, size_t n, int64_t at_ms); /* also where the first at or after it is */
/* ticks[i..end), of which none is before from_ms, where bin 0 begins. ret has room for as many. How many there are. */
size_t ticks_cut(const int64_t *ticks, size_t i, size_t end, int64_t from_ms, int64_t step_ms, struct cut *ret);

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
