/*
 * verdict.h: what a run did, read out of the store beside the loop: its GPUs on all its nodes, their samples from its
 * start to its end, and what the rules say of them (verdict/run.h).
 * The work is bounded: the more GPUs and the longer, the coarser it reads; above a minute no rule is asked. Where the
 * caller says how much may be read, it reads by the minute at most, and of some of the GPUs only.
 */
#pragma once

#include "hub/past.h"
#include "verdict/run.h"

#define VERDICT_GPUS 2048

struct verdict_gpu {
    char node[NODE_KEY_MAX], uuid[UUID_MAX], model[NAME_MAX_LEN];
    int32_t index;  /* as the node counted then; -1 not known */
    char note[96];  /* why values are missing, in words; empty when all is well */
    int64_t gap_ms; /* longer without data is unknown time */
    struct run_means means;
};

struct run_verdict {
    int64_t from_ms, to_ms; /* to: its end, or now */
    int64_t step_ms;        /* of what was read */
    int64_t known_ms;       /* so much of it with data of at least one of its GPUs */
    size_t n, n_advice, n_parts;
    size_t n_all; /* GPUs that it has; n of them are read, at most VERDICT_GPUS */
    double cells; /* values that were read */
    bool cut;     /* it has more GPUs than can be read, or more parts than are looked for */
    struct verdict_gpu *gpus;
    struct run_means all;
    struct run_advice advice[ADVICE_COUNT]; /* gpus: flags of those above */
    struct verdict_part {                   /* of a run over nodes */
        int64_t id;
        char node[NODE_KEY_MAX];
    } * parts;
};
struct verdict_reach {
    int64_t from_ms, now_ms; /* what it did before from_ms, or after now_ms, is not told */
    double cells;            /* about so many values may be read; 0: as many as it takes to tell of all its GPUs */
};
/* On any thread. 0, -ECANCELED, -errno; ret is ended with run_verdict_fini in any case. */
int run_verdict_read(const struct past_source *past, const struct job_fact *j, const struct verdict_reach *reach,
                     struct run_verdict *ret, struct err *err);
void run_verdict_fini(struct run_verdict *v);
/* Of how many of its GPUs there is no data now; of one that has ended none. */
size_t run_verdict_silent(const struct run_verdict *v, const struct job_fact *j);
bool verdict_gpu_silent(const struct run_verdict *v, const struct verdict_gpu *g);
/* Why its activity is not measured: what its GPUs say, or in general. */
const char *run_verdict_why(const struct run_verdict *v);
