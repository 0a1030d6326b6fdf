/*
 * routes_report.c: the route /api/v1/report: what companies used of what was assigned to them. Parameters are read on
 * the loop; the zone's file, the records and the arithmetic are a worker's.
 */
#include "report/direct.h"
#include "report/pages.h"
#include "report/report.h"

#include <errno.h>

#include "base/mem.h"
#include "base/when.h"
#include "base/zone.h"
#include "history/history.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "hub/peer_hubs.h"
#include "now/view.h"
#include "report/source.h"
#include "report/write.h"
#include "usage/routes.h"

#define SUNDAY 6

struct report_job {
    struct async_query ask; /* first */
    struct people *people;
    int64_t now_ms, graphics_mem;
    int period; /* enum report_period, or REPORT_RUNS */
    enum report_source source;
    struct report_style look;
    bool partial;
    const char *company, *from, *to, *last;
    const char *zone, *own_zone;     /* as asked for; the hub's */
    const struct runs_source *wandb; /* NULL: there is none */
    bool alone;                      /* no other hub may have them */
    size_t n;
    struct runs_node *nodes;
    struct arena mem; /* of texts and nodes */
};

/* ---- the days ---- */

/* A date, "today", "yesterday", or a moment as elsewhere; its day. */
static int day_parse(const char *s, const char *what, const struct zone *z, int64_t now_ms, int32_t *ret,
                     struct err *err)
{
    int32_t today = zone_date(z, now_ms);
    int64_t ms;

    if (strcmp(s, "today") == 0 || strcmp(s, "yesterday") == 0) {
        *ret = today - (s[0] == 'y');
        return 0;
    }
    if (date_parse(str_of(s), ret))
        return 0;
    int r = when_parse(str_of(s), what, now_ms, &ms, err);
    if (r < 0)
        return err_set(err, r, "%s '%.60s' is not a day: use 2026-11-15, today, yesterday, or a time such as -30d",
                       what, s);
    *ret = zone_date(z, ms);
    return 0;
}

/* The first day any company (or the one asked for) had nodes. */
static int32_t first_day(const struct report_job *job, int32_t to)
{
    size_t n;
    const struct company *v = people_companies(job->people, &n);
    int32_t first = to, day, end;

    for (size_t i = 0; i < n; i++)
        if ((!job->company || strcmp(v[i].name, job->company) == 0) && company_period(&v[i], &day, &end))
            first = MIN(first, day);
    return first;
}

/* Days to come are not reported on. */
static int days_of(const struct report_job *job, const struct zone *z, struct report_query *ask, struct err *err)
{
    int32_t today = zone_date(z, job->now_ms), from = 0, to = today - 1;
    int64_t last_ms = 0;
    int r = job->to ? day_parse(job->to, "to", z, job->now_ms, &to, err) : 0;

    if (r < 0)
        return r;
    if (job->last && (!str_duration_ms(str_of(job->last), &last_ms) || last_ms < DAY_MS))
        return err_set(err, -EINVAL, "last '%.60s' is not a length of at least a day: write 30d or 4w", job->last);
    if (job->last && job->from)
        return err_set(err, -EINVAL, "from and last exclude each other");
    if (job->from && (r = day_parse(job->from, "from", z, job->now_ms, &from, err)) < 0)
        return r;
    if (job->from && from > to)
        return err_set(err, -EINVAL, "from is after to");
    to = MIN(to, today);
    if (job->last)
        from = (int32_t)MAX(to - last_ms / DAY_MS + 1, 0);
    else if (!job->from)
        from = job->period == REPORT_SUMMARY || job->period == REPORT_RUNS ? report_week(to, job->look.week_start)
                                                                           : first_day(job, to);
    ask->from = MIN(from, to);
    ask->to = to;
    if (job->from && from > to)
        return err_set(err, -EINVAL, "from lies in the future: there is nothing to report yet");
    return 0;
}

