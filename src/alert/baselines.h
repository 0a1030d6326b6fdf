/*
 * baselines.h: checks the usage of companies, teams and the cluster once an hour, after the hour is counted
 * (baseline.h). The work is done on a worker thread.
 */
#pragma once

#include "alert/rule.h"
#include "hub/hub.h"

struct baselines;
struct baselines *baselines_new(struct hub *h);
void baselines_free(struct baselines *x); /* call after the workers ended */
void baselines_tick(struct baselines *x, int64_t now_ms);
/* The last findings; valid until the end of this event loop iteration. */
const struct usage_finding *baselines_now(const struct baselines *x, size_t *ret_n);
