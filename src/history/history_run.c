/*
 * history_run.c: runs a query of history on the store, node by node: bins become numbers, and with a group the numbers
 * of several devices become one. It does not use live state, so it runs on any thread.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/order.h"
#include "base/quotient.h"
#include "history/gaps.h"
#include "history/history_plan.h"
#include "history/holds.h"

#define AHEAD_BINS    (1u << 20) /* maximum for nodes read in one query: 40 MB */
#define LARGE         20000000   /* values to read that need more than 50 ms: worth a few threads */
#define LARGE_BINS    (1u << 14) /* maximum for nodes read concurrently: additional memory */
#define RATE_BACK_MS  120000ll   /* maximum age of a counter's value for a rate; older is a gap */
#define LATELY_MS     HOUR_MS    /* newer data cannot have left the raw tier */
#define AVERAGE_EXTRA 100

/* ---- bins to numbers ---- */

static int64_t history_extra(enum agg agg)
{
    return agg == AGG_AVG || agg == AGG_RATE ? AVERAGE_EXTRA : 1;
}

static int64_t clip(__int128 v)
{
    return v > INT64_MAX ? INT64_MAX : v <= INT64_MIN ? INT64_MIN + 1 : (int64_t)v;
}

/* Rounded half away from zero. Nearly always 64 bits are enough, and dividing those is ten times as fast. */
static int64_t divided(__int128 v, __int128 by)
{
    if (by < 1ll << 32 && v < 1ll << 62 && v > -(1ll << 62)) {
        int64_t small = (int64_t)v, small_by = (int64_t)by;
        return small_by == 1 ? small : quotient(small + (small < 0 ? -small_by / 2 : small_by / 2), small_by);
    }
    return clip((v + (v < 0 ? -by / 2 : by / 2)) / by);
}

static inline int64_t average(const struct bin *b)
{
    if (b->sum < 0 || b->sum > INT64_MAX / 2 / AVERAGE_EXTRA)
        return divided((__int128)b->sum * AVERAGE_EXTRA, b->count);
    if (b->count == 1) /* a bin of a single sample */
        return b->sum * AVERAGE_EXTRA;
    return quotient(b->sum * AVERAGE_EXTRA + b->count / 2, b->count);
}

static size_t rate_back(int64_t step_ms)
{
    return (size_t)MAX((RATE_BACK_MS + step_ms - 1) / step_ms, 1);
}

/* Per second, from the newest value of the previous bin to the newest of this one. A counter that fell has
 * restarted. */
static int64_t bin_rate(const struct bin *b, size_t i, int64_t step_ms)
{
    const __int128 unit = (__int128)1000 * AVERAGE_EXTRA;
    size_t back = rate_back(step_ms);

    for (size_t k = 1; k <= back && k <= i; k++)
        if (b[i - k].count) {
            __int128 grew = b[i].last >= b[i - k].last ? (__int128)b[i].last - b[i - k].last : b[i].last;
            return divided(grew * unit, (__int128)step_ms * (__int128)k);
        }
    if (b[i].count < 2 || b[i].last < b[i].min) /* the first after a gap: the rate within the bin */
        return SERIES_NONE;
    return divided(((__int128)b[i].last - b[i].min) * unit * b[i].count, (__int128)step_ms * (b[i].count - 1));
}

/* The number of bin i. */
static inline int64_t bin_number(const struct bin *b, size_t i, enum agg agg, int64_t step_ms)
{
    switch (agg) {
    case AGG_AVG:
        return average(&b[i]);
    case AGG_MIN:
        return b[i].min;
    case AGG_MAX:
        return b[i].max;
    case AGG_SUM:
        return b[i].sum;
    case AGG_LAST:
        return b[i].last;
    case AGG_COUNT:
        return b[i].count;
    default:
        return bin_rate(b, i, step_ms);
    }
}

static inline void fold_as(const struct bin *b, size_t i, size_t end, enum agg agg, int64_t step_ms, int64_t *v)
{
    for (; i < end; i++)
        *v++ = b[i].count ? bin_number(b, i, agg, step_ms) : SERIES_NONE;
}