/* ---- the answer ---- */

/* What is read for an answer, and made of it. */
struct making {
    const struct report_job *job;
    const struct past_source *past;
    struct runs_available told;
    struct zone *z;
    struct report_query ask;
    struct runs_query agents;
    struct runs said, seen;
    struct report report, other;
    struct comparison claims;
    struct report_doc doc;
};

/* The zone, and the days of it that are asked for. W&B's days are of the zone they were pulled in. */
static int begin(struct making *k, bool wandb, struct err *err)
{
    const struct report_job *job = k->job;
    const char *name = wandb && k->told.any ? k->told.zone : job->zone ? job->zone : job->own_zone;

    zone_free(k->z);
    k->z = NULL;
    if (wandb && k->told.any && job->zone && strcmp(job->zone, k->told.zone) != 0)
        return err_set(err, -EINVAL,
                       "zone '%.60s': days of W&B's runs are kept in %s; leave the zone out, or ask for source agents",
                       job->zone, k->told.zone);
    int r = zone_load(name, &k->z, err);
    if (r < 0)
        return r == -ENOENT ? -EINVAL : r;
    k->ask =
        (struct report_query){.period = job->period == REPORT_RUNS ? REPORT_SUMMARY : (enum report_period)job->period,
                              .company = job->company,
                              .week_start = job->look.week_start,
                              .partial = job->partial,
                              .day_minutes = report_day_minutes,
                              .arg = k->z};
    return days_of(job, k->z, &k->ask, err);
}

static int read_agents(struct making *k, struct err *err)
{
    const struct report_job *job = k->job;
    bool runs = job->period == REPORT_RUNS;
    struct runs_query ask = {.people = job->people,
                             .zone = k->z,
                             .from = k->ask.from,
                             .to = k->ask.to,
                             .company = runs ? NULL : k->ask.company, /* a run may be joined to anybody's processes */
                             .now_ms = job->now_ms,
                             .graphics_mem = job->graphics_mem,
                             .n_nodes = job->n,
                             .nodes = job->nodes,
                             .past = k->past,
                             .util = k->ask.period != REPORT_SUMMARY, /* which has none */
                             .spans = runs};

    k->agents = ask;
    return runs_of(&k->agents, &k->seen, err);
}

static int read_wandb(struct making *k, struct err *err)
{
    struct runs_available_query ask = {.from = k->ask.from,
                                       .to = k->ask.to,
                                       .stop = k->past->stop,
                                       .arg = k->past->stop_arg};

    ask.ignore_tags = people_ignore_tags(k->job->people, &ask.n_ignore_tags);
    k->doc.pulled_ms = k->told.pulled_ms;
    return k->job->wandb->days(k->past->dir, &ask, &k->said, err);
}

/* Nobody said where from: agents, unless they saw nothing and W&B did. */
static int choose(struct making *k, struct err *err)
{
    int r = begin(k, false, err) ?: read_agents(k, err);

    k->doc.source = SOURCE_AGENTS;
    if (r < 0 || k->seen.n || !k->told.any || (k->job->zone && strcmp(k->job->zone, k->told.zone) != 0))
        return r;
    r = begin(k, true, err) ?: read_wandb(k, err);
    if (r < 0 || !k->said.n)
        return r ?: begin(k, false, err);
    k->doc.source = SOURCE_WANDB;
    return 0;
}

