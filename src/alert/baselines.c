/* baselines.c: decides when to check usage, passes a job to a worker thread, and keeps the findings. */
#include "alert/baselines.h"

#include "alert/baseline.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/workers.h"
#include "usage/ledger.h"

#define PATIENCE_MS 7200000ll /* wait at most this long for an hour to be counted */
#define RETRY_MS    300000ll
#define LIMIT_MS    120000

struct baselines {
    struct hub *h;
    bool running;
    int64_t done_ms;  /* start of the hour checked last */
    int64_t again_ms; /* earliest time of the next attempt; monotonic */
    struct usage_baseline found;
};

struct baseline_job {    /* a job */
    struct work_job job; /* first */
    struct baselines *x;
    char dir[HUB_PLACE_MAX], zone[ZONE_NAME_MAX];
    struct usage_baseline_query ask;
    struct people *people;
    struct arena mem; /* of nodes */
    struct usage_baseline found;
    int code;
    struct err err;
};

/* ---- on a worker ---- */

static int each_of(void *arg, const struct store_each *e, struct err *err)
{
    return store_each(arg, e, err);
}

static void wandb_job_run(struct work_job *j)
{
    struct baseline_job *k = (struct baseline_job *)j;
    struct store *beside = NULL; /* this thread's own store */
    struct zone *z = NULL;

    k->code = store_open_tools(&beside, k->dir, NULL, &k->err);
    if (k->code == 0)
        k->code = zone_load(k->zone, &z, &k->err);
    k->ask.sums.zone = z;
    k->ask.sums.arg = beside;
    if (k->code == 0)
        k->code = usage_baseline_run(&k->ask, &k->found, &k->err);
    store_close(beside);
    zone_free(z);
}

/* ---- on the loop ---- */

static void errand_free(struct baseline_job *k)
{
    people_unref(k->people);
    arena_fini(&k->mem);
    usage_baseline_fini(&k->found);
    free(k);
}

static void errand_done(struct work_job *j)
{
    struct baseline_job *k = (struct baseline_job *)j;
    struct baselines *x = k->x;

    x->running = false;
    if (j->ran && k->code == 0) {
        usage_baseline_fini(&x->found);
        x->found = k->found;
        x->done_ms = k->ask.hour_ms;
        k->found = (struct usage_baseline){0};
    } else {
        x->again_ms = clock_mono_ms() + RETRY_MS;
        if (j->ran && log_ratelimit(x->h, "baselines", clock_wall_ms()))
            log_warn("alert", "cannot read the usage of companies and teams: %s", k->err.msg);
    }
    errand_free(k);
}

static void begin(struct baselines *x, const struct zone *z, int64_t hour_ms)
{
    struct baseline_job *k = mem_zero(1, sizeof(*k));

    *k = (struct baseline_job){.job = {.run = wandb_job_run, .done = errand_done},
                               .x = x,
                               .ask = {.hour_ms = hour_ms,
                                       .sums = {.each = each_of, .stop = job_stopped, .stop_arg = k}},
                               .people = people_ref(x->h->api.people)};
    mem_copy_str(k->dir, sizeof(k->dir), x->h->place);
    mem_copy_str(k->zone, sizeof(k->zone), strcmp(zone_name(z), "local") == 0 ? "" : zone_name(z));
    const struct node_now *const *v = live_nodes(x->h->live, true, &k->ask.sums.n_nodes);
    k->ask.sums.nodes = sums_nodes(&k->mem, v, k->ask.sums.n_nodes);
    k->ask.sums.people = k->people;
    x->running = work_add(x->h->own_work, &k->job, LIMIT_MS) == 0;
    if (x->running)
        return;
    x->again_ms = clock_mono_ms() + RETRY_MS;
    errand_free(k);
}

void baselines_tick(struct baselines *x, int64_t now_ms)
{
    struct ledger_stat st;

    if (x->running || !x->h->ledger || !x->h->own_work || clock_mono_ms() < x->again_ms)
        return;
    ledger_stat(x->h->ledger, now_ms, &st);
    int64_t hour_ms = usage_baseline_hour(st.zone, now_ms), end_ms = hour_ms + HOUR_MS;
    if (hour_ms != x->done_ms && (st.counted_to_ms >= end_ms || now_ms >= end_ms + PATIENCE_MS))
        begin(x, st.zone, hour_ms);
}

const struct usage_finding *baselines_now(const struct baselines *x, size_t *ret_n)
{
    *ret_n = x->found.n;
    return x->found.v;
}

struct baselines *baselines_new(struct hub *h)
{
    return NEW(struct baselines, .h = h);
}

void baselines_free(struct baselines *x)
{
    if (!x)
        return;
    usage_baseline_fini(&x->found);
    free(x);
}
