/* tracker.c: the rules over one GPU's readings, and the stretches of time over which they are true. */
#include "verdict/tracker.h"

#include <math.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "verdict/cause.h"
#include "verdict/pauses.h"

#define GIB           ((int64_t)1 << 30)
#define STARVED_CORES 0.95   /* of one process: as fast as a core is */
#define IDLE_CORES    0.5    /* its busiest process is idle, too, below this */
#define LITTLE_ACTIVE 0.25   /* a slice of a GPU is enough below this */
#define FREE_ACTIVE   0.1    /* the same if its processes are unknown */
#define MUCH_RX       1e8    /* B/s over PCIe: smaller values have no meaning */
#define WORKED_MS     30000  /* a run with less work has no tail */
#define STILL_MS      600000 /* time for a process to load its data before its first work */

/* Name of a value in the evidence text; NULL: not shown. */
static const struct {
    const char *name, *unit;
    double per;
} values[V_COUNT] = {[V_ACTIVE] = {"active", " %", 100},           [V_SM] = {"SM", " %", 100},
                     [V_TENSOR] = {"tensor", " %", 100},           [V_FP32] = {"fp32", " %", 100},
                     [V_DRAM] = {"memory bandwidth", " %", 100},   [V_CLOCK] = {"clock", " % of its highest", 100},
                     [V_CPU] = {"its processes use", " cores", 1}, [V_TOP] = {"the busiest", "", 1}};

/* A cause that is, or was, the largest for a while; one struct for each. */
struct stretch {
    enum cause cause;
    float sum[CAUSE_VALUES], of_s[CAUSE_VALUES]; /* sums of its values; seconds with a value */
    int64_t from_ms, true_ms, break_ms;          /* the current stretch */
    int64_t first_ms, kept_ms;                   /* stretches that counted */
};

struct tracker {
    int64_t reading_ms, at_ms;                  /* at_ms: the last reading; 0: none */
    float clock_max, limit, standard, cpu, top; /* newest of the rarely read values; NAN: none yet */
    int64_t mem, mem_total, peak_mem;           /* 0: unknown */
    double clock_sum;
    int n_clock;
    uint8_t n, cap; /* of v */
    struct stretch *v;
    uint64_t mask;
    struct pauses pauses;
    int64_t from_ms, all_ms, work_ms, idle_ms; /* idle_ms: since it was last busy */
    int64_t still_ms;                          /* since any work was requested of it, or its memory grew */
    double work_sum, active_sum;
};

/* ---- readings ---- */

static double share(const struct sample *s, enum metric m)
{
    return sample_has(s, m) ? (double)s->v[m] / (double)metrics[m].per : NAN;
}

/* Utilisation is a value at one time, `active` covers all time since the previous reading: with regular long gaps they
 * differ. */
static double gaps_of(const struct sample *s)
{
    double active = share(s, M_active), by = share(s, M_util) - active;
    return active >= 0.05 && active <= 0.9 ? by * by / (active * (1 - active)) : NAN;
}

/* The GPU sends more bytes back for launches than for copies. */
static double back_of(const struct sample *s)
{
    double rx = share(s, M_pcie_rx);
    return rx >= MUCH_RX ? share(s, M_pcie_tx) / rx : NAN;
}

static struct cause_input look_of(struct tracker *w, const struct sample *s)
{
    struct cause_input k = {.v = {[V_ACTIVE] = share(s, M_active),
                                  [V_SM] = share(s, M_sm_active),
                                  [V_TENSOR] = share(s, M_tensor_active),
                                  [V_FP32] = share(s, M_fp32_active),
                                  [V_DRAM] = share(s, M_dram_active),
                                  [V_CLOCK] = w->n_clock ? w->clock_sum / w->n_clock / w->clock_max : NAN,
                                  [V_CPU] = w->cpu,
                                  [V_TOP] = w->top,
                                  [V_WORK] = share(s, M_work),
                                  [V_RX] = share(s, M_pcie_rx),
                                  [V_BACK] = back_of(s),
                                  [V_GAPS] = gaps_of(s)},
                            .limit = w->limit,
                            .standard = w->standard,
                            .mask = w->mask};
    w->clock_sum = 0;
    w->n_clock = 0;
    w->mask = 0;
    return k;
}

