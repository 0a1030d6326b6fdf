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
#define STARVED_CORES 0.95   /* of one process: as fast as a core is */
#define WORKED_MS     30000  /* less work has no tail */
#define STILL_ACTIVE  0.01   /* below this nothing at all is asked of it */
#define STILL_MS      600000 /* what has not worked yet may load its data for so long */
#define FP32_LOST     0.75   /* tf32 alone does four times as much in the same time, bf16 more */
#define USUAL_CLOCK   0.7    /* of the highest, at full load */

/* What a reading tells, as shares; NAN: not known, which no comparison is true of. */
enum value { V_NONE, V_ACTIVE, V_SM, V_TENSOR, V_FP32, V_DRAM, V_CLOCK, V_TOP, V_COUNT };
static const struct {
    const char *name, *unit;
    double per;
} values[V_COUNT] = {[V_ACTIVE] = {"active", " %", 100},
                     [V_SM] = {"SM", " %", 100},
                     [V_TENSOR] = {"tensor", " %", 100},
                     [V_FP32] = {"fp32", " %", 100},
                     [V_DRAM] = {"memory bandwidth", " %", 100},
                     [V_CLOCK] = {"clock", " % of its highest", 100},
                     [V_TOP] = {"the busiest process uses", " cores", 1}};

struct look {
    double v[V_COUNT];
    double work;
    double limit, standard; /* W */
    uint64_t mask;          /* of all ticks since the reading before */
};

enum { SAYS = 3 };
/* A rule that is, or was, true for a while; there are as many as that. */
struct stretch {
    enum advice_rule rule;
    float sum[SAYS], of_s[SAYS];        /* of the values that it says; how many seconds those are of */
    int64_t from_ms, true_ms, break_ms; /* the one that goes on */
    int64_t first_ms, kept_ms;          /* those that counted */
};

struct tracker {
    int64_t reading_ms, at_ms;             /* at_ms: the last reading; 0: none */
    float clock_max, limit, standard, top; /* what comes seldom: the newest; NAN: none yet */
    int64_t mem, mem_total, peak_mem;      /* 0: not known */
    double clock_sum;
    int n_clock;
    uint8_t n, cap; /* of v */
    struct stretch *v;
    uint64_t mask;
    struct pauses pauses;
    int64_t from_ms, all_ms, work_ms, idle_ms; /* idle_ms: since it last worked */
    int64_t still_ms;                          /* since anything at all was asked of it, or its memory grew */
    double work_sum, active_sum;
};

/* ---- the rules of one reading ---- */

static bool is_spinning(const struct look *k)
{
    return k->v[V_ACTIVE] >= SPIN_ACTIVE / 1e4 && k->v[V_SM] < SPIN_SM / 1e4;
}

static bool is_small(const struct look *k)
{
    return k->v[V_ACTIVE] >= 0.1 && k->v[V_SM] / k->v[V_ACTIVE] < 0.7 && !is_spinning(k);
}

static bool is_starved(const struct look *k)
{
    return k->v[V_ACTIVE] >= 0.1 && k->v[V_ACTIVE] <= 0.85 && k->v[V_SM] / k->v[V_ACTIVE] >= 0.8;
}

static bool is_fp32(const struct look *k)
{
    return k->v[V_FP32] > 0.3 && k->v[V_TENSOR] < 0.1;
}

static bool is_memory_bound(const struct look *k)
{
    return k->v[V_DRAM] > BOUND_DRAM / 1e4 && k->v[V_TENSOR] < BOUND_TENSOR / 1e4;
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
    return !is_hot(k) && ((k->v[V_ACTIVE] >= 0.1 && lower) || (k->v[V_ACTIVE] >= 0.5 && k->v[V_CLOCK] < 0.55));
}

static const struct instant_rule {
    enum advice_rule rule;
    bool (*is)(const struct look *k);
    enum value says[SAYS];
} instant[] = {{ADVICE_spinning, is_spinning, {V_ACTIVE, V_SM}},
               {ADVICE_small_kernels, is_small, {V_ACTIVE, V_SM}},
               {ADVICE_starved, is_starved, {V_ACTIVE, V_SM, V_TOP}},
               {ADVICE_fp32, is_fp32, {V_ACTIVE, V_FP32, V_TENSOR}},
               {ADVICE_memory_bound, is_memory_bound, {V_ACTIVE, V_DRAM, V_TENSOR}},
               {ADVICE_power_capped, is_capped, {V_ACTIVE, V_CLOCK}},
               {ADVICE_hot, is_hot, {V_ACTIVE, V_CLOCK}}};

/* ---- readings ---- */

static double share(const struct sample *s, enum metric m)
{
    return sample_has(s, m) ? (double)s->v[m] / (double)metrics[m].per : NAN;
}

static struct look look_of(struct tracker *w, const struct sample *s)
{
    struct look k = {.v = {[V_ACTIVE] = share(s, M_active),
                           [V_SM] = share(s, M_sm_active),
                           [V_TENSOR] = share(s, M_tensor_active),
                           [V_FP32] = share(s, M_fp32_active),
                           [V_DRAM] = share(s, M_dram_active),
                           [V_CLOCK] = w->n_clock ? w->clock_sum / w->n_clock / w->clock_max : NAN,
                           [V_TOP] = w->top},
                     .work = share(s, M_work),
                     .limit = w->limit,
                     .standard = w->standard,
                     .mask = w->mask};
    w->clock_sum = 0;
    w->n_clock = 0;
    w->mask = 0;
    return k;
}