/* A separate function, so that the two common ones below are short. */
__attribute__((noinline)) static void fold_other(const struct bin *b, size_t i, size_t end, enum agg agg,
                                                 int64_t step_ms, int64_t *v)
{
    fold_as(b, i, end, agg, step_ms, v);
}

void history_fold_bins(const struct bin *b, size_t before, size_t n, enum agg agg, int64_t step_ms, int64_t *v)
{
    if (agg == AGG_SUM)
        fold_as(b, before, before + n, AGG_SUM, step_ms, v);
    else if (agg == AGG_AVG)
        fold_as(b, before, before + n, AGG_AVG, step_ms, v);
    else
        fold_other(b, before, before + n, agg, step_ms, v);
}

/* ---- a run ---- */

struct heap { /* of numbers: one group's metric under one agg */
    const char *node_key, *node, *model, *user;
    struct str whose; /* in the format of struct series */
    const char *metric, *unit;
    enum agg agg;
    int64_t per;               /* of the devices' numbers */
    size_t devices, at, first; /* first: the first device of a node */
    bool whole;                /* v is the final value: no division needed */
    int64_t *v;
    uint32_t *count;
};

struct run {
    const struct history_query *q;
    const struct past_source *past;
    const struct series_out *sink;
    struct series_frame frame;
    size_t n, before;
    unsigned fields; /* of bins */
    int64_t *v;      /* one series */
    bool any, sums;  /* sums: adds_up */
    struct heap *heaps;
    size_t n_heaps, n_rooms, cap_heaps; /* n_rooms: have v and count, in use or not */
    struct holds holds;                 /* of the current node, if the group is by user */
    int64_t *held;                      /* one series of one user */
    bool too_much;                      /* more groups than the limit */
    size_t next_heap;                   /* likely next heap: devices come with their metrics in the same order */
    struct history *ahead;              /* results of the next nodes */
    size_t n_ahead, next_ahead;
};

static const char *const tier_words[TIER_COUNT] = {"raw", "minute", "hour"};

static int tier_of(int64_t step_ms)
{
    return step_ms % HOUR_MS == 0 ? TIER_HOUR : step_ms % MINUTE_MS == 0 ? TIER_MINUTE : TIER_RAW;
}

static const char *rate_unit(uint8_t unit)
{
    return unit == UNIT_BYTES     ? unit_names[UNIT_BYTES_S]
           : unit == UNIT_JOULES  ? unit_names[UNIT_WATTS]
           : unit == UNIT_SECONDS ? unit_names[UNIT_RATIO]
           : unit == UNIT_NONE    ? "per_second"
                                  : "";
}

static const char *unit_of(enum agg agg, uint8_t unit)
{
    return agg == AGG_COUNT ? "" : agg == AGG_RATE ? rate_unit(unit) : unit < UNIT_COUNT ? unit_names[unit] : "";
}

/* Adds a heap, and reuses the memory of an ended one: by node there are many, a few at a time. */
static struct heap *heap_room(struct run *r, bool zero)
{
    VEC_ROOM(r->heaps, r->n_heaps, r->cap_heaps);
    struct heap *h = &r->heaps[r->n_heaps++];
    if (r->n_heaps > r->n_rooms) {
        *h = (struct heap){.v = mem_alloc(r->n * sizeof(*h->v)), .count = mem_alloc(r->n * sizeof(*h->count))};
        r->n_rooms = r->n_heaps;
    }
    if (zero) {
        memset(h->v, 0, r->n * sizeof(*h->v));
        memset(h->count, 0, r->n * sizeof(*h->count));
    }
    return h;
}

static void heaps_fini(struct run *r)
{
    for (size_t k = 0; k < r->n_rooms; k++) {
        free(r->heaps[k].v);
        free(r->heaps[k].count);
    }
    free(r->heaps);
    r->heaps = NULL;
    r->n_heaps = r->n_rooms = r->cap_heaps = 0;
}

