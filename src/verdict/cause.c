/* cause.c: the table of causes, and the signs by which waiting for the host differs from kernels that are too small. */
#include "verdict/cause.h"

#include <math.h>

#include "base/mem.h"
#include "model/work.h"

#define THERMAL     0x60 /* the driver's reasons: by software and by hardware */
#define POWER_CAP   0x4
#define MUCH_ACTIVE 0.01  /* from here on the GPU itself shows that it has work */
#define SOME_ACTIVE 0.001 /* memory that is only held shows up to 0.0004 */
#define HOST_CORES  0.5   /* of the processes that prepare the work */
#define WAIT_LEAST  0.15  /* of the time without a kernel: less is not reported */
#define EMPTY_LEAST 0.35  /* of the multiprocessors' time without work */
#define FP32_LEAST  0.2
#define DRAM_LEAST  0.3
#define DRAM_SOME   0.1  /* enough where all multiprocessors have work */
#define SM_FULL     0.9  /* they have */
#define WORK_MOST   1.1  /* no other part does more than this, of what the memory does */
#define FP32_LOST   0.75 /* tf32 alone does four times as much in the same time, bf16 more */
#define USUAL_CLOCK 0.7  /* of the highest, at full load */
#define FELT_LEAST  0.01 /* minimum loss for a lower clock with unknown effect */

const enum value cause_values[CAUSE_COUNT][CAUSE_VALUES] = {
    [CAUSE_SPINNING] = {V_ACTIVE, V_SM, V_COUNT},
    [CAUSE_HOST] = {V_ACTIVE, V_SM, V_CPU, V_TOP, V_RX, V_BACK, V_GAPS},
    [CAUSE_FP32] = {V_ACTIVE, V_FP32, V_TENSOR, V_COUNT},
    [CAUSE_MEMORY] = {V_ACTIVE, V_SM, V_DRAM, V_TENSOR, V_COUNT},
    [CAUSE_POWER] = {V_ACTIVE, V_CLOCK, V_COUNT},
    [CAUSE_HEAT] = {V_ACTIVE, V_CLOCK, V_COUNT},
};

/* ---- share of the time of each cause; 0: not present ---- */

static double spinning(const struct cause_input *k)
{
    return k->v[V_ACTIVE] >= SPIN_ACTIVE / 1e4 && k->v[V_SM] < SPIN_SM / 1e4 ? 1 : 0;
}

/* A process that computes for long before it sends a little work makes the GPU wait; one that sleeps does not. */
bool cause_is_requested(const struct cause_input *k)
{
    return k->v[V_ACTIVE] >= MUCH_ACTIVE || (k->v[V_ACTIVE] >= SOME_ACTIVE && k->v[V_CPU] >= HOST_CORES);
}

/* Time without a kernel, and multiprocessors without work next to a kernel. */
static double host(const struct cause_input *k)
{
    double wait = 1 - k->v[V_ACTIVE], empty = 1 - k->v[V_SM];
    return cause_is_requested(k) && (wait >= WAIT_LEAST || empty >= EMPTY_LEAST) ? empty : 0;
}

static double fp32(const struct cause_input *k)
{
    return k->v[V_FP32] > FP32_LEAST && k->v[V_TENSOR] < BOUND_TENSOR / 1e4 ? k->v[V_FP32] : 0;
}

/*
 * Limited by bandwidth, or by the latency of single accesses: then integer pipes, which compute the addresses, may do
 * more. With scattered accesses the bandwidth is low, too: all multiprocessors have work, and no part does more than
 * the memory.
 */
static double memory(const struct cause_input *k)
{
    bool most = k->v[V_DRAM] > DRAM_LEAST && !(k->v[V_DRAM] < k->v[V_WORK] / 2);
    bool full = k->v[V_SM] >= SM_FULL && k->v[V_DRAM] > DRAM_SOME && k->v[V_WORK] <= k->v[V_DRAM] * WORK_MOST;
    return (most || full) && k->v[V_TENSOR] < BOUND_TENSOR / 1e4 ? k->v[V_DRAM] : 0;
}

static double slower(double clock)
{
    return fmax(FELT_LEAST, 1 - clock / USUAL_CLOCK);
}

static double heat(const struct cause_input *k)
{
    return k->mask & THERMAL ? slower(k->v[V_CLOCK]) : 0;
}

/*
 * An H200 at full tensor load runs at 0.66 to 0.75 of its highest clock by itself, and the driver's mask has "power" in
 * every such sample: that alone is no finding. A lower limit is one while it has an effect.
 */