/* What was too short to count is forgotten, unless it was true before. */
static void end_stretch(struct tracker *w, struct stretch *t)
{
    if (t->true_ms >= ADVICE_MS) {
        if (!t->kept_ms)
            t->first_ms = t->from_ms;
        t->kept_ms += t->true_ms;
    }
    t->true_ms = t->break_ms = 0;
    if (!t->kept_ms)
        *t = w->v[--w->n];
}

static struct stretch *stretch_of(struct tracker *w, enum cause c)
{
    struct stretch *t = FIND(w->v, w->n, x, x->cause == c);
    if (t)
        return t;
    if (w->n == w->cap)
        w->v = mem_grow(w->v, ++w->cap, sizeof(*w->v));
    w->v[w->n] = (struct stretch){.cause = c};
    return &w->v[w->n++];
}

static void add_true(struct tracker *w, enum cause c, const struct cause_input *k, int64_t ms)
{
    struct stretch *t = stretch_of(w, c);
    float s = (float)ms / 1000;
    if (!t->true_ms)
        t->from_ms = w->at_ms - ms;
    t->break_ms = 0;
    t->true_ms += ms;
    for (size_t i = 0; i < CAUSE_VALUES && cause_values[c][i] != V_COUNT; i++)
        if (!isnan(k->v[cause_values[c][i]])) {
            t->sum[i] += (float)k->v[cause_values[c][i]] * s;
            t->of_s[i] += s;
        }
}

static void add_look(struct tracker *w, const struct cause_input *k, int64_t ms)
{
    enum cause c = cause_of(k);
    for (size_t i = w->n; i-- > 0;) {
        struct stretch *t = &w->v[i];
        if (t->cause != c && t->true_ms && (t->break_ms += ms) > ADVICE_BREAK_MS)
            end_stretch(w, t);
    }
    if (c != CAUSE_COUNT)
        add_true(w, c, k, ms);
}

/* The time since the last reading is unknown: no rule continues over such a gap. */
static void break_off(struct tracker *w)
{
    for (size_t i = w->n; i-- > 0;)
        end_stretch(w, &w->v[i]);
    pauses_break(&w->pauses);
    w->idle_ms = w->still_ms = 0;
}

static void keep_newest(struct tracker *w, const struct sample *s)
{
    const struct {
        enum metric m;
        float *to;
    } seldom[] = {{M_clock_sm_max, &w->clock_max},
                  {M_power_limit, &w->limit},
                  {M_power_default, &w->standard},
                  {M_host_cpu, &w->cpu},
                  {M_host_cpu_top, &w->top}};
    for (size_t i = 0; i < ARRAY_LEN(seldom); i++)
        if (sample_has(s, seldom[i].m))
            *seldom[i].to = (float)share(s, seldom[i].m);
    if (sample_has(s, M_clock_sm)) {
        w->clock_sum += share(s, M_clock_sm);
        w->n_clock++;
    }
    if (sample_has(s, M_throttle))
        w->mask |= (uint64_t)s->v[M_throttle];
    if (sample_has(s, M_mem_total))
        w->mem_total = s->v[M_mem_total];
    if (sample_has(s, M_mem_used)) {
        w->mem = s->v[M_mem_used];
        if (w->mem / GIB > w->peak_mem / GIB) /* it loads */
            w->still_ms = 0;
        w->peak_mem = MAX(w->peak_mem, w->mem);
    }
}

