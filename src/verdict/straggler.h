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

enum sibling_value { SIBLING_POWER, SIBLING_SM, SIBLING_LINK, SIBLING_VALUES };
/* Means of one GPU of a run, minute by minute; NAN: not known. Power in W, SM as a share, NVLink both ways in B/s. */
struct sibling {
    const double *v[SIBLING_VALUES];
};
/*
 * Which of n GPUs it is in the last minutes, or -1; ret is filled then (from_ms and ms are 0: the caller knows the
 * time). Too short a run, too few GPUs or values that are not known: -1.
 */
int straggler_find(const struct sibling *g, size_t n, size_t minutes, struct advice *ret);
