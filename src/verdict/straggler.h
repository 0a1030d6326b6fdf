/*
 * straggler.h: finds a GPU of a run that differs from the others, by the minute. It compares each with its own first
 * ten minutes of work, since stages of a pipeline differ by design. It then compares that change with the change of all
 * others (leave one out).
 */
#pragma once

#include <stddef.h>

#include "verdict/advice.h"

enum {
    STRAGGLER_FIRST = 10, /* minutes of work that are its reference */
    STRAGGLER_LAST = 3,   /* newest minutes that are compared */
    STRAGGLER_LEAST = 3,  /* minimum GPUs of a run: with two GPUs either could be the straggler */
};

/* Means of a minute: power in W, SM as a share, NVLink both ways in B/s; NAN: unknown. */
enum sibling_value { SIBLING_POWER, SIBLING_SM, SIBLING_LINK, SIBLING_VALUES };
/* Sums the readings of a minute. Zero-initialise it. */
struct minute_sum {
    uint32_t minute; /* since 1970; 0: none */
    float sum[SIBLING_VALUES];
    uint16_t of[SIBLING_VALUES]; /* readings in that sum */
};
/* Adds a reading of this minute or, after minute_end(), of a later one. */
void minute_add(struct minute_sum *m, const struct sample *reading);
/* True: there is a minute before `next`, and ret has its means. */
bool minute_end(struct minute_sum *m, int64_t next, double ret[SIBLING_VALUES]);

/* One GPU of a run: its first minutes of work, and its last ones. Zero-initialise it. */
struct sibling {
    struct minute_sum sum;
    uint8_t n_first, n_last;
    float first[SIBLING_VALUES];                /* the sum of the first minutes */
    float logs[SIBLING_VALUES];                 /* of their logarithms */
    float squares[SIBLING_VALUES];              /* and of those squared */
    float last[STRAGGLER_LAST][SIBLING_VALUES]; /* oldest first */
};
/* Adds a reading; a minute counts when a reading of a later one comes. */
void sibling_add(struct sibling *s, const struct sample *reading);
/* Adds a whole minute, directly after the previous one. Time before its first work is loading and does not count. */
void sibling_minute(struct sibling *s, const double v[SIBLING_VALUES]);
/* A minute without data: only later minutes count as its last ones. */
void sibling_gap(struct sibling *s);
/* Uses the first minutes of `first`, if there are more than it has seen itself. */
void sibling_take_first(struct sibling *s, const struct sibling *first);
/*
 * The index of the straggler among n GPUs in the last minutes, or -1; fills ret (from_ms, to_ms and ms are 0: the
 * caller knows the time). Idle GPUs are not compared. -1 if the run is too short, has too few GPUs, or values are
 * unknown.
 */
int straggler_find(const struct sibling *const *g, size_t n, struct advice *ret);
