/* picture.c: reads the means of a run's GPUs over its time, a few hundred points each, and draws them. */
#include "jobs/picture.h"

#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "base/order.h"
#include "draw/strips.h"

#define POINTS  300
#define METRICS 4

/* As on the page: for GPUs without activity counters, the other metrics. */
static const enum metric measured[METRICS] = {M_active, M_work, M_mem_used, M_power};
static const enum metric otherwise[METRICS] = {M_util, M_mem_used, M_power, M_temp};

static void add_series(struct strips *s, const struct history *h, size_t series, const struct series *like)
{
    AUTO_FREE int64_t *mean = mem_zero(h->n + 1, sizeof(*mean));
    struct series one = *like;
    bool any = false;
    for (size_t i = 0; i < h->n; i++) {
        const struct bin *b = &h->v[series * h->n + i];
        mean[i] = b->count ? b->sum / (int64_t)b->count : SERIES_NONE;
        any |= b->count > 0;
    }
    one.n = h->n;
    one.v = mean;
    if (any)
        strips_add(s, &one);
}

/* n GPUs of one node, from first on. */
static int add_gpus(struct strips *s, const struct past_source *past, const struct run_verdict *v,
                    const struct run_picture *p, size_t first, size_t n, const struct bins_query *like,
                    const enum metric *which, struct err *err)
{
    struct bins_query ask = *like;
    struct history h = {0};
    const char *uuids[PICTURE_GPUS];
    for (size_t i = 0; i < n; i++)
        uuids[i] = v->gpus[first + i].uuid;
    ask.node = v->gpus[first].node;
    ask.devices = uuids;
    ask.n_devices = n;
    int r = past_history(past, ask, &h, err);
    if (r >= 0 && first == 0)
        strips_start(s, &(struct series_frame){.from_ms = h.from_ms,
                                               .to_ms = h.from_ms + (int64_t)h.n * h.step_ms,
                                               .step_ms = h.step_ms});
    for (size_t k = 0; r >= 0 && k < METRICS; k++)
        for (size_t i = 0; i < n; i++)
            add_series(s, &h, i * METRICS + k,
                       &(struct series){.node = p->nodes[first + i],
                                        .device = uuids[i],
                                        .index = v->gpus[first + i].index,
                                        .mig = -1,
                                        .metric = metrics[which[k]].name,
                                        .unit = unit_names[metrics[which[k]].unit],
                                        .agg = "avg",
                                        .per = metrics[which[k]].per});
    history_fini(&h);
    return r;
}

int run_picture_draw(const struct past_source *past, const struct run_verdict *v, const struct run_picture *p,
                     struct buf *ret, struct err *err)
{
    const enum metric *which = isnan(v->all.mean[RUN_ACTIVE]) ? otherwise : measured;
    const char *names[METRICS];
    int64_t steps = (v->to_ms - v->from_ms) / POINTS / v->step_ms + 1; /* finer than it was read there are gaps */
    struct bins_query like = {.metrics = names,
                              .n_metrics = METRICS,
                              .from_ms = v->from_ms,
                              .to_ms = v->to_ms,
                              .step_ms = steps * v->step_ms,
                              .fields = BIN_SUM,
                              .tier = -1,
                              .once = true};
    struct strips *s = strips_new();
    size_t all = MIN(v->n, (size_t)PICTURE_GPUS);
    int r = 0;
    for (size_t k = 0; k < METRICS; k++)
        names[k] = metrics[which[k]].name;
    for (size_t first = 0, n; first < all && r >= 0; first += n) {
        for (n = 1; first + n < all && strcmp(v->gpus[first].node, v->gpus[first + n].node) == 0;)
            n++;
        r = add_gpus(s, past, v, p, first, n, &like, which, err);
    }
    if (r >= 0)
        r = strips_draw(s, &(struct strips_head){p->title, p->lines}, p->zone, p->format, ret, err);
    strips_free(s);
    return MIN(r, 0);
}
