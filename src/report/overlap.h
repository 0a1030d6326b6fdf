/*
 * overlap.h: runs that were on the same host, and where that is known on the same of its devices, at the same time. By
 * intervals: a run is compared with every one that is not over yet, not only with the one before it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct overlap_run {
    const char *host;          /* "": not known, and nothing is known of this either */
    int64_t from_ms, until_ms; /* the end is not part of it; what has no length is there for a millisecond */
    uint64_t devices;          /* of its host, a bit each; 0: not known, taken for all */
    size_t of;                 /* whose it is: the caller's number */

    bool late;    /* out: it began while an earlier one was there; of those that begin at once, all but the first */
    size_t group; /* out: the same for all that hang together by such meetings, from 1 on; 0: it met none */
};

/* Sorts them by host, beginning, end and number, and fills in what is found. The number of groups, which are numbered
 * in that order. */
size_t overlap_find(struct overlap_run *v, size_t n);
