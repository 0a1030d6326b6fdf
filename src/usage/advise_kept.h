/*
 * advise_kept.h: keeps what would give back most GPU-hours of the last 7 days ready. Runs are read beside the loop, a
 * second of a processor at a time: one that is over once, one that goes on in each round. A round begins 10 s after the
 * one before, or when that was 1 % of the time. All of it is on the loop but advise_make.
 */
#pragma once

#include "jobs/advise.h"

struct hub;
struct people;
struct usage_job;

struct advise_held { /* by one person or team in that time, by usage */
    char *name;      /* NULL: by all */
    double hours;
};
struct advise_made { /* an answer, for all whom one may ask about */
    int64_t from_ms, to_ms;
    struct advise_all all;
    size_t n, cap, n_teams, cap_teams;
    struct advise_held *persons, *teams; /* the first of persons: all */
};
void advise_made_fini(struct advise_made *m);
/* By usage; NAN: not known. */
double advise_made_held(const struct advise_made *m, const struct advise_who *who);

struct advise_making { /* what it takes to make one: made on the loop, read on a worker */
    struct people *people;
    struct usage_job *usage[2]; /* by person, by team */
    struct advise_made made;
};
void advise_making_of(struct hub *h, int64_t span_ms, int64_t now_ms, struct advise_making *ret);
int advise_make(struct advise_making *m, const struct past_source *past, struct advise_cache *cache, int64_t until_us,
                struct err *err);
void advise_making_fini(struct advise_making *m);

#define ADVISE_KEPT_MS (7 * 86400000ll)
struct advise_kept;
struct advise_kept *advise_kept_new(struct hub *h);
void advise_kept_tick(struct advise_kept *k, int64_t now_ms); /* accepts NULL */
void advise_kept_free(struct advise_kept *k);                 /* after the workers; accepts NULL */
/* NULL: not all of it is read yet. As long as the next tick. */
const struct advise_made *advise_kept_made(const struct advise_kept *k);
