/* routes_strip.c: the route /api/v1/strip: the night strip, as JSON for the page or as a picture. A worker thread reads
 * and draws it. */
#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "history/routes.h"
#include "history/strip.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "now/filter.h"
#include "now/live.h"
#include "now/view.h"

#define STRIP_MAX (64u << 20)

struct strip_job {
    struct async_query ask; /* first */
    struct strip *strip;
    int format; /* enum plot_format; -1: JSON */
    char title[80];
};

static void put_stretches(struct json *j, const char *key, const struct night_stretch *v, size_t n)
{
    json_arr(j, key);
    for (size_t i = 0; i < n; i++) {
        json_arr(j, NULL);
        json_uint(j, NULL, v[i].from);
        json_uint(j, NULL, v[i].to);
        if (v[i].who)
            json_cstr(j, NULL, v[i].who[0] ? v[i].who : NULL);
        json_end_arr(j);
    }
    json_end_arr(j);
}

static void put_spans(struct json *j, const char *key, const char *word, const struct night_span *v, size_t n)
{
    if (!n)
        return;
    json_arr(j, key);
    for (size_t i = 0; i < n; i++) {
        json_obj(j, NULL);
        json_int(j, "from", v[i].from_ms);
        json_known(j, "to", !v[i].still, v[i].to_ms);
        json_cstr(j, word, v[i].words);
        json_end_obj(j);
    }
    json_end_arr(j);
}

static void put_row(struct json *j, const struct strip *s, const struct strip_row *row)
{
    const struct night_row *r = &row->drawn;

    json_obj(j, NULL);
    json_cstr(j, "name", r->name);
    json_cstr(j, "node", row->node);
    json_cstr(j, "device", row->device);
    json_int(j, "index", row->index);
    if (row->mig >= 0)
        json_int(j, "mig", row->mig);
    json_cstr(j, "model", row->model);
    json_cstr(j, "state", dev_states[row->state].word);
    json_cstr(j, "by", r->by_util ? "util" : "sm_active");
    json_arr(j, "work");
    for (size_t i = 0; i < s->night.bins; i++)
        json_known(j, NULL, r->work[i] != NIGHT_NONE, r->work[i]);
    json_end_arr(j);
    put_stretches(j, "held", r->held, r->n_held);
    put_stretches(j, "idle", r->idle, r->n_idle);
    put_spans(j, "booked", "person", r->booked, r->n_booked);
    put_spans(j, "wrong", "what", r->wrong, r->n_wrong);
    json_end_obj(j);
}

static void put_strip(struct buf *out, const struct strip *s)
{
    struct json j = json_on(out);
    const struct night *n = &s->night;

    json_obj(&j, NULL);
    json_int(&j, "from", n->from_ms);
    json_int(&j, "to", n->to_ms);
    json_int(&j, "step", s->step_ms);
    json_int(&j, "now", s->now_ms);
    json_arr(&j, "power");
    for (size_t i = 0; n->power && i < n->bins; i++)
        json_known(&j, NULL, n->power[i] != NIGHT_NONE, n->power[i]);
    json_end_arr(&j);
    json_arr(&j, "free");
    for (size_t i = 0; i < n->bins; i++)
        json_known(&j, NULL, n->free[i] != NIGHT_NONE, n->free[i]);
    json_end_arr(&j);
    json_arr(&j, "rows");
    for (size_t i = 0; i < s->n && !out->err; i++)
        put_row(&j, s, &s->rows[i]);
    json_end_arr(&j);
    json_end_obj(&j);
    buf_addc(out, '\n');
}

static void strip_answer(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct strip_job *job = (struct strip_job *)k;
    struct err err = {0};
    int r = strip_run(job->strip, past, &err);

    rp->body = BUF_INIT(STRIP_MAX);
    if (r >= 0 && job->format < 0)
        put_strip(&rp->body, job->strip);
    else if (r >= 0 && (r = night_draw(&job->strip->night, (enum plot_format)job->format, &rp->body, &err)) >= 0)
        rp->type = plot_types[job->format];
    reply_if_wrong(rp, r, STRIP_MAX, &err);
}

static void strip_end(struct async_query *k)
{
    struct strip_job *job = (struct strip_job *)k;
    strip_free(job->strip);
    free(job);
}

static enum reply_mode refuse_word(struct reply *rp, const char *name, struct str word, const char *known)
{
    return reply_problem(rp, 400, "%s '%.*s' is not known: there are %s", name, (int)MIN(word.len, 40u), word.p, known);
}

enum reply_mode get_strip(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_FREE struct history_words *w = mem_zero(1, sizeof(*w));
    AUTO_FILTER *filter = NULL;
    struct view v;
    struct strip *strip = NULL;
    struct str format = request_query(rq, "format"), sort = request_query(rq, "sort"),
               theme = request_query(rq, "theme");
    struct err err = {0};
    int r = 0;
    int as = WHICH(PLOT_FORMATS, i, str_eq(format, plot_words[i]));
    int by = sort.len ? WHICH(STRIP_SORTS, i, str_eq(sort, strip_sort_words[i])) : STRIP_BY_NODE;
    if (as < 0 && format.len && !str_eq(format, "json"))
        return refuse_word(rp, "format", format, "json, png, svg, pdf and jpg");
    if (by < 0)
        return refuse_word(rp, "sort", sort, "node, work and idle");
    if (theme.len && !str_eq(theme, "dark") && !str_eq(theme, "light"))
        return refuse_word(rp, "theme", theme, "light and dark");
    if (!request_filter(rq, rp, &filter))
        return REPLY_NOW;
    for (size_t i = 0; r == 0 && i < rq->n_query; i++)
        history_word(w, rq->query[i].name, rq->query[i].value, &r, &err);
    view_of(a->live, &(struct view_query){.all = true, .demo = a->demo}, rq->now_ms, &v);
    struct sieve sieve = {filter, rq->now_ms};
    if (r == 0)
        r = strip_new(w, &v, live_rule(a->live), rq->now_ms, filter ? sieve_keeps : NULL, &sieve, &strip, &err);
    if (r < 0 || !strip) {
        reply_failed(rp, r, &err);
        return REPLY_NOW;
    }
    history_query_people(strip->query, a->people);
    strip->sort = (enum strip_sort)by;
    strip->night.zone = a->zone;
    strip->night.dark = str_eq(theme, "dark");
    struct strip_job *job = NEW(struct strip_job, .ask = {.run = strip_answer, .end = strip_end, .costly = as >= 0},
                                .strip = strip, .format = as);
    mem_copy_str(job->title, sizeof(job->title), a->name ? a->name : "");
    strip->night.title = job->title;
    return query_async(a->hub, rq, rp, &job->ask);
}
