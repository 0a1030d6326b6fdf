/* run.c: sums the activity of a run's GPUs, bin by bin, and formats it. */
#include "verdict/run.h"

#include <math.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "verdict/energy.h"
#include "verdict/straggling.h"
#include "verdict/tracker.h"

const enum metric run_metrics[RUN_METRICS] = {M_util,          M_active,      M_sm_active, M_tensor_active,
                                              M_fp32_active,   M_dram_active, M_work,      M_flops,
                                              M_mem_used,      M_mem_total,   M_power,     M_power_limit,
                                              M_power_default, M_energy,      M_clock_sm,  M_clock_sm_max,
                                              M_throttle,      M_temp,        M_host_cpu,  M_host_cpu_top,
                                              M_nvlink_rx,     M_nvlink_tx,   M_pcie_rx,   M_pcie_tx};

const char *const run_value_names[RUN_VALUES] = {"active", "tensor_peak", "tensor",      "sm",   "dram",
                                                 "fp32",   "work",        "flops",       "util", "power",
                                                 "clock",  "host_cpu",    "host_cpu_top"};

/* Where each value comes from, in the order of enum run_value; the others are put together. */
static const enum metric sources[RUN_VALUES] =
    {[RUN_ACTIVE] = M_active,       [RUN_TENSOR_PEAK] = M_COUNT, [RUN_TENSOR] = M_tensor_active,
     [RUN_SM] = M_sm_active,        [RUN_DRAM] = M_dram_active,  [RUN_FP32] = M_fp32_active,
     [RUN_WORK] = M_work,           [RUN_FLOPS] = M_flops,       [RUN_UTIL] = M_util,
     [RUN_POWER] = M_power,         [RUN_CLOCK] = M_COUNT,       [RUN_CPU] = M_host_cpu,
     [RUN_CPU_TOP] = M_host_cpu_top};

struct run_gpu {
    int64_t from_ms, to_ms, step_ms;
    struct known_span known;
    struct tracker *tracker; /* NULL: bins are too long for it */
    double sum[RUN_VALUES];
    int64_t n[RUN_VALUES];
    double mem_peak, mem_total, power_peak, temp_peak, cpu_peak, clock_max;
    struct energy energy;
    struct sibling sibling;
    struct minute_sum minute; /* the current minute */
    struct minute_row {
        uint32_t minute; /* since 1970 */
        float v[SIBLING_VALUES];
    } * rows; /* minutes that were not compared yet, oldest first; the first `at` are done */
    size_t n_rows, cap_rows, at;
};

void known_span_add(struct known_span *k, int64_t from_ms, int64_t to_ms)
{
    int64_t before_ms = k->last_ms ? k->last_ms : k->from_ms;
    from_ms = MAX(from_ms, k->from_ms);
    to_ms = MIN(to_ms, k->to_ms);
    if (to_ms <= before_ms)
        return;
    k->sum_ms += to_ms - (from_ms - before_ms <= k->gap_ms ? before_ms : from_ms);
    k->last_ms = to_ms;
}

int64_t known_span_ms(const struct known_span *k)
{
    int64_t rest_ms = k->to_ms - k->last_ms;
    return k->sum_ms + (k->last_ms && rest_ms <= k->gap_ms ? rest_ms : 0);
}

struct run_gpu *run_gpu_new(int64_t from_ms, int64_t to_ms, int64_t step_ms)
{
    struct run_gpu *g = NEW(struct run_gpu, .from_ms = from_ms, .to_ms = to_ms, .step_ms = step_ms, .mem_peak = NAN,
                            .mem_total = NAN, .power_peak = NAN, .temp_peak = NAN, .cpu_peak = NAN, .clock_max = NAN,
                            .energy = ENERGY_INIT, .known = {from_ms, to_ms, KNOWN_GAP_MS, 0, 0});
    if (step_ms <= MINUTE_MS)
        g->tracker = tracker_new(MAX(step_ms, ADVICE_READING_MS));
    return g;
}

void run_gpu_gap(struct run_gpu *g, int64_t gap_ms)
{
    g->known.gap_ms = gap_ms;
}

void run_gpu_free(struct run_gpu *g)
{
    if (!g)
        return;
    tracker_free(g->tracker);
    FREE_ALL(g->rows, g);
}

static double value_of(const struct sample *s, enum metric m)
{
    return sample_has(s, m) ? (double)s->v[m] / (double)metrics[m].per : NAN;
}

static void add_value(struct run_gpu *g, enum run_value to, double v)
{
    if (isnan(v))
        return;
    g->sum[to] += v;
    g->n[to]++;
}

static double higher(double a, double b) /* ignores an unknown value */
{
    return isnan(a) || b > a ? b : a;
}

/* Seconds of a bin that ends at end_ms and belong to the run. */
static double seconds_of(const struct run_gpu *g, int64_t end_ms)
{
    return (double)MAX(MIN(end_ms, g->to_ms) - MAX(end_ms - g->step_ms, g->from_ms), 0) / 1000;
}

