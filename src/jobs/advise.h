/*
 * advise.h: the advice that saves most GPU-hours. It uses the verdicts of the runs of a period (verdict.h), each with
 * the rule that saves most, summed by person and rule. A worker thread reads them. It reads the largest runs first,
 * each as its own verdict does unless there are too many. Then it reads large runs by the minute, and only some GPUs of
 * very large runs, as a sample for all. Runs beyond the limit are skipped and counted.
 */
#pragma once

#include "jobs/verdict.h"

#define ADVISE_LINES     5
#define ADVISE_CELLS     1e9  /* values read for one result: 58,000 GPU-hours every 5 s */
#define ADVISE_RUN_CELLS 24e6 /* and for one run: eight GPUs for a week */

struct people;
struct advise_cache;
/* Cached results of runs for the next call; used by one thread at a time. */
struct advise_cache *advise_cache_new(void);
void advise_cache_free(struct advise_cache *c); /* accepts NULL */

struct advise_query {
    int64_t from_ms, to_ms;
    const struct people *people;
    double cells;     /* maximum number of values to read; the last run may exceed it by its minimum */
    int64_t until_us; /* CPU time of the thread at which reading stops and leaves runs for the next call; 0: no limit */
    struct advise_cache *cache; /* NULL: none */
};

struct advise_found { /* a finding about one run */
    int64_t run;
    char person[64], login[64], name[64]; /* person: their current name */
    char evidence[200];
    enum advice_rule rule;
    double hours; /* GPU-hours that following the rule would have saved */
    size_t n_gpus;
    char (*gpus)[UUID_MAX]; /* GPUs whose prices count; of many GPUs a sample, from the first to the last */
};
/* A rule's finding about a run, without its person; free with advise_found_fini(). */
struct advise_found advise_found_of(const struct run_verdict *v, const struct run_advice *r);
void advise_found_fini(struct advise_found *f);
/* The price of an hour of a GPU; 0: it has no price. */
typedef double advise_price_fn(void *arg, const char *uuid);
/* The cost of its hours at the mean price of its GPUs; NAN if not all have a price. */
double advise_cost(const struct advise_found *f, advise_price_fn *price, void *arg);

struct advise_verdict { /* a run, with or without findings */
    char person[64], login[64];
    bool looked, sampled; /* it was read; from a sample of its GPUs */
    bool withheld;        /* still running, but without current data: no rule applies */
    double hours;         /* GPU-hours with data; from its start to its end if it was not read */
    double effective;     /* NAN: not measured */
};
struct advise_all {
    struct advise_found *v;
    struct advise_verdict *told;
    size_t n, cap, n_told, cap_told;
    size_t left; /* runs left to read by the next call */
};
/* Thread-safe. Returns 0 or -errno. Call advise_fini() in both cases. */
int advise_read(const struct past_source *past, const struct advise_query *ask, struct advise_all *ret,
                struct err *err);
void advise_fini(struct advise_all *a);

struct advise_owner { /* selects runs by user; NULL: all */
    const char *person, *team;
    const struct people *people;
    int64_t at_ms; /* time of the team's membership */
};
struct advise_sums {
    size_t runs, looked, sampled, withheld;
    double hours;           /* GPU-hours of all runs */
    double held, effective; /* of the runs that were read; effective: NAN if nothing was measured */
};
struct advise_sums advise_sums_of(const struct advise_all *a, const struct advise_owner *who);

struct advise_line { /* one person and rule */
    const struct advise_found *most;
    size_t runs;
    double hours, cost; /* cost: NAN without a price */
};
/* Sorted by the GPU-hours to save; at most ADVISE_LINES. */
size_t advise_lines(const struct advise_all *a, const struct advise_owner *who, advise_price_fn *price, void *arg,
                    struct advise_line ret[ADVISE_LINES]);
/* GPU-hours of a run that following the advice would save. */
double advise_hours(const struct run_verdict *v, const struct run_advice *r);
