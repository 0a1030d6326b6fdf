/*
 * advise.h: what would give back most GPU-hours: what the rules say of the runs of a span of time (verdict.h), each by
 * the rule that would give back most of it, added up by person and rule. Read beside the loop. The largest runs are
 * read first, each as its own verdict reads it unless there are too many: then large ones by the minute, very large
 * ones by some of their GPUs, which then stand for all. What is over when all that may be read is read is left out; how
 * many were is counted.
 */
#pragma once

#include "jobs/verdict.h"

#define ADVISE_LINES     5
#define ADVISE_CELLS     1e9  /* values that are read for one answer: 58,000 GPU-hours every 5 s */
#define ADVISE_RUN_CELLS 24e6 /* and of one run: eight GPUs for a week */

struct people;
struct advise_cache;
/* What was read of runs, for the next time; of one thread at a time. */
struct advise_cache *advise_cache_new(void);
void advise_cache_free(struct advise_cache *c); /* accepts NULL */

struct advise_ask {
    int64_t from_ms, to_ms;
    const struct people *people;
    double cells;     /* values that may be read; the last run may go beyond by what it takes to look at it at all */
    int64_t until_us; /* of the thread's clock: runs are left for the next time then; 0: none are */
    struct advise_cache *cache; /* NULL: none */
};

struct advise_found { /* of one run */
    int64_t run;
    char person[64], login[64], name[64]; /* person: as they are called now */
    char evidence[200];
    enum advice_rule rule;
    double hours; /* GPU-hours that heeding the rule would have given back */
    size_t n_gpus;
    char (*gpus)[UUID_MAX]; /* by whose price they are told; of many some, from the first to the last */
};
/* What a rule says of a run, but for whose it is; for advise_found_fini. */
struct advise_found advise_found_of(const struct run_verdict *v, const struct run_advice *r);
void advise_found_fini(struct advise_found *f);
/* What an hour of a GPU costs; 0: it has no price. */
typedef double advise_price_fn(void *arg, const char *uuid);
/* What its hours cost, by the mean price of its GPUs; NAN: not all of them have one. */
double advise_cost(const struct advise_found *f, advise_price_fn *price, void *arg);

struct advise_told { /* a run, whatever the rules say of it */
    char person[64], login[64];
    bool looked, sampled; /* it was read; by some of its GPUs */
    bool withheld;        /* it goes on, and there is no data of it now: no rule counts */
    double hours;         /* GPU-hours with data; from its start to its end where it was not read */
    double effective;     /* NAN: not measured */
};
struct advise_all {
    struct advise_found *v;
    struct advise_told *told;
    size_t n, cap, n_told, cap_told;
    size_t left; /* runs that are still to be read, the next time */
};
/* On any thread. 0 or -errno; ret is ended with advise_fini in any case. */
int advise_read(const struct past_source *past, const struct advise_ask *ask, struct advise_all *ret, struct err *err);
void advise_fini(struct advise_all *a);

struct advise_who { /* whose runs; NULL: all */
    const char *person, *team;
    const struct people *people;
    int64_t at_ms; /* who is in the team then */
};
struct advise_sums {
    size_t runs, looked, sampled, withheld;
    double hours;           /* GPU-hours of all runs */
    double held, effective; /* of those that were looked at; effective: NAN where nothing was measured */
};
struct advise_sums advise_sums_of(const struct advise_all *a, const struct advise_who *who);

struct advise_line { /* of one person and rule */
    const struct advise_found *most;
    size_t runs;
    double hours, cost; /* cost: NAN where there is no price */
};
/* The first are those that give back most; at most ADVISE_LINES. */
size_t advise_lines(const struct advise_all *a, const struct advise_who *who, advise_price_fn *price, void *arg,
                    struct advise_line ret[ADVISE_LINES]);
/* What heeding it would give back of a run, in GPU-hours. */
double advise_hours(const struct run_verdict *v, const struct run_advice *r);
