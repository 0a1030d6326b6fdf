/* tracker.c: the rules over one GPU's readings, and the stretches of time over which they are true. */
#include "verdict/tracker.h"

#include <math.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "model/work.h"
#include "verdict/pauses.h"

#define GIB           ((int64_t)1 << 30)
#define THERMAL       0x60 /* the driver's reasons: by software and by hardware */
#define POWER_CAP     0x4
#define IDLE_TAIL_MS  90000
#define STARVED_CORES 0.95 /* of one process: as fast as a core is */

/* One reading, as shares; NAN: not known, which no comparison is true of. */
struct look {
    double active, sm, tensor, fp32, dram, work;
    double clock;           /* of the highest */
    double top;             /* cores of the busiest process */
    double limit, standard; /* W */
    uint64_t mask;          /* of all ticks since the reading before */
};

struct stretch {
    int64_t from_ms, true_ms, break_ms; /* the one that goes on */
    int64_t first_ms, kept_ms;          /* those that counted */
    int64_t sum_ms;                     /* all of the time the sums are of */
    double active, sm, tensor, fp32, dram, clock, top;
    int64_t top_ms;
};

struct tracker {
    int64_t reading_ms, at_ms; /* at_ms: the last reading; 0: none */
    struct sample last;        /* the newest of every value */
    double clock_sum;
    int n_clock;
    uint64_t mask;
    struct stretch v[ADVICE_COUNT];
    struct pauses pauses;
    int64_t from_ms, all_ms, work_ms, idle_ms; /* idle_ms: since it last worked */
    double work_sum, active_sum;
    int64_t peak_mem;
};

const struct advice_info advice_rules[ADVICE_COUNT] = {
#define ADVICE(id, name, title, remedy) [ADVICE_##id] = {name, title, remedy},
#include "verdict/advice.def"
};

/* ---- the rules of one reading ---- */

static bool is_spinning(const struct look *k)
{
    return k->active >= SPIN_ACTIVE / 1e4 && k->sm < SPIN_SM / 1e4;
}

static bool is_small(const struct look *k)
{
    return k->active >= 0.1 && k->sm / k->active < 0.7 && !is_spinning(k);
}

static bool is_starved(const struct look *k)
{
    return k->active >= 0.1 && k->active <= 0.85 && k->sm / k->active >= 0.8;
}

static bool is_fp32(const struct look *k)
{
    return k->fp32 > 0.3 && k->tensor < 0.1;
}

static bool is_memory_bound(const struct look *k)
{
    return k->dram > BOUND_DRAM / 1e4 && k->tensor < BOUND_TENSOR / 1e4;
}

static bool is_hot(const struct look *k)
{
    return k->mask & THERMAL;
}

/*
 * An H200 at full tensor load runs at 0.66 to 0.75 of its highest clock by itself, and the driver's mask says "power"
 * in every such sample: that alone is no finding. A lower limit is one while it is felt.
 */
static bool is_capped(const struct look *k)
{
    bool lower = k->limit < k->standard * 0.99 && k->mask & POWER_CAP;
    return !is_hot(k) && ((k->active >= 0.1 && lower) || (k->active >= 0.5 && k->clock < 0.55));
}

static const struct {
    enum advice_rule rule;
    bool (*is)(const struct look *k);
} instant[] = {{ADVICE_spinning, is_spinning},
               {ADVICE_small_kernels, is_small},
               {ADVICE_starved, is_starved},
               {ADVICE_fp32, is_fp32},
               {ADVICE_memory_bound, is_memory_bound},
               {ADVICE_power_capped, is_capped},
               {ADVICE_hot, is_hot}};

/* ---- readings ---- */

static double share(const struct sample *s, enum metric m)
{
    return sample_has(s, m) ? (double)s->v[m] / (double)metrics[m].per : NAN;
}

static struct look look_of(struct tracker *w, const struct sample *s)
{
    struct look k = {.active = share(s, M_active),
                     .sm = share(s, M_sm_active),
                     .tensor = share(s, M_tensor_active),
                     .fp32 = share(s, M_fp32_active),
                     .dram = share(s, M_dram_active),
                     .work = share(s, M_work),
                     .clock = w->n_clock ? w->clock_sum / w->n_clock / share(&w->last, M_clock_sm_max) : NAN,
                     .top = share(&w->last, M_host_cpu_top),
                     .limit = share(&w->last, M_power_limit),
                     .standard = share(&w->last, M_power_default),
                     .mask = w->mask};
    w->clock_sum = 0;
    w->n_clock = 0;
    w->mask = 0;
    return k;
}