void tracker_add(struct tracker *w, const struct sample *s)
{
    keep_newest(w, s);
    if (!sample_has(s, M_active) || !sample_has(s, M_sm_active))
        return;
    int64_t ms = s->at_ms - w->at_ms;
    bool first = !w->at_ms;
    struct cause_input k = look_of(w, s);
    w->at_ms = s->at_ms;
    if (first || ms <= 0) {
        w->from_ms = first ? s->at_ms : w->from_ms;
        return;
    }
    if (ms > w->reading_ms) {
        break_off(w);
        ms = w->reading_ms;
    }
    add_look(w, &k, ms);
    bool works = k.v[V_ACTIVE] >= PAUSE_ACTIVE;
    bool worked = w->pauses.worked_ms && !w->pauses.ms;
    pauses_add(&w->pauses, k.v[V_ACTIVE] < (worked ? PAUSE_BEGINS : PAUSE_ACTIVE), s->at_ms, ms);
    w->all_ms += ms;
    w->active_sum += k.v[V_ACTIVE] * (double)ms;
    w->work_sum += share(s, M_work) * (double)ms;
    w->work_ms += works ? ms : 0;
    w->idle_ms = cause_is_requested(&k) ? 0 : w->idle_ms + ms;
    w->still_ms = cause_is_requested(&k) ? 0 : w->still_ms + ms;
}

/* ---- advice ---- */

/* The means of its values over its time; NAN: unknown. */
static void means_of(const struct stretch *t, double ret[V_COUNT])
{
    for (size_t i = 0; i < V_COUNT; i++)
        ret[i] = NAN;
    for (size_t i = 0; i < CAUSE_VALUES && cause_values[t->cause][i] != V_COUNT; i++)
        if (t->of_s[i] > 0)
            ret[cause_values[t->cause][i]] = (double)(t->sum[i] / t->of_s[i]);
}

static void tell_evidence(const struct tracker *w, const struct stretch *t, const double mean[V_COUNT],
                          struct advice *ret)
{
    AUTO_BUF b = BUF_INIT(200);
    for (size_t i = 0; i < CAUSE_VALUES && cause_values[t->cause][i] != V_COUNT; i++) {
        enum value v = cause_values[t->cause][i];
        if (!isnan(mean[v]) && values[v].name)
            buf_addf(&b, values[v].per >= 100 ? "%s%s %.0f%s" : "%s%s %.1f%s", b.len ? ", " : "", values[v].name,
                     mean[v] * values[v].per, values[v].unit);
    }
    if (ret->rule == ADVICE_power_capped && !isnan(w->limit) && !isnan(w->standard))
        buf_addf(&b, ", limit %.0f of %.0f W", (double)w->limit, (double)w->standard);
    if (ret->rule == ADVICE_starved && mean[V_TOP] >= STARVED_CORES)
        buf_adds(&b, ": it is what limits");
    if (ret->rule == ADVICE_starved && mean[V_TOP] < IDLE_CORES)
        buf_adds(&b, ": they wait as well, for storage, the network or requests");
    mem_copy_str(ret->evidence, sizeof(ret->evidence), b.p);
}

static bool tell_stretch(const struct tracker *w, const struct stretch *t, struct advice *ret)
{
    double mean[V_COUNT];
    bool now = t->true_ms >= ADVICE_MS;
    if (!now && !t->kept_ms)
        return false;
    means_of(t, mean);
    *ret = (struct advice){.rule = cause_rule(t->cause, mean),
                           .from_ms = t->kept_ms ? t->first_ms : t->from_ms,
                           .ms = t->kept_ms + (now ? t->true_ms : 0),
                           .now = now,
                           .to_ms = w->at_ms};
    ret->lost = cause_lost(ret->rule, mean);
    tell_evidence(w, t, mean, ret);
    return true;
}

/* Its processes have as little to do as the GPU, and bring it no data: it waits for requests. */
static bool host_is_idle(const struct tracker *w)
{
    const struct stretch *t = FIND(w->v, w->n, x, x->cause == CAUSE_HOST);
    double mean[V_COUNT];
    if (!t)
        return w->active_sum < LITTLE_ACTIVE * (double)w->all_ms;
    means_of(t, mean);
    return mean[V_ACTIVE] < (isnan(mean[V_TOP]) ? FREE_ACTIVE : LITTLE_ACTIVE) && !(mean[V_TOP] >= IDLE_CORES) &&
           !(mean[V_BACK] < COPIES_BACK);
}

