/*
 * baseline.h: looks at counted usage for what is unusual: who used hardly anything of what was assigned on the day
 * before, and whose use is far from what is usual for them (usual.h). Companies, teams, and the cluster as a whole;
 * teams and the cluster are assigned nothing.
 *
 * U1 Days are those of the zone; one of 23 or 25 hours counts as such. U2 Of hours and days of which more than a
 * quarter was not seen nothing is said. U3 The same usage gives the same findings: a restart changes nothing.
 */
#pragma once

#include "alert/rule.h"
#include "base/mem.h"
#include "usage/sums.h"

struct usage_baseline_ask {
    int64_t hour_ms;           /* the newest that is over and counted: where it began */
    struct sums_ask sums;      /* its zone, people, nodes, each and stop; what is summed up, and of when, is added */
    bool skip_day, skip_hours; /* the one or the other is not wanted */
};

struct usage_baseline {
    struct usage_news *v;
    size_t n, cap;
    struct arena mem; /* its text */
};

/* The newest hour that is over, and has been for ten minutes, in which what is late may come: where it began. */
int64_t usage_baseline_hour(const struct zone *z, int64_t now_ms);
/* 0; -ECANCELED; what usage gave. ret is ended with usage_baseline_fini in any case. */
int usage_baseline_run(const struct usage_baseline_ask *ask, struct usage_baseline *ret, struct err *err);
void usage_baseline_fini(struct usage_baseline *s);
