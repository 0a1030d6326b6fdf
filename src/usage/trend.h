/*
 * trend.h: how many GPUs each person used on average over the last 2 h, 24 h and 7 days: whom to ask for one. Plain
 * means over the time with records, out of sums by the hour. A GPU that several share is split by the memory of their
 * processes. Pure.
 */
#pragma once

#include "base/mem.h"

#define TRENDS       3
#define TREND_HOURS  170                      /* of a week, and those at both ends that are in it in part */
#define TREND_PEOPLE 10000                    /* more are not told apart */
extern const char *const trend_words[TRENDS]; /* "2h", "24h", "1w" */

struct trend_person {
    char name[64];
    double used; /* GPUs, at the last step */
    float *sums; /* GPU-hours of hour h at h % TREND_HOURS; NULL: none yet */
};
struct trend {
    size_t n, cap;
    struct trend_person *v;   /* by name */
    int64_t at_ms;            /* end of the last step; 0: none yet */
    int64_t from_ms;          /* records begin */
    int64_t hour;             /* the newest with a place in the sums, since 1970 */
    float known[TREND_HOURS]; /* so much of each hour has records */
};

void trend_fini(struct trend *t);
/* What is used from now on: reset, then use for everybody, then step. */
void trend_reset(struct trend *t);
void trend_use(struct trend *t, const char *name, double gpus);
/* That was used from then to then. Time without a step is unknown. Who used nothing for a week is forgotten. */
void trend_step(struct trend *t, int64_t from_ms, int64_t to_ms);
const struct trend_person *trend_find(const struct trend *t, const char *name); /* NULL: none */
double trend_mean(const struct trend *t, const struct trend_person *p, size_t which);