static bool heap_fits(const struct run *r, const struct heap *h, const struct series *s, enum agg agg)
{
    if (h->metric != s->metric || h->agg != agg || h->per != s->per) /* names are the query's own */
        return false;
    return r->q->group == GROUP_NODE      ? h->node_key == s->node_id
           : group_by_holder(r->q->group) ? h->user == s->user /* one pointer per name */
           : r->q->group == GROUP_ALL     ? true
                                          : h->model && s->model && strcmp(h->model, s->model) == 0;
}

/* Finds the heap of a series, starting at the likely one; NULL if none. */
static struct heap *heap_find(const struct run *r, const struct series *s, enum agg agg)
{
    size_t first = r->next_heap < r->n_heaps ? r->next_heap : 0;

    for (size_t i = first; i < r->n_heaps; i++)
        if (heap_fits(r, &r->heaps[i], s, agg))
            return &r->heaps[i];
    for (size_t i = 0; i < first; i++)
        if (heap_fits(r, &r->heaps[i], s, agg))
            return &r->heaps[i];
    return NULL;
}

static void heap_fold(struct heap *h, enum fold fold, const int64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i] == SERIES_NONE)
            continue;
        int64_t old = h->v[i];
        if (h->count[i]++ == 0)
            h->v[i] = v[i];
        else if (fold == FOLD_MIN)
            h->v[i] = MIN(old, v[i]);
        else if (fold == FOLD_MAX)
            h->v[i] = MAX(old, v[i]);
        else if (__builtin_add_overflow(old, v[i], &h->v[i]))
            h->v[i] = clip((__int128)old + v[i]);
    }
}

/* One more; NULL: there are too many. */
static struct heap *heap_open(struct run *r, const struct heap *as)
{
    if (r->n_heaps >= HISTORY_SERIES_MAX || (r->n_heaps + 1) * r->n > HISTORY_CELLS_MAX) {
        r->too_much = true;
        return NULL;
    }
    struct heap *h = heap_room(r, !as->whole), made = *as;
    made.v = h->v;
    made.count = h->count;
    *h = made;
    return h;
}

/* was NULL: unknown, or several models. */
static bool same_model(const char *was, const char *model)
{
    return was == model || (was && model && strcmp(was, model) == 0);
}

static void heap_take(struct run *r, struct heap *h, const char *model, const int64_t *v)
{
    if (!same_model(h->model, model))
        h->model = NULL; /* several */
    h->devices++;
    heap_fold(h, r->q->fold, v, r->n);
}

static void heap_add(struct run *r, const struct series *s, enum agg agg)
{
    struct heap *h = heap_find(r, s, agg);

    if (!h)
        h = heap_open(r, &(struct heap){.node_key = s->node_id,
                                        .node = s->node,
                                        .model = s->model,
                                        .user = s->user,
                                        .metric = s->metric,
                                        .unit = s->unit,
                                        .agg = agg,
                                        .per = s->per});
    if (!h)
        return;
    r->next_heap = (size_t)(h - r->heaps) + 1;
    heap_take(r, h, s->model, s->v);
}

/* By name; what is equal keeps its order. */
COMPARE(by_user, struct heap, strcmp(x->user, y->user) ?: ORDER(x->at, y->at))
COMPARE(by_device, struct heap, ORDER(x->first, y->first) ?: ORDER(x->at, y->at))

static void heaps_end(struct run *r, bool tell)
{
    for (size_t k = 0; k < r->n_heaps; k++)
        r->heaps[k].at = k;
    if (group_by_holder(r->q->group))
        SORT(r->heaps, r->n_heaps, by_user);
    else if (ANY(r->n_heaps, k, r->heaps[k].first))
        SORT(r->heaps, r->n_heaps, by_device); /* as the devices come */
    for (size_t k = 0; k < r->n_heaps; k++) {
        struct heap *h = &r->heaps[k];
        bool by_node = r->q->group == GROUP_NODE;
        /* numbers that are exact get two more digits when they are averaged */
        int64_t extra = r->q->fold == FOLD_MEAN && history_extra(h->agg) == 1 ? AVERAGE_EXTRA : 1;
        for (size_t i = 0; i < r->n && !h->whole; i++) {
            if (h->count[i] == 0)
                h->v[i] = SERIES_NONE;
            else if (r->q->fold == FOLD_MEAN)
                h->v[i] = divided((__int128)h->v[i] * extra, h->count[i]);
        }
        struct series s = {.node_id = by_node ? h->node_key : NULL,
                           .node = by_node ? h->node : NULL,
                           .index = -1,
                           .mig = -1,
                           .user = h->user,
                           .model = h->model,
                           .devices = h->devices,
                           .whose = h->whose,
                           .metric = h->metric,
                           .unit = h->unit,
                           .agg = agg_words[h->agg],
                           .per = h->per * extra,
                           .n = r->n,
                           .v = h->v};
        if (tell)
            r->sink->each(r->sink->arg, &s);
    }
    r->n_heaps = 0;
}