static void end_minute(struct run_gpu *g, int64_t next)
{
    double v[SIBLING_VALUES];
    uint32_t minute = g->minute.minute;
    if (!minute_end(&g->minute, next, v))
        return;
    VEC_ADD(g->rows, g->n_rows, g->cap_rows, ((struct minute_row){.minute = minute}));
    for (size_t k = 0; k < SIBLING_VALUES; k++)
        g->rows[g->n_rows - 1].v[k] = (float)v[k];
}

void run_gpu_add(struct run_gpu *g, const struct sample *mean, const struct sample *most)
{
    known_span_add(&g->known, mean->at_ms - g->step_ms, most->at_ms);
    g->clock_max = sample_has(mean, M_clock_sm_max) ? value_of(mean, M_clock_sm_max) : g->clock_max;
    double clock = value_of(mean, M_clock_sm) / g->clock_max;
    for (size_t k = 0; k < RUN_VALUES; k++)
        if (sources[k] != M_COUNT)
            add_value(g, (enum run_value)k, value_of(mean, sources[k]));
    add_value(g, RUN_CLOCK, clock);
    add_value(g, RUN_TENSOR_PEAK, value_of(mean, M_tensor_active) * (clock > 1 ? 1 : clock)); /* NAN stays */
    g->mem_peak = higher(g->mem_peak, value_of(most, M_mem_used));
    g->mem_total = higher(g->mem_total, value_of(mean, M_mem_total));
    g->power_peak = higher(g->power_peak, value_of(most, M_power));
    g->temp_peak = higher(g->temp_peak, value_of(most, M_temp));
    g->cpu_peak = higher(g->cpu_peak, value_of(most, M_host_cpu));
    energy_add(&g->energy, value_of(mean, M_energy), value_of(mean, M_power), seconds_of(g, mean->at_ms));
    if (!g->tracker)
        return;
    tracker_add(g->tracker, mean);
    end_minute(g, (mean->at_ms - 1) / MINUTE_MS);
    struct sample begun = *mean;
    begun.at_ms--; /* a bin that ends with a minute is of that minute */
    minute_add(&g->minute, &begun);
}

void run_gpu_first(struct run_gpu *g, const struct sibling *first)
{
    sibling_take_first(&g->sibling, first);
}

void run_gpu_means(const struct run_gpu *g, struct run_means *ret)
{
    *ret = (struct run_means){.mem_peak = g->mem_peak,
                              .mem_total = g->mem_total,
                              .power_peak = g->power_peak,
                              .temp_peak = g->temp_peak,
                              .cpu_peak = g->cpu_peak,
                              .joules = energy_sum(&g->energy),
                              .held_ms = known_span_ms(&g->known),
                              .data_to_ms = g->known.last_ms,
                              .measured_ms = g->n[RUN_ACTIVE] * g->step_ms};
    for (size_t k = 0; k < RUN_VALUES; k++)
        ret->mean[k] = g->n[k] ? g->sum[k] / (double)g->n[k] : NAN;
    ret->measured_ms = MIN(ret->measured_ms, ret->held_ms);
}

void run_means_all(const struct run_means *v, size_t n, struct run_means *ret)
{
    *ret = (struct run_means){.mem_peak = NAN,
                              .mem_total = NAN,
                              .power_peak = NAN,
                              .temp_peak = NAN,
                              .cpu_peak = NAN,
                              .joules = NAN};
    for (size_t k = 0; k < RUN_VALUES; k++) {
        double sum = 0, weight = 0;
        for (size_t i = 0; i < n; i++)
            if (!isnan(v[i].mean[k])) {
                sum += v[i].mean[k] * (double)MAX(v[i].held_ms, 1);
                weight += (double)MAX(v[i].held_ms, 1);
            }
        ret->mean[k] = weight > 0 ? sum / weight : NAN;
    }
    for (size_t i = 0; i < n; i++) {
        ret->mem_peak = higher(ret->mem_peak, v[i].mem_peak);
        ret->mem_total = higher(ret->mem_total, v[i].mem_total);
        ret->power_peak = higher(ret->power_peak, v[i].power_peak);
        ret->temp_peak = higher(ret->temp_peak, v[i].temp_peak);
        ret->cpu_peak = higher(ret->cpu_peak, v[i].cpu_peak);
        if (!isnan(v[i].joules))
            ret->joules = (isnan(ret->joules) ? 0 : ret->joules) + v[i].joules;
        ret->held_ms += v[i].held_ms;
        ret->measured_ms += v[i].measured_ms;
        ret->data_to_ms = MAX(ret->data_to_ms, v[i].data_to_ms);
    }
}

/* ---- findings of the rules ---- */

static struct run_advice *advice_of(struct run_advice *v, size_t *n, enum advice_rule rule, size_t n_gpus)
{
    size_t at = FIRST(*n, i, v[i].a.rule == rule);
    if (at == *n)
        v[(*n)++] = (struct run_advice){.a = {.rule = rule, .ms = -1}, .gpus = mem_zero(n_gpus, 1)};
    return &v[at];
}

static void note_advice(struct run_advice *to, const struct advice *a, size_t gpu)
{
    if (a->ms > to->a.ms)
        to->a = *a;
    to->n_gpus += !to->gpus[gpu];
    to->gpus[gpu] = 1;
}

