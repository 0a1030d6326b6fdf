/*
 * routes_advise.c: the route that returns the advice. For the default period the result is cached (advice_cache.h); for
 * another one a worker thread reads the runs. Prices come from live.
 */
#include <math.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/order.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "jobs/routes.h"
#include "now/live.h"
#include "people/people.h"
#include "usage/advice_cache.h"
#include "usage/routes.h"

#define ADVISE_BYTES (1u << 20)
#define LONGEST_MS   (31 * DAY_MS)
#define LIMIT_MS     60000

struct question {
    struct async_query ask; /* first */
    char *person, *team;
    struct advise_making making;
};

static void advise_run(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct question *q = (struct question *)k;
    struct err err = {0};
    int r = advise_make(&q->making, past, NULL, 0, &err);
    if (r < 0)
        reply_failed(rp, r, &err);
}

static void hours_json(struct json *j, const char *key, double v)
{
    if (isnan(v))
        json_none(j, key);
    else
        json_fixed(j, key, llround(v * 100), 100);
}

static void line_json(struct json *j, const struct advise_line *l)
{
    const struct advice_info *info = &advice_rules[l->most->rule];
    char id[JOB_ID_LEN];
    json_obj(j, NULL);
    json_cstr(j, "person", l->most->person[0] ? l->most->person : NULL);
    json_cstr(j, "rule", info->name);
    json_cstr(j, "title", info->title);
    json_cstr(j, "remedy", info->remedy);
    hours_json(j, "gpu_hours", l->hours);
    hours_json(j, "cost", l->cost);
    json_uint(j, "runs", l->runs);
    json_cstr(j, "run", job_id_text(l->most->run, id));
    json_cstr(j, "name", l->most->name);
    json_cstr(j, "evidence", l->most->evidence);
    json_end_obj(j);
}

static void put_answer(struct reply *rp, struct api *a, const struct advise_made *m, const struct advise_owner *who)
{
    struct advise_line lines[ADVISE_LINES];
    size_t n = advise_lines(&m->all, who, gpu_price, a, lines);
    struct advise_sums s = advise_sums_of(&m->all, who);
    double held = advise_made_held(m, who);
    struct json j = reply_object(rp, ADVISE_BYTES);
    json_bool(&j, "ready", true);
    json_int(&j, "from", m->from_ms);
    json_int(&j, "to", m->to_ms);
    json_uint(&j, "runs", s.runs);
    json_uint(&j, "looked", s.looked);
    json_uint(&j, "sampled", s.sampled);
    json_uint(&j, "withheld", s.withheld);
    hours_json(&j, "gpu_hours", s.hours);
    hours_json(&j, "usage_hours", held);
    hours_json(&j, "share", held > 0 ? fmin(s.hours / held, 1) : NAN);
    hours_json(&j, "looked_hours", s.held);
    hours_json(&j, "effective_hours", s.effective);
    json_cstr(&j, "currency", live_currency(a->live)[0] ? live_currency(a->live) : NULL);
    json_arr(&j, "lines");
    for (size_t i = 0; i < n; i++)
        line_json(&j, &lines[i]);
    json_end_arr(&j);
    reply_object_end(rp, &j);
}

static void advise_settle(struct async_query *k, struct api *a, struct reply *rp)
{
    struct question *q = (struct question *)k;
    put_answer(rp, a, &q->making.made,
               &(struct advise_owner){q->person, q->team, q->making.people, q->making.made.to_ms - 1});
}

static void advise_end(struct async_query *k)
{
    struct question *q = (struct question *)k;
    advise_making_fini(&q->making);
    FREE_ALL(q->person, q->team, q);
}

static char *text_asked(const struct request *rq, const char *name)
{
    struct str v = str_trim(request_query(rq, name));
    return v.len ? mem_strn(v.p, MIN(v.len, 200u)) : NULL;
}

/* The hub still reads what runs did. */
static enum reply_mode not_ready(struct reply *rp)
{
    struct json j = reply_object(rp, ADVISE_BYTES);
    json_bool(&j, "ready", false);
    json_arr(&j, "lines");
    json_end_arr(&j);
    reply_object_end(rp, &j);
    return REPLY_NOW;
}

enum reply_mode get_advise(struct api *a, struct request *rq, struct reply *rp)
{
    struct str last = str_trim(request_query(rq, "last"));
    int64_t span_ms = ADVISE_KEPT_MS;
    if (last.len && (!str_duration_ms(last, &span_ms) || span_ms < HOUR_MS || span_ms > LONGEST_MS))
        return reply_problem(rp, 400, "last '%.*s' is not a time from 1h to 31d", (int)MIN(last.len, 40u), last.p);
    char *person = text_asked(rq, "person"), *team = text_asked(rq, "team");
    if (span_ms == ADVISE_KEPT_MS) {
        const struct advise_made *m = usage_advise(a->hub);
        if (m)
            put_answer(rp, a, m, &(struct advise_owner){person, team, a->people, m->to_ms - 1});
        else
            not_ready(rp);
        FREE_ALL(person, team);
        return REPLY_NOW;
    }
    struct question *q = NEW(struct question, .ask = {.run = advise_run, .end = advise_end, .limit_ms = LIMIT_MS},
                             .person = person, .team = team);
    advise_making_of(a->hub, span_ms, clock_wall_ms(), &q->making);
    return query_async_then(a->hub, rq, rp, &q->ask, advise_settle);
}