/* To each of those who held it, what it did while they did: whole, also where they shared it. */
static void give_holders(struct run *r, size_t device, struct series s, enum agg agg)
{
    s.v = r->held;
    for (size_t k = 0; k < r->holds.n; k++) {
        const struct user_hold *h = &r->holds.v[k];
        if (h->device != device)
            continue;
        for (size_t i = 0; i < r->n; i++)
            r->held[i] = user_hold_has(h, i) ? r->v[i] : SERIES_NONE;
        s.user = h->user;
        heap_add(r, &s, agg);
    }
}

static enum agg agg_of(const struct history_query *q, size_t a, const struct plan_scale *scale)
{
    return !q->usual ? q->aggs[a] : scale->kind == KIND_COUNTER ? AGG_RATE : AGG_AVG;
}

static int64_t per_of(const struct plan_scale *scale, enum agg agg)
{
    return agg == AGG_COUNT ? 1 : scale->per * history_extra(agg);
}

/* Bins into r->v. */
static void fold_series(struct run *r, const struct bin *b, enum agg agg)
{
    history_fold_bins(b, r->before, r->n, agg, r->frame.step_ms, r->v);
    if (agg == AGG_RATE && r->frame.to_ms > r->q->now_ms)
        r->v[r->n - 1] = SERIES_NONE; /* this bin is not over: its newest value is from some time within it */
}

/* A bin of a node's devices, if only their sum is needed. */
struct node_bin {
    size_t devices; /* devices with samples in it */
    uint32_t each;  /* samples of each device */
    __int128 sum;
};

/* The mean of devices that have as many samples each is that of all their samples, rounded once. */
static int64_t node_number(const struct node_bin *b, enum agg agg, enum fold fold)
{
    int64_t by = (agg == AGG_AVG ? b->each : 1) * (fold == FOLD_MEAN ? (int64_t)b->devices : 1);

    return agg == AGG_AVG || fold == FOLD_MEAN ? divided(b->sum * AVERAGE_EXTRA, by) : clip(b->sum);
}

/* The mean of others is that of their averages. */
static int64_t uneven_average(const struct bin *b, size_t n_devices, size_t step, enum fold fold)
{
    __int128 sum = 0;
    int64_t n = 0;

    for (size_t d = 0; d < n_devices; d++)
        if (b[d * step].count) {
            sum += average(&b[d * step]);
            n++;
        }
    return fold == FOLD_MEAN ? divided(sum, n) : clip(sum);
}

/* Folds one bin of several devices; the series are step apart. */
static int64_t fold_apart(const struct bin *b, size_t n_devices, size_t step, enum agg agg, enum fold fold)
{
    struct node_bin all = {0};
    bool uneven = false;

    for (size_t d = 0; d < n_devices; d++) {
        const struct bin *one = &b[d * step];
        if (one->count == 0)
            continue;
        uneven |= all.devices && one->count != all.each;
        all.each = one->count;
        all.devices++;
        all.sum += one->sum;
    }
    return all.devices == 0           ? SERIES_NONE
           : uneven && agg == AGG_AVG ? uneven_average(b, n_devices, step, fold)
                                      : node_number(&all, agg, fold);
}

/* A node is a group, and nothing is filled in. */
static bool is_plain(const struct run *r)
{
    return r->q->group == GROUP_NODE && !(r->q->chosen && r->q->tier < 0);
}

