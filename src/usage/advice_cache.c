/* advice_cache.c: rounds over the runs of a week, and the newest complete result. */
#include "usage/advice_cache.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "hub/hub.h"
#include "people/people.h"
#include "usage/routes.h"

#define AGAIN_MS 10000
#define SHARE    100     /* a round may use 1/SHARE of a core */
#define SLICE_US 1000000 /* per job: other jobs wait for the worker, too */
#define LIMIT_MS 120000

struct advice_cache {
    struct hub *h;
    struct advise_cache *cache; /* owned by the worker while a slice is read */
    struct advise_made made;
    bool known, reading;
    int64_t next_ms, took_us; /* CPU time of the current round */
};

struct slice {
    struct async_query ask; /* first */
    struct advice_cache *k;
    struct advise_making making;
    int64_t took_us;
    int code;
};

/* ---- a result ---- */

static void held_fini(struct advise_held *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(v[i].name);
    free(v);
}

void advise_made_fini(struct advise_made *m)
{
    advise_fini(&m->all);
    held_fini(m->persons, m->n);
    held_fini(m->teams, m->n_teams);
    *m = (struct advise_made){0};
}

double advise_made_held(const struct advise_made *m, const struct advise_owner *who)
{
    const char *name = who->person ? who->person : who->team;
    const struct advise_held *v = who->person || !name ? m->persons : m->teams;
    size_t n = who->person || !name ? m->n : m->n_teams;
    const struct advise_held *h = FIND(v, n, e, name ? e->name && strcmp(e->name, name) == 0 : !e->name);
    return h ? h->hours : n ? 0 : NAN;
}

static double hours_of(const struct usage_row *r)
{
    return (double)r->s.held_ms / (double)HOUR_MS;
}

static int sum_usage(struct advise_making *m, const struct past_source *past, struct err *err)
{
    struct advise_made *to = &m->made;
    struct usage_table t;
    int r = usage_job_sum(m->usage[0], past, &t, err);
    if (r < 0)
        return r;
    VEC_ADD(to->persons, to->n, to->cap, ((struct advise_held){NULL, hours_of(&t.total)}));
    for (size_t i = 0; i < t.n; i++)
        if (t.v[i].key)
            VEC_ADD(to->persons, to->n, to->cap, ((struct advise_held){mem_str(t.v[i].key), hours_of(&t.v[i])}));
    r = usage_job_sum(m->usage[1], past, &t, err);
    for (size_t i = 0; r == 0 && i < t.n; i++)
        if (t.v[i].key)
            VEC_ADD(to->teams, to->n_teams, to->cap_teams,
                    ((struct advise_held){mem_str(t.v[i].key), hours_of(&t.v[i])}));
    return r;
}

void advise_making_of(struct hub *h, int64_t span_ms, int64_t now_ms, struct advise_making *ret)
{
    static const char *const by[] = {"person", "team"};
    struct usage_now now;
    int64_t from_ms = now_ms - span_ms;
    char from[24], to[24];
    usage_now_of(h, &now);
    if (span_ms % DAY_MS == 0) /* whole days start at midnight, as in usage */
        from_ms = zone_date_ms(now.stat.zone, zone_date(now.stat.zone, from_ms));
    snprintf(from, sizeof(from), "%lld", (long long)from_ms);
    snprintf(to, sizeof(to), "%lld", (long long)now_ms);
    *ret = (struct advise_making){.people = people_ref(h->api.people), .made = {.from_ms = from_ms, .to_ms = now_ms}};
    for (size_t i = 0; i < ARRAY_LEN(by); i++) {
        const char *text[USAGE_PARAMS] = {[USAGE_BY] = by[i], [USAGE_FROM] = from, [USAGE_TO] = to};
        ret->usage[i] = usage_job_new(&h->api, text, NULL, now_ms);
    }
}

int advise_make(struct advise_making *m, const struct past_source *past, struct advise_cache *cache, int64_t until_us,
                struct err *err)
{
    struct advise_query ask = {m->made.from_ms, m->made.to_ms, m->people, ADVISE_CELLS, until_us, cache};
    int r = advise_read(past, &ask, &m->made.all, err);
    return r < 0 || m->made.all.left ? MIN(r, 0) : sum_usage(m, past, err);
}

void advise_making_fini(struct advise_making *m)
{
    people_unref(m->people);
    for (size_t i = 0; i < ARRAY_LEN(m->usage); i++)
        usage_job_free(m->usage[i]);
    advise_made_fini(&m->made);
}

/* ---- rounds ---- */

static void read_slice(struct async_query *ask, const struct past_source *past, UNUSED struct reply *rp)
{
    struct slice *s = (struct slice *)ask;
    struct err err = {0};
    int64_t begin_us = clock_thread_us();
    s->code = advise_make(&s->making, past, s->k->cache, begin_us + SLICE_US, &err);
    s->took_us = clock_thread_us() - begin_us;
}

static void end_slice(struct async_query *ask)
{
    struct slice *s = (struct slice *)ask;
    advise_making_fini(&s->making);
    free(s);
}

static void take_slice(void *arg, struct reply *rp)
{
    struct slice *s = arg;
    struct advice_cache *k = s->k;
    k->reading = false;
    k->took_us += s->took_us;
    k->next_ms = clock_wall_ms() + AGAIN_MS;
    if (rp->status || s->code < 0)
        return;
    if (s->making.made.all.left) {
        k->next_ms = 0;
        return;
    }
    advise_made_fini(&k->made);
    k->made = s->making.made;
    s->making.made = (struct advise_made){0};
    k->known = true;
    k->next_ms = clock_wall_ms() + MAX(AGAIN_MS, k->took_us / 1000 * SHARE);
    k->took_us = 0;
}

void advice_cache_tick(struct advice_cache *k, int64_t now_ms)
{
    bool rests = k && now_ms < k->next_ms && now_ms > k->next_ms - DAY_MS;
    if (!k || k->reading || rests)
        return;
    struct slice *s = NEW(struct slice, .ask = {.run = read_slice, .end = end_slice, .limit_ms = LIMIT_MS}, .k = k);
    advise_making_of(k->h, ADVISE_KEPT_MS, now_ms, &s->making);
    k->reading = query_async_internal(k->h, &s->ask, take_slice, s) == 0;
    if (k->reading)
        return;
    k->next_ms = now_ms + AGAIN_MS;
    end_slice(&s->ask);
}

const struct advise_made *advice_cache_get(const struct advice_cache *k)
{
    return k && k->known ? &k->made : NULL;
}

struct advice_cache *advice_cache_new(struct hub *h)
{
    return NEW(struct advice_cache, .h = h, .cache = advise_cache_new());
}

void advice_cache_free(struct advice_cache *k)
{
    if (!k)
        return;
    advise_cache_free(k->cache);
    advise_made_fini(&k->made);
    free(k);
}