static int gather(struct making *k, struct err *err)
{
    const struct report_job *job = k->job;
    struct err old = {0};
    /* a file that cannot be read is no reason not to answer from agents */
    int r = job->source == SOURCE_AGENTS || !job->wandb ? 0 : job->wandb->told(k->past->dir, &k->told, &old);

    k->doc.source = job->source;
    if (job->source == SOURCE_AUTO)
        return choose(k, err);
    if (r < 0)
        return err_set(err, r, "%s", old.msg);
    if (job->source != SOURCE_AGENTS && !k->told.any)
        return err_set(err, -ENOENT,
                       job->alone ? "there are no runs of W&B yet: `muster wandb pull` gets them (docs/wandb.md)"
                                  : "there are no runs of W&B at this hub: each keeps those it pulled, which the one "
                                    "that leads does; ask that one, or pull them here (docs/scale.md)");
    r = begin(k, job->source != SOURCE_AGENTS, err);
    if (r >= 0 && job->source != SOURCE_WANDB)
        r = read_agents(k, err);
    if (r >= 0 && job->source != SOURCE_AGENTS)
        r = read_wandb(k, err);
    return r;
}

static int make(struct making *k, struct err *err)
{
    size_t n;
    const struct company *companies = people_companies(k->job->people, &n);
    const struct runs *first = k->doc.source == SOURCE_AGENTS ? &k->seen : &k->said;

    k->ask.known = runs_known(first);
    int r = report_make(&k->ask, companies, n, first->v, first->n, &k->report, err);
    k->ask.known = NULL; /* of agents */
    k->doc.r = &k->report;
    if (r < 0 || k->doc.source != SOURCE_BOTH)
        return r;
    if (k->job->period == REPORT_RUNS) {
        k->agents.company = k->ask.company;
        k->agents.util = true;
        k->doc.claims = &k->claims;
        r = compare_runs(&k->agents, &k->seen, k->said.v, k->said.n, &k->claims, err);
        return r < 0 ? r : claims_pages(&k->agents, &k->claims, err);
    }
    k->doc.seen = &k->other;
    return report_make(&k->ask, companies, n, k->seen.v, k->seen.n, &k->other, err);
}

static void report_run(struct async_query *ask, const struct past_source *past, struct reply *rp)
{
    struct report_job *job = (struct report_job *)ask;
    struct making k = {.job = job, .past = past};
    struct err err = {0};
    size_t n;
    int r = 0;

    people_companies(job->people, &n);
    if (!n)
        r = err_set(&err, -ENOENT,
                    "no company is known: list them under companies: in muster.yaml, or name the W&B dashboard's "
                    "config.yaml as people_companies (docs/report.md)");
    r = r ?: gather(&k, &err) ?: make(&k, &err);
    job->look.zone = k.z;
    if (r < 0)
        reply_failed(rp, r, &err);
    else
        report_write(rp, &k.doc, &job->look);
    report_fini(&k.report);
    report_fini(&k.other);
    comparison_fini(&k.claims);
    runs_fini(&k.seen);
    runs_fini(&k.said);
    zone_free(k.z);
}

static void report_end(struct async_query *k)
{
    struct report_job *job = (struct report_job *)k;

    arena_fini(&job->mem);
    people_unref(job->people);
    free(job);
}

/* ---- the question ---- */

/* Which of words (ends with NULL) the parameter is; def when it is not there. -1: rp says what there is. */
static int choice(const struct request *rq, struct reply *rp, const char *name, const char *const *words, int def)
{
    struct str s = request_query(rq, name);
    AUTO_BUF all = BUF_INIT(400);

    if (!s.len)
        return def;
    for (int i = 0; words[i]; i++) {
        if (str_eq_nocase(s, words[i]))
            return i;
        buf_addf(&all, "%s%s", i ? ", " : "", words[i]);
    }
    reply_problem(rp, 400, "%s '%.*s' is not known: there are %s", name, (int)MIN(s.len, 40u), s.p, all.p);
    return -1;
}

static const char *keep(struct report_job *job, struct str s)
{
    return s.len ? arena_strn(&job->mem, s.p, s.len) : NULL;
}