/* Nothing is needed of a node's devices but what they add up to. */
static bool adds_up(const struct run *r)
{
    const struct history_query *q = r->q;

    return is_plain(r) && (q->fold == FOLD_MEAN || q->fold == FOLD_SUM) && r->fields == BIN_SUM &&
           (q->usual || !ANY(q->n_aggs, a, q->aggs[a] != AGG_AVG && q->aggs[a] != AGG_SUM));
}

/* What the store gave of all devices together. */
static void fold_together(const struct run *r, struct heap *h, size_t n_devices, const struct bin *b)
{
    bool mean = h->agg == AGG_AVG && r->q->fold == FOLD_MEAN;

    for (size_t i = 0; i < r->n; i++) {
        int64_t by = (int64_t)(b[i].count * n_devices);
        if (b[i].count == 0)
            h->v[i] = SERIES_NONE;
        else if (mean && b[i].sum >= 0 && b[i].sum < QUOTIENT_EXACT / AVERAGE_EXTRA)
            h->v[i] = quotient(b[i].sum * AVERAGE_EXTRA + by / 2, by);
        else
            h->v[i] = node_number(&(struct node_bin){n_devices, b[i].count, b[i].sum}, h->agg, r->q->fold);
    }
}

static bool any_in(const struct bin *b, size_t n)
{
    return ANY(n, i, b[i].count > 0);
}

/* Lists the devices of a card with data of a metric, or all possible ones; b: the bins of the first, those of the next
 * are step apart. False: no device has data. */
static bool heap_of_devices(const struct run *r, const struct card *c, bool maybe, const struct bin *b, size_t step,
                            struct heap *to)
{
    bool some = false;

    for (size_t d = 0; d < c->n_devices; d++) {
        bool any = any_in(b + d * step, r->n);
        const char *model = c->devices[d].model;
        some |= any;
        if (!any && maybe)
            continue;
        to->model = !to->devices ? model : same_model(to->model, model) ? to->model : NULL;
        to->first = to->devices++ ? to->first : d;
    }
    return some;
}

/* One metric of all devices of a node, where that adds up. */
static void give_sums(struct run *r, const struct plan_node *p, size_t metric, const struct history *fine, size_t at,
                      size_t step)
{
    const struct history_query *q = r->q;
    const struct plan_scale *scale = &p->scales->v[metric];
    const struct card *card = p->card;
    const struct bin *first = fine->v + at * fine->n + r->before;
    bool maybe = q->metrics[metric].maybe, any = fine->together && any_in(first, r->n);

    if (fine->together && !any && maybe)
        return;
    struct heap made = {.node_key = card->key, .node = card->name, .metric = q->metrics[metric].name, .whole = true};
    if (fine->together) {
        made.devices = card->n_devices;
        made.model = card->model;
    } else {
        any = heap_of_devices(r, card, maybe, first, step * fine->n, &made);
    }
    r->any |= any;
    if (made.devices == card->n_devices)
        made.whose = card->whose;
    for (size_t a = 0; a < q->n_aggs && made.devices; a++) {
        made.agg = agg_of(q, a, scale);
        made.unit = unit_of(made.agg, scale->unit);
        made.per = per_of(scale, made.agg);
        struct heap *h = heap_open(r, &made);
        if (!h)
            return;
        if (fine->together)
            fold_together(r, h, card->n_devices, first);
        for (size_t i = 0; i < r->n && !fine->together; i++)
            h->v[i] = fold_apart(first + i, card->n_devices, step * fine->n, made.agg, q->fold);
    }
}

/* One metric of all devices of a node. Their series start at `at` of fine and are step apart. Does the same as give()
 * for each, if a node is a group and no gaps are filled. */
