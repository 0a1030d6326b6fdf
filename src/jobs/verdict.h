/*
 * verdict.h: what a run did, from the store: its GPUs on all its nodes, their samples from its start to its end, and
 * the findings of the rules (verdict/run.h). Call on a worker thread.
 * The work is bounded: the more GPUs and the longer the run, the coarser the step; above a minute no rule is evaluated.
 * If the caller limits the values, it reads by the minute at most, and only some of the GPUs.
 */
#pragma once

#include "hub/past.h"
#include "verdict/run.h"

#define VERDICT_GPUS 2048

struct verdict_gpu {
    char node[NODE_KEY_MAX], uuid[UUID_MAX], model[NAME_MAX_LEN];
    int32_t index;  /* as numbered by the node then; -1: unknown */
    char note[96];  /* why values are missing, as text; "": all are there */
    int64_t gap_ms; /* a longer time without data counts as unknown */
    struct run_means means;
};

struct run_verdict {
    int64_t from_ms, to_ms; /* to: its end, or now */
    int64_t step_ms;        /* of the samples that were read */
    int64_t known_ms;       /* time with data of at least one of its GPUs */
    size_t n, n_advice, n_parts;
    size_t n_all; /* its GPUs; n of them are read, at most VERDICT_GPUS */
    double cells; /* number of values read */
    bool cut;     /* it has more GPUs than can be read, or more parts than were searched */
    struct verdict_gpu *gpus;
    struct run_means all;
    struct run_advice advice[ADVICE_COUNT]; /* gpus: bits of the GPUs above */
    struct verdict_part {                   /* of a run on several nodes */
        int64_t id;
        char node[NODE_KEY_MAX];
    } * parts;
};
struct verdict_reach {
    int64_t from_ms, now_ms; /* time before from_ms and after now_ms is ignored */
    double cells;            /* maximum number of values to read, roughly; 0: enough for all its GPUs */
};
/* Thread-safe. Returns 0, -ECANCELED or -errno. Call run_verdict_fini() in all cases. */
int run_verdict_read(const struct past_source *past, const struct job_fact *j, const struct verdict_reach *reach,
                     struct run_verdict *ret, struct err *err);
void run_verdict_fini(struct run_verdict *v);
/* The number of its GPUs without current data; 0 if it has ended. */
size_t run_verdict_silent(const struct run_verdict *v, const struct job_fact *j);
bool verdict_gpu_silent(const struct run_verdict *v, const struct verdict_gpu *g);
/* Why its activity is not measured: the reason of its GPUs, or a general one. */
const char *run_verdict_reason(const struct run_verdict *v);
