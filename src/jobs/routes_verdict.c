/* routes_verdict.c: the route that returns the verdict of a run. A worker thread reads it; names and prices come from
 * live. */
#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/order.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "hub/record_fetch.h"
#include "jobs/advise.h"
#include "jobs/no_data.h"
#include "jobs/picture.h"
#include "jobs/routes.h"
#include "now/live.h"

#define VERDICT_BYTES (16u << 20)
#define MODELS_SAID   3

struct verdict_query {
    struct async_query ask; /* first */
    struct job_fact *job;
    bool all; /* its command line may be shown */
    int64_t now_ms;
    struct run_verdict v;
    int format; /* enum plot_format; -1: JSON */
    const struct zone *zone;
    struct buf title, lines;
    char *nodes[PICTURE_GPUS];
};

static void verdict_run(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct verdict_query *q = (struct verdict_query *)k;
    struct err err = {0};
    int r = run_verdict_read(past, q->job, &(struct verdict_reach){.now_ms = q->now_ms}, &q->v, &err);
    if (r < 0)
        reply_failed(rp, r, &err);
}

static void number_json(struct json *j, const char *key, double v)
{
    if (isnan(v))
        json_none(j, key);
    else
        json_fixed(j, key, llround(v * 1e4), 10000);
}

static void means_json(struct json *j, const struct run_means *m)
{
    for (size_t k = 0; k < RUN_VALUES; k++) {
        number_json(j, run_value_names[k], m->mean[k]);
        if (k == RUN_ACTIVE)
            number_json(j, "waited", 1 - m->mean[k]);
    }
    number_json(j, "memory_peak", m->mem_peak);
    number_json(j, "memory_total", m->mem_total);
    number_json(j, "power_peak", m->power_peak);
    number_json(j, "temperature_peak", m->temp_peak);
    number_json(j, "host_cpu_peak", m->cpu_peak);
    number_json(j, "energy", m->joules);
    json_fixed(j, "gpu_seconds", m->held_ms, 1000);
    json_fixed(j, "measured_seconds", m->measured_ms, 1000);
    if (m->data_to_ms)
        json_int(j, "data_to", m->data_to_ms);
    else
        json_none(j, "data_to");
}

/* ---- current names and prices ---- */

static const char *model_of(const struct api *a, const struct verdict_gpu *g)
{
    const struct node_now *n;
    const struct device_now *d = live_find_device(a->live, str_of(g->uuid), &n);
    struct str name = str_of(d ? d->brief ? d->brief : device_shown(d) : g->model);
    str_skip(&name, "NVIDIA ");
    return name.p ? name.p : "";
}

/* "4 x H200", "4 x H200, 2 x A100 and 3 others"; those that are not read are others */
static void what_text(const struct api *a, const struct run_verdict *v, struct buf *out)
{
    size_t said = 0, others = v->n_all - v->n;
    AUTO_FREE const char **models = mem_zero(v->n + 1, sizeof(*models));
    for (size_t i = 0; i < v->n; i++)
        models[i] = model_of(a, &v->gpus[i]);
    for (size_t i = 0; i < v->n; i++) {
        size_t n = 0;
        if (ANY(i, k, strcmp(models[k], models[i]) == 0))
            continue;
        for (size_t k = i; k < v->n; k++)
            n += strcmp(models[k], models[i]) == 0;
        if (said == MODELS_SAID) {
            others += n;
            continue;
        }
        buf_addf(out, "%s%zu x %s", said ? ", " : "", n, models[i][0] ? models[i] : "GPU");
        said++;
    }
    if (others)
        buf_addf(out, " and %zu others", others);
    if (!v->n)
        buf_adds(out, "no GPU");
}

double gpu_price(void *api, const char *uuid)
{
    const struct node_now *n;
    const struct device_now *d = live_find_device(((const struct api *)api)->live, str_of(uuid), &n);
    return d ? (double)d->price / 1e6 : 0;
}

/* Of the time with data. All GPUs have a price, or there is no amount. */
static struct run_money money_of(struct api *a, const struct run_verdict *v)
{
    struct run_money m = {.known = v->n > 0, .currency = live_currency(a->live)};
    for (size_t i = 0; i < v->n; i++) {
        double hour = gpu_price(a, v->gpus[i].uuid);
        m.known &= hour > 0;
        m.amount += hour * (double)v->gpus[i].means.held_ms / (double)HOUR_MS;
    }
    m.known &= v->all.held_ms > 0;
    return m;
}

/* ---- the response ---- */

static void gpu_json(struct json *j, const struct api *a, const struct verdict_gpu *g)
{
    const struct node_now *n = live_find(a->live, g->node);
    json_obj(j, NULL);
    json_cstr(j, "device", g->uuid);
    json_cstr(j, "node", n ? n->name : g->node);
    json_cstr(j, "node_id", g->node);
    json_known(j, "gpu", g->index >= 0, g->index);
    json_cstr(j, "model", g->model[0] ? g->model : NULL);
    json_cstr(j, "note", g->note[0] ? g->note : NULL);
    means_json(j, &g->means);
    json_end_obj(j);
}