static void give_devices(struct run *r, const struct plan_node *p, size_t metric, const struct history *fine, size_t at,
                         size_t step)
{
    const struct history_query *q = r->q;
    const struct plan_scale *scale = &p->scales->v[metric];

    for (size_t a = 0; a < q->n_aggs; a++) {
        enum agg agg = agg_of(q, a, scale);
        struct heap *h = NULL;
        for (size_t d = 0; d < p->card->n_devices; d++) {
            const struct bin *b = fine->v + (at + d * step) * fine->n;
            bool any = any_in(b + r->before, r->n);
            r->any |= any;
            if (!any && q->metrics[metric].maybe)
                continue;
            if (!h)
                h = heap_open(r, &(struct heap){.node_key = p->card->key,
                                                .node = p->card->name,
                                                .model = p->card->devices[d].model,
                                                .metric = q->metrics[metric].name,
                                                .unit = unit_of(agg, scale->unit),
                                                .agg = agg,
                                                .per = per_of(scale, agg),
                                                .first = d});
            if (!h)
                return;
            fold_series(r, b, agg);
            heap_take(r, h, p->card->devices[d].model, r->v);
        }
    }
}

/* One metric of one device, series at of fine, under every agg. */
static void give(struct run *r, const struct plan_node *p, const struct card_device *d, size_t metric,
                 const struct history *fine, const struct coarser *more, size_t at)
{
    const struct bin *b = fine->v + at * fine->n;
    const struct history_query *q = r->q;
    const struct plan_scale *scale = &p->scales->v[metric];
    bool any = any_in(b + r->before, r->n);

    r->any |= any;
    if (!any && more->tier < 0 && q->metrics[metric].maybe)
        return;
    for (size_t a = 0; a < q->n_aggs; a++) {
        enum agg agg = agg_of(q, a, scale);
        fold_series(r, b, agg);
        bool filled = more->tier >= 0 && coarser_fill(more, fine, at, r->before, agg, q->now_ms, r->v);
        if (filled)
            r->frame.filled = tier_words[more->tier];
        if (q->chosen && q->tier < 0)
            gaps_bridge(b + r->before, r->n, agg, r->frame.step_ms, r->v);
        if (!any && !filled && q->metrics[metric].maybe)
            continue;
        struct series s = {.node_id = p->card->key,
                           .node = p->card->name,
                           .device = d ? d->uuid : "",
                           .index = d ? d->index : -1,
                           .mig = d ? d->mig : -1,
                           .model = d ? d->model : NULL,
                           .metric = q->metrics[metric].name,
                           .unit = unit_of(agg, scale->unit),
                           .agg = agg_words[agg],
                           .per = per_of(scale, agg),
                           .n = r->n,
                           .v = r->v};
        if (q->group == GROUP_NONE || !d)
            r->sink->each(r->sink->arg, &s);
        else if (group_by_holder(q->group))
            give_holders(r, (size_t)(d - p->card->devices), s, agg);
        else
            heap_add(r, &s, agg);
    }
}

/* What of the bins the aggs need. */
static unsigned fields_of(const struct history_query *q)
{
    static const unsigned needs[AGGS] = {[AGG_AVG] = BIN_SUM, [AGG_MIN] = BIN_MIN,   [AGG_MAX] = BIN_MAX,
                                         [AGG_SUM] = BIN_SUM, [AGG_LAST] = BIN_LAST, [AGG_RATE] = BIN_LAST | BIN_MIN};
    unsigned fields = 0;

    for (size_t a = 0; a < q->n_aggs && !q->usual; a++)
        fields |= needs[q->aggs[a]];
    for (size_t i = 0; i < q->n_metrics && q->usual; i++)
        fields |= q->metrics[i].no >= 0 && metrics[q->metrics[i].no].kind != KIND_COUNTER ? BIN_SUM : BIN_ALL;
    return fields ? fields : BIN_SUM;
}

/* One read of a node: its devices, or the node itself, with all their metrics. */
struct node_query {
    struct bins_query ask;
    const struct plan_metrics *asked;
};