static struct stretch *find_stretch(const struct tracker *w, enum advice_rule rule)
{
    return FIND(w->v, w->n, t, t->rule == rule);
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

static void add_stretch(struct tracker *w, const struct instant_rule *r, const struct look *k, int64_t ms)
{
    struct stretch *t = find_stretch(w, r->rule);
    if (!r->is(k)) {
        if (t && t->true_ms && (t->break_ms += ms) > ADVICE_BREAK_MS)
            end_stretch(w, t);
        return;
    }
    if (!t) {
        if (w->n == w->cap)
            w->v = mem_grow(w->v, ++w->cap, sizeof(*w->v));
        t = &w->v[w->n++];
        *t = (struct stretch){.rule = r->rule};
    }
    if (!t->true_ms)
        t->from_ms = w->at_ms - ms;
    t->break_ms = 0;
    t->true_ms += ms;
    float s = (float)ms / 1000;
    for (size_t i = 0; i < SAYS; i++)
        if (r->says[i] && !isnan(k->v[r->says[i]])) {
            t->sum[i] += (float)k->v[r->says[i]] * s;
            t->of_s[i] += s;
        }
}

/* What was seen for longer than a reading is not known: no rule goes over such a hole. */
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
        add_stretch(w, &instant[i], &k, ms);
    bool works = k.v[V_ACTIVE] >= PAUSE_ACTIVE;
    pauses_add(&w->pauses, !works, s->at_ms, ms);
    w->all_ms += ms;
    w->active_sum += k.v[V_ACTIVE] * (double)ms;
    w->work_sum += k.work * (double)ms;
    w->work_ms += works ? ms : 0;
    w->idle_ms = works ? 0 : w->idle_ms + ms;
    w->still_ms = k.v[V_ACTIVE] >= STILL_ACTIVE ? 0 : w->still_ms + ms;
}

/* ---- advice ---- */

/* The mean of what a rule says while it was true; NAN: not known. */
static double said(const struct stretch *t, const struct instant_rule *r, enum value what)
{
    size_t i = FIRST(SAYS, k, r->says[k] == what);
    return i < SAYS && t->of_s[i] > 0 ? (double)(t->sum[i] / t->of_s[i]) : NAN;
}

/* The values that a rule goes by, as they were on average while it was true. */
static void tell_evidence(const struct tracker *w, const struct stretch *t, const struct instant_rule *r, char ret[200])
{
    AUTO_BUF b = BUF_INIT(200);
    for (size_t i = 0; i < SAYS; i++) {
        double v = said(t, r, r->says[i]), per = values[r->says[i]].per;
        if (!isnan(v))
            buf_addf(&b, per >= 100 ? "%s%s %.0f%s" : "%s%s %.1f%s", b.len ? ", " : "", values[r->says[i]].name,
                     v * per, values[r->says[i]].unit);
    }
    if (r->rule == ADVICE_power_capped && !isnan(w->limit) && !isnan(w->standard))
        buf_addf(&b, ", limit %.0f of %.0f W", (double)w->limit, (double)w->standard);
    if (said(t, r, V_TOP) >= STARVED_CORES)
        buf_adds(&b, ": it is what limits");
    mem_copy_str(ret, 200, b.p);
}

static double lost_by(const struct stretch *t, const struct instant_rule *r)
{
    switch (r->rule) {
    case ADVICE_spinning:
        return 1;
    case ADVICE_small_kernels:
        return 1 - said(t, r, V_SM);
    case ADVICE_starved:
        return 1 - said(t, r, V_ACTIVE);
    case ADVICE_fp32:
        return FP32_LOST;
    case ADVICE_power_capped:
    case ADVICE_hot:
        return fmax(0, 1 - said(t, r, V_CLOCK) / USUAL_CLOCK); /* 0 also where the clock is not known */
    default:
        return 0;
    }
}

static bool tell_stretch(const struct tracker *w, enum advice_rule rule, struct advice *ret)
{
    const struct stretch *t = find_stretch(w, rule);
    const struct instant_rule *r = FIND(instant, ARRAY_LEN(instant), i, i->rule == rule);
    bool now = t && t->true_ms >= ADVICE_MS;
    if (!t || !r || (!now && !t->kept_ms))
        return false;
    *ret = (struct advice){.rule = rule,
                           .from_ms = t->kept_ms ? t->first_ms : t->from_ms,
                           .ms = t->kept_ms + (now ? t->true_ms : 0),
                           .now = now,
                           .to_ms = w->at_ms,
                           .lost = lost_by(t, r)};
    tell_evidence(w, t, r, ret->evidence);
    return true;
}

/* Little memory and little work, of a GPU that does work: another job would fit beside it. */
static bool tell_slice(const struct tracker *w, struct advice *ret)
{
    double work = w->all_ms ? w->work_sum / (double)w->all_ms : NAN;
    if (w->all_ms < ADVICE_MS || !(work < 0.25) || w->active_sum / (double)w->all_ms < 0.01 || w->peak_mem < GIB / 2 ||
        w->peak_mem >= w->mem_total / 4)
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
    buf_addf(&b, ", work %.0f %%", work * 100);
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

static bool tell_rule(const struct tracker *w, enum advice_rule rule, struct advice *ret)
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
    return NEW(struct tracker, .reading_ms = reading_ms, .clock_max = NAN, .limit = NAN, .standard = NAN, .top = NAN);
}

void tracker_free(struct tracker *w)
{
    if (!w)
        return;
    pauses_fini(&w->pauses);
    FREE_ALL(w->v, w);
}
