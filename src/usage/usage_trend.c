/*
 * usage_trend.c: feeds the averages from the processes of this moment, and at the start from the hours of the last
 * weeks, again when those that waited to be counted are.
 */
#include "usage/usage_trend.h"

#include "base/clock.h"
#include "base/workers.h"
#include "hub/hub.h"
#include "now/live.h"
#include "now/node_order.h"
#include "people/people.h"
#include "usage/ledger.h"

#define EVERY_MS 60000
#define BACK_MS  (TREND_HOURS * HOUR_MS)
#define GAP_MS   300000 /* longer without a look is unknown time */
#define LIMIT_MS 60000
#define AGAIN_MS HOUR_MS /* it reads weeks: not for every late batch */
#define AT_ONCE  1000    /* nodes looked at in one tick: some milliseconds */

struct usage_trend {
    struct hub *h;
    struct trend now;
    struct trend sum; /* of the nodes before `at`, on the way to the next step; */
    struct node_place at;
    bool summing;    /* it is on the way */
    bool seeded;     /* what went before is in it, as far as it could be read; */
    bool whole;      /* all of it, once */
    bool seeding;    /* it is being read */
    bool again;      /* hours of before are counted only now: to be read when they are */
    int64_t read_ms; /* when it was read last, all of it or in vain; 0: it was not */
};

struct seed {            /* a job */
    struct work_job job; /* first */
    struct usage_trend *a;
    struct people *people;
    char dir[HUB_PLACE_MAX];
    int64_t now_ms, hour_ms;
    int code; /* of reading */
    struct trend trend;
};

/* ---- what went before ---- */

static int seed_hour(void *arg, const char *node, const struct usage_span *s)
{
    struct seed *k = arg;
    if (s->at_ms != k->hour_ms) { /* the hour before is whole */
        if (k->hour_ms)
            trend_step(&k->trend, k->hour_ms, k->hour_ms + HOUR_MS);
        trend_reset(&k->trend);
        k->hour_ms = s->at_ms;
    }
    for (size_t i = 0; i < s->n && s->end_ms > s->at_ms; i++)
        for (size_t u = 0; u < s->devices[i].n; u++) {
            const struct usage_held *h = &s->devices[i].held[u];
            const char *person = people_person(k->people, node, h->login, -1);
            if (person[0])
                trend_use(&k->trend, person, (double)h->s.held_ms / (double)(s->end_ms - s->at_ms));
        }
    return 0;
}

static void seed_run(struct work_job *j)
{
    struct seed *k = (struct seed *)j;
    struct store *beside = NULL;
    struct usage_ask ask = {.from_ms = k->now_ms - BACK_MS,
                            .to_ms = k->now_ms - HOUR_MS,
                            .stop = job_stopped,
                            .stop_arg = j};
    k->code = store_open_tools(&beside, k->dir, NULL, NULL);
    if (k->code == 0)
        k->code = store_each(beside, EACH_USAGE(&ask, seed_hour, k), NULL);
    if (k->hour_ms)
        trend_step(&k->trend, k->hour_ms, k->hour_ms + HOUR_MS);
    store_close(beside);
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
    bool good = j->ran && k->code >= 0;
    if (good) {
        trend_fini(&a->now);
        a->now = k->trend;
        k->trend = (struct trend){0};
    }
    a->seeding = false;
    a->seeded = true; /* what could not be read is left to the next time, this moment is counted meanwhile */
    a->again |= !good;
    a->whole |= !a->again;
    if (a->whole || !good)
        a->read_ms = k->now_ms;
    seed_free(k);
}

/* Hours that wait to be counted are not in it yet: it is read again after them. */
static bool is_waiting(const struct usage_trend *a, int64_t now_ms)
{
    struct ledger_stat stat;
    ledger_stat(a->h->ledger, now_ms, &stat);
    return stat.waiting > 0;
}

