/*
 * trend.h: how many GPUs each person used on average over the last 2 h, 24 h and 7 days, to find users who could
 * release one. Plain means of whole hours with records. Pure.
 */
#pragma once

#include "base/mem.h"

#define TRENDS       3
#define TREND_HOURS  168                      /* of the longest */
#define TREND_PEOPLE 10000                    /* further people are left out */
extern const char *const trend_words[TRENDS]; /* "2h", "24h", "1w" */

struct trend_person {
    char name[64];
    double gpu_hours[TRENDS];
};
struct trend {
    int64_t to_ms;        /* end of the newest hour in it, whether that has records or not; set by the caller */
    int64_t from_ms;      /* start of the oldest hour with records; 0 if none */
    int64_t newest_ms;    /* of the newest hour with records */
    size_t hours[TRENDS]; /* with records */
    size_t n, cap;
    struct trend_person *v; /* by name */
};

void trend_fini(struct trend *t);
/* This hour has records. Hours come in rising order, each as often as the caller likes. */
void trend_hour(struct trend *t, int64_t at_ms);
/* In the hour of the last trend_hour that person used so much. */
void trend_use(struct trend *t, const char *name, double gpu_hours);
/* GPUs on average. */
double trend_mean(const struct trend *t, const struct trend_person *p, size_t which);
const struct trend_person *trend_find(const struct trend *t, const char *name); /* NULL: none */
