/* history_plan.h: a resolved query: made by history.c from words, run by history_run.c. */
#pragma once

#include "history/card.h"
#include "history/history.h"

#define PLAN_METRICS 320 /* all of metrics.def and all a node may declare */

enum group { GROUP_NONE, GROUP_NODE, GROUP_MODEL, GROUP_USER, GROUP_PERSON, GROUP_OF_TEAM, GROUP_ALL, GROUPS };
static inline bool group_by_holder(enum group g)
{
    return g >= GROUP_USER && g <= GROUP_OF_TEAM;
}
enum fold { FOLD_MEAN, FOLD_SUM, FOLD_MIN, FOLD_MAX, FOLDS };

struct plan_metric {
    char name[64];
    int no;     /* enum metric, or -1: declared at run time */
    bool maybe; /* found by a pattern or custom: omitted if it has no values */
};

struct plan_scale { /* of one metric on one node; all zero: the node lacks it */
    int64_t per;
    uint8_t unit, kind;
    bool device, node;
};

struct plan_metrics { /* the query's metrics that devices have, or that nodes have, as passed to the store */
    size_t n;
    size_t *which;
    const char **names;
    int *known;
};

struct plan_scales { /* shared by most nodes */
    struct plan_metrics of_devices, of_node;
    struct plan_scale v[]; /* one for each metric */
};

struct plan_node {
    struct card *card; /* its own reference */
    bool self;         /* include its own metrics */
    const struct plan_scales *scales;
};

struct history_query {
    struct arena mem;
    int64_t from_ms, to_ms, step_ms, now_ms;
    bool chosen; /* muster chose the step: it may become coarser where only coarser tiers have data */
    bool usual;  /* no agg parameter: avg, or rate of a counter */
    size_t n_aggs, n_metrics, n_nodes, n_series;
    enum agg aggs[AGGS];
    enum group group;
    enum fold fold;
    int tier;      /* enum tier, or -1: the coarsest that the step allows */
    size_t n_read; /* series of devices, before they are grouped */
    struct plan_node *nodes;
    const struct plan_scales *scales; /* made last, */
    const struct node_now *scaled;    /* for this node; invalid after the query was resolved */
    bool custom;                      /* some of its metrics were declared by nodes */
    struct people *people;            /* identity mapping; NULL: logins are persons */
    int64_t graphics_mem;             /* memory below which graphics processes do not count as holders; 0: every process
                                       * counts */
    struct plan_metric metrics[PLAN_METRICS]; /* n_metrics of them; the rest was never written */
};
