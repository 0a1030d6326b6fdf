/* routes_advise.c: the route that says what would give back most GPU-hours. Runs are read beside the loop; prices are
 * live's. */
#include <math.h>

#include "base/clock.h"
#include "base/json.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "jobs/advise.h"
#include "jobs/routes.h"
#include "now/live.h"
#include "people/people.h"

#define ADVISE_BYTES (1u << 20)
#define WEEK_MS      (7 * 86400000ll)
#define LONGEST_MS   (31 * 86400000ll)
#define LIMIT_MS     60000

struct question {
    struct past_ask ask; /* first */
    char *person, *team;
    struct people *people;
    int64_t from_ms, to_ms;
    struct advise_all all;
};

static void advise_run(struct past_ask *k, const struct past_source *past, struct reply *rp)
{
    struct question *q = (struct question *)k;
    struct err err = {0};
    struct advise_ask ask = {q->from_ms, q->to_ms, q->person, q->team, q->people, ADVISE_CELLS};
    int r = advise_read(past, &ask, &q->all, &err);
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

static void advise_settle(struct past_ask *k, struct api *a, struct reply *rp)
{
    struct question *q = (struct question *)k;
    struct advise_line lines[ADVISE_LINES];
    size_t n = advise_lines(&q->all, gpu_price, a, lines);
    struct json j = reply_object(rp, ADVISE_BYTES);
    json_int(&j, "from", q->from_ms);
    json_int(&j, "to", q->to_ms);
    json_uint(&j, "runs", q->all.runs);
    json_uint(&j, "looked", q->all.looked);
    json_uint(&j, "sampled", q->all.sampled);
    hours_json(&j, "gpu_hours", q->all.hours);
    hours_json(&j, "looked_hours", q->all.held);
    hours_json(&j, "effective_hours", q->all.effective);
    json_cstr(&j, "currency", live_currency(a->live)[0] ? live_currency(a->live) : NULL);
    json_arr(&j, "lines");
    for (size_t i = 0; i < n; i++)
        line_json(&j, &lines[i]);
    json_end_arr(&j);
    reply_object_end(rp, &j);
}

static void advise_end(struct past_ask *k)
{
    struct question *q = (struct question *)k;
    advise_fini(&q->all);
    people_unref(q->people);
    FREE_ALL(q->person, q->team, q);
}

static char *text_asked(const struct request *rq, const char *name)
{
    struct str v = str_trim(request_query(rq, name));
    return v.len ? mem_strn(v.p, MIN(v.len, 200u)) : NULL;
}

enum reply_how get_advise(struct api *a, struct request *rq, struct reply *rp)
{
    struct str last = str_trim(request_query(rq, "last"));
    int64_t span_ms = WEEK_MS;
    if (last.len && (!str_duration_ms(last, &span_ms) || span_ms < HOUR_MS || span_ms > LONGEST_MS))
        return reply_problem(rp, 400, "last '%.*s' is not a time from 1h to 31d", (int)MIN(last.len, 40u), last.p);
    int64_t now_ms = clock_wall_ms();
    struct question *q = NEW(struct question, .ask = {.run = advise_run, .end = advise_end, .limit_ms = LIMIT_MS},
                             .person = text_asked(rq, "person"), .team = text_asked(rq, "team"),
                             .people = people_ref(a->people), .from_ms = now_ms - span_ms, .to_ms = now_ms);
    return ask_then(a->hub, rq, rp, &q->ask, advise_settle);
}
