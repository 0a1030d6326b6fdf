/* usage_trend.c: reads the averages out of the counted hours of the last week, again and again. */
#include "usage/usage_trend.h"

#include "base/clock.h"
#include "base/workers.h"
#include "hub/hub.h"
#include "people/people.h"
#include "usage/ledger.h"

#define EVERY_MS 60000
#define SOON_MS  2000 /* while hours of before wait to be counted */
#define SHARE    1000 /* it uses at most 1/SHARE of a core */
#define LIMIT_MS 60000

struct usage_trend {
    struct hub *h;
    struct trend now;
    bool known; /* it has been read after everything of before was counted */
    bool reading;
    uint64_t version;
    int64_t again_ms; /* on the monotonic clock: it is read then */
};

struct seed {            /* a job */
    struct work_job job; /* first */
    struct usage_trend *a;
    struct people *people;
    char dir[HUB_PLACE_MAX];
    int64_t took_us;
    bool whole; /* no hour was still to be counted when it started */
    int code;   /* of reading */
    struct trend trend;
};

static int seed_hour(void *arg, const char *node, const struct usage_span *s)
{
    struct seed *k = arg;
    trend_hour(&k->trend, s->at_ms);
    for (size_t i = 0; i < s->n; i++)
        for (size_t u = 0; u < s->devices[i].n; u++) {
            const struct usage_held *h = &s->devices[i].held[u];
            const char *person = people_person(k->people, node, h->login, -1);
            if (person[0])
                trend_use(&k->trend, person, (double)h->s.held_ms / (double)HOUR_MS);
        }
    return 0;
}

static void seed_run(struct work_job *j)
{
    struct seed *k = (struct seed *)j;
    struct store *beside = NULL;
    int64_t begin_us = clock_thread_us();
    struct usage_query ask = {.from_ms = k->trend.to_ms - TREND_HOURS * HOUR_MS,
                              .to_ms = k->trend.to_ms,
                              .stop = job_stopped,
                              .stop_arg = j};
    k->code = store_open_tools(&beside, k->dir, NULL, NULL);
    if (k->code == 0)
        k->code = store_each(beside, EACH_USAGE(&ask, seed_hour, k), NULL);
    store_close(beside);
    k->took_us = clock_thread_us() - begin_us;
}

static void seed_free(struct seed *k)
{
    trend_fini(&k->trend);
    people_unref(k->people);
    free(k);
}

static void seed_done(struct work_job *j)
{
    struct seed *k = (struct seed *)j;
    struct usage_trend *a = k->a;
    a->reading = false;
    if (j->ran && k->code >= 0) {
        trend_fini(&a->now);
        a->now = k->trend;
        k->trend = (struct trend){0};
        a->known |= k->whole;
        a->version++;
    }
    a->again_ms = clock_mono_ms() + MAX(a->known ? EVERY_MS : SOON_MS, k->took_us / 1000 * SHARE);
    seed_free(k);
}

static void read_back(struct usage_trend *a, int64_t now_ms)
{
    struct hub *h = a->h;
    struct ledger_stat stat;
    int64_t next_ms;
    ledger_stat(h->ledger, now_ms, &stat);
    struct seed *k = NEW(struct seed, .job = {.run = seed_run, .done = seed_done}, .a = a,
                         .people = people_ref(h->api.people), .whole = !stat.waiting);
    k->trend.to_ms = zone_period(stat.zone, PERIOD_HOUR, 0, now_ms, &next_ms);
    mem_copy_str(k->dir, sizeof(k->dir), h->place);
    a->reading = work_add(h->own_work, &k->job, LIMIT_MS) == 0;
    if (!a->reading) /* the workers are full: at the next tick */
        seed_free(k);
}

struct usage_trend *usage_trend_new(struct hub *h)
{
    struct usage_trend *a = NEW(struct usage_trend, .h = h);
    read_back(a, clock_wall_ms());
    return a;
}

void usage_trend_free(struct usage_trend *a)
{
    if (!a)
        return;
    trend_fini(&a->now);
    free(a);
}

void usage_trend_tick(struct usage_trend *a, int64_t now_ms)
{
    if (!a || a->reading || clock_mono_ms() < a->again_ms)
        return;
    read_back(a, now_ms);
}

const struct trend *usage_trend_now(const struct usage_trend *a)
{
    return a->known && a->now.from_ms ? &a->now : NULL;
}

uint64_t usage_trend_version(const struct usage_trend *a)
{
    return a->version;
}
