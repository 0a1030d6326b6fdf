/*
 * routes.c: the routes that read jobs: one job, or the jobs of a period. A worker thread reads the list and applies the
 * filter.
 */
#include <errno.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/order.h"
#include "base/when.h"
#include "format/render.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "hub/past.h"
#include "hub/record_fetch.h"
#include "jobs/auto.h"
#include "jobs/no_data.h"
#include "jobs/routes.h"
#include "now/filter.h"
#include "now/live.h"
#include "people/identities.h"

#define JOBS_BYTES (64u << 20)
#define JOBS       100 /* default of limit */
#define JOBS_MAX   1000
#define LEADS_MAX  4    /* maximum chain of ids that lead to others */
#define JOBS_LOOK  5000 /* maximum number of jobs read with a filter */

/* ---- one job as text ---- */

/* The attribute `command` is a command line: shown to its owner and admins, unless the hub shows it to all. */
static char *attrs_for(const struct job_fact *j, bool all)
{
    if (all || !strstr(j->attrs, "\"command\""))
        return mem_str(j->attrs);
    json_auto_t *o = json_loads(j->attrs, 0, NULL);
    json_object_del(o, "command");
    return o ? json_dumps(o, JSON_COMPACT) : mem_str("{}");
}

bool job_shows_all(const struct api *a, const struct asker *who, const struct job_fact *j)
{
    return a->show_cmd || who->role == ROLE_ADMIN ||
           (who->role == ROLE_MEMBER && who->token.person[0] && strcmp(who->token.person, j->person) == 0);
}

static void list_json(struct json *j, const char *key, const char *text, bool numbers)
{
    struct str rest = str_of(text), one;
    json_arr(j, key);
    while (str_cut(&rest, ',', &one))
        if (one.len && numbers)
            json_raw(j, NULL, one);
        else if (one.len)
            json_str(j, NULL, one);
    json_end_arr(j);
}

/* What nodes call its devices now; null: no node has it. */
static void gpus_json(struct json *j, const struct api *a, const char *devices)
{
    struct str rest = str_of(devices), one;
    json_arr(j, "gpus");
    while (str_cut(&rest, ',', &one)) {
        const struct node_now *on;
        const struct device_now *d = one.len ? live_find_device(a->live, one, &on) : NULL;
        if (d)
            json_int(j, NULL, d->fact.index);
        else if (one.len)
            json_none(j, NULL);
    }
    json_end_arr(j);
}

void job_json(struct json *j, const struct api *a, const struct job_fact *job, bool all)
{
    char id[JOB_ID_LEN];
    const struct node_now *n = job->node[0] ? live_find(a->live, job->node) : NULL;
    AUTO_FREE char *attrs = attrs_for(job, all);
    int64_t now_ms = clock_wall_ms(), ended_ms = job_ended_ms(job, now_ms);
    const char *state = job_state(a, job, now_ms);
    int64_t data_to_ms = strcmp(state, "unfinished") == 0 ? job_data_to_ms(a, job) : 0;
    json_obj(j, NULL);
    json_cstr(j, "id", job_id_text(job->id, id));
    json_cstr(j, "name", job->name);
    json_cstr(j, "kind", job->kind);
    json_cstr(j, "state", state);
    json_cstr(j, "person", job->person[0] ? job->person : NULL);
    json_cstr(j, "node", n ? n->name : job->node[0] ? job->node : NULL);
    json_cstr(j, "node_id", job->node[0] ? job->node : NULL);
    list_json(j, "devices", job->devices, false);
    gpus_json(j, a, job->devices);
    list_json(j, "pids", job->pids, true);
    json_cstr(j, "parent", job->parent ? job_id_text(job->parent, id) : NULL);
    json_int(j, "start", job->start_ms);
    json_known(j, "end", ended_ms, ended_ms);
    if (job->end_ms && !ended_ms)
        json_int(j, "planned_end", job->end_ms);
    if (data_to_ms)
        json_int(j, "data_to", data_to_ms);
    json_raw(j, "attributes", str_of(attrs[0] ? attrs : "{}"));
    json_end_obj(j);
}