static int64_t longest_first(const struct run_advice *x, const struct run_advice *y)
{
    return ORDER(y->a.ms * (int64_t)y->n_gpus, x->a.ms * (int64_t)x->n_gpus) ?: ORDER(x->a.rule, y->a.rule);
}

COMPARE(by_weight, struct run_advice, (int)longest_first(x, y))

/* ---- one that is apart from the others ---- */

static const struct minute_row *next_row(const struct run_gpu *g, int64_t before)
{
    const struct minute_row *r = g->at < g->n_rows ? &g->rows[g->at] : NULL;
    return r && r->minute < before ? r : NULL;
}

static void take_row(struct run_gpu *g, int64_t minute)
{
    const struct minute_row *r = next_row(g, minute + 1);
    if (r) {
        sibling_minute(&g->sibling, (const double[SIBLING_VALUES]){(double)r->v[0], (double)r->v[1], (double)r->v[2]});
        g->at++;
    } else {
        sibling_gap(&g->sibling);
    }
}

void run_follow(struct run_gpu *const *g, size_t n, int64_t until_ms, struct straggling *to)
{
    int64_t until = until_ms / MINUTE_MS, minute;
    AUTO_FREE const struct sibling **s = mem_zero(n + 1, sizeof(*s));
    for (size_t i = 0; i < n; i++) {
        s[i] = &g[i]->sibling;
        end_minute(g[i], until);
    }
    for (;;) {
        minute = until;
        for (size_t i = 0; i < n; i++) {
            const struct minute_row *r = next_row(g[i], minute);
            minute = r ? r->minute : minute;
        }
        if (minute == until)
            break;
        bool hole = to->asked_ms && minute * MINUTE_MS > to->asked_ms;
        for (size_t i = 0; i < n; i++) {
            if (hole)
                sibling_gap(&g[i]->sibling);
            take_row(g[i], minute);
        }
        straggling_minute(to, s, n, (minute + 1) * MINUTE_MS);
    }
    for (size_t i = 0; i < n; i++)
        g[i]->n_rows = g[i]->at = 0;
}

static void note_straggler(struct straggling *apart, size_t n, struct run_advice *ret, size_t *n_ret)
{
    struct advice a;
    if (!apart || !straggling_end(apart, n, &a))
        return;
    struct run_advice *to = advice_of(ret, n_ret, ADVICE_straggler, n);
    for (size_t i = 0; i < n; i++)
        if (apart->gpus[i])
            note_advice(to, &a, i);
}

size_t run_advise(struct run_gpu *const *g, size_t n, struct straggling *apart, struct run_advice ret[ADVICE_COUNT])
{
    size_t n_ret = 0;
    for (size_t i = 0; i < n; i++) {
        struct advice v[ADVICE_COUNT];
        size_t told = g[i]->tracker ? tracker_advice(g[i]->tracker, v, ADVICE_COUNT) : 0;
        for (size_t k = 0; k < told; k++)
            note_advice(advice_of(ret, &n_ret, v[k].rule, n), &v[k], i);
    }
    note_straggler(apart, n, ret, &n_ret);
    SORT(ret, n_ret, by_weight);
    return n_ret;
}

void run_advice_fini(struct run_advice *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(v[i].gpus);
}

/* ---- the sentence ---- */

static double percent(double share)
{
    return round(share * 100);
}

static void put_activity(struct buf *out, const struct run_sentence *t)
{
    const struct run_means *m = t->m;
    double active = m->mean[RUN_ACTIVE];
    if (!isnan(active)) {
        buf_addf(out, "active %.0f %%, waited %.0f %%", percent(active), 100 - percent(active));
        if (!isnan(m->mean[RUN_TENSOR_PEAK]))
            buf_addf(out, ", %.0f %% of the tensor peak", percent(m->mean[RUN_TENSOR_PEAK]));
    } else {
        buf_adds(out, t->why ? t->why : "efficiency is not measured");
        if (!isnan(m->mean[RUN_UTIL]))
            buf_addf(out, ", utilisation %.0f %% (not efficiency)", percent(m->mean[RUN_UTIL]));
    }
}

void run_sentence(struct buf *out, const struct run_sentence *t)
{
    char span[24], unknown[24];
    const struct run_means *m = t->m;
    buf_addf(out, "%s for %s", t->what, clock_span(t->ms, span));
    if (t->unknown_ms > 0 && !t->no_data)
        buf_addf(out, ", and %s without data", clock_span(t->unknown_ms, unknown));
    buf_adds(out, ": ");
    if (!t->withheld)
        put_activity(out, t);
    if (t->no_data)
        buf_addf(out, "%s%s", t->withheld ? "" : ", ", t->no_data);
    const char *next = "; ";
    if (!isnan(m->joules)) {
        buf_adds(out, next);
        energy_human(out, m->joules);
        next = ", ";
    }
    if (t->money && t->money->known)
        buf_addf(out, "%s%.2f%s%s", next, t->money->amount, t->money->currency[0] ? " " : "", t->money->currency);
}
