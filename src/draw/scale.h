/*
 * scale.h: axes of charts: which round numbers, or moments of a calendar, stand on one, and what is written there.
 * Pure.
 */
#pragma once

#include "base/zone.h"

#define TICKS_MAX 64

struct tick {
    double at; /* in the data's own unit; a time axis: milliseconds */
    char text[32];
    char under[24]; /* a time axis: the day or year, where it is new */
};

struct scale {
    double lo, hi;
    char unit[32]; /* what the ticks' numbers count: "%", "GiB", "h"; "" for none */
    double per;    /* the data's units in one of those */
    size_t n;
    struct tick v[TICKS_MAX];
};

/* lo and hi of the data; exact: the axis ends there, else at round numbers, with 0 where that is near. want: about so
 * many ticks. unit: as plot_axis has it. */
void scale_linear(struct scale *ret, const char *unit, double lo, double hi, bool exact, int want);
/* want: at most so many. */
void scale_time(struct scale *ret, const struct zone *z, int64_t from_ms, int64_t to_ms, int want);
/* A number of the data as ticks have it, with one more digit, without the unit. */
const char *scale_number(const struct scale *s, double v, char out[48]);
/* Under bars: the beginning of a period of about step_ms, as tick.text and tick.under. */
void scale_period(const struct zone *z, int64_t at_ms, int64_t step_ms, struct tick *ret);
