/*
 * apart_first.h: reads the first minutes of runs that started before this hub from the store. They are the reference
 * for a GPU that falls behind (verdict/straggler.h); after a restart a slow GPU must not become the reference. A worker
 * thread reads a few runs at a time, once each.
 */
#pragma once

#include "hub/hub.h"
#include "hub/past.h"
#include "jobs/auto.h"
#include "verdict/straggler.h"

#define FIRST_GPUS  256  /* maximum per query */
#define FIRST_NODES 2000 /* nodes checked for one query: a millisecond or two */

struct first_gpu {
    char node[NODE_KEY_MAX], uuid[UUID_MAX];
    int64_t from_ms; /* start of its run */
    struct sibling s;
};
struct first_gpus {
    size_t n;
    struct first_gpu v[FIRST_GPUS];
};
/* Picks GPUs that are busy now, in runs of three or more GPUs or in launches, that started before before_ms and were
 * not picked yet. Checks some nodes from *at on, which is 0 at first and after a full pass. */
void first_pick(struct auto_runs *a, struct live *l, int64_t before_ms, size_t *at, struct first_gpus *ret);
int first_read(const struct past_source *past, struct first_gpus *v, int64_t now_ms, struct err *err);
void first_put(struct live *l, const struct first_gpus *v);

struct apart_first;
struct apart_first *apart_first_new(struct hub *h, struct auto_runs *a);
void apart_first_tick(struct apart_first *x, int64_t now_ms);
void apart_first_free(struct apart_first *x); /* after the workers; accepts NULL */
