/*
 * seen.h: the stored batch numbers of one node's runs, as ranges. Pure. Bounded: past SEEN_RUNS runs or SEEN_RANGES
 * ranges the longest unused ones are forgotten, so a node with erratic numbers costs at most a megabyte. A node that
 * counts up has one range per run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf;

#define SEEN_RUNS   4096
#define SEEN_RANGES 65536

struct seen_range {
    uint64_t first, last;
};

struct seen_run {
    uint64_t run;
    int64_t last_log; /* the newest log file with a batch of it */
    size_t n, cap;
    struct seen_range *v; /* ascending, never touching */
};

struct seen {
    struct seen_run *v; /* oldest first */
    size_t n, cap, ranges;
};

void seen_fini(struct seen *s);
bool seen_has(const struct seen *s, uint64_t run, uint64_t number);
void seen_add(struct seen *s, uint64_t run, uint64_t number, int64_t log);
void seen_prune(struct seen *s, int64_t oldest_log); /* forgets runs whose last log is older */

/* A run's ranges as bytes: varints, each the distance to the previous. */
int seen_write(const struct seen_run *r, struct buf *out);
int seen_read(struct seen *s, uint64_t run, int64_t last_log,
              struct str bytes); /* the run must be new; returns 0 or -EBADMSG */
