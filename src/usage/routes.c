/*
 * routes.c: the route about usage. A worker thread parses, sums and writes; the loop copies the names of nodes.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/order.h"
#include "base/time_text.h"
#include "base/when.h"
#include "format/render.h"
#include "history/history.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "now/filter.h"
#include "now/view.h"
#include "usage/ledger.h"
#include "usage/routes.h"
#include "usage/sums.h"
#include "usage/table.h"

#define USAGE_MAX (64u << 20)
#define LAST      (30 * DAY_MS)

enum format { FORMAT_JSON, FORMAT_TABLE, FORMAT_CSV, FORMAT_HTML, FORMAT_PDF, FORMAT_SVG, FORMAT_PNG, FORMATS };
static const char *const format_words[] = {"json", "table", "csv", "html", "pdf", "svg", "png", NULL};
static const char *const format_types[FORMATS] = {"application/json",
                                                  "text/plain; charset=utf-8",
                                                  "text/csv; charset=utf-8",
                                                  "text/html; charset=utf-8",
                                                  "application/pdf",
                                                  "image/svg+xml",
                                                  "image/png"};

static const char *const param_words[USAGE_PARAMS] = {"by",      "from",       "to",     "last",   "period",
                                                      "zone",    "week-start", "format", "person", "team",
                                                      "project", "company",    "node",   "model",  "device"};

struct usage_job {
    struct async_query ask; /* first */
    struct arena mem;
    const char *text[USAGE_PARAMS]; /* NULL: not given; copies */
    int64_t now_ms;
    const char *title;
    struct term term;
    struct usage_now now;
    struct tariff tariff;
    struct people *people;
    size_t n_nodes, n_kept;
    struct sums_node *nodes;
    const char **kept; /* devices a filter lets through, sorted */
    bool filtered;
    /* made on the worker */
    struct zone *zone;
    enum format format;
};

/* ---- parsing the query ---- */

static int word_of(const char *text, const char *const *words, const char *what, int usual, int *ret, struct err *err)
{
    AUTO_BUF all = BUF_INIT(512);

    *ret = usual;
    for (int i = 0; text && words[i]; i++) {
        if (str_eq_nocase(str_of(text), words[i])) {
            *ret = i;
            return 0;
        }
        buf_addf(&all, "%s%s", i ? ", " : "", words[i]);
    }
    return text ? err_set(err, -EINVAL, "%s '%.60s' is not known: there are %s", what, text, all.p) : 0;
}

/* A date is its day in the zone: the start of the day, or its end. */
static int moment(const struct usage_job *k, int which, bool end, int64_t *ret, struct err *err)
{
    int32_t date;
    struct str s = str_trim(str_of(k->text[which]));

    if (date_parse(s, &date)) {
        *ret = zone_date_ms(k->zone, date + end);
        return 0;
    }
    return when_parse(s, param_words[which], k->now_ms, ret, err);
}

static int read_span(struct usage_job *k, struct sums_query *a, struct err *err)
{
    int64_t last_ms = LAST;
    int r = 0;

    a->to_ms = k->now_ms;
    if (k->text[USAGE_TO])
        r = moment(k, USAGE_TO, true, &a->to_ms, err);
    if (r == 0 && k->text[USAGE_LAST]) {
        if (k->text[USAGE_FROM])
            return err_set(err, -EINVAL, "from and last exclude each other");
        if (!str_duration_ms(str_of(k->text[USAGE_LAST]), &last_ms) || last_ms <= 0)
            return err_set(err, -EINVAL, "last '%.40s' is not a time, as 30d or 12h", k->text[USAGE_LAST]);
    }
    a->from_ms = a->to_ms - MIN(last_ms, a->to_ms);
    if (r == 0 && k->text[USAGE_FROM])
        r = moment(k, USAGE_FROM, false, &a->from_ms, err);
    else if (last_ms % DAY_MS == 0) /* whole days are those of the calendar, and today */
        a->from_ms = zone_date_ms(k->zone, zone_date(k->zone, a->from_ms));
    if (r < 0)
        return r;
    a->from_ms = MAX(0, a->from_ms) / 60000 * 60000;
    if (a->from_ms >= a->to_ms)
        return err_set(err, -EINVAL, "from is not before to");
    return 0;
}

static int load_zone(struct usage_job *k, struct err *err)
{
    zone_free(k->zone);
    k->zone = NULL;
    return zone_load(k->text[USAGE_ZONE] ? k->text[USAGE_ZONE] : zone_name(k->now.stat.zone), &k->zone, err);
}

