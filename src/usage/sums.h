/*
 * sums.h: turns counted hours into a table: by person, team, project, company, node, model, device or job, per hour,
 * day, week, month, year or in all.
 *
 * U1 Sums are exact: what is in the store, added up once per row. Somebody in two teams counts in both; the total
 * counts everything once. U2 An hour belongs to the period it begins in. U3 The work is bounded: SUMS_ROWS_MAX rows.
 */
#pragma once

#include "base/zone.h"
#include "people/people.h"
#include "store/records.h"
#include "usage/tariff.h"

#define SUMS_ROWS_MAX 100000

struct sums_node { /* what a node and its devices are called now */
    const char *key, *name;
    size_t n;
    struct sums_device {
        const char *uuid;
        int32_t index, mig; /* mig -1: none */
    } * devices;
};

struct node_now;
struct sums_node *sums_nodes(struct arena *mem, const struct node_now *const *v, size_t n); /* copies, in their order */

struct sums_ask {
    enum usage_by by;
    enum period period;
    int week_start; /* 0 Monday */
    int64_t from_ms, to_ms;
    const struct zone *zone;
    const struct zone *days_zone; /* days of this zone are in the store; NULL: none are */
    /* only these; NULL: all */
    const char *person, *team, *project, *company;
    const char *node, *model, *device; /* a name, a pattern; a uuid */
    bool (*keep)(void *arg, const char *uuid);
    void *keep_arg;
    const struct people *people;
    const struct tariff *tariff;
    const struct sums_node *nodes;
    size_t n_nodes;
    store_each_fn *each; /* of usage and jobs */
    void *arg;
    bool (*stop)(void *arg);
    void *stop_arg;
};

/* Fills ret's rows, total and what is known of it; all text is mem's or lives as long as ask. -E2BIG, -ECANCELED. */
int sums_run(const struct sums_ask *ask, struct arena *mem, struct usage_table *ret, struct err *err);