static double power(const struct cause_input *k)
{
    bool lower = k->limit < k->standard * 0.99 && k->mask & POWER_CAP;
    bool felt = (k->v[V_ACTIVE] >= 0.1 && lower) || (k->v[V_ACTIVE] >= 0.5 && k->v[V_CLOCK] < 0.55);
    return felt && !(k->mask & THERMAL) ? slower(k->v[V_CLOCK]) : 0;
}

static double (*const shares[CAUSE_COUNT])(const struct cause_input *k) = {
    [CAUSE_SPINNING] = spinning, [CAUSE_HOST] = host,   [CAUSE_FP32] = fp32,
    [CAUSE_MEMORY] = memory,     [CAUSE_POWER] = power, [CAUSE_HEAT] = heat,
};

enum cause cause_of(const struct cause_input *k)
{
    enum cause most = CAUSE_COUNT;
    double share = 0;
    for (enum cause c = 0; c < CAUSE_COUNT; c++) {
        double v = shares[c](k);
        if (v > share) {
            share = v;
            most = c;
        }
    }
    return most;
}

/* ---- the host, or small kernels? ---- */

enum sign_of { OF_HOST = 1, OF_KERNELS = -1 };
/* A value within [from, to) is a sign. Unknown values are none. */
static const struct sign {
    enum value v;
    bool of_active; /* as a share of `active` */
    double from, to;
    enum sign_of is;
} signs[] = {
    {V_SM, true, 0.7, INFINITY, OF_HOST},     /* its kernels fill the GPU */
    {V_SM, true, 0, 0.6, OF_KERNELS},         /* its kernels do not */
    {V_ACTIVE, false, 0, 0.1, OF_HOST},       /* launches alone leave no gaps as long as that */
    {V_CPU, false, 1.5, INFINITY, OF_HOST},   /* more than the thread that launches */
    {V_TOP, false, 0, 0.8, OF_HOST},          /* a thread that launches without a break uses a core */
    {V_RX, false, 1e6, 8e7, OF_HOST},         /* and has 0.13 GB/s or more sent to the GPU */
    {V_RX, false, 5e8, INFINITY, OF_HOST},    /* data: launches alone are at most 0.3 GB/s */
    {V_BACK, false, 0, COPIES_BACK, OF_HOST}, /* data is copied */
    {V_BACK, false, 0.085, 0.2, OF_KERNELS},  /* kernels are launched */
    {V_GAPS, false, 0.05, INFINITY, OF_HOST}, /* gaps of a tenth of a second and more */
};

static bool has_sign(const struct sign *s, const double mean[V_COUNT])
{
    double v = s->of_active ? mean[s->v] / mean[V_ACTIVE] : mean[s->v];
    return v >= s->from && v < s->to;
}

static enum advice_rule host_or_kernels(const double mean[V_COUNT])
{
    int sum = 0;
    if (mean[V_ACTIVE] - mean[V_SM] > 1 - mean[V_ACTIVE]) /* more is lost next to its kernels than between them */
        return ADVICE_small_kernels;
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        sum += has_sign(&signs[i], mean) ? (int)signs[i].is : 0;
    return sum > 0 ? ADVICE_starved : sum < 0 ? ADVICE_small_kernels : ADVICE_host_or_small;
}

enum advice_rule cause_rule(enum cause c, const double mean[V_COUNT])
{
    static const enum advice_rule rules[CAUSE_COUNT] = {
        [CAUSE_SPINNING] = ADVICE_spinning,   [CAUSE_HOST] = ADVICE_host_or_small, [CAUSE_FP32] = ADVICE_fp32,
        [CAUSE_MEMORY] = ADVICE_memory_bound, [CAUSE_POWER] = ADVICE_power_capped, [CAUSE_HEAT] = ADVICE_hot,
    };
    return c == CAUSE_HOST ? host_or_kernels(mean) : rules[c];
}

double cause_lost(enum advice_rule rule, const double mean[V_COUNT])
{
    switch (rule) {
    case ADVICE_spinning:
        return 1;
    case ADVICE_starved:
        return 1 - mean[V_ACTIVE];
    case ADVICE_small_kernels:
    case ADVICE_host_or_small:
        return 1 - mean[V_SM];
    case ADVICE_fp32:
        return FP32_LOST * mean[V_ACTIVE];
    case ADVICE_power_capped:
    case ADVICE_hot:
        return slower(mean[V_CLOCK]);
    default:
        return 0;
    }
}