static int read_question(struct usage_job *k, struct sums_query *a, struct err *err)
{
    int by = BY_PERSON, format = FORMAT_JSON, period = PERIOD_ALL;
    int r = word_of(k->text[USAGE_BY], usage_by_words, "by", BY_PERSON, &by, err)
                ?: word_of(k->text[USAGE_FORMAT], format_words, "format", FORMAT_JSON, &format, err)
                ?: word_of(k->text[USAGE_PERIOD], period_words, "period", PERIOD_ALL, &period, err)
                ?: word_of(k->text[USAGE_WEEK], week_days, "week-start", 0, &a->week_start, err)
                ?: load_zone(k, err) ?: read_span(k, a, err);

    if (r < 0)
        return r == -ENOENT ? -EINVAL : r;
    a->by = (enum usage_by)by;
    a->period = (enum period)period;
    k->format = (enum format)format;
    a->zone = k->zone;
    return 0;
}

/* ---- the worker's part ---- */

static bool is_kept(void *arg, const char *uuid)
{
    struct usage_job *k = arg;

    return k->n_kept && bsearch(&uuid, k->kept, k->n_kept, sizeof(*k->kept), order_texts);
}

static int write_table(const struct usage_job *k, const struct usage_table *t, struct buf *out, struct err *err)
{
    struct rows rows;
    char since[MOMENT_TEXT];

    switch (k->format) {
    case FORMAT_TABLE:
        usage_rows(t, &rows);
        render_rows_text(out, &rows, &k->term);
        rows_fini(&rows);
        if (t->n && t->records_ms > t->from_ms)
            buf_addf(out, "records since %s\n", time_text_zoned(t->records_ms, k->zone, since));
        return 0;
    case FORMAT_CSV:
        render_usage_csv(out, t);
        return 0;
    case FORMAT_HTML:
        render_usage_html(out, t, k->title);
        return 0;
    case FORMAT_PDF:
        return render_usage_pdf(out, t, k->title, k->now_ms, err);
    case FORMAT_SVG:
        return render_usage_plot(out, t, k->title, PLOT_SVG, err);
    case FORMAT_PNG:
        return render_usage_plot(out, t, k->title, PLOT_PNG, err);
    default:
        render_usage_json(out, t);
        return 0;
    }
}

/* The days of the query's zone; else the first available ones: days within a period save hours too. */
static const struct zone *days_for(const struct usage_job *k)
{
    for (size_t i = 0; i < k->now.stat.n_days; i++)
        if (strcmp(zone_name(k->now.stat.days[i]), zone_name(k->zone)) == 0)
            return k->now.stat.days[i];
    return k->now.stat.n_days ? k->now.stat.days[0] : NULL;
}

int usage_job_sum(struct usage_job *k, const struct past_source *past, struct usage_table *ret, struct err *err)
{
    struct sums_query a = {.person = k->text[USAGE_PERSON],
                           .team = k->text[USAGE_TEAM],
                           .project = k->text[USAGE_PROJECT],
                           .company = k->text[USAGE_COMPANY],
                           .node = k->text[USAGE_NODE],
                           .model = k->text[USAGE_MODEL],
                           .device = k->text[USAGE_DEVICE],
                           .keep = k->filtered ? is_kept : NULL,
                           .keep_arg = k,
                           .people = k->people,
                           .tariff = &k->tariff,
                           .nodes = k->nodes,
                           .n_nodes = k->n_nodes,
                           .each = past->each,
                           .arg = past->arg,
                           .stop = past->stop,
                           .stop_arg = past->stop_arg};
    struct usage_table t;
    int r = read_question(k, &a, err);

    if (r == 0)
        a.days_zone = days_for(k);
    if (r == 0)
        r = sums_run(&a, &k->mem, &t, err);
    if (r < 0)
        return r;
    t.records_ms = k->now.stat.records_ms;
    t.counted_to_ms = MIN(k->now.stat.counted_to_ms, t.to_ms);
    t.waiting = k->now.stat.waiting;
    t.split = k->now.split;
    *ret = t;
    return 0;
}

static void usage_run(struct async_query *ask, const struct past_source *past, struct reply *rp)
{
    struct usage_job *k = (struct usage_job *)ask;
    struct usage_table t;
    struct err err = {0};
    int r = usage_job_sum(k, past, &t, &err);

    if (r < 0) {
        reply_failed(rp, r, &err);
        return;
    }
    rp->body = BUF_INIT(USAGE_MAX);
    rp->type = format_types[k->format];
    r = write_table(k, &t, &rp->body, &err);
    if (r < 0 && r != -EMSGSIZE) {
        buf_fini(&rp->body);
        rp->type = NULL;
        reply_problem(rp, 503, "%s", err.msg);
        return;
    }
    if (rp->body.err)
        reply_problem(rp, 413, "the response is larger than %u MiB: request less", USAGE_MAX >> 20);
}

void usage_job_free(struct usage_job *k)
{
    if (!k)
        return;
    zone_free(k->zone);
    tariff_fini(&k->tariff);
    people_unref(k->people);
    arena_fini(&k->mem);
    free(k);
}

static void usage_end(struct async_query *ask)
{
    usage_job_free((struct usage_job *)ask);
}

void usage_job_set(struct usage_job *k, enum usage_param p, const char *text)
{
    k->text[p] = text;
}

/* ---- the loop's part ---- */

