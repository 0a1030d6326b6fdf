/*
 * count.h: turns processes and minutes of one device into who held it for how long. Pure: the same input gives the same
 * numbers, in whatever pieces it is counted.
 *
 * C1 Per device and hour: held of all + free + unused + down is the time counted, to the millisecond. C2 busy + idle is
 * held, of everybody. C3 An hour's numbers depend on nothing but count_reach_ms before it and count_ahead_ms after it.
 * C4 Energy of all and of nobody is the device's, to the millijoule. C5 What is measured of
 * held is what has a value; effective and tensor are at most that, of everybody, and the device's in all.
 */
#pragma once

#include "base/clock.h"
#include "base/mem.h"
#include "model/usage.h"

#define COUNT_CARRY 10 /* minutes a sample may stand for, at most */

struct count_rule {
    enum usage_split split;
    int64_t busy_util;    /* from this share of a minute on (in 0.01 %) it worked */
    int64_t held_mem;     /* above this much memory that no process explains somebody holds it; -1: not asked */
    int64_t graphics_mem; /* graphics processes with less do not hold it */
    int64_t spell_ms;     /* idle for so long is told apart */
};

struct count_minute {
    bool seen;       /* there is a sample of it */
    int32_t busy_ms; /* -1 unknown */
    int64_t mem;     /* mean; -1 unknown */
    int64_t mj;
    int32_t work_ms, tensor_ms; /* the minute times work, times the share of tensor pipes; -1 unknown */
};

/* Somebody on it: a process, or an allocation without one. */
struct count_use {
    const char *login;
    int64_t from_ms, to_ms;
    int64_t mem; /* -1 unknown */
    int32_t sm;  /* mean share of the multiprocessors; -1 unknown */
    bool graphics;
    int64_t began_ms; /* the process itself, maybe before anybody looked; 0 unknown */
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
    int64_t until_ms;     /* counted up to here: a whole minute */
    int carry;            /* minutes a sample stands for after its own: 1 unless it comes seldom */
    size_t n_hours;       /* whole hours, ascending */
    const int64_t *hours; /* where they begin */
};

int64_t count_reach_ms(const struct count_rule *rule);
int64_t count_ahead_ms(const struct count_rule *rule);

/* ret[i]: of hours[i], or of so much of it as is before until_ms; its held is mem's. Names are borrowed. */
void count_device(const struct count_rule *rule, const struct count_input *in, const struct count_device *d,
                  struct arena *mem, struct usage_device *ret);

/* total in parts as w says, exactly: the largest remainders get one more, the first of equals. All w 0: nothing. */
void count_split(int64_t total, const int64_t *w, size_t n, int64_t *ret);
