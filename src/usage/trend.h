/*
 * trend.h: how many GPUs each person has been using lately, as moving averages over 2 h, 24 h and a week: whom to ask
 * for one. A GPU that several share is split by the memory of their processes. Pure.
 */
#pragma once

#include "base/mem.h"

#define TRENDS       3
#define TREND_PEOPLE 10000                    /* more are not told apart */
extern const char *const trend_words[TRENDS]; /* "2h", "24h", "1w" */

struct trend_person {
    char name[64];
    double used; /* GPUs, at the last step */
    double ema[TRENDS];
};
struct trend {
    size_t n, cap;
    struct trend_person *v; /* by name */
    int64_t at_ms;          /* of the last step; 0: none yet */
};

void trend_fini(struct trend *t);
/* What is used from now on: reset, then use for everybody, then step. */
void trend_reset(struct trend *t);
void trend_use(struct trend *t, const char *name, double gpus);
/* Steps of less than 30 s are not made, and false is returned: reset and use again. The first is taken to have gone on
 * for ever_ms. Who uses nothing and has not for long is forgotten. */
bool trend_step(struct trend *t, int64_t now_ms, int64_t ever_ms);
const struct trend_person *trend_find(const struct trend *t, const char *name); /* NULL: none */
