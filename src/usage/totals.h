/*
 * totals.h: what every person and team used in all, as counters: they never fall. Pure.
 *
 * T1 Hours from since_ms on are summed anew, so one that is counted again counts as it is now; those before are kept as
 * one sum. T2 What is told is the highest there was: a sum that fell is told again once it has grown
 * past that. T3 What is written is what is read back; bytes that say something else are refused whole.
 */
#pragma once

#include "base/lookup.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/usage.h"

#define TOTALS_MOST 2500 /* more are not told apart: they are one note (model/note.h) */
#define TOTAL_NAME  128

enum total_of { TOTAL_PERSON, TOTAL_TEAM, TOTAL_KINDS };

/* Hours by age: those that are not looked at any more, those that are now and then, and the newest. */
enum total_part { TOTAL_BEFORE, TOTAL_OLDER, TOTAL_NEWEST, TOTAL_PARTS };

struct total {
    enum total_of of;
    char name[TOTAL_NAME];
    struct usage_sum part[TOTAL_PARTS], told; /* told: the highest of what they are together */
};

struct buf;
struct totals {
    int64_t since_ms, newest_ms; /* where the older ones and the newest begin; since_ms 0: nothing was summed yet */
    int64_t older_ms;            /* when the older ones were summed; 0: not since they were read */
    size_t n, cap;
    struct total *v;
    struct lookup by_name;
};

void totals_fini(struct totals *t);
void totals_copy(struct totals *to, const struct totals *from); /* to is ended before */
/* A new sum: begin, which forgets the parts that will be summed anew, then add for every row, then settle. */
void totals_begin(struct totals *t, bool older);
void totals_add(struct totals *t, enum total_of of, const char *name, const struct usage_sum *s, enum total_part part);
void totals_settle(struct totals *t);

void totals_write(const struct totals *t, struct buf *out);
int totals_read(struct str text, struct totals *ret); /* 0 or -EBADMSG */
/* Lines for Prometheus: muster_person_held_seconds_total{person="kim"}. */
void totals_prom(const struct totals *t, struct buf *out, bool openmetrics);
