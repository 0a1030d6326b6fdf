/*
 * apart_first.h: the first minutes of runs that began before this hub did, read from the store: a GPU that falls behind
 * is found by them (verdict/straggler.h), and a restart must not make what is slow since then the measure. A few runs
 * at a time, beside the loop, once each.
 */
#pragma once

#include "hub/hub.h"
#include "hub/past.h"
#include "jobs/auto.h"
#include "verdict/straggler.h"

#define FIRST_GPUS  256  /* of one question */
#define FIRST_NODES 2000 /* looked at for it: a millisecond or two */

struct first_gpu {
    char node[NODE_KEY_MAX], uuid[UUID_MAX];
    int64_t from_ms; /* its run began */
    struct sibling s;
};
struct first_gpus {
    size_t n;
    struct first_gpu v[FIRST_GPUS];
};
/* GPUs of runs of three and more, or of launches, that began before before_ms, are at work now and were not asked for
 * yet: from now on they were. Of some nodes, from *at on, which is 0 at first and when all were looked at. */
void first_pick(struct auto_runs *a, struct live *l, int64_t before_ms, size_t *at, struct first_gpus *ret);
int first_read(const struct past_source *past, struct first_gpus *v, int64_t now_ms, struct err *err);
void first_put(struct live *l, const struct first_gpus *v);

struct apart_first;
struct apart_first *apart_first_new(struct hub *h, struct auto_runs *a);
void apart_first_tick(struct apart_first *x, int64_t now_ms);
void apart_first_free(struct apart_first *x); /* after the workers; accepts NULL */
