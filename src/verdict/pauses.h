/*
 * pauses.h: times without work between work. In a steady rhythm they are checkpoints or evaluation; without one
 * something stalls. The newest PAUSES_MAX count.
 */
#pragma once

#include "verdict/advice.h"

#define PAUSE_ACTIVE 0.1  /* a pause, and all before the first work, ends with this */
#define PAUSE_BEGINS 0.05 /* and begins below this: one that hovers between them does not pause */
enum { PAUSES_MAX = 32, PAUSES_LEAST = 4 };

struct pauses {
    size_t n, cap;
    struct pause {
        int64_t at_ms, ms;
    } * v;              /* those that ended, oldest first */
    int64_t at_ms, ms;  /* the one that goes on; ms 0: it works */
    int64_t longest_ms; /* of all that ended */
    int64_t step_ms;    /* the longest of the last readings: times are not known better than that */
    int64_t worked_ms;  /* when it last worked; 0: never yet, or not since a hole */
};

void pauses_fini(struct pauses *p);
/* A reading that ends at at_ms and stands for ms. */
void pauses_add(struct pauses *p, bool pause, int64_t at_ms, int64_t ms);
void pauses_break(struct pauses *p); /* nothing is known of a time now */
/* rule: ADVICE_pauses or ADVICE_stalls. True when it is so, with ret filled. The one that goes on counts unless it is
 * far longer than those before: then it is no pause, its work has ended. */
bool pauses_tell(const struct pauses *p, enum advice_rule rule, struct advice *ret);