static void stretch_end(struct stretch *t)
{
    if (t->true_ms >= ADVICE_MS) {
        if (!t->kept_ms)
            t->first_ms = t->from_ms;
        t->kept_ms += t->true_ms;
    }
    t->true_ms = t->break_ms = 0;
}

static void stretch_add(struct stretch *t, const struct look *k, bool is, int64_t at_ms, int64_t ms)
{
    if (!is) {
        t->break_ms += ms;
        if (t->true_ms && t->break_ms > ADVICE_BREAK_MS)
            stretch_end(t);
        return;
    }
    if (!t->true_ms)
        t->from_ms = at_ms - ms;
    t->break_ms = 0;
    t->true_ms += ms;
    t->sum_ms += ms;
    double weight = (double)ms;
    t->active += k->active * weight;
    t->sm += k->sm * weight;
    t->tensor += k->tensor * weight;
    t->fp32 += k->fp32 * weight;
    t->dram += k->dram * weight;
    t->clock += k->clock * weight;
    if (!isnan(k->top)) {
        t->top += k->top * weight;
        t->top_ms += ms;
    }
}

/* What was seen for longer than a reading is not known: no rule goes over such a hole. */
static void break_off(struct tracker *w)
{
    for (size_t r = 0; r < ADVICE_COUNT; r++)
        stretch_end(&w->v[r]);
    pauses_break(&w->pauses);
    w->idle_ms = 0;
}

static void keep_newest(struct tracker *w, const struct sample *s)
{
    for (enum metric m = 0; m < M_COUNT; m++)
        if (sample_has(s, m))
            sample_set(&w->last, m, s->v[m]);
    if (sample_has(s, M_clock_sm)) {
        w->clock_sum += share(s, M_clock_sm);
        w->n_clock++;
    }
    if (sample_has(s, M_throttle))
        w->mask |= (uint64_t)s->v[M_throttle];
    if (sample_has(s, M_mem_used))
        w->peak_mem = MAX(w->peak_mem, s->v[M_mem_used]);
}

void tracker_add(struct tracker *w, const struct sample *s)
{
    keep_newest(w, s);
    if (!sample_has(s, M_active) || !sample_has(s, M_sm_active))
        return;
    int64_t ms = s->at_ms - w->at_ms;
    bool first = !w->at_ms;
    struct look k = look_of(w, s);
    w->at_ms = s->at_ms;
    if (first || ms <= 0) {
        w->from_ms = first ? s->at_ms : w->from_ms;
        return;
    }
    if (ms > w->reading_ms) {
        break_off(w);
        ms = w->reading_ms;
    }
    for (size_t i = 0; i < ARRAY_LEN(instant); i++)
        stretch_add(&w->v[instant[i].rule], &k, instant[i].is(&k), s->at_ms, ms);
    pauses_add(&w->pauses, k.active < PAUSE_ACTIVE, s->at_ms, ms);
    w->all_ms += ms;
    w->active_sum += k.active * (double)ms;
    w->work_sum += k.work * (double)ms;
    if (k.active >= PAUSE_ACTIVE) {
        w->work_ms += ms;
        w->idle_ms = 0;
    } else {
        w->idle_ms += ms;
    }
}

/* ---- advice ---- */

static void add_evidence(struct buf *b, const char *name, double sum, int64_t ms, double per, const char *unit)
{
    if (ms > 0 && !isnan(sum))
        buf_addf(b, per >= 100 ? "%s%s %.0f%s" : "%s%s %.1f%s", b->len ? ", " : "", name, sum / (double)ms * per, unit);
}

/* The values that a rule goes by, as they were on average while it was true. */
static void tell_evidence(const struct tracker *w, enum advice_rule rule, char ret[200])
{
    const struct stretch *t = &w->v[rule];
    bool pipes = rule == ADVICE_fp32 || rule == ADVICE_memory_bound;
    AUTO_BUF b = BUF_INIT(200);
    add_evidence(&b, "active", t->active, t->sum_ms, 100, " %");
    if (!pipes && rule != ADVICE_hot && rule != ADVICE_power_capped)
        add_evidence(&b, "SM", t->sm, t->sum_ms, 100, " %");
    if (rule == ADVICE_fp32)
        add_evidence(&b, "fp32", t->fp32, t->sum_ms, 100, " %");
    if (rule == ADVICE_memory_bound)
        add_evidence(&b, "memory bandwidth", t->dram, t->sum_ms, 100, " %");
    if (pipes)
        add_evidence(&b, "tensor", t->tensor, t->sum_ms, 100, " %");
    if (rule == ADVICE_hot || rule == ADVICE_power_capped)
        add_evidence(&b, "clock", t->clock, t->sum_ms, 100, " % of its highest");
    if (rule == ADVICE_power_capped && sample_has(&w->last, M_power_limit) && sample_has(&w->last, M_power_default))
        buf_addf(&b, ", limit %.0f of %.0f W", share(&w->last, M_power_limit), share(&w->last, M_power_default));
    if (rule == ADVICE_starved && t->top_ms) {
        double top = t->top / (double)t->top_ms;
        buf_addf(&b, ", the busiest process uses %.1f cores%s", top, top >= STARVED_CORES ? ": it is what limits" : "");
    }
    mem_copy_str(ret, 200, b.p);
}