/* False: nothing to read. */
static bool node_ask_make(struct node_query *k, const struct run *r, const struct plan_node *p, bool self)
{
    static const char *const itself[] = {""};
    const struct history_query *q = r->q;
    const struct plan_metrics *a = self ? &p->scales->of_node : &p->scales->of_devices;
    int64_t back_ms = (int64_t)r->before * r->frame.step_ms;

    if (a->n == 0 || (self && !p->self))
        return false;
    *k = (struct node_query){.asked = a,
                             .ask = {.node = p->card->key,
                                     .devices = self ? itself : p->card->uuids,
                                     .devices_sum = self ? 0 : p->card->devices_sum,
                                     .metrics = a->names,
                                     .known = a->known,
                                     .n_devices = self ? p->self : p->card->n_devices,
                                     .n_metrics = a->n,
                                     .from_ms = r->frame.from_ms - back_ms,
                                     .to_ms = r->frame.to_ms,
                                     .step_ms = r->frame.step_ms,
                                     .fields = r->fields,
                                     .together = !self && r->sums,
                                     .tier = q->tier >= 0 ? q->tier : tier_of(r->frame.step_ms)}};
    return k->ask.n_devices > 0;
}

/* ---- several nodes in one query: if there is an archive, or much to read ---- */

static bool is_large(const struct run *r)
{
    const struct history_query *q = r->q;
    int tier = q->tier >= 0 ? q->tier : tier_of(r->frame.step_ms);
    int64_t each_ms = tier == TIER_RAW ? 1000 : tier == TIER_MINUTE ? MINUTE_MS : HOUR_MS; /* as most are sampled */

    return (int64_t)(q->n_read / MAX(q->n_aggs, 1u)) * ((r->frame.to_ms - r->frame.from_ms) / each_ms + 1) >= LARGE;
}

static void ahead_fini(struct run *r)
{
    for (size_t i = 0; i < r->n_ahead; i++)
        history_fini(&r->ahead[i]);
    free(r->ahead);
    r->ahead = NULL;
    r->n_ahead = r->next_ahead = 0;
}

/* Reads as many nodes from first on as fit, at least one. *ret: the next node. */
static int ask_ahead(struct run *r, size_t first, size_t *ret, struct err *err)
{
    const struct history_query *q = r->q;
    AUTO_FREE struct bins_query *asks = NULL;
    size_t n = 0, cap = 0, bins = 0, i = first;
    int code = 0;

    ahead_fini(r);
    *ret = first + 1;
    if (!r->past->histories || group_by_holder(q->group) || (!r->past->archive && !is_large(r)))
        return 0;
    for (; i < q->n_nodes && bins < (r->past->archive ? AHEAD_BINS : LARGE_BINS); i++)
        for (int self = 0; self < 2; self++) {
            struct node_query k;
            if (!node_ask_make(&k, r, &q->nodes[i], self))
                continue;
            bins += k.ask.n_devices * k.ask.n_metrics * (r->n + r->before); /* also where they are to be together */
            k.ask.session = r->past->session;
            k.ask.stop = r->past->stop;
            k.ask.arg = r->past->stop_arg;
            VEC_ADD(asks, n, cap, k.ask);
        }
    if (n > 1) {
        r->ahead = mem_zero(n, sizeof(*r->ahead));
        code = r->past->histories(r->past->store, asks, n, r->ahead, err);
        r->n_ahead = code == 0 ? n : 0;
        *ret = i;
    }
    return code;
}

/* ---- one node ---- */

static int ask_node(struct run *r, const struct plan_node *p, bool self, struct err *err)
{
    const struct history_query *q = r->q;
    struct node_query k;
    int code = 0;

    if (!node_ask_make(&k, r, p, self))
        return 0;
    struct history h = {0};
    struct coarser more = {.tier = -1};
    if (r->next_ahead < r->n_ahead) { /* read ahead in this order */
        h = r->ahead[r->next_ahead];
        r->ahead[r->next_ahead++] = (struct history){0};
    } else {
        code = past_history(r->past, k.ask, &h, err);
    }
    if (code == 0 && (h.n != r->n + r->before || h.n_series != (h.together ? 1 : k.ask.n_devices) * k.ask.n_metrics))
        code = err_set(err, -EIO, "the store returned %zu bins instead of %zu", h.n, r->n + r->before);
    if (code == 0 && q->chosen && q->tier < 0)
        code = coarser_read(&more, r->past, &k.ask, &h, err);
    r->frame.damaged += h.damaged + more.h.damaged;
    if (h.missing[0])
        mem_copy_str(r->frame.missing, sizeof(r->frame.missing), h.missing);
    bool plain = !self && is_plain(r);
    for (size_t m = 0; code == 0 && plain && m < k.ask.n_metrics; m++)
        (r->sums ? give_sums : give_devices)(r, p, k.asked->which[m], &h, m, k.ask.n_metrics);
    for (size_t d = 0; code == 0 && !plain && d < k.ask.n_devices; d++)
        for (size_t m = 0; m < k.ask.n_metrics; m++)
            give(r, p, self ? NULL : &p->card->devices[d], k.asked->which[m], &h, &more, d * k.ask.n_metrics + m);
    history_fini(&h);
    coarser_fini(&more);
    return code;
}

