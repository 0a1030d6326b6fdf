/*
 * recount.h: counts again who held a node's devices in some hours, out of what the store has. Nothing else goes in: the
 * same store gives the same numbers, now or later (count.h). On any thread, with records read through a store of that
 * thread's own.
 */
#pragma once

#include "store/samples.h"
#include "usage/count.h"

#define RECOUNT_HOURS 26 /* at once: they lie within so many hours of the first */

/* What several in a row share: bookings of a time, and whether there are jobs. */
struct recount_common {
    bool read;
    int64_t from_ms, to_ms;
    struct booking **bookings;
    size_t n, cap;
    bool jobs;
};
void recount_common_fini(struct recount_common *c);

struct recount_ask {
    const char *node; /* key */
    size_t n_hours;
    const int64_t *hours;            /* where they begin, ascending */
    int64_t until_ms;                /* now, whole minutes: what comes after is not counted */
    bool once;                       /* as history_ask says */
    struct recount_common *common;   /* NULL: none */
    struct history_session *session; /* so, too */
    bool (*stop)(void *arg);
    void *arg;
};

struct recounted {
    struct arena mem;         /* arena_fini, in any case */
    struct usage_span *hours; /* as asked for; one in which the node had no devices has none */
};

/* past: samples; records: processes, jobs, bookings. */
int recount(struct store *past, struct store *records, const struct count_rule *rule, const struct recount_ask *ask,
            struct recounted *ret, struct err *err);