/* Little memory and little work on a busy GPU: another job would fit next to it. */
static bool tell_slice(const struct tracker *w, struct advice *ret)
{
    double work = w->all_ms ? w->work_sum / (double)w->all_ms : NAN;
    if (w->all_ms < ADVICE_MS || !(work < 0.25) || !host_is_idle(w) || w->active_sum / (double)w->all_ms < 0.01 ||
        w->peak_mem < GIB / 2 || w->peak_mem >= w->mem_total / 4)
        return false;
    AUTO_BUF b = BUF_INIT(200);
    *ret = (struct advice){.rule = ADVICE_slice,
                           .from_ms = w->from_ms,
                           .ms = w->all_ms,
                           .now = true,
                           .to_ms = w->at_ms,
                           .lost = 0.75};
    buf_adds(&b, "at most ");
    metric_human(&b, M_mem_used, w->peak_mem);
    buf_adds(&b, " of ");
    metric_human(&b, M_mem_total, w->mem_total);
    buf_addf(&b, ", efficiency %.0f %%", work * 100);
    mem_copy_str(ret->evidence, sizeof(ret->evidence), b.p);
    return true;
}

static bool tell_no_work(const struct tracker *w, enum advice_rule rule, int64_t ms, struct advice *ret)
{
    char span[24];
    AUTO_BUF b = BUF_INIT(200);
    *ret = (struct advice){.rule = rule, .from_ms = w->at_ms - ms, .ms = ms, .now = true, .to_ms = w->at_ms, .lost = 1};
    buf_addf(&b, "no work for %s, ", clock_span(ms, span));
    metric_human(&b, M_mem_used, w->mem);
    buf_adds(&b, " held");
    mem_copy_str(ret->evidence, sizeof(ret->evidence), b.p);
    return true;
}

/* Longer than any pause it made before. */
static bool tell_idle_tail(const struct tracker *w, struct advice *ret)
{
    return w->work_ms >= WORKED_MS && w->idle_ms >= MAX(ADVICE_MS, 2 * w->pauses.longest_ms) && w->mem >= GIB &&
           tell_no_work(w, ADVICE_idle_tail, w->idle_ms, ret);
}

/* What has no tail, since it has not worked yet. */
static bool tell_unused(const struct tracker *w, struct advice *ret)
{
    return w->work_ms < WORKED_MS && w->still_ms >= STILL_MS && w->mem >= GIB &&
           tell_no_work(w, ADVICE_unused, w->still_ms, ret);
}

static bool tell_whole(const struct tracker *w, enum advice_rule rule, struct advice *ret)
{
    switch (rule) {
    case ADVICE_slice:
        return tell_slice(w, ret);
    case ADVICE_idle_tail:
        return tell_idle_tail(w, ret);
    case ADVICE_unused:
        return tell_unused(w, ret);
    case ADVICE_pauses:
    case ADVICE_stalls:
        return pauses_advice(&w->pauses, rule, ret);
    default: /* a cause, or of several GPUs: straggler.h */
        return false;
    }
}

COMPARE(by_rule, struct advice, ORDER(x->rule, y->rule))

/* That it needs little is the news only where nothing else is why: its processes wait as it does. */
static size_t leave_out_slice(struct advice *v, size_t n)
{
    size_t slice = FIRST(n, i, v[i].rule == ADVICE_slice);
    size_t why = FIRST(n, i, v[i].rule != ADVICE_slice && v[i].rule != ADVICE_starved);
    size_t left = 0;
    if (slice == n)
        return n;
    for (size_t i = 0; i < n; i++)
        if (why < n ? i != slice : v[i].rule != ADVICE_starved)
            v[left++] = v[i];
    return left;
}

size_t tracker_advice(const struct tracker *w, struct advice *ret, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n && n < max; i++)
        n += tell_stretch(w, &w->v[i], &ret[n]);
    for (size_t r = 0; r < ADVICE_COUNT && n < max; r++)
        n += tell_whole(w, (enum advice_rule)r, &ret[n]);
    SORT(ret, n, by_rule);
    return leave_out_slice(ret, n);
}

struct tracker *tracker_new(int64_t reading_ms)
{
    return NEW(struct tracker, .reading_ms = reading_ms, .clock_max = NAN, .limit = NAN, .standard = NAN, .cpu = NAN,
               .top = NAN);
}

void tracker_free(struct tracker *w)
{
    if (!w)
        return;
    pauses_fini(&w->pauses);
    FREE_ALL(w->v, w);
}
