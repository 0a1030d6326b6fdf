/*
 * holds.h: which of a node's devices which user (or person, or team) held, bin by bin: the join of process records with
 * a history query. A user held a device in a bin when a process of theirs was on it at any moment of the bin. Private
 * to history/.
 */
#pragma once

#include "history/history_plan.h"

#define HOLDS_MAX       4096 /* of one node: (user, device) pairs */
#define HOLDS_USERS_MAX 4096 /* in all nodes of a query */

struct user_hold {
    const char *user; /* the same pointer for the same name, throughout a query; "": could not be found out */
    size_t device;    /* place in the plan */
    uint64_t *bins;   /* a bit each */
};

struct holds {
    /* for one node */
    size_t n, cap;
    struct user_hold *v;
    /* throughout */
    char **users;
    size_t n_users, cap_users;
};

/* Those of a node in [from, to) with bins of step; users are persons or teams where q groups by these. 0; -E2BIG;
 * -errno of the records. What was in h goes. */
int holds_read(struct holds *h, const struct past_source *past, const struct history_query *q, size_t node,
               const struct series_frame *f, struct err *err);
void holds_fini(struct holds *h);

static inline bool user_hold_has(const struct user_hold *h, size_t bin)
{
    return h->bins[bin / 64] >> (bin % 64) & 1;
}