void reply_job(struct reply *rp, const struct api *a, const struct job_fact *job, bool all)
{
    rp->body = BUF_INIT(1u << 20);
    snprintf(rp->cache, sizeof(rp->cache), "no-store");
    struct json j = json_on(&rp->body);
    job_json(&j, a, job, all);
    buf_addc(&rp->body, '\n');
}

bool job_id_parse(struct str s, int64_t *ret)
{
    uint64_t v;
    if (s.len != JOB_ID_LEN - 1 || !str_hex(s, &v) || !v || v > INT64_MAX)
        return false;
    *ret = (int64_t)v;
    return true;
}

int job_of_path(struct api *a, struct request *rq, struct reply *rp, struct job_fact **ret)
{
    struct err err = {0};
    int64_t id;
    int r = job_id_parse(rq->tail, &id) ? record_fetch_job(a->hub, rq, id, ret, &err) : 0;
    for (int i = 1; i < LEADS_MAX && r == 1 && (id = auto_joined(*ret)); i++) { /* a run that is part of another one */
        free(*ret);
        *ret = NULL;
        r = record_fetch_job(a->hub, rq, id, ret, &err);
    }
    if (r == 0)
        reply_problem(rp, 404, "there is no job '%.*s'; /api/v1/jobs lists them", (int)MIN(rq->tail.len, 64u),
                      rq->tail.p);
    else if (r < 0 && r != -EINPROGRESS)
        reply_problem(rp, 503, "jobs cannot be read: %s", err.msg);
    return r;
}

static enum reply_mode get_job(struct api *a, struct request *rq, struct reply *rp)
{
    AUTO_FREE struct job_fact *j = NULL;
    int r = job_of_path(a, rq, rp, &j);
    if (r == 1)
        reply_job(rp, a, j, job_shows_all(a, rq->who, j));
    return reply_mode_of_fetch(r);
}

/* ---- those of a time ---- */

struct jobs_list {
    struct async_query ask; /* first */
    struct job_query what;  /* with text of ours */
    char *texts[4];
    struct filter *filter; /* NULL: all */
    size_t limit;
    bool csv;
    struct asker who; /* role and person of the asker, nothing else */
    int64_t now_ms;
    struct job_fact **v;
    size_t n, cap;
};

static void list_take(void *arg, const struct job_fact *j)
{
    struct jobs_list *l = arg;
    if (auto_joined(j))
        return; /* it is another one by now */
    VEC_ADD(l->v, l->n, l->cap, job_copy(j));
}

static void list_run(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct jobs_list *l = (struct jobs_list *)k;
    struct err err = {0};
    l->what.stop = past->stop;
    l->what.stop_arg = past->stop_arg;
    int r = past_each(past, EACH_JOB(&l->what, list_take, l), &err);
    if (r < 0)
        reply_failed(rp, r, &err);
}

/* As a process on each of its devices: user is the person, program the name. */
static bool job_matches(const struct api *a, struct identities *who, const struct filter *f, const struct job_fact *j,
                        int64_t now_ms)
{
    static const struct node_now nowhere;
    const struct node_now *n = j->node[0] ? live_find(a->live, j->node) : NULL;
    struct proc_fact fact = {.uid = -1};
    struct proc_now p = {.fact = &fact, .mem = -1, .sm = -1};
    struct str pids = str_of(j->pids), rest = str_of(j->devices), one;
    bool any = false;
    int64_t pid;
    mem_copy_str(fact.user, sizeof(fact.user), j->person);
    mem_copy_str(fact.name, sizeof(fact.name), j->name);
    p.who = identities_find(who, n ? n->name : NULL, &fact);
    if (str_cut(&pids, ',', &one) && str_int(one, &pid))
        fact.pid = (int32_t)pid;
    while (n && str_cut(&rest, ',', &one)) {
        const struct device_now *d = FIND(n->devices, n->n_devices, e, str_eq(one, e->fact.uuid));
        if (d && filter_match_proc(f, n, d, &p, now_ms))
            return true;
        any |= d != NULL;
    }
    return !any && filter_match_proc(f, n ? n : &nowhere, NULL, &p, now_ms);
}