static void read_back(struct usage_trend *a, int64_t now_ms)
{
    struct hub *h = a->h;
    struct seed *k = NEW(struct seed, .job = {.run = seed_run, .done = seed_done}, .a = a,
                         .people = people_ref(h->api.people), .now_ms = now_ms);
    mem_copy_str(k->dir, sizeof(k->dir), h->place);
    a->again = is_waiting(a, now_ms);
    a->seeding = work_add(h->own_work, &k->job, LIMIT_MS) == 0;
    if (!a->seeding) { /* too much is asked at once: at the next tick */
        a->seeded = a->again = true;
        seed_free(k);
    }
}

struct usage_trend *usage_trend_new(struct hub *h)
{
    struct usage_trend *a = NEW(struct usage_trend, .h = h);
    read_back(a, clock_wall_ms());
    return a;
}

void usage_trend_stale(struct usage_trend *a)
{
    if (a)
        a->again = true;
}

void usage_trend_free(struct usage_trend *a)
{
    if (!a)
        return;
    trend_fini(&a->now);
    trend_fini(&a->sum);
    free(a);
}

/* ---- now ---- */

static void use_device(struct trend *t, const struct device_now *d)
{
    int64_t all = 0;
    size_t n = 0;
    for (size_t i = 0; i < d->n_procs; i++)
        if (proc_person(&d->procs[i])[0]) {
            all += MAX(d->procs[i].mem, 0);
            n++;
        }
    for (size_t i = 0; i < d->n_procs; i++) {
        const struct proc_now *p = &d->procs[i];
        if (proc_person(p)[0])
            trend_use(t, proc_person(p), all > 0 ? (double)MAX(p->mem, 0) / (double)all : 1.0 / (double)n);
    }
}

/* Who uses what on the nodes behind this place, so many at most. True: there are more. */
static bool use_nodes(const struct usage_trend *a, struct trend *t, struct node_place *place, size_t most)
{
    size_t n;
    const struct node_now *const *v = live_nodes(a->h->live, false, &n);
    size_t at = nodes_behind(v, n, place);
    for (; at < n && most > 0; at++, most--)
        for (size_t d = 0; d < v[at]->n_devices; d++)
            if (v[at]->devices[d].state <= DEV_IN_SIGHT) /* else whether it is used is unknown */
                use_device(t, &v[at]->devices[d]);
    if (at > 0)
        node_place_set(place, v[at - 1]);
    return at < n;
}

void usage_trend_look(struct usage_trend *a)
{
    trend_reset(&a->now);
    use_nodes(a, &a->now, &(struct node_place){0}, SIZE_MAX);
}

/* Very many nodes take several ticks: one that is renamed meanwhile may be left out, or be there twice. */
static void look_on(struct usage_trend *a, int64_t now_ms)
{
    if (!a->summing)
        a->at = (struct node_place){0};
    a->summing = use_nodes(a, &a->sum, &a->at, AT_ONCE);
    if (a->summing)
        return;
    trend_reset(&a->now);
    for (size_t i = 0; i < a->sum.n; i++)
        trend_use(&a->now, a->sum.v[i].name, a->sum.v[i].used);
    trend_fini(&a->sum);
    int64_t since_ms = now_ms - a->now.at_ms;
    trend_step(&a->now, since_ms >= 0 && since_ms <= GAP_MS ? a->now.at_ms : now_ms - EVERY_MS, now_ms);
}

void usage_trend_tick(struct usage_trend *a, int64_t now_ms)
{
    if (!a || a->seeding)
        return;
    bool rests = a->read_ms && now_ms >= a->read_ms && now_ms - a->read_ms < AGAIN_MS;
    if (a->again && !rests && !is_waiting(a, now_ms))
        read_back(a, now_ms);
    bool due = !a->now.at_ms || now_ms - a->now.at_ms >= EVERY_MS || now_ms < a->now.at_ms;
    if (!a->seeding && a->seeded && (a->summing || due))
        look_on(a, now_ms);
}

const struct trend *usage_trend_trend(const struct usage_trend *a, bool *ret_known)
{
    *ret_known = a->whole;
    return &a->now;
}
