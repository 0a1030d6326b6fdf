/*
 * baseline_stats.h: normal usage of a user at one hour of the week, and whether the current usage deviates from it.
 * Normal is the median of the previous weeks; the tolerance is the median distance to it. Pure functions. The unit is
 * 1/1000 GPU, averaged over the hour.
 *
 * H1 Unknown weeks are ignored. With fewer than USUAL_LEAST known weeks there is no result.
 * H2 There is no result either for users who normally use nothing (a first use is fine), or whose use changes from
 *    week to week.
 * H3 One or two different weeks (a holiday, a crash) do not change the result. Steady use with noise rarely counts as
 *    deviating (test_usual.c counts).
 */
#pragma once

#include "base/zone.h"

struct buf;

#define USUAL_WEEKS   8
#define USUAL_LEAST   4
#define USUAL_UNKNOWN (-1)

struct baseline_stats {
    size_t weeks;        /* number of known weeks */
    int64_t usual;       /* the median */
    int64_t least, most; /* of the known weeks */
    int64_t scale;       /* ordinary distance from the median */
};

/* Returns false if there is no result. v[0 .. n) are the previous weeks, in any order. */
bool baseline_stats_from(const int64_t *v, size_t n, struct baseline_stats *ret);
/* -1: far below, 1: far above, 0: normal. going_on: it deviated before, and does until it is well within the limits. */
int baseline_deviation(const struct baseline_stats *h, int64_t now, bool going_on);

/* Start of the same hour of the weekday, this many weeks earlier in local time. */
int64_t baseline_week_start_ms(const struct zone *z, int64_t hour_ms, int weeks);

/* "company acme used 3 GPUs from 14:00 on; on a Monday at that hour it is usually 62 (58 to 66 in 8 weeks)" */
void baseline_text(struct buf *out, const char *who, const struct baseline_stats *h, int64_t now, const struct zone *z,
                   int64_t hour_ms);
/* "company acme used 37 of 1536 GPU-hours on 2026-11-14: 2.4 % of what was assigned" */
void low_text(struct buf *out, const char *who, int64_t used_ms, int64_t assigned_ms, int32_t day);
/* Whether less than a tenth of the assigned hours was used. False if nothing was assigned. */
bool low_is(int64_t used_ms, int64_t assigned_ms);
