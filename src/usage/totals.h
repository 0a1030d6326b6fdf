/*
 * totals.h: total usage of every person and team, as counters: they never fall. Pure.
 *
 * T1 Hours from since_ms on are summed again each time, so a recounted hour counts with its new value; earlier hours
 *    are kept as one sum.
 * T2 The reported value is the maximum so far: a sum that fell changes it again only when it exceeds that maximum.
 * T3 totals_read reads what totals_write wrote; other bytes are refused as a whole.
 */
#pragma once

#include "base/lookup.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/usage.h"

#define TOTALS_MOST 2500 /* maximum number: they are one note (model/note.h) */
#define TOTAL_NAME  128

enum total_of { TOTAL_PERSON, TOTAL_TEAM, TOTAL_KINDS };

/* Hours by age: final hours, hours summed occasionally, and the newest. */
enum total_part { TOTAL_BEFORE, TOTAL_OLDER, TOTAL_NEWEST, TOTAL_PARTS };

struct total {
    enum total_of of;
    char name[TOTAL_NAME];
    struct usage_sum part[TOTAL_PARTS], told; /* told: the reported value, the maximum of their sum so far */
};

struct buf;
struct totals {
    int64_t since_ms, newest_ms; /* start of the older and of the newest part; since_ms 0: no sum yet */
    int64_t older_ms;            /* when the older part was summed; 0: not since it was read */
    size_t n, cap;
    struct total *v;
    struct lookup by_name;
};

void totals_fini(struct totals *t);
void totals_copy(struct totals *to, const struct totals *from); /* frees the old content of to */
/* One sum: totals_begin, which clears the parts to sum again; totals_add for every row; totals_settle. */
void totals_begin(struct totals *t, bool older);
void totals_add(struct totals *t, enum total_of of, const char *name, const struct usage_sum *s, enum total_part part);
void totals_settle(struct totals *t);

void totals_write(const struct totals *t, struct buf *out);
int totals_read(struct str text, struct totals *ret); /* 0 or -EBADMSG */
/* Lines for Prometheus: muster_person_held_seconds_total{person="kim"}. */
void totals_prom(const struct totals *t, struct buf *out, bool openmetrics);
