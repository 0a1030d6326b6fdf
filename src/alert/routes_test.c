/* routes_test.c: routes to test rules: current findings, and the alerts they would have raised in the past. */
#include <errno.h>

#include "alert/feature.h"
#include "alert/replay.h"
#include "alert/show.h"
#include "base/mem.h"
#include "base/time_text.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "now/view.h"
#include "usage/routes.h"

#define TEST_BYTES    (16u << 20)
#define TEST_LIMIT_MS 110000 /* a response may take two minutes */

/* ---- now ---- */

struct finding_out {
    struct json *j;
    struct str rule; /* pattern; empty: all */
};

static void put_finding(void *arg, const struct alert_rule *r, const struct alert_finding *f)
{
    const struct finding_out *o = arg;
    struct json *j = o->j;

    if (f->weak || (o->rule.len && !str_glob(o->rule, str_of(r->name))))
        return;
    json_obj(j, NULL);
    json_cstr(j, "rule", r->name);
    json_cstr(j, "severity", severity_words[r->severity]);
    json_cstr(j, "subject", f->subject);
    json_cstr(j, "place", f->place);
    json_cstr(j, "person", f->person[0] ? f->person : NULL);
    json_cstr(j, "text", f->text);
    json_cstr(j, "advice", r->advice);
    if (f->since_ms)
        json_int(j, "since", f->since_ms);
    json_int(j, "for", r->for_ms);
    json_end_obj(j);
}

static enum reply_mode test_now(struct api *a, struct request *rq, struct reply *rp)
{
    struct json j = reply_object(rp, TEST_BYTES);
    struct finding_out o = {&j, request_query(rq, "rule")};
    json_int(&j, "at", rq->now_ms);
    json_arr(&j, "rows");
    hub_alerts_test(a->hub, put_finding, &o);
    json_end_arr(&j);
    return reply_object_end(rp, &j);
}

/* ---- then ---- */

struct test_job {
    struct async_query ask; /* first */
    struct alert_replay *replay;
    int64_t now_ms;
    char rule[80]; /* pattern; empty: all */
};

static bool wanted(const struct test_job *job, const char *rule)
{
    return !job->rule[0] || str_glob(str_of(job->rule), str_of(rule));
}

static void put_rules(struct json *j, const struct test_job *job)
{
    const struct alert_replay_result *said = alert_replay_result(job->replay);
    const struct alert_replay_rule *v = said->rules;

    json_arr(j, "rules");
    for (size_t i = 0; i < said->n_rules; i++) {
        if (v[i].rule->now_only || !wanted(job, v[i].rule->name))
            continue;
        json_obj(j, NULL);
        json_cstr(j, "rule", v[i].rule->name);
        json_cstr(j, "severity", severity_words[v[i].rule->severity]);
        json_uint(j, "alerts", v[i].alerts);
        json_uint(j, "days", v[i].days);
        json_int(j, "longest", v[i].longest_ms);
        json_uint(j, "firing", v[i].firing);
        json_end_obj(j);
    }
    json_end_arr(j);
    json_arr(j, "left_out");
    for (size_t i = 0; i < said->n_rules; i++)
        if (v[i].rule->now_only)
            json_cstr(j, NULL, v[i].rule->name);
    json_end_arr(j);
}

static void put_said(struct json *j, const struct test_job *job)
{
    const struct alert_replay_result *said = alert_replay_result(job->replay);

    json_int(j, "at", job->now_ms);
    json_int(j, "from", said->from_ms);
    json_int(j, "to", said->to_ms);
    json_int(j, "until", said->until_ms);
    json_bool(j, "complete", said->until_ms >= said->to_ms && !said->events_cut);
    json_uint(j, "nodes", said->nodes);
    json_uint(j, "alerts", said->alerts);
    put_rules(j, job);
    json_arr(j, "rows");
    for (size_t i = 0; i < said->n; i++)
        if (wanted(job, said->v[i]->rule))
            alert_json(j, said->v[i], NULL);
    json_end_arr(j);
}

