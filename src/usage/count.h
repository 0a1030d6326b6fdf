/*
 * count.h: computes from processes and minutes of one device who held it for how long. Pure: the same input gives the
 * same numbers, also if it is counted in parts.
 *
 * C1 Per device and hour: held of all + free + unused + down is the counted time, to the millisecond.
 * C2 busy + idle is held, for each login.
 * C3 An hour's numbers depend only on count_reach_ms before it and count_ahead_ms after it.
 * C4 The energy of all logins plus the unowned energy is the device's, to the millijoule.
 * C5 measured is the part of held that has a value; effective and tensor are at most that, for each login, and sum up
 *    to the device's.
 */
#pragma once

#include "base/clock.h"
#include "base/mem.h"
#include "model/usage.h"

#define COUNT_CARRY 10 /* maximum minutes a sample may count for */

struct count_rule {
    enum usage_split split;
    int64_t busy_util;    /* share of a minute (in 0.01 %) from which it was busy */
    int64_t held_mem;     /* memory above which a GPU without a known process counts as held; -1: off */
    int64_t graphics_mem; /* graphics processes with less do not hold it */
    int64_t spell_ms;     /* a longer idle spell is counted separately */
};

struct count_minute {
    bool seen;       /* it has a sample */
    int32_t busy_ms; /* -1 unknown */
    int64_t mem;     /* mean; -1 unknown */
    int64_t mj;
    int32_t work_ms, tensor_ms; /* the minute times efficiency, times the share of tensor pipes; -1 unknown */
};

/* A use of the device: a process, or an allocation without one. */
struct count_use {
    const char *login;
    int64_t from_ms, to_ms;
    int64_t mem; /* -1 unknown */
    int32_t sm;  /* mean share of the multiprocessors; -1 unknown */
    bool graphics;
    int64_t began_ms; /* start of the process, possibly before it was first seen; 0 unknown */
};

struct count_booked {
    int64_t from_ms, to_ms;
};

struct count_device {
    const char *device, *model;
    const struct count_minute *minutes; /* n_minutes of the input */
    size_t n_uses, n_booked;
    const struct count_use *uses;
    const struct count_booked *booked;
};

struct count_input {
    int64_t from_ms; /* a whole minute, count_reach_ms before the first hour */
    size_t n_minutes;
    int64_t until_ms;     /* end of the counted time: a whole minute */
    int carry;            /* minutes a sample counts for after its own: 1 unless samples are rare */
    size_t n_hours;       /* whole hours, ascending */
    const int64_t *hours; /* their starts */
};

int64_t count_reach_ms(const struct count_rule *rule);
int64_t count_ahead_ms(const struct count_rule *rule);

/* ret[i]: for hours[i], or its part before until_ms; its held is in mem. Names are borrowed. */
void count_device(const struct count_rule *rule, const struct count_input *in, const struct count_device *d,
                  struct arena *mem, struct usage_device *ret);

/* Splits total in proportion to w, exactly: the largest remainders get one more, the first of equals. All w 0: no
 * change. */
void count_split(int64_t total, const int64_t *w, size_t n, int64_t *ret);
