/*
 * recount.h: counts again who held a node's devices in some hours, from the store only: the same store gives the same
 * numbers, now or later (count.h). Thread-safe if each thread reads records through its own store.
 */
#pragma once

#include "store/samples.h"
#include "usage/count.h"

#define RECOUNT_HOURS 26 /* maximum hours per call: they are within this many hours of the first */

/* Shared by several calls in a row: bookings of a period, and whether there are jobs. */
struct recount_common {
    bool read;
    int64_t from_ms, to_ms;
    struct booking **bookings;
    size_t n, cap;
    bool jobs;
};
void recount_common_fini(struct recount_common *c);

struct recount_params {
    const char *node; /* key */
    size_t n_hours;
    const int64_t *hours;            /* their starts, ascending */
    int64_t until_ms;                /* end of the counted time: now, whole minutes */
    bool once;                       /* see top_fetch_history */
    struct recount_common *common;   /* NULL: none */
    struct history_session *session; /* see top_fetch_history */
    bool (*stop)(void *arg);
    void *arg;
};

struct recounted {
    struct arena mem;         /* call arena_fini() in both cases */
    struct usage_span *hours; /* one per hour of the query; empty if the node had no devices */
};

/* past: samples; records: processes, jobs, bookings. */
int recount(struct store *past, struct store *records, const struct count_rule *rule, const struct recount_params *ask,
            struct recounted *ret, struct err *err);