/* Who the nodes are, and the zone usage is counted in, by name; NULL: the system's. */
static void look_at_hub(struct report_job *job, struct api *a)
{
    struct view v;
    struct usage_now now;

    usage_now_of(a->hub, &now);
    if (now.stat.zone && strcmp(zone_name(now.stat.zone), "local") != 0)
        job->own_zone = keep(job, str_of(zone_name(now.stat.zone)));
    view_of(a->live, &(struct view_query){.all = true, .demo = a->demo}, job->now_ms, &v);
    job->nodes = arena_alloc(&job->mem, v.n + 1, sizeof(*job->nodes));
    for (; job->n < v.n; job->n++) {
        const struct node_now *n = v.nodes[job->n];
        job->nodes[job->n] = (struct runs_node){arena_str(&job->mem, n->key), arena_str(&job->mem, n->name), n->at_ms};
    }
}

/* The parameters. False: rp has a 400. */
static bool job_read(struct report_job *want, const struct request *rq, struct reply *rp)
{
    int headings = choice(rq, rp, "headings", headings_words, HEADINGS_EN);
    int format = headings < 0 ? -1 : choice(rq, rp, "format", report_formats, REPORT_JSON);
    int week_start = format < 0 ? -1 : choice(rq, rp, "week-start", week_days, SUNDAY);
    int source = week_start < 0 ? -1 : choice(rq, rp, "source", report_sources, SOURCE_AUTO);

    want->period = source < 0 ? -1 : choice(rq, rp, "period", report_words, REPORT_DAILY);
    if (want->period < 0)
        return false;
    if (want->period == REPORT_RUNS && source != SOURCE_BOTH && source != SOURCE_AUTO)
        return reply_refuse(rp, 400, "runs are compared one by one: this needs both sources");
    if (want->period == REPORT_SUMMARY && source == SOURCE_BOTH)
        return reply_refuse(
            rp, 400, "W&B's projects differ from those in muster.yaml: request the summary of one source, or runs");
    want->source = want->period == REPORT_RUNS ? SOURCE_BOTH : (enum report_source)source;
    want->look = (struct report_style){.format = (enum report_format)format,
                                       .headings = (enum headings)headings,
                                       .week_start = week_start,
                                       .now_ms = rq->now_ms,
                                       .term = {.width = (int)request_int(rq, "width", 0, 0, 1000),
                                                .colour = request_flag(rq, "colour")}};
    want->now_ms = rq->now_ms;
    want->partial = request_flag(rq, "partial");
    want->company = keep(want, request_query(rq, "company"));
    want->from = keep(want, request_query(rq, "from"));
    want->to = keep(want, request_query(rq, "to"));
    want->last = keep(want, request_query(rq, "last"));
    want->zone = keep(want, request_query(rq, "zone"));
    return true;
}

enum reply_mode get_report(struct api *a, struct request *rq, struct reply *rp)
{
    struct report_job want = {.ask = {.run = report_run, .end = report_end}};

    if (!job_read(&want, rq, rp))
        return REPLY_NOW;
    look_at_hub(&want, a);
    want.people = people_ref(a->people);
    want.graphics_mem = live_rule(a->live)->graphics_mem;
    want.wandb = report_source(a->hub);
    want.ask.costly = want.look.format == REPORT_PDF;
    want.alone = hub_is_alone(a->hub);
    struct report_job *job = mem_alloc(sizeof(*job));
    *job = want;
    return query_async(a->hub, rq, rp, &job->ask);
}

void report_answer(const struct request *rq, const struct report_direct *of, const struct past_source *past,
                   struct reply *rp)
{
    struct report_job job = {.people = of->people,
                             .graphics_mem = of->graphics_mem,
                             .own_zone = of->zone,
                             .wandb = of->wandb,
                             .alone = true,
                             .n = of->n_nodes};

    job.nodes = arena_alloc(&job.mem, of->n_nodes + 1, sizeof(*job.nodes));
    if (of->n_nodes > 0)
        memcpy(job.nodes, of->nodes, of->n_nodes * sizeof(*of->nodes));
    if (job_read(&job, rq, rp))
        report_run(&job.ask, past, rp);
    arena_fini(&job.mem);
}
