/*
 * pauses.h: idle times between work. A regular rhythm means checkpoints or evaluation; irregular pauses are stalls. The
 * newest PAUSES_MAX count.
 */
#pragma once

#include "verdict/advice.h"

#define PAUSE_ACTIVE 0.1  /* at this activity a pause ends, and so does the time before the first work */
#define PAUSE_BEGINS 0.05 /* and below this it starts: a value in between does not start a pause */
enum { PAUSES_MAX = 32, PAUSES_LEAST = 4 };

struct pauses {
    size_t n, cap;
    struct pause {
        int64_t at_ms, ms;
    } * v;              /* ended pauses, oldest first */
    int64_t at_ms, ms;  /* the current pause; ms 0: not paused */
    int64_t longest_ms; /* of all ended pauses */
    int64_t step_ms;    /* the longest of the last readings: the resolution of the times */
    int64_t worked_ms;  /* last time it was busy; 0: never, or not since a gap */
};

void pauses_fini(struct pauses *p);
/* Adds a reading that ends at at_ms and lasts ms. */
void pauses_add(struct pauses *p, bool pause, int64_t at_ms, int64_t ms);
void pauses_break(struct pauses *p); /* starts a time without data */
/* rule: ADVICE_pauses or ADVICE_stalls. Returns true if it holds, and fills ret. The current pause counts unless it is
 * far longer than earlier ones: then the work has ended. */
bool pauses_advice(const struct pauses *p, enum advice_rule rule, struct advice *ret);
