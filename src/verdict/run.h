/*
 * run.h: what the GPUs of a run did, as numbers and as one sentence: means and peaks of each GPU and of all, the
 * findings of the rules (advice.h), energy. Pure: the input is the bins of each GPU, in order of time.
 * V1 A value that is not measured is NAN, never 0.
 * V2 A mean covers the time in which that value is known.
 * V3 Time without data is neither held nor measured: a gap longer than `gap_ms` counts nowhere (known_span).
 */
#pragma once

#include "verdict/advice.h"

struct buf;

/* The metrics it needs of a GPU. */
#define RUN_METRICS 24
extern const enum metric run_metrics[RUN_METRICS];

enum run_value {
    RUN_ACTIVE,      /* share of time it was busy; it waited for the rest */
    RUN_TENSOR_PEAK, /* of the tensor pipes at the highest clock */
    RUN_TENSOR,
    RUN_SM,
    RUN_DRAM,
    RUN_FP32,
    RUN_WORK,
    RUN_FLOPS, /* TFLOP/s as bf16 */
    RUN_UTIL,  /* not efficiency */
    RUN_POWER, /* W */
    RUN_CLOCK, /* share of the highest */
    RUN_CPU,   /* cores used by its processes and their children */
    RUN_CPU_TOP,
    RUN_VALUES
};
extern const char *const run_value_names[RUN_VALUES];

struct run_means {
    double mean[RUN_VALUES];                                     /* NAN: not measured */
    double mem_peak, mem_total, power_peak, temp_peak, cpu_peak; /* bytes, W, degrees, cores; NAN */
    double joules;                                               /* NAN */
    int64_t held_ms, measured_ms;                                /* held: with data; measured: active has a value */
    int64_t data_to_ms;                                          /* its newest data; 0: none */
};

/* The time with data within [from, to): a gap between readings counts if it is at most gap_ms. */
struct known_span {
    int64_t from_ms, to_ms, gap_ms;
    int64_t last_ms; /* end of the newest reading; 0: none */
    int64_t sum_ms;  /* known time up to last_ms */
};
#define KNOWN_GAP_MS 120000 /* as in usage: a sample counts for its minute and the next one */
void known_span_add(struct known_span *k, int64_t from_ms, int64_t to_ms); /* a reading; later than those before */
int64_t known_span_ms(const struct known_span *k);

struct run_gpu;
/* The time range in which the GPU was the run's; step_ms: of the bins. Above a minute no rule is evaluated. */
struct run_gpu *run_gpu_new(int64_t from_ms, int64_t to_ms, int64_t step_ms);
void run_gpu_gap(struct run_gpu *g, int64_t gap_ms); /* for a node that is read rarely; default: KNOWN_GAP_MS */
void run_gpu_free(struct run_gpu *g);                /* accepts NULL */
/* Adds a bin that ends at mean->at_ms: means (for counters, limits and sizes the newest value), and the highest
 * values. Its newest reading is of most->at_ms: the rest of the bin is known only if another reading follows
 * (known_span). */
void run_gpu_add(struct run_gpu *g, const struct sample *mean, const struct sample *most);
/* Sets its first minutes, if the bins start later than the run (straggler.h). */
struct sibling;
void run_gpu_first(struct run_gpu *g, const struct sibling *first);
void run_gpu_means(const struct run_gpu *g, struct run_means *ret);
/* All n GPUs of the run have their bins up to until_ms: checks each minute for a straggler. Call periodically, since
 * minutes are stored until then. */
struct straggling;
void run_follow(struct run_gpu *const *g, size_t n, int64_t until_ms, struct straggling *to);

/* For all GPUs of a run: means over their time, sums of energy and time, the highest peaks. */
void run_means_all(const struct run_means *v, size_t n, struct run_means *ret);

struct run_advice {
    struct advice a; /* of the GPU for which it held longest */
    size_t n_gpus;   /* number of GPUs for which it held */
    uint8_t *gpus;   /* n flags, one per GPU */
};
/* Evaluates the rules on n GPUs, each rule once; ret has room for ADVICE_COUNT. Call run_advice_fini() on it. apart:
 * result of run_follow, which is freed here; NULL: not checked. */
size_t run_advise(struct run_gpu *const *g, size_t n, struct straggling *apart, struct run_advice ret[ADVICE_COUNT]);
void run_advice_fini(struct run_advice *v, size_t n);

struct run_money {
    bool known;
    double amount;
    const char *currency;
};
struct run_sentence {       /* input of run_sentence */
    const char *what;       /* "4 x H200" */
    int64_t ms, unknown_ms; /* with data; without data */
    const char *why;        /* why activity is not measured; NULL: unknown */
    const char *no_data;    /* "no data since 09:02: ..."; NULL: its data is current */
    bool withheld;          /* no GPU has data: no_data replaces the activity */
    const struct run_means *m;
    const struct run_money *money; /* NULL: none */
};
/* "4 x H200 for 5 h 12 m: active 71 %, waited 29 %, 38 % of the tensor peak; 9.8 kWh, 12.40 EUR" */
void run_sentence(struct buf *out, const struct run_sentence *t);