static const struct column_spec job_columns[] = {{.name = "id"},        {.name = "name"},    {.name = "kind"},
                                                 {.name = "state"},     {.name = "person"},  {.name = "node"},
                                                 {.name = "node_id"},   {.name = "devices"}, {.name = "pids"},
                                                 {.name = "parent"},    {.name = "start"},   {.name = "end"},
                                                 {.name = "attributes"}};

static void job_row(struct rows *r, const struct api *a, const struct job_fact *j, bool all)
{
    char id[JOB_ID_LEN], parent[JOB_ID_LEN] = "", start[32], end[32] = "";
    const struct node_now *n = j->node[0] ? live_find(a->live, j->node) : NULL;
    AUTO_FREE char *attrs = attrs_for(j, all);
    job_id_text(j->id, id);
    clock_iso(j->start_ms, start);
    if (j->parent)
        job_id_text(j->parent, parent);
    int64_t now_ms = clock_wall_ms(), ended_ms = job_ended_ms(j, now_ms);
    if (ended_ms)
        clock_iso(ended_ms, end);
    const char *state = job_state(a, j, now_ms), *node = n ? n->name : "";
    const char *const texts[] = {id,         j->name, j->kind, state, j->person, node, j->node,
                                 j->devices, j->pids, parent,  start, end,       attrs};
    struct cell *c = rows_add(r);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i][0])
            cell_text(&c[i], str_of(texts[i]));
}

static void list_csv(const struct jobs_list *l, const struct api *a, struct reply *rp)
{
    AUTO_ROWS rows = ROWS_OF(job_columns);
    for (size_t i = 0; i < l->n; i++)
        job_row(&rows, a, l->v[i], job_shows_all(a, &l->who, l->v[i]));
    rp->type = "text/csv; charset=utf-8";
    render_rows_csv(&rp->body, &rows);
}

static void list_settle(struct async_query *k, struct api *a, struct reply *rp)
{
    struct jobs_list *l = (struct jobs_list *)k;
    bool more = l->n >= l->what.limit;
    size_t kept = 0;
    struct identities *who = identities_new(a->people, l->now_ms);
    for (size_t i = 0; i < l->n; i++)
        if (kept < l->limit && (!l->filter || job_matches(a, who, l->filter, l->v[i], l->now_ms))) {
            l->v[kept++] = l->v[i];
        } else {
            more |= kept == l->limit;
            free(l->v[i]);
        }
    l->n = kept;
    identities_free(who);
    rp->body = BUF_INIT(JOBS_BYTES);
    if (l->csv) {
        list_csv(l, a, rp);
        return;
    }
    struct json j = reply_object(rp, JOBS_BYTES);
    json_arr(&j, "jobs");
    for (size_t i = 0; i < l->n; i++)
        job_json(&j, a, l->v[i], job_shows_all(a, &l->who, l->v[i]));
    json_end_arr(&j);
    json_bool(&j, "more", more);
    reply_object_end(rp, &j);
    if (rp->body.err)
        reply_problem(rp, 413, "the response is larger than %u MiB: request less", JOBS_BYTES >> 20);
}

static void list_end(struct async_query *k)
{
    struct jobs_list *l = (struct jobs_list *)k;
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
    for (size_t i = 0; i < ARRAY_LEN(l->texts); i++)
        free(l->texts[i]);
    filter_free(l->filter);
    free(l);
}

/* False: rp has the response. */
static bool list_span(const struct request *rq, struct job_query *ask, struct reply *rp)
{
    struct str from = request_query(rq, "from"), to = request_query(rq, "to"), parent = request_query(rq, "parent");
    struct err err = {0};
    if ((from.len && when_parse(from, "from", rq->now_ms, &ask->from_ms, &err) < 0) ||
        (to.len && when_parse(to, "to", rq->now_ms, &ask->to_ms, &err) < 0))
        reply_problem(rp, 400, "%s", err.msg);
    else if (ask->to_ms && ask->from_ms >= ask->to_ms)
        reply_problem(rp, 400, "from is not before to");
    else if (parent.len && !job_id_parse(parent, &ask->parent))
        reply_problem(rp, 400, "parent '%.*s' is not a job's id: that has 16 hex digits", (int)MIN(parent.len, 40u),
                      parent.p);
    else
        return true;
    return false;
}

