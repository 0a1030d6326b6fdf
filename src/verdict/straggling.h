/*
 * straggling.h: for how long one GPU of a run or another was apart from the others (straggler.h), over all of the run:
 * asked each minute. What lasted fewer than STRAGGLING_LEAST of them does not count, unless it goes on at the end.
 */
#pragma once

#include "verdict/straggler.h"

enum { STRAGGLING_LEAST = 5, STRAGGLING_BREAK = 2 }; /* minutes; so many without it end it */

struct straggling { /* zero-initialise it */
    struct straggling_stretch {
        size_t gpu;
        int64_t to_ms;
        int found, missed; /* minutes; missed: since it was last found */
        struct advice a;   /* ms: so far; lost: the sum over them; evidence: when it was most apart */
        double most;
    } now;             /* found 0: none */
    struct advice all; /* those that counted; likewise */
    double most;
    int64_t asked_ms; /* the end of the minute that came last */
    uint8_t *gpus;    /* flags; NULL: none yet */
};
void straggling_fini(struct straggling *s);
/* All n have had their minute that ends at end_ms, or have no value of it. */
void straggling_minute(struct straggling *s, const struct sibling *const *g, size_t n, int64_t end_ms);
/* No more comes. False: none was apart; else gpus of s says which were. */
bool straggling_end(struct straggling *s, size_t n, struct advice *ret);
