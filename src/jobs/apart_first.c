/* apart_first.c: picks runs, reads their GPUs by the minute until there are enough minutes of work, hands them on. */
#include "jobs/apart_first.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/order.h"
#include "jobs/auto_run.h"
#include "now/live.h"

#define WINDOW_MS (2 * HOUR_MS) /* per read */
#define WINDOWS   12            /* a run that does not work for a day has no first minutes */
#define AT_ONCE   16            /* GPUs of a node */
#define AGAIN_MS  10000         /* between checks for more */

static const enum metric read_metrics[] = {M_power, M_sm_active, M_nvlink_rx, M_nvlink_tx};

/* ---- which ---- */

static void pick_run(struct auto_run *r, const struct node_now *n, struct first_gpus *ret)
{
    for (size_t i = 0; i < n->n_devices && ret->n < FIRST_GPUS; i++) {
        const char *uuid = n->devices[i].fact.uuid;
        if (!live_sibling(n, i) || !ANY(r->n_devices, k, strcmp(r->devices[k], uuid) == 0))
            continue;
        struct first_gpu *g = &ret->v[ret->n++];
        *g = (struct first_gpu){.from_ms = r->start_ms};
        mem_copy_str(g->node, sizeof(g->node), n->key);
        mem_copy_str(g->uuid, sizeof(g->uuid), uuid);
        r->first_read = true;
    }
}

void first_pick(struct auto_runs *a, struct live *l, int64_t before_ms, size_t *at, struct first_gpus *ret)
{
    size_t looked = 0;
    struct auto_node *n = NULL;
    ret->n = 0;
    for (; ret->n < FIRST_GPUS && looked < FIRST_NODES && (n = lookup_each(&a->by_node, at)); looked++) {
        struct node_now *now = NULL;
        for (size_t i = 0; i < n->n && ret->n < FIRST_GPUS; i++) {
            struct auto_run *r = n->runs[i];
            bool asked = r->launch || r->n_devices >= STRAGGLER_LEAST;
            if (r->first_read || !r->n_active || !asked || r->start_ms >= before_ms)
                continue;
            now = now ? now : live_find(l, n->key);
            if (now)
                pick_run(r, now, ret);
        }
    }
    if (!n || ret->n == FIRST_GPUS) /* the last one may have more */
        *at = 0;
}

/* ---- reading ---- */

static double mean_of(const struct history *h, size_t series, size_t bin, enum metric m)
{
    const struct bin *b = &h->v[series * h->n + bin];
    return b->count ? (double)b->sum / (double)b->count / (double)metrics[m].per : NAN;
}

static void take_minutes(struct first_gpu *g, const struct history *h, size_t first, int64_t now_ms)
{
    for (size_t i = 0; i < h->n && g->s.n_first < STRAGGLER_FIRST; i++) {
        double v[ARRAY_LEN(read_metrics)];
        if (h->from_ms + (int64_t)(i + 1) * h->step_ms > now_ms)
            return; /* it is not over */
        for (size_t k = 0; k < ARRAY_LEN(read_metrics); k++)
            v[k] = mean_of(h, first + k, i, read_metrics[k]);
        if (!isnan(v[0]) || !isnan(v[1]))
            sibling_minute(&g->s, (const double[SIBLING_VALUES]){v[0], v[1], v[2] + v[3]});
    }
}

static int read_window(const struct past_source *past, struct first_gpu *g, size_t n, int64_t from_ms, int64_t now_ms,
                       struct err *err)
{
    const char *uuids[AT_ONCE], *names[ARRAY_LEN(read_metrics)];
    struct history h = {0};
    for (size_t i = 0; i < n; i++)
        uuids[i] = g[i].uuid;
    for (size_t k = 0; k < ARRAY_LEN(read_metrics); k++)
        names[k] = metrics[read_metrics[k]].name;
    struct bins_query ask = {.node = g->node,
                             .devices = uuids,
                             .n_devices = n,
                             .metrics = names,
                             .n_metrics = ARRAY_LEN(read_metrics),
                             .from_ms = from_ms,
                             .to_ms = MIN(from_ms + WINDOW_MS, now_ms),
                             .step_ms = MINUTE_MS,
                             .fields = BIN_SUM,
                             .tier = -1,
                             .once = true};
    int r = past_history(past, ask, &h, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        take_minutes(&g[i], &h, i * ARRAY_LEN(read_metrics), now_ms);
    history_fini(&h);
    return r;
}

int first_read(const struct past_source *past, struct first_gpus *v, int64_t now_ms, struct err *err)
{
    int r = 0;
    for (size_t first = 0, n; first < v->n && r >= 0; first += n) {
        struct first_gpu *g = &v->v[first];
        for (n = 1; n < AT_ONCE && first + n < v->n && g[n].from_ms == g->from_ms && !strcmp(g[n].node, g->node);)
            n++;
        int64_t at = g->from_ms - g->from_ms % MINUTE_MS + MINUTE_MS;
        for (int w = 0; w < WINDOWS && at < now_ms && r >= 0; w++, at += WINDOW_MS) {
            if (!ANY(n, i, g[i].s.n_first < STRAGGLER_FIRST))
                break;
            r = past_stopped(past) ? err_set(err, -ECANCELED, "stopped") : read_window(past, g, n, at, now_ms, err);
        }
    }
    return MIN(r, 0);
}

void first_put(struct live *l, const struct first_gpus *v)
{
    for (size_t i = 0; i < v->n; i++) {
        struct node_now *n = live_find(l, v->v[i].node);
        size_t at = n ? FIRST(n->n_devices, k, strcmp(n->devices[k].fact.uuid, v->v[i].uuid) == 0) : 0;
        if (n && at < n->n_devices)
            live_first(n, at, &v->v[i].s);
    }
}

/* ---- on a worker thread ---- */

struct first_query {
    struct async_query ask; /* first */
    int64_t now_ms;
    int code;
    struct first_gpus gpus;
};

struct apart_first {
    struct hub *h;
    struct auto_runs *a;
    struct first_query *asking;
    size_t at; /* position of the next pick */
    int64_t next_ms;
};

static void run_ask(struct async_query *k, const struct past_source *past, UNUSED struct reply *rp)
{
    struct first_query *q = (struct first_query *)k;
    q->code = first_read(past, &q->gpus, q->now_ms, NULL);
}

static void end_ask(struct async_query *k)
{
    free(k);
}

/* Uses the minutes that could be read; a run without them starts from scratch. */
static void take_answer(void *arg, UNUSED struct reply *rp)
{
    struct apart_first *x = arg;
    first_put(x->h->live, &x->asking->gpus);
    x->asking = NULL;
}

void apart_first_tick(struct apart_first *x, int64_t now_ms)
{
    if (x->asking || (now_ms < x->next_ms && now_ms >= x->next_ms - AGAIN_MS))
        return;
    struct first_query *q = NEW(struct first_query, .ask = {.run = run_ask, .end = end_ask}, .now_ms = now_ms);
    first_pick(x->a, x->h->live, x->h->started_ms, &x->at, &q->gpus);
    if (q->gpus.n && query_async_internal(x->h, &q->ask, take_answer, x) == 0)
        x->asking = q;
    else
        free(q);
    x->next_ms = x->asking || x->at ? 0 : now_ms + AGAIN_MS;
}

struct apart_first *apart_first_new(struct hub *h, struct auto_runs *a)
{
    return NEW(struct apart_first, .h = h, .a = a);
}

void apart_first_free(struct apart_first *x)
{
    free(x);
}
