/*
 * cause.h: what limits a GPU in one reading: the cause that takes the largest share of its time. Pure. The causes and
 * their shares are one table, so nothing lies between two rules; docs/internals/verdict.md explains them.
 */
#pragma once

#include "verdict/advice.h"

#define COPIES_BACK 0.075 /* V_BACK of copies is below this; of launches it is 0.09 to 0.14 */

/* The values of a reading, or their means; NAN: not known, which no comparison is true of. */
enum value {
    V_ACTIVE,
    V_SM,
    V_TENSOR,
    V_FP32,
    V_DRAM,
    V_CLOCK, /* of its highest */
    V_CPU,   /* cores that its processes use */
    V_TOP,   /* cores that the busiest of them uses */
    V_WORK,  /* of its busiest part */
    V_RX,    /* B/s that arrive over PCIe */
    V_BACK,  /* bytes sent for each that arrives over PCIe, where many do */
    V_GAPS,  /* how far utilisation, read at a moment, is from `active`: near 1 where gaps are long, 0 says nothing */
    V_COUNT
};
struct look {
    double v[V_COUNT];
    double limit, standard; /* W */
    uint64_t mask;          /* why the clock is held down, of all ticks since the reading before */
};

/* A cause, as an index into the table. HOST is refined by cause_rule over a longer time. */
enum cause { CAUSE_SPINNING, CAUSE_HOST, CAUSE_FP32, CAUSE_MEMORY, CAUSE_POWER, CAUSE_HEAT, CAUSE_COUNT };

/* False where its readings say that nothing at all is requested of the GPU. */
bool cause_asked(const struct look *k);
/* The largest; CAUSE_COUNT: nothing takes enough of its time. */
enum cause cause_of(const struct look *k);
/* The rule that reports it, from the means of the time in which it was so. */
enum advice_rule cause_rule(enum cause c, const double mean[V_COUNT]);
/* Share of that time that would be given back; 0: not known. */
double cause_lost(enum advice_rule rule, const double mean[V_COUNT]);
/* Its values for the sentence; none has more than CAUSE_VALUES. V_COUNT ends a shorter list. */
enum { CAUSE_VALUES = 7 };
extern const enum value cause_values[CAUSE_COUNT][CAUSE_VALUES];
