/*
 * gaps.h: fills the time between samples, if muster chose the step. If a finer tier has no data (too old, or imported
 * without it), a coarser tier may fill in: a minute's value counts for the whole minute, next to values of seconds. A
 * sample that comes regularly, if slowly, counts until the next one. Everything else stays a gap.
 */
#pragma once

#include "history/history.h"

struct coarser {
    struct history h;
    int tier; /* of the store; -1: nothing was missing */
};
/* asked: the query of the finer tier, fine: its result. Returns 0 or -errno. */
int coarser_read(struct coarser *c, const struct past_source *past, const struct bins_query *asked,
                 const struct history *fine, struct err *err);
void coarser_fini(struct coarser *c);
/* Fills v, which has n bins b under agg: samples that come at least every ten minutes count until the next one. */
void gaps_bridge(const struct bin *b, size_t n, enum agg agg, int64_t step_ms, int64_t *v);
/* Fills missing values of v, which has series s of fine under agg behind `before` bins. True: it filled some. */
bool coarser_fill(const struct coarser *c, const struct history *fine, size_t s, size_t before, enum agg agg,
                  int64_t now_ms, int64_t *v);