static enum reply_mode get_jobs(struct api *a, struct request *rq, struct reply *rp)
{
    struct str format = request_query(rq, "format"), device;
    struct job_query what = {0};
    struct filter *filter = NULL;
    bool csv = str_eq(format, "csv") || (!format.len && str_find(rq->header(rq, "Accept"), "text/csv") >= 0);
    if (format.len && !csv && !str_eq(format, "json"))
        return reply_problem(rp, 400, "format '%.*s' is not known: there are json and csv", (int)MIN(format.len, 40u),
                             format.p);
    if (!list_span(rq, &what, rp) || !device_named(a, request_query(rq, "device"), rp, &device) ||
        !request_filter(rq, rp, &filter))
        return REPLY_NOW;
    struct jobs_list *l =
        NEW(struct jobs_list, .ask = {.run = list_run, .end = list_end}, .what = what, .filter = filter,
            .limit = (size_t)request_int(rq, "limit", JOBS, 1, JOBS_MAX), .csv = csv,
            .who = {.role = rq->who->role, .token = rq->who->token}, .now_ms = rq->now_ms);
    const struct {
        struct str said;
        const char **to;
    } by[] = {{request_query(rq, "node"), &l->what.node},
              {device, &l->what.device},
              {request_query(rq, "person"), &l->what.person},
              {request_query(rq, "kind"), &l->what.kind}};
    for (size_t i = 0; i < ARRAY_LEN(by); i++)
        *by[i].to = l->texts[i] = mem_strn(by[i].said.p, by[i].said.len);
    const struct node_now *n = l->texts[0][0] ? live_find(a->live, l->texts[0]) : NULL;
    if (n) { /* a removed node is found by its id */
        free(l->texts[0]);
        l->what.node = l->texts[0] = mem_str(n->key);
    }
    l->what.limit = filter ? JOBS_LOOK : l->limit + 1;
    return query_async_then(a->hub, rq, rp, &l->ask, list_settle);
}

/* clang-format off */
const struct route jobs_routes[] = {
    {GET, "/api/v1/jobs", ROLE_NONE, .summary = "Runs: commands of `muster record`, Dask and Slurm jobs, W&B runs, and processes without a label; newest start first (docs/jobs.md)",
     .params = "from: time; to: time, runs that overlap the period; node: id or name; device: UUID or NODE:N; person: login; kind: record, dask, wandb, slurm, auto (without a label) or another; parent: id of a job; limit: maximum number (default: 100, at most 1000); filter: which runs, a run being a process of its person on its GPUs (docs/filter.md); me: name that 'mine' stands for without a token; format: json or csv", .handle = get_jobs},
    {METHOD_POST, "/api/v1/jobs", ROLE_MEMBER, .agents = true, .write = true, .max_body = MAX_JOB_BODY,
     .summary = "Begin a job: {\"name\", \"kind\", \"person\", \"node\", \"devices\", \"pids\", \"parent\", \"start\", \"end\", \"attributes\", \"key\"}; sent again with the same key it is the same job", .handle = post_job},
    {GET, "/api/v1/jobs/{id}", ROLE_NONE, .summary = "One job", .handle = get_job},
    {GET, "/api/v1/jobs/{id}/verdict", ROLE_NONE, .summary = "What a run did: how active its GPUs were, what it needed, energy, cost, findings of the rules (docs/jobs.md)",
     .params = "format: json, or its page as a picture: png, svg, pdf or jpg", .handle = get_verdict},
    {METHOD_PATCH, "/api/v1/jobs/{id}", ROLE_MEMBER, .agents = true, .write = true, .max_body = MAX_JOB_BODY,
     .summary = "End a job, rename it, add attributes: {\"end\", \"name\", \"devices\", \"pids\", \"attributes\"}, each optional", .handle = patch_job},
    {0},
};
/* clang-format on */
