/*
 * gaps.h: what is known of the time between samples, where the step is of our own choice. Where a finer tier has
 * nothing (it is not kept for that long, or was imported so) a coarser one may: a number of a minute stands for all of
 * it, beside those of seconds. And a sample that comes regularly, if slowly, stands until the next. All else stays a
 * gap.
 */
#pragma once

#include "history/history.h"

struct coarser {
    struct history h;
    int tier; /* of the store; -1: nothing was missing */
};
/* asked: how the finer tier was asked, fine: what it had. 0, or -errno. */
int coarser_read(struct coarser *c, const struct past_source *past, const struct history_ask *asked,
                 const struct history *fine, struct err *err);
void coarser_fini(struct coarser *c);
/* Into v, which has n bins b under agg: of samples that come at least every ten minutes, each up to the next. */
void gaps_bridge(const struct bin *b, size_t n, enum agg agg, int64_t step_ms, int64_t *v);
/* Into v, which has series s of fine under agg behind `before` bins, whatever is missing. True: something was. */
bool coarser_fill(const struct coarser *c, const struct history *fine, size_t s, size_t before, enum agg agg,
                  int64_t now_ms, int64_t *v);
