/*
 * advise.h: what would give back most GPU-hours: what the rules say of the runs of a span of time (verdict.h), each by
 * the rule that would give back most of it, added up by person and rule. Read beside the loop. The largest runs are
 * looked at first, each with a share of what may be read in all: large ones by the minute, very large ones by some of
 * their GPUs, which then stand for all. When all of it is read, or the time is over, the rest is not looked at; of how
 * many is said.
 */
#pragma once

#include "jobs/verdict.h"

#define ADVISE_LINES 5
#define ADVISE_CELLS 200e6 /* values that are read for one answer: 11,500 GPU-hours every 5 s */

struct people;
struct advise_ask {
    int64_t from_ms, to_ms;
    const char *person, *team; /* NULL: all */
    const struct people *people;
    double cells; /* values that may be read; the last run may go beyond by what it takes to look at it at all */
};

struct advise_found { /* of one run */
    int64_t run;
    char person[64], name[64];
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

struct advise_all {
    struct advise_found *v;
    size_t n, cap, runs;
    size_t looked, sampled; /* of the runs; of those that were looked at: by some of their GPUs */
    double hours;           /* GPU-hours of all runs */
    double held, effective; /* of those that were looked at; effective: NAN where nothing was measured */
};
/* On any thread. 0 or -errno; ret is ended with advise_fini in any case. */
int advise_read(const struct past_source *past, const struct advise_ask *ask, struct advise_all *ret, struct err *err);
void advise_fini(struct advise_all *a);

struct advise_line { /* of one person and rule */
    const struct advise_found *most;
    size_t runs;
    double hours, cost; /* cost: NAN where there is no price */
};
/* The first are those that give back most; at most ADVISE_LINES. */
size_t advise_lines(const struct advise_all *a, advise_price_fn *price, void *arg,
                    struct advise_line ret[ADVISE_LINES]);
/* What heeding it would give back of a run, in GPU-hours. */
double advise_hours(const struct run_verdict *v, const struct run_advice *r);
