/*
 * totals.h: what every person and team used in all, as counters: they never fall. Pure.
 *
 * T1 Hours from since_ms on are summed anew each time, so one that is counted again counts as it is now; what they were
 * before is kept as one sum. T2 What is told is the highest there was: a sum that fell is told again once it has grown
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

struct total {
    enum total_of of;
    char name[TOTAL_NAME];
    struct usage_sum before, since, told; /* since_ms; told: the highest of what these are together */
};

struct buf;
struct totals {
    int64_t since_ms; /* 0: nothing was summed yet */
    size_t n, cap;
    struct total *v;
    struct lookup by_name;
};

void totals_fini(struct totals *t);
void totals_copy(struct totals *to, const struct totals *from); /* to is ended before */
/* A new sum: begin, then add for every row, then settle. before: of hours that have come to lie before since_ms. */
void totals_begin(struct totals *t, int64_t since_ms);
void totals_add(struct totals *t, enum total_of of, const char *name, const struct usage_sum *s, bool before);
void totals_settle(struct totals *t);

void totals_write(const struct totals *t, struct buf *out);
int totals_read(struct str text, struct totals *ret); /* 0 or -EBADMSG */
/* Lines for Prometheus: muster_person_held_seconds_total{person="kim"}. */
void totals_prom(const struct totals *t, struct buf *out, bool openmetrics);
