/*
 * bin.h: a bin holds the count, sum, min, max and newest value of a series in a span of time. History is stored in
 * tiers, whose bins last a minute or an hour; a chunk stores a bin's numbers in lanes.
 */
#pragma once

#include "model/fact.h"

struct chunk_key;

enum tier { TIER_RAW, TIER_MINUTE, TIER_HOUR, TIER_COUNT };

struct bin {        /* [at, at + step) */
    uint32_t count; /* 0: a gap */
    int64_t sum, min, max, last;
};

/* The lanes of a tier's cells. Written relative to the minimum, since that is smaller. */
enum tier_lane { LANE_COUNT, LANE_MIN, LANE_MAX, LANE_LAST, LANE_SUM, LANE_POS, LANES };
#define LANE_POS_UNITS 64 /* position of the newest value in its bin: in parts of the bin's length */
/* In LANE_LAST, in place of the difference to the minimum, which is never negative: */
#define LAST_IS_MEAN (-1) /* the newest value was not kept; the mean replaces it */
#define LAST_IS_MOST (-2) /* equal to the maximum, as for nearly all counters */

int64_t tier_bin_ms(int tier);    /* length of a bin: 1 for raw */
int64_t tier_bucket_ms(int tier); /* no chunk crosses a multiple of this */

/* A cut ends bin `bin`: ticks from the previous cut's end up to this `end` are in it. No bin is empty. */
struct cut {
    uint32_t end, bin;
};
/* also the index of the first tick at or after at_ms */
size_t ticks_before(const int64_t *ticks, size_t n, int64_t at_ms);
/*
 * Cuts ticks[i..end) into bins. None is before from_ms, the start of bin 0. ret has room for as many cuts. Returns
 * their number.
 */
size_t ticks_cut(const int64_t *ticks, size_t i, size_t end, int64_t from_ms, int64_t step_ms, struct cut *ret);

/* A bin with the time of its newest value. */
struct part_bin {
    struct bin b;
    int64_t last_ms;
};
void part_bin_add(struct part_bin *to, const struct part_bin *more);
void part_bin_point(struct part_bin *to, int64_t at_ms, int64_t v);
/* Read from and write to lanes: lane[k * stride]. start: of the bin. */
void part_bin_get(struct part_bin *ret, const int64_t *lane, size_t stride, int64_t start, int64_t len);
void part_bin_put(const struct part_bin *b, bool keep_last, int64_t *lane, size_t stride, int64_t start, int64_t len);
bool tier_keeps_last(struct chunk_key key);
int64_t lane_last(int64_t last, int64_t min, int64_t max);
int64_t lane_pos(int64_t at_ms, int64_t start, int64_t len); /* LANE_POS for this time */

/* Names of a batch's slots and custom metrics; f NULL: unknown. */
struct str slot_name(const struct node_fact *f, unsigned slot, char room[24]);
struct str custom_name(const struct node_fact *f, unsigned metric, char room[24]);
int64_t floor_to(int64_t v, int64_t step);