static void advice_json(struct json *j, struct api *a, const struct run_verdict *v, const struct run_advice *r)
{
    struct advise_found f = advise_found_of(v, r);
    const struct advice_info *info = &advice_rules[r->a.rule];
    json_obj(j, NULL);
    json_cstr(j, "rule", info->name);
    json_cstr(j, "title", info->title);
    json_cstr(j, "evidence", r->a.evidence);
    json_cstr(j, "remedy", info->remedy);
    json_int(j, "from", r->a.from_ms);
    json_fixed(j, "seconds", r->a.ms, 1000);
    json_fixed(j, "gpu_hours", llround(f.hours * 100), 100);
    number_json(j, "cost", advise_cost(&f, gpu_price, a));
    json_bool(j, "now", r->a.now && v->to_ms - r->a.to_ms <= ADVICE_MS);
    json_arr(j, "devices");
    for (size_t i = 0; i < v->n; i++)
        if (r->gpus[i])
            json_cstr(j, NULL, v->gpus[i].uuid);
    json_end_arr(j);
    json_end_obj(j);
    advise_found_fini(&f);
}

/* Of which GPUs there is no data now, since when and why; null: of none. */
static void no_data_json(struct json *j, const struct no_data *s)
{
    if (!s->n) {
        json_none(j, "no_data");
        return;
    }
    json_obj(j, "no_data");
    json_int(j, "since", s->since_ms);
    json_uint(j, "gpus", s->n);
    json_cstr(j, "node", s->node);
    json_cstr(j, "state", s->state);
    json_end_obj(j);
}

/* ---- as a picture ---- */

static void picture_run(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct verdict_query *q = (struct verdict_query *)k;
    struct err err = {0};
    rp->body = BUF_INIT(PLOT_BYTES_MAX);
    int r = run_picture_draw(past, &q->v,
                             &(struct run_picture){q->title.p, q->lines.p, (const char *const *)q->nodes, q->zone,
                                                   (enum plot_format)q->format},
                             &rp->body, &err);
    if (r < 0)
        reply_failed(rp, r, &err);
    else
        rp->type = plot_types[q->format];
}

/* "dgx1:0,1,2,3, dgx2:0" */
static void place_text(const struct verdict_query *q, struct buf *out)
{
    for (size_t i = 0; i < MIN(q->v.n, (size_t)PICTURE_GPUS); i++) {
        bool same = i && strcmp(q->nodes[i], q->nodes[i - 1]) == 0;
        buf_addf(out, same ? "," : i ? ", %s:" : "%s:", q->nodes[i]);
        if (q->v.gpus[i].index >= 0)
            buf_addi(out, q->v.gpus[i].index);
        else
            buf_addc(out, '?');
    }
    if (q->v.n > PICTURE_GPUS)
        buf_addf(out, " and %zu more", q->v.n - PICTURE_GPUS);
}

/* Whose it is, when and where it ran, what it did, and what to do about it. */
static void put_words(struct verdict_query *q, const struct api *a, const char *sentence, bool withheld)
{
    char from[24], to[24];
    const struct job_fact *j = q->job;
    const char *zone = q->zone ? zone_name(q->zone) : "UTC";
    q->title = BUF_INIT(1024);
    q->lines = BUF_INIT(1u << 14);
    for (size_t i = 0; i < MIN(q->v.n, (size_t)PICTURE_GPUS); i++) {
        const struct node_now *n = live_find(a->live, q->v.gpus[i].node);
        q->nodes[i] = mem_str(n ? n->name : q->v.gpus[i].node);
    }
    buf_addf(&q->title, "%s (%s)", j->name, j->kind);
    buf_addf(&q->lines, "%s\n%s%s%s - %s, %s, ", sentence, j->person, j->person[0] ? ", " : "",
             zone_text(q->zone, q->v.from_ms, from),
             job_ended_ms(j, q->now_ms) ? zone_text(q->zone, q->v.to_ms, to) : job_state(a, j, q->now_ms), zone);
    place_text(q, &q->lines);
    for (size_t i = 0; i < (withheld ? 0 : q->v.n_advice); i++)
        buf_addf(&q->lines, "\n%s (%s): %s", advice_rules[q->v.advice[i].a.rule].title, q->v.advice[i].a.evidence,
                 advice_rules[q->v.advice[i].a.rule].remedy);
}

