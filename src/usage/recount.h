/*
 * recount.h: counts again who held a node's devices in some hours, out of what the store has. Nothing else goes in: the
 * same store gives the same numbers, now or later (count.h). On any thread, with records read through a store of that
 * thread's own.
 */
#pragma once

#include "store/samples.h"
#include "usage/count.h"

#define RECOUNT_HOURS 26 /* at once: they lie within so many hours of the first */

struct recount_ask {
    const char *node; /* key */
    size_t n_hours;
    const int64_t *hours;            /* where they begin, ascending */
    int64_t until_ms;                /* now, whole minutes: what comes after is not counted */
    bool once;                       /* as history_ask says */
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
