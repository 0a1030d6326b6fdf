/*
 * straggler.h: one GPU of a run that is apart from the others, by the minute. Each is compared with its own first ten
 * minutes of work, since stages of a pipeline differ by design, and with how all the others changed since then (leave
 * one out).
 */
#pragma once

#include <stddef.h>

#include "verdict/advice.h"

enum {
    STRAGGLER_FIRST = 10, /* minutes of work that say how it is among the others */
    STRAGGLER_LAST = 3,   /* minutes that are looked at */
    STRAGGLER_LEAST = 3,  /* GPUs of a run: of two nobody knows which is apart */
};

/* Means of a minute: power in W, SM as a share, NVLink both ways in B/s; NAN: not known. */
enum sibling_value { SIBLING_POWER, SIBLING_SM, SIBLING_LINK, SIBLING_VALUES };
/* Readings of a minute as they come. Zero-initialise it. */
struct minute_sum {
    uint32_t minute; /* since 1970; 0: none */
    float sum[SIBLING_VALUES];
    uint16_t of[SIBLING_VALUES]; /* readings in that sum */
};
/* One reading more, of this minute or, when minute_end was called, of a later one. */
void minute_add(struct minute_sum *m, const struct sample *reading);
/* True: there was a minute before `next`, and its means are in ret. */
bool minute_end(struct minute_sum *m, int64_t next, double ret[SIBLING_VALUES]);

/* One GPU of a run: its first minutes of work, and its last. Zero-initialise it. */
struct sibling {
    struct minute_sum sum;
    uint8_t n_first, n_last;
    float first[SIBLING_VALUES];                /* the sum of the first minutes */
    float logs[SIBLING_VALUES];                 /* of their logarithms */
    float squares[SIBLING_VALUES];              /* and of those squared */
    float last[STRAGGLER_LAST][SIBLING_VALUES]; /* oldest first */
};
/* A reading; a minute counts when a reading of a later one comes. */
void sibling_add(struct sibling *s, const struct sample *reading);
/* A whole minute, the one after the minute before. What comes before its first work is loading and does not count. */
void sibling_minute(struct sibling *s, const double v[SIBLING_VALUES]);
/* Nothing is known of a minute: only what comes after it counts as its last. */
void sibling_gap(struct sibling *s);
/* Its first minutes are these, as far as they reach further than what it has seen itself. */
void sibling_take_first(struct sibling *s, const struct sibling *first);
/*
 * Which of n GPUs it is in the last minutes, or -1; ret is filled then (from_ms, to_ms and ms are 0: the caller knows
 * the time). Those that do not work now are not asked. Too short a run, too few GPUs or values that are not known: -1.
 */
int straggler_find(const struct sibling *const *g, size_t n, struct advice *ret);