static void verdict_settle(struct async_query *k, struct api *a, struct reply *rp)
{
    struct verdict_query *q = (struct verdict_query *)k;
    struct run_verdict *v = &q->v;
    AUTO_BUF what = BUF_INIT(1024), sentence = BUF_INIT(2048), silent = BUF_INIT(512);
    struct no_data no_data;
    struct run_money money = money_of(a, v);
    bool measured = !isnan(v->all.mean[RUN_ACTIVE]);
    char id[JOB_ID_LEN];
    what_text(a, v, &what);
    if (no_data_of(a, q->job, v, &no_data))
        no_data_text(&no_data, v->n, a->zone, &silent);
    bool withheld = no_data.n && no_data.all;
    int64_t unknown_ms = v->to_ms - v->from_ms - v->known_ms;
    run_sentence(&sentence, &(struct run_sentence){.what = what.p,
                                                   .ms = v->known_ms ? v->known_ms : v->to_ms - v->from_ms,
                                                   .unknown_ms = v->known_ms ? unknown_ms : 0,
                                                   .why = run_verdict_reason(v),
                                                   .no_data = silent.len ? silent.p : NULL,
                                                   .withheld = withheld,
                                                   .m = &v->all,
                                                   .money = &money});
    if (q->format >= 0) {
        put_words(q, a, sentence.p, withheld);
        k->then_run = picture_run;
        return;
    }
    struct json j = reply_object(rp, VERDICT_BYTES);
    json_cstr(&j, "sentence", sentence.p);
    json_cstr(&j, "gpus", what.p);
    json_int(&j, "from", v->from_ms);
    json_int(&j, "to", v->to_ms);
    json_fixed(&j, "seconds", v->known_ms, 1000);
    json_fixed(&j, "unknown_seconds", unknown_ms, 1000);
    no_data_json(&j, &no_data);
    json_bool(&j, "measured", measured);
    json_cstr(&j, "why", measured ? NULL : run_verdict_reason(v));
    means_json(&j, &v->all);
    number_json(&j, "cost", money.known ? money.amount : NAN);
    json_cstr(&j, "currency", money.currency[0] ? money.currency : NULL);
    bool brief = v->known_ms < ADVICE_MS;
    json_bool(&j, "rules", measured && !withheld && v->step_ms <= MINUTE_MS && !brief);
    if (measured && !withheld && brief)
        json_cstr(&j, "rules_why", "rules need one minute of data");
    json_arr(&j, "advice");
    for (size_t i = 0; i < (withheld ? 0 : v->n_advice); i++)
        advice_json(&j, a, v, &v->advice[i]);
    json_end_arr(&j);
    json_arr(&j, "devices");
    for (size_t i = 0; i < v->n; i++)
        gpu_json(&j, a, &v->gpus[i]);
    json_end_arr(&j);
    json_arr(&j, "parts");
    for (size_t i = 0; i < v->n_parts; i++) {
        const struct node_now *n = live_find(a->live, v->parts[i].node);
        json_obj(&j, NULL);
        json_cstr(&j, "id", job_id_text(v->parts[i].id, id));
        json_cstr(&j, "node", n ? n->name : v->parts[i].node);
        json_end_obj(&j);
    }
    json_end_arr(&j);
    buf_adds(&rp->body, ",\"job\":");
    struct json job = json_on(&rp->body);
    job_json(&job, a, q->job, q->all);
    reply_object_end(rp, &j);
}

static void verdict_end(struct async_query *k)
{
    struct verdict_query *q = (struct verdict_query *)k;
    run_verdict_fini(&q->v);
    buf_fini(&q->title);
    buf_fini(&q->lines);
    for (size_t i = 0; i < PICTURE_GPUS; i++)
        free(q->nodes[i]);
    FREE_ALL(q->job, q);
}

/* enum plot_format; -1: JSON; -2: no such word. */
static int format_of(struct str word)
{
    if (!word.len || str_eq(word, "json"))
        return -1;
    int at = FIRST(PLOT_FORMATS, i, str_eq(word, plot_words[i]));
    return at < PLOT_FORMATS ? at : -2;
}

enum reply_mode get_verdict(struct api *a, struct request *rq, struct reply *rp)
{
    struct job_fact *j = NULL;
    struct str word = request_query(rq, "format");
    int format = format_of(word);
    if (format < -1)
        return reply_problem(rp, 400, "format '%.*s' is not known: there are json, png, svg, pdf and jpg",
                             (int)MIN(word.len, 40u), word.p);
    int r = job_of_path(a, rq, rp, &j);
    if (r != 1)
        return reply_mode_of_fetch(r);
    struct verdict_query *q =
        NEW(struct verdict_query, .ask = {.run = verdict_run, .end = verdict_end, .costly = format >= 0}, .job = j,
            .all = job_shows_all(a, rq->who, j), .now_ms = clock_wall_ms(), .format = format, .zone = a->zone);
    return query_async_then(a->hub, rq, rp, &q->ask, verdict_settle);
}
