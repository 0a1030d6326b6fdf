/*
 * holds.h: which user (or person, or team) held which devices of a node, bin by bin: the join of process records with a
 * history query. A user held a device in a bin if one of their processes was on it at any time in the bin. Private to
 * history/.
 */
#pragma once

#include "history/history_plan.h"

#define HOLDS_MAX       4096 /* of one node: (user, device) pairs */
#define HOLDS_USERS_MAX 4096 /* for all nodes of a query */

struct user_hold {
    const char *user; /* the same pointer for the same name, throughout a query; "": unknown */
    size_t device;    /* index in the plan */
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

/* Reads the holders of a node in [from, to) with bins of step. Users are persons or teams if q groups by these. Returns
 * 0, -E2BIG, or -errno of the records. Overwrites h. */
int holds_read(struct holds *h, const struct past_source *past, const struct history_query *q, size_t node,
               const struct series_frame *f, struct err *err);
void holds_fini(struct holds *h);

static inline bool user_hold_has(const struct user_hold *h, size_t bin)
{
    return h->bins[bin / 64] >> (bin % 64) & 1;
}
