/*
 * usual.h: what somebody usually uses at this hour of the week, and whether what they use now is far from it: the
 * median of the weeks before, and the median of the distances to it. A pure function; the unit is a thousandth of a
 * GPU, on average over the hour.
 *
 * H1 What is not known is no value, and with fewer than USUAL_LEAST known weeks nothing is usual. H2 Nor is it for
 * somebody who usually uses nothing (a first use is nothing wrong), or whose use changes from week to week. H3 One or
 * two weeks that were different (a holiday, a crash) do not change what is usual, and steady use with noise is hardly
 * ever far from it (test_usual.c counts).
 */
#pragma once

#include "base/zone.h"

struct buf;

#define USUAL_WEEKS   8
#define USUAL_LEAST   4
#define USUAL_UNKNOWN (-1)

struct usual {
    size_t weeks;        /* known */
    int64_t usual;       /* the median */
    int64_t least, most; /* of the known weeks */
    int64_t scale;       /* how far from it is ordinary */
};

/* False: there is none. v[0 .. n) are of the weeks before, in any order. */
bool usual_of(const int64_t *v, size_t n, struct usual *ret);
/* -1: far below, 1: far above, 0: as usual; going_on: it was far before, and is until it is well within. */
int usual_far(const struct usual *h, int64_t now, bool going_on);

/* Where the same hour of the weekday began so many weeks before, by the clock on the wall. */
int64_t usual_before(const struct zone *z, int64_t hour_ms, int weeks);

/* "company acme used 3 GPUs from 14:00 on; on a Monday at that hour it is usually 62 (58 to 66 in 8 weeks)" */
void usual_text(struct buf *out, const char *who, const struct usual *h, int64_t now, const struct zone *z,
                int64_t hour_ms);
/* "company acme used 37 of 1536 GPU-hours on 2026-11-14: 2.4 % of what was assigned" */
void low_text(struct buf *out, const char *who, int64_t used_ms, int64_t assigned_ms, int32_t day);
/* Used less than a tenth of what was assigned; what was not assigned cannot be used too little. */
bool low_is(int64_t used_ms, int64_t assigned_ms);
