/*
 * cause.h: the cause that limits a GPU in one reading: the one with the largest share of its time. Pure. The causes and
 * their shares are one table, so nothing lies between two rules; docs/internals/verdict.md explains them.
 */
#pragma once

#include "verdict/advice.h"

#define COPIES_BACK 0.075 /* V_BACK of copies is below this; of launches it is 0.09 to 0.14 */

/* The values of a reading, or their means; NAN: unknown, which makes every comparison false. */
enum value {
    V_ACTIVE,
    V_SM,
    V_TENSOR,
    V_FP32,
    V_DRAM,
    V_CLOCK, /* of its highest */
    V_CPU,   /* cores used by its processes */
    V_TOP,   /* cores used by the busiest of them */
    V_WORK,  /* of its busiest part */
    V_RX,    /* B/s received over PCIe */
    V_BACK,  /* bytes sent per byte received over PCIe, if it receives many */
    V_GAPS,  /* distance of utilisation, read at a point in time, from `active`: near 1 if gaps are long, 0 has no
              * meaning */
    V_COUNT
};
struct cause_input {
    double v[V_COUNT];
    double limit, standard; /* W */
    uint64_t mask;          /* reasons of a lower clock, of all ticks since the previous reading */
};

/* A cause, as an index into the table. HOST is refined by cause_rule over a longer time. */
enum cause { CAUSE_SPINNING, CAUSE_HOST, CAUSE_FP32, CAUSE_MEMORY, CAUSE_POWER, CAUSE_HEAT, CAUSE_COUNT };

/* False if the reading shows that no work at all is requested of the GPU. */
bool cause_is_requested(const struct cause_input *k);
/* The cause with the largest share; CAUSE_COUNT: none is large enough. */
enum cause cause_of(const struct cause_input *k);
/* The rule that reports the cause, from the means over its time. */
enum advice_rule cause_rule(enum cause c, const double mean[V_COUNT]);
/* Share of that time that a fix would save; 0: unknown. */
double cause_lost(enum advice_rule rule, const double mean[V_COUNT]);
/* Its values for the evidence text, at most CAUSE_VALUES. V_COUNT ends a shorter list. */
enum { CAUSE_VALUES = 7 };
extern const enum value cause_values[CAUSE_COUNT][CAUSE_VALUES];
