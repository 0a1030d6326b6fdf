/*
 * sums.h: sums counted hours in a table: by person, team, project, company, node, model, device or job, per hour, day,
 * week, month, year or in total.
 *
 * U1 Sums are exact: stored values, added once per row. A member of two teams counts in both; the total counts
 *    everything once.
 * U2 An hour belongs to the period in which it starts.
 * U3 The work is bounded: SUMS_ROWS_MAX rows.
 */
#pragma once

#include "base/zone.h"
#include "people/people.h"
#include "store/records.h"
#include "usage/tariff.h"

#define SUMS_ROWS_MAX 100000

struct sums_node { /* current names of a node and its devices */
    const char *key, *name;
    size_t n;
    struct sums_device {
        const char *uuid;
        int32_t index, mig; /* mig -1: none */
    } * devices;
};

struct node_now;
struct sums_node *sums_nodes(struct arena *mem, const struct node_now *const *v, size_t n); /* copies, in their order */

struct sums_query {
    enum usage_by by;
    enum period period;
    int week_start; /* 0 Monday */
    int64_t from_ms, to_ms;
    const struct zone *zone;
    const struct zone *days_zone; /* zone whose days are stored; NULL: none */
    /* filters; NULL: all */
    const char *person, *team, *project, *company;
    const char *node, *model, *device; /* a name, a pattern; a uuid */
    bool (*keep)(void *arg, const char *uuid);
    void *keep_arg;
    const struct people *people;
    const struct tariff *tariff;
    const struct sums_node *nodes;
    size_t n_nodes;
    store_each_fn *each; /* reads usage and jobs */
    void *arg;
    bool (*stop)(void *arg);
    void *stop_arg;
};

/* Fills ret's rows, total and metadata; all text is in mem or lives as long as ask. Returns 0, -E2BIG or -ECANCELED. */
int sums_run(const struct sums_query *ask, struct arena *mem, struct usage_table *ret, struct err *err);
