/*
 * straggling.h: for how long a GPU of a run was a straggler (straggler.h), over the whole run, checked each minute. A
 * stretch below STRAGGLING_LEAST minutes does not count, unless it is current at the end.
 */
#pragma once

#include "verdict/straggler.h"

enum { STRAGGLING_LEAST = 5, STRAGGLING_BREAK = 2 }; /* minutes; this many without a straggler end a stretch */

struct straggling { /* zero-initialise it */
    struct straggling_stretch {
        size_t gpu;
        int64_t to_ms;
        int found, missed; /* minutes; missed: since it was last found */
        struct advice a;   /* ms: so far; lost: the sum over ms; evidence: from the minute with the largest
                            * difference */
        double most;
    } now;             /* found 0: no current stretch */
    struct advice all; /* sum of all stretches that count */
    double most;
    int64_t asked_ms; /* end of the last minute */
    uint8_t *gpus;    /* flags; NULL: none yet */
};
void straggling_fini(struct straggling *s);
/* Call when all n GPUs have their minute that ends at end_ms, or have no value for it. */
void straggling_minute(struct straggling *s, const struct sibling *const *g, size_t n, int64_t end_ms);
/* Ends the run. False: no straggler; else gpus of s has the stragglers. */
bool straggling_end(struct straggling *s, size_t n, struct advice *ret);
