/*
 * advice_cache.h: keeps the advice of the last 7 days up to date. A worker reads runs in slices of a second of CPU
 * time: ended runs once, current runs in each round. A round starts 10 s after the last one, or later, so that rounds
 * use 1 % of the time. All functions except advise_make run on the loop.
 */
#pragma once

#include "jobs/advise.h"

struct hub;
struct people;
struct usage_job;

struct advise_held { /* GPU-hours held by one person or team in that period, from the usage records */
    char *name;      /* NULL: the total */
    double hours;
};
struct advise_made { /* a result for all users and teams */
    int64_t from_ms, to_ms;
    struct advise_all all;
    size_t n, cap, n_teams, cap_teams;
    struct advise_held *persons, *teams; /* persons[0]: the total */
};
void advise_made_fini(struct advise_made *m);
/* From the usage records; NAN: unknown. */
double advise_made_held(const struct advise_made *m, const struct advise_owner *who);

struct advise_making { /* the input of one computation: made on the loop, read on a worker */
    struct people *people;
    struct usage_job *usage[2]; /* by person, by team */
    struct advise_made made;
};
void advise_making_of(struct hub *h, int64_t span_ms, int64_t now_ms, struct advise_making *ret);
int advise_make(struct advise_making *m, const struct past_source *past, struct advise_cache *cache, int64_t until_us,
                struct err *err);
void advise_making_fini(struct advise_making *m);

#define ADVISE_KEPT_MS (7 * 86400000ll)
struct advice_cache;
struct advice_cache *advice_cache_new(struct hub *h);
void advice_cache_tick(struct advice_cache *k, int64_t now_ms); /* accepts NULL */
void advice_cache_free(struct advice_cache *k);                 /* after the workers; accepts NULL */
/* NULL: not complete yet. Valid until the next tick. */
const struct advise_made *advice_cache_get(const struct advice_cache *k);
