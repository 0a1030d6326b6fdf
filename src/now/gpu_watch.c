/* gpu_watch.c: evaluates the rules for one GPU of the live state: when a reading is due, its owner, and current
 * advice. */
#include "now/gpu_watch.h"

#include "base/lookup.h"
#include "base/mem.h"
#include "base/order.h"
#include "verdict/tracker.h"

struct gpu_watch {
    struct tracker *tracker;
    struct sibling sibling;
    struct advice *apart;   /* advice that it deviates from the GPUs of its run; NULL: none */
    int64_t at_ms, told_ms; /* the last reading; the last texts */
    uint32_t whose;
};

void gpu_watch_free(struct gpu_watch *w)
{
    if (!w)
        return;
    tracker_free(w->tracker);
    FREE_ALL(w->apart, w);
}

const struct sibling *gpu_watch_sibling(const struct gpu_watch *w)
{
    return w ? &w->sibling : NULL;
}

void gpu_watch_first(struct gpu_watch *w, const struct sibling *first)
{
    if (w)
        sibling_take_first(&w->sibling, first);
}

void gpu_watch_apart(struct gpu_watch *w, const struct advice *a, int64_t now_ms)
{
    if (!w || (!a && !w->apart))
        return;
    int64_t from_ms = w->apart ? w->apart->from_ms : now_ms;
    free(w->apart);
    w->apart = a ? NEW(struct advice) : NULL;
    if (!a)
        return;
    *w->apart = *a;
    w->apart->from_ms = from_ms;
    w->apart->ms = MAX(0, now_ms - from_ms);
}

/* Identifies the users of the GPU, in any order. */
static uint32_t whose(const struct device_now *d)
{
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < d->n_procs; i++)
        least = MIN(least, (uint32_t)lookup_hash(d->procs[i].fact->user));
    return least;
}

COMPARE(by_lost, struct advice, ORDER(y->lost, x->lost) ?: ORDER(x->rule, y->rule))

static bool same_rules(const struct device_now *d, const struct advice *v, size_t n)
{
    return d->n_advice == n && !ANY(n, i, d->advice[i].rule != v[i].rule);
}

/* The current advice of the device. */
static bool tell(struct device_now *d, struct advice *v, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        if (v[i].now)
            v[left++] = v[i];
    n = MIN(left, GPU_WATCH_MAX);
    SORT(v, left, by_lost);
    bool same = same_rules(d, v, n);
    if (!same)
        d->advice = n ? mem_grow(d->advice, n, sizeof(*d->advice)) : (free(d->advice), NULL);
    d->n_advice = n;
    for (size_t i = 0; i < n; i++)
        d->advice[i] = (struct advice_now){v[i].rule, v[i].from_ms};
    return !same;
}

void gpu_watch_withhold(struct device_now *d)
{
    free(d->advice);
    d->advice = NULL;
    d->n_advice = 0;
}

static bool stop(struct gpu_watch **w, struct device_now *d)
{
    bool had = d->n_advice > 0;
    gpu_watch_free(*w);
    *w = NULL;
    gpu_watch_withhold(d);
    return had;
}

bool gpu_watch_take(struct gpu_watch **at, struct device_now *d, bool held)
{
    struct advice v[ADVICE_COUNT];
    struct gpu_watch *w = *at;
    if (!held || !sample_has(&d->now, M_active))
        return w ? stop(at, d) : false;
    if (w && d->v_at_ms[M_active] <= w->at_ms)
        return false;
    bool differs = false;
    uint32_t who = whose(d);
    if (w && w->whose != who) {
        differs = stop(at, d);
        w = NULL;
    }
    if (!w)
        w = *at = NEW(struct gpu_watch, .tracker = tracker_new(ADVICE_READING_MS), .whose = who);
    w->at_ms = d->v_at_ms[M_active];
    tracker_add(w->tracker, &d->now);
    sibling_add(&w->sibling, &d->now);
    if (w->at_ms - w->told_ms < GPU_WATCH_TELL_MS && w->at_ms >= w->told_ms)
        return differs;
    w->told_ms = w->at_ms;
    size_t n = tracker_advice(w->tracker, v, ADVICE_COUNT - 1);
    if (w->apart)
        v[n++] = *w->apart;
    return tell(d, v, n) || differs;
}