static int run_at(struct run *r, int64_t step_ms, struct err *err)
{
    const struct history_query *q = r->q;
    int64_t from_ms = q->from_ms / step_ms * step_ms, to_ms = (q->to_ms + step_ms - 1) / step_ms * step_ms;
    bool rates = q->usual ? ANY(q->n_metrics, i, q->metrics[i].no < 0 || metrics[q->metrics[i].no].kind == KIND_COUNTER)
                          : ANY(q->n_aggs, a, q->aggs[a] == AGG_RATE);
    size_t ahead = 0;
    int code = 0;

    r->frame = (struct series_frame){.from_ms = from_ms,
                                     .to_ms = to_ms,
                                     .step_ms = step_ms,
                                     .tier = tier_words[q->tier >= 0 ? q->tier : tier_of(step_ms)]};
    r->n = (size_t)((to_ms - from_ms) / step_ms);
    r->before = rates ? (size_t)MIN((int64_t)rate_back(step_ms), from_ms / step_ms) : 0;
    r->any = false;
    r->frame.users = group_by_holder(q->group);
    r->sums = adds_up(r);
    r->v = mem_zero(r->n, sizeof(*r->v));
    r->held = r->frame.users ? mem_zero(r->n, sizeof(*r->held)) : NULL;
    r->sink->start(r->sink->arg, &r->frame);
    for (size_t i = 0; code == 0 && i < q->n_nodes; i++) {
        bool users = group_by_holder(q->group);
        if (i == ahead)
            code = ask_ahead(r, i, &ahead, err);
        if (code == 0 && users)
            code = holds_read(&r->holds, r->past, q, i, &r->frame, err);
        if (code == 0 && (!users || r->holds.n))
            code = ask_node(r, &q->nodes[i], false, err);
        if (code == 0 && !users)
            code = ask_node(r, &q->nodes[i], true, err);
        if (code == 0 && r->too_much)
            code = err_set(err, -E2BIG, "that is more than is given at once: use a longer step, or fewer devices");
        if (q->group == GROUP_NODE)
            heaps_end(r, code == 0);
        if (code == 0 && past_stopped(r->past))
            code = err_set(err, -ECANCELED, "stopped");
    }
    heaps_end(r, code == 0);
    heaps_fini(r); /* another step has another length */
    ahead_fini(r);
    free(r->v);
    free(r->held);
    if (code == 0)
        r->sink->end(r->sink->arg, &r->frame);
    return code;
}

int history_query_run(const struct history_query *q, const struct past_source *past, const struct series_out *sink,
                      struct err *err)
{
    const int64_t tries[] = {q->step_ms, MINUTE_MS, HOUR_MS};
    struct run r = {.q = q, .past = past, .sink = sink, .fields = fields_of(q)};
    int code = 0;
    size_t i, tried = 0;

    /* A fine step may be older than the raw tier keeps: then try coarser steps. */
    for (i = 0; code == 0 && i < ARRAY_LEN(tries); i++) {
        if (i > 0 && (!q->chosen || q->tier >= 0 || tries[i] <= q->step_ms || q->to_ms > q->now_ms - LATELY_MS))
            continue;
        code = run_at(&r, tries[i], err);
        tried++;
        if (r.any)
            break;
    }
    if (code == 0 && !r.any && tried > 1)
        code = run_at(&r, q->step_ms, err);
    holds_fini(&r.holds);
    return code;
}