static void call_nodes(struct usage_job *k, const struct view *v, const struct filter *filter)
{
    size_t devices = 0;

    k->nodes = sums_nodes(&k->mem, v->nodes, v->n);
    k->n_nodes = v->n;
    for (size_t i = 0; i < v->n; i++)
        devices += v->nodes[i]->n_devices;
    k->kept = arena_alloc(&k->mem, devices + 1, sizeof(*k->kept));
    k->filtered = filter != NULL;
    for (size_t i = 0; filter && i < v->n; i++)
        for (size_t d = 0; d < v->nodes[i]->n_devices; d++)
            if (filter_match(filter, v->nodes[i], &v->nodes[i]->devices[d], k->now_ms))
                k->kept[k->n_kept++] = k->nodes[i].devices[d].uuid;
    SORT(k->kept, k->n_kept, order_texts);
}

struct usage_job *usage_job_new(struct api *a, const char *const text[USAGE_PARAMS], const struct filter *filter,
                                int64_t now_ms)
{
    struct view v;
    struct usage_job *k = NEW(struct usage_job, .ask = {.run = usage_run, .end = usage_end}, .now_ms = now_ms);

    usage_now_of(a->hub, &k->now);
    tariff_copy(&k->tariff, k->now.tariff);
    k->people = people_ref(a->people);
    k->title = arena_str(&k->mem, a->name);
    for (size_t i = 0; i < USAGE_PARAMS; i++)
        k->text[i] = arena_str(&k->mem, text[i]);
    view_of(a->live, &(struct view_query){.all = true, .demo = a->demo}, now_ms, &v);
    call_nodes(k, &v, filter);
    return k;
}

static enum reply_mode get_usage(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_FILTER *filter = NULL;
    AUTO_ARENA mem = {0};
    const char *text[USAGE_PARAMS];

    if (!request_filter(rq, rp, &filter))
        return REPLY_NOW;
    for (size_t i = 0; i < USAGE_PARAMS; i++) {
        struct str s = str_trim(request_query(rq, param_words[i]));
        if (i == USAGE_DEVICE && !device_named(a, s, rp, &s))
            return REPLY_NOW;
        text[i] = s.len ? arena_strn(&mem, s.p, s.len) : NULL;
    }
    struct usage_job *k = usage_job_new(a, text, filter, rq->now_ms);
    k->term = (struct term){.width = (int)request_int(rq, "width", 0, 0, 1000), .colour = request_flag(rq, "colour")};
    int format = FORMAT_JSON;
    word_of(text[USAGE_FORMAT], format_words, "format", FORMAT_JSON, &format, NULL); /* usage_run reports a mistake */
    k->ask.costly = format >= FORMAT_PDF;
    return query_async(a->hub, rq, rp, &k->ask);
}

static enum reply_mode post_recount(struct api *a, UNUSED struct request *rq, struct reply *rp)
{
    rp->status = 202;
    rp->body = BUF_INIT(256);
    buf_addf(&rp->body, "{\"hours\":%zu}\n", ledger_recount(a->hub->ledger, clock_wall_ms()));
    return REPLY_NOW;
}

/* clang-format off */
const struct route usage_routes[] = {
    {GET, "/api/v1/people", ROLE_NONE, .summary = "Users of GPUs now: number of GPUs, memory, since when",
     .params = "filter: which GPUs (docs/filter.md); me: name that 'mine' stands for without a token; recent: include users who are on no GPU now but used some recently", .handle = get_people},
    {GET, "/api/v1/usage", ROLE_NONE, .summary = "Who used how much: held, busy, idle and effective GPU time, tensor time, memory, energy, cost (docs/usage.md)",
     .params = "by: person, team, project, company, node, model, device or job; from: time or date; to: time or date, whose end is meant; last: length of the period (default: 30d); period: hour, day, week, month, year or all; zone: e.g. Europe/Berlin (default: the hub's); week-start: monday to sunday (default: monday); person, team, project, company, node, model, device: only usage of this one; filter: GPUs that match now (docs/filter.md); format: json, table, csv, html, pdf, svg or png; width: columns of a table", .handle = get_usage},
    {GET, "/api/v1/idle", ROLE_NONE, .summary = "GPUs that are held and idle, the longest first",
     .params = "longer: minimum time (default: 30m); filter: which GPUs (docs/filter.md); me: name that 'mine' stands for without a token; format: json or csv", .handle = get_idle},
    {GET, "/api/v1/advise", ROLE_NONE, .summary = "What would give back most GPU-hours: at most five lines by person and rule, with evidence, remedy, hours and money (docs/advice.md)",
     .params = "last: length of the period, 1h to 31d (default: 7d); person: only runs of this person; team: only runs of its people", .handle = get_advise},
    {METHOD_POST, "/api/v1/usage/recount", ROLE_ADMIN, .write = true, .max_body = MAX_SMALL_BODY,
     .summary = "Count every hour again, out of processes and minutes", .handle = post_recount},
    {0},
};
/* clang-format on */
