/*
 * baseline.h: searches counted usage for anomalies: assigned GPUs that were hardly used on the previous day, and usage
 * far from normal (baseline_stats.h). It covers companies, teams and the whole cluster; teams and the cluster have no
 * assignment.
 *
 * U1 Days are days of the time zone, also with 23 or 25 hours.
 * U2 Hours and days of which more than a quarter was not observed are ignored.
 * U3 The same usage gives the same findings: a restart changes nothing.
 */
#pragma once

#include "alert/rule.h"
#include "base/mem.h"
#include "usage/sums.h"

struct usage_baseline_query {
    int64_t hour_ms;           /* start of the newest hour that is over and counted */
    struct sums_query sums;    /* its zone, people, nodes, each and stop; the run adds what to sum and the period */
    bool skip_day, skip_hours; /* skip one of the two checks */
};

struct usage_baseline {
    struct usage_finding *v;
    size_t n, cap;
    struct arena mem; /* its text */
};

/* Start of the newest hour that ended at least ten minutes ago: late data may arrive in these minutes. */
int64_t usage_baseline_hour(const struct zone *z, int64_t now_ms);
/* Returns 0, -ECANCELED, or the error of usage. Free ret with usage_baseline_fini() in all cases. */
int usage_baseline_run(const struct usage_baseline_query *ask, struct usage_baseline *ret, struct err *err);
void usage_baseline_fini(struct usage_baseline *s);
