/*
 * baselines.h: looks once an hour, when the hour is over and counted, whether the usage of companies, teams and the
 * cluster is unusual (baseline.h). The work is done on a worker.
 */
#pragma once

#include "alert/rule.h"
#include "hub/hub.h"

struct baselines;
struct baselines *baselines_new(struct hub *h);
void baselines_free(struct baselines *x); /* after the workers */
void baselines_tick(struct baselines *x, int64_t now_ms);
/* What was found last; borrowed until the loop turns. */
const struct usage_news *baselines_now(const struct baselines *x, size_t *ret_n);
