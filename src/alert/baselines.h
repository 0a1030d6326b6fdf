/*
 * baselines.h: what companies, teams and the cluster used is looked at once an hour (alert/baseline.h), on a worker, when the
 * hour is over and counted.
 */
#ifndef ALERT_BASELINES_H
#define ALERT_BASELINES_H

#include "alert/rule.h"
#include "hub/hub.h"

struct habits;
struct habits *habits_new(struct hub *h);
void habits_free(struct habits *x); /* after the workers */
void habits_tick(struct habits *x, int64_t now_ms);
/* What was found last; borrowed until the loop turns. */
const struct usage_news *habits_now(const struct habits *x, size_t *ret_n);

#endif
