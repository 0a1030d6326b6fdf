/* routes.c: the route /api/v1/history: words in, columns of numbers out. A worker thread reads the data. */

#include "history/routes.h"
#include "base/mem.h"
#include "base/order.h"
#include "draw/strips.h"
#include "format/render.h"
#include "history/answers.h"
#include "history/card.h"
#include "history/history.h"
#include "history/travel.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "hub/self.h"
#include "now/filter.h"
#include "now/view.h"

#define HISTORY_MAX   (256u << 20)
#define ANSWERS_BYTES (4u << 20)

enum format { FORMAT_JSON, FORMAT_CSV, FORMAT_PICTURE, FORMATS = FORMAT_PICTURE + PLOT_FORMATS };

struct history_job {
    struct async_query ask; /* first */
    struct history_query *query;
    enum format format;
    const struct zone *zone; /* of a picture's time; the hub's */
    char title[80];
    uint64_t stamp; /* 0: its response is not cached */
    struct history_key key;
    int64_t to_ms;
};

struct writing {
    struct buf *out;
    enum format format;
    struct series_frame frame;
    struct strips *strips; /* of a picture */
    struct series_json json;
};

static void write_start(void *arg, const struct series_frame *f)
{
    struct writing *w = arg;
    buf_reset(w->out);
    w->frame = *f;
    if (w->strips)
        strips_start(w->strips, f);
    else if (w->format == FORMAT_CSV)
        render_series_csv_start(w->out, f);
    else
        render_series_json_start(&w->json, f);
}

static void write_each(void *arg, const struct series *s)
{
    struct writing *w = arg;
    if (w->strips)
        strips_add(w->strips, s);
    else if (w->format == FORMAT_CSV)
        render_series_csv(w->out, &w->frame, s);
    else
        render_series_json(&w->json, s);
}

static void write_end(void *arg, const struct series_frame *f)
{
    struct writing *w = arg;
    w->frame = *f;
    if (w->format == FORMAT_JSON)
        render_series_json_end(&w->json, f);
}

void reply_if_wrong(struct reply *rp, int r, size_t most, const struct err *err)
{
    if (r < 0)
        reply_failed(rp, r, err);
    else if (rp->body.err)
        reply_problem(rp, 413, "the response is larger than %zu MiB: request less", most >> 20);
}

static const char *type_of(enum format f)
{
    return f == FORMAT_CSV ? "text/csv; charset=utf-8" : NULL;
}

static void history_run(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct history_job *job = (struct history_job *)k;
    bool drawn = job->format >= FORMAT_PICTURE;
    enum plot_format look = (enum plot_format)(drawn ? job->format - FORMAT_PICTURE : 0);
    struct writing w = {.out = &rp->body,
                        .format = job->format,
                        .strips = drawn ? strips_new() : NULL,
                        .json = {.out = &rp->body}};
    struct series_out sink = {&w, write_start, write_each, write_end};
    struct err err = {0};
    rp->body = BUF_INIT(HISTORY_MAX);
    if (drawn)
        rp->type = plot_types[look];
    else
        rp->type = type_of(job->format);
    int r = history_query_run(job->query, past, &sink, &err);
    if (r >= 0 && drawn)
        r = strips_draw(w.strips, &(struct strips_head){.title = job->title}, job->zone, look, &rp->body, &err);
    strips_free(w.strips);
    if (r < 0)
        rp->type = NULL;
    if (r < 0 || w.frame.damaged || w.frame.missing[0])
        job->stamp = 0;
    if (w.frame.damaged) /* CSV and pictures have no place for it */
        snprintf(rp->extra, sizeof(rp->extra), "X-Muster-Damaged: %u", w.frame.damaged);
    reply_if_wrong(rp, r, HISTORY_MAX, &err);
}

/* Sends a cached response if the same query ran before and its data is unchanged. */
static bool give_again(struct api *a, struct request *rq, const struct history_job *job, struct reply *rp)
{
    bool fresh = str_find(rq->header(rq, "Cache-Control"), "no-cache") >= 0; /* the client bypasses the cache */
    struct blob *b = job->stamp && !fresh ? answers_get(a->answers, &job->key, a->hub->store) : NULL;

    if (!b)
        return false;
    mem_copy_str(rp->etag, sizeof(rp->etag), b->etag);
    snprintf(rp->cache, sizeof(rp->cache), "private, no-cache");
    if (str_find(rq->header(rq, "If-None-Match"), rp->etag) >= 0) {
        rp->status = 304;
        blob_unref(b);
        return true;
    }
    rp->type = type_of(job->format);
    rp->blob = b;
    return true;
}

static void history_keep(struct async_query *k, struct api *a, struct reply *rp)
{
    struct history_job *job = (struct history_job *)k;

    if (!job->stamp || rp->body.err || (!rp->blob && !rp->body.len))
        return;
    if (!rp->blob)
        rp->blob = blob_new(&rp->body);
    mem_copy_str(rp->blob->etag, sizeof(rp->blob->etag), rp->etag);
    answers_put(a->answers, &job->key, job->stamp, job->to_ms, rp->blob);
}

/* Cacheable responses: text, if it does not depend on the time of the request. */
static void history_stamp(struct api *a, struct history_job *job)
{
    uint64_t seed = (uint64_t)a->nonce << 32 | (unsigned)job->format;

    if (a->answers && job->format < FORMAT_PICTURE && history_query_key(job->query, seed, &job->key, &job->to_ms))
        job->stamp = store_stamp(a->hub->store);
}