static void test_run(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct test_job *job = (struct test_job *)k;
    struct err err = {0};
    int r = alert_replay_run(job->replay, past, &err);

    if (r < 0) {
        reply_failed(rp, r, &err);
        return;
    }
    snprintf(rp->cache, sizeof(rp->cache), "no-store");
    struct json j = reply_object(rp, TEST_BYTES);
    put_said(&j, job);
    reply_object_end(rp, &j);
    if (rp->body.err)
        reply_problem(rp, 413, "the response is larger than %u MiB; request a shorter period", TEST_BYTES >> 20);
}

static void test_end(struct async_query *k)
{
    struct test_job *job = (struct test_job *)k;

    alert_replay_free(job->replay);
    free(job);
}

/* Takes ownership of rules. */
static enum reply_mode test_past(struct api *a, struct request *rq, struct reply *rp, struct alert_rules *rules)
{
    struct str last = request_query(rq, "last"), rule = request_query(rq, "rule"), until = request_query(rq, "until");
    struct err err = {0};
    int64_t span_ms = 7 * 86400000ll, until_ms = rq->now_ms;
    struct view v;
    struct usage_now usage = {0};
    enum reply_mode how = REPLY_NOW;

    if (last.len && duration_parse(last, "last", &span_ms, &err) < 0)
        how = reply_problem(rp, 400, "%s", err.msg);
    else if (until.len && time_parse(until, "until", rq->now_ms, a->zone, &until_ms, &err) < 0)
        how = reply_problem(rp, 400, "%s", err.msg);
    else if (until_ms > rq->now_ms)
        how = reply_problem(rp, 400, "until is a time to come: leave it out for the time up to now");
    else if (span_ms < 60000 || span_ms > ALERT_REPLAY_DAYS_MAX * 86400000ll)
        how = reply_problem(rp, 400, "last is a time of one minute to %d days, as 7d", ALERT_REPLAY_DAYS_MAX);
    else if (rule.len >= sizeof(((struct test_job *)0)->rule))
        how = reply_problem(rp, 400, "rule is longer than any rule's name");
    if (rp->status) {
        alert_rules_free(rules);
        return how;
    }
    view_of(a->live, &(struct view_query){.show_cmd = false}, rq->now_ms, &v);
    usage_now_of(a->hub, &usage);
    const char *zone =
        usage.stat.zone && strcmp(zone_name(usage.stat.zone), "local") != 0 ? zone_name(usage.stat.zone) : NULL;
    struct test_job *job =
        NEW(struct test_job, .ask = {.run = test_run, .end = test_end, .limit_ms = TEST_LIMIT_MS, .costly = true},
            .now_ms = rq->now_ms);
    snprintf(job->rule, sizeof(job->rule), "%.*s", STR_ARG(rule));
    job->replay = alert_replay_new(&(struct alert_replay_params){.view = &v,
                                                                 .rule = live_rule(a->live),
                                                                 .people = a->people,
                                                                 .rules = rules,
                                                                 .zone = a->zone,
                                                                 .usage_zone = zone,
                                                                 .from_ms = until_ms - span_ms,
                                                                 .to_ms = until_ms});
    return query_async(a->hub, rq, rp, &job->ask);
}

enum reply_mode get_alerts_test(struct api *a, struct request *rq, struct reply *rp)
{
    return request_query(rq, "last").len ? test_past(a, rq, rp, hub_alerts_rules_copy(a->hub)) : test_now(a, rq, rp);
}

enum reply_mode post_alerts_test(struct api *a, struct request *rq, struct reply *rp)
{
    struct alert_rules *rules = alert_rules_new();
    AUTO_FREE char *text = mem_strn(rq->body.p ? rq->body.p : "", rq->body.len);
    char path[] = "alerts";
    struct opt_section section = {.text = text, .path = path};
    struct err err = {0};

    if (strlen(text) != rq->body.len)
        err_set(&err, -EINVAL, "the rules are text");
    if (!err.code && alert_rules_read(rules, &section, &err) == 0)
        return test_past(a, rq, rp, rules);
    alert_rules_free(rules);
    return reply_problem(rp, 400, "%s", err.msg);
}