static bool tell_stretch(const struct tracker *w, enum advice_rule rule, struct advice *ret)
{
    const struct stretch *t = &w->v[rule];
    bool now = t->true_ms >= ADVICE_MS;
    if (!now && !t->kept_ms)
        return false;
    *ret = (struct advice){.rule = rule,
                           .from_ms = t->kept_ms ? t->first_ms : t->from_ms,
                           .ms = t->kept_ms + (now ? t->true_ms : 0),
                           .now = now};
    tell_evidence(w, rule, ret->evidence);
    return true;
}

/* Little memory and little work, of a GPU that does work: another job would fit beside it. */
static bool tell_slice(const struct tracker *w, struct advice *ret)
{
    int64_t total = sample_has(&w->last, M_mem_total) ? w->last.v[M_mem_total] : 0;
    double work = w->all_ms ? w->work_sum / (double)w->all_ms : NAN;
    if (w->all_ms < ADVICE_MS || !(work < 0.25) || w->active_sum / (double)w->all_ms < 0.01 || w->peak_mem < GIB / 2 ||
        w->peak_mem >= total / 4)
        return false;
    AUTO_BUF b = BUF_INIT(200);
    *ret = (struct advice){.rule = ADVICE_slice, .from_ms = w->from_ms, .ms = w->all_ms, .now = true};
    buf_adds(&b, "at most ");
    metric_human(&b, M_mem_used, w->peak_mem);
    buf_adds(&b, " of ");
    metric_human(&b, M_mem_total, total);
    buf_addf(&b, ", work %.0f %%", work * 100);
    mem_copy_str(ret->evidence, sizeof(ret->evidence), b.p);
    return true;
}

/* Longer than any pause it made before. */
static bool tell_idle_tail(const struct tracker *w, struct advice *ret)
{
    int64_t mem = sample_has(&w->last, M_mem_used) ? w->last.v[M_mem_used] : 0;
    char span[24];
    if (w->work_ms < ADVICE_MS || w->idle_ms < MAX(IDLE_TAIL_MS, 2 * w->pauses.longest_ms) || mem < GIB)
        return false;
    AUTO_BUF b = BUF_INIT(200);
    *ret = (struct advice){.rule = ADVICE_idle_tail, .from_ms = w->at_ms - w->idle_ms, .ms = w->idle_ms, .now = true};
    buf_addf(&b, "no work for %s, ", clock_span(w->idle_ms, span));
    metric_human(&b, M_mem_used, mem);
    buf_adds(&b, " held");
    mem_copy_str(ret->evidence, sizeof(ret->evidence), b.p);
    return true;
}

static bool tell_rule(const struct tracker *w, enum advice_rule rule, struct advice *ret)
{
    switch (rule) {
    case ADVICE_slice:
        return tell_slice(w, ret);
    case ADVICE_idle_tail:
        return tell_idle_tail(w, ret);
    case ADVICE_pauses:
    case ADVICE_stalls:
        return pauses_tell(&w->pauses, rule, ret);
    case ADVICE_straggler: /* of several GPUs: straggler.h */
    case ADVICE_COUNT:
        return false;
    default:
        return tell_stretch(w, rule, ret);
    }
}

size_t tracker_tell(const struct tracker *w, struct advice *ret, size_t max)
{
    size_t n = 0;
    for (size_t r = 0; r < ADVICE_COUNT && n < max; r++)
        n += tell_rule(w, (enum advice_rule)r, &ret[n]);
    if (n > 1) /* that it needs little is the news only where nothing else is why */
        for (size_t i = 0; i < n; i++)
            if (ret[i].rule == ADVICE_slice)
                memmove(&ret[i], &ret[i + 1], (--n - i) * sizeof(*ret));
    return n;
}

struct tracker *tracker_new(int64_t reading_ms)
{
    return NEW(struct tracker, .reading_ms = reading_ms);
}

void tracker_free(struct tracker *w)
{
    free(w);
}