static void history_end(struct async_query *k)
{
    struct history_job *job = (struct history_job *)k;
    history_query_free(job->query);
    free(job);
}

bool sieve_keeps(void *arg, const struct node_now *n, const struct device_now *d)
{
    const struct sieve *s = arg;
    return filter_match(s->filter, n, d, s->now_ms);
}

/* enum format, or -1. */
static int format_of(struct str word)
{
    if (!word.len || str_eq(word, "json"))
        return FORMAT_JSON;
    if (str_eq(word, "csv"))
        return FORMAT_CSV;
    for (int i = 0; i < PLOT_FORMATS; i++)
        if (str_eq(word, plot_words[i]))
            return FORMAT_PICTURE + i;
    return -1;
}

/* The node, if the only device is given as node:index; NULL: the names of all nodes must be checked. */
static const struct node_now *only_node(const struct live *l, const struct history_words *w)
{
    struct str word = w->devices[0];
    int colon = w->n_devices == 1 ? str_rfind(word, ":") : -1;
    char name[NAME_MAX_LEN + NODE_KEY_MAX];
    if (colon < 1 || word.len >= sizeof(name) || ANY(word.len, i, strchr("*?[", word.p[i])))
        return NULL;
    memcpy(name, word.p, word.len);
    name[word.len] = 0;
    if (live_find(l, name)) /* a node is called so */
        return NULL;
    name[colon] = 0;
    return live_only(l, name);
}

static enum reply_mode get_history(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_FREE struct history_words *w = mem_zero(1, sizeof(*w));
    AUTO_FILTER *filter = NULL;
    struct view v;
    struct str format = request_query(rq, "format");
    struct history_query *query = NULL;
    struct err err = {0};
    int r = 0;
    int as = format_of(format);
    if (as < 0)
        return reply_problem(rp, 400, "format '%.*s' is not known: there are json, csv, png, svg, pdf and jpg",
                             (int)MIN(format.len, 40u), format.p);
    if (!format.len && str_find(rq->header(rq, "Accept"), "text/csv") >= 0)
        as = FORMAT_CSV;
    if (!request_filter(rq, rp, &filter))
        return REPLY_NOW;
    for (size_t i = 0; r == 0 && i < rq->n_query; i++)
        history_word(w, rq->query[i].name, rq->query[i].value, &r, &err);
    view_of(a->live, &(struct view_query){.all = true, .demo = a->demo}, rq->now_ms, &v);
    struct sieve sieve = {filter, rq->now_ms};
    w->only = only_node(a->live, w);
    w->roster = a->roster;
    if (r == 0)
        r = history_query_new(w, &v, rq->now_ms, filter ? sieve_keeps : NULL, &sieve, &query, &err);
    if (r < 0) {
        reply_failed(rp, r, &err);
        return REPLY_NOW;
    }
    history_query_people(query, a->people);
    struct history_job *job =
        NEW(struct history_job, .ask = {.run = history_run, .end = history_end, .costly = as >= FORMAT_PICTURE},
            .query = query, .format = (enum format)as, .zone = a->zone);
    mem_copy_str(job->title, sizeof(job->title), a->name ? a->name : "");
    history_stamp(a, job);
    if (give_again(a, rq, job, rp)) {
        history_end(&job->ask);
        return REPLY_NOW;
    }
    return query_async_then(a->hub, rq, rp, &job->ask, history_keep);
}

/* clang-format off */
const struct route history_routes[] = {
    {GET, "/api/v1/history", ROLE_NONE, .summary = "What was: columns of numbers, null where there is nothing (docs/history.md)",
     .params = "device: UUID, node:index, node, patterns, several; metric: names or patterns, several; from: start time (default: an hour before to); to: end time (default: now); step: length of a bin, or auto; points: maximum number per series when step is auto (default: 500); agg: avg, min, max, sum, last, count, rate, or several; group: node, model, user, person, team or all; fold: mean, sum, min or max of a group's devices; tier: raw, minute or hour instead of what the step would choose; filter: only devices that match now (docs/filter.md); format: json or csv, or a chart as png, svg, pdf or jpg", .handle = get_history},
    {GET, "/api/v1/strip", ROLE_NONE, .summary = "The night strip: states and users of each GPU, or a picture of them (docs/history.md)",
     .params = "device: UUID, node:index, node, patterns, several; from: start time (default: a day before to); to: end time (default: now); points: maximum number of columns (default: 340); filter: only devices that match now (docs/filter.md); sort: node, work or idle; format: json, or a picture as png, svg, pdf or jpg; theme: light, or dark, of a picture", .handle = get_strip},
    {0},
};
/* clang-format on */

static void *open_history(struct hub *h)
{
    travel_register(&h->api);
    h->api.answers = answers_new(ANSWERS_BYTES);
    h->api.roster = roster_new();
    return h;
}

static void add_status(void *self, struct status *s)
{
    status_metric(s, "muster_hub_history_kept", "answers about history that were given again, for nothing had changed",
                  true, answers_given(((struct hub *)self)->api.answers));
}

static void close_history(void *self)
{
    struct hub *h = self;

    answers_free(h->api.answers);
    roster_free(h->api.roster);
    h->api.answers = NULL;
    h->api.roster = NULL;
}

const struct feature history_feature = {.name = "history",
                                        .routes = history_routes,
                                        .open = open_history,
                                        .status = add_status,
                                        .close = close_history};
