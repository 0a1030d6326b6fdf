/* routes_travel.c: the route /api/v1/state?at=TIME: the whole cluster as it was, read on a worker thread. */
#include <errno.h>

#include "base/mem.h"
#include "base/when.h"
#include "format/render.h"
#include "history/travel.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "now/filter.h"
#include "now/view.h"
#include "people/identities.h"

#define TRAVEL_MAX (512u << 20)

struct travel_job {
    struct async_query ask; /* first */
    struct travel *travel;
    struct filter *filter;         /* NULL: everything */
    struct identities *identities; /* who was who then */
    struct view view;              /* its nodes come one by one */
};

/* Leave the devices that fit. False: the node is left out. */
static bool sift(const struct travel_job *job, struct node_now *n)
{
    size_t kept = 0;
    if (!job->filter)
        return true;
    bool itself = filter_match(job->filter, n, NULL, job->view.at_ms);
    for (size_t i = 0; i < n->n_devices; i++) {
        if (!filter_match(job->filter, n, &n->devices[i], job->view.at_ms)) {
            device_now_fini(&n->devices[i]);
            continue;
        }
        if (kept != i)
            n->devices[kept] = n->devices[i];
        kept++;
    }
    n->n_devices = kept;
    return kept > 0 || itself;
}

static void travel_run(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct travel_job *job = (struct travel_job *)k;
    struct buf *out = &rp->body;
    struct err err = {0};
    bool first = true;
    struct filter_kinds kinds = {0};
    char words[FILTER_SAID] = "";
    *out = BUF_INIT(TRAVEL_MAX);
    render_state_start(out, &job->view);
    for (size_t i = 0; i < travel_count(job->travel); i++) {
        struct node_now n;
        int r = past_stopped(past) ? -ECANCELED : 0;
        if (r == 0)
            r = travel_node(job->travel, i, past, &n, &err);
        if (r < 0) {
            reply_failed(rp, r, &err);
            return;
        }
        if (r == 0)
            continue;
        identities_node(job->identities, &n);
        if (job->filter)
            filter_see(job->filter, &n, job->view.at_ms, &kinds);
        if (sift(job, &n)) {
            if (!first)
                buf_addc(out, ',');
            first = false;
            render_node(out, &job->view, &n);
        }
        node_now_fini(&n);
    }
    if (job->filter)
        filter_describe(job->filter, &kinds, words);
    render_state_end(out, words);
    if (out->err)
        reply_problem(rp, 413, "the response is larger than %u MiB; request one node", TRAVEL_MAX >> 20);
}

static void travel_end(struct async_query *k)
{
    struct travel_job *job = (struct travel_job *)k;
    travel_free(job->travel);
    filter_free(job->filter);
    identities_free(job->identities);
    free(job);
}

static enum reply_mode get_state_at(struct api *a, struct request *rq, struct reply *rp)
{
    struct view v;
    struct str node = request_query(rq, "node");
    AUTO_FREE char *name = node.len ? mem_strn(node.p, node.len) : NULL;
    struct view_query ask = {.node = name,
                             .all = true,
                             .demo = a->demo,
                             .show_cmd = a->show_cmd || rq->who->role == ROLE_ADMIN,
                             .reader = rq->who->role == ROLE_MEMBER ? rq->who->token.person : ""};
    struct filter *filter = NULL;
    struct err err = {0};
    int64_t at_ms;
    if (when_parse(request_query(rq, "at"), "at", rq->now_ms, &at_ms, &err) < 0)
        return reply_problem(rp, 400, "%s", err.msg);
    if (at_ms > rq->now_ms)
        return reply_problem(rp, 400, "at is a time to come: leave it out for the state now");
    if (!names_are_local(a, node, rp))
        return REPLY_NOW;
    if (view_of(a->live, &ask, rq->now_ms, &v) < 0)
        return reply_problem(rp, 404, "no node is called '%.128s'; /api/v1/nodes lists them", name);
    if (!request_filter(rq, rp, &filter))
        return REPLY_NOW;
    struct travel_job *job = NEW(struct travel_job, .ask = {.run = travel_run, .end = travel_end},
                                 .travel = travel_new(&v, live_rule(a->live), at_ms, rq->now_ms), .filter = filter,
                                 .identities = identities_new(a->people, at_ms), .view = v);
    job->view.at_ms = at_ms;
    job->view.n = 0;
    job->view.nodes = NULL;
    job->view.version = 0;
    return query_async(a->hub, rq, rp, &job->ask);
}

/* ---- vesta's fetch_num ---- */

struct states_job {
    struct async_query ask; /* first */
    struct travel *travel;
    struct view view; /* how its reader has times; its nodes are not there */
    int64_t now_ms;
    size_t moments, n;
    struct host {
        char name[NAME_MAX_LEN], address[64];
        const char *status;
        int64_t at_ms; /* newest entry; 0: never */
        bool shown;    /* show its data: vesta hides a host that is down, unless the request is for this host alone */
        char *now;     /* JSON known without reading the store; NULL: none */
    } * hosts;
};

static int states_host(struct states_job *job, size_t i, const struct past_source *past, struct buf *out,
                       struct err *err)
{
    const struct host *h = &job->hosts[i];
    AUTO_FREE int64_t *at_ms = mem_zero(job->moments, sizeof(*at_ms));
    AUTO_FREE struct node_now *entries = mem_zero(job->moments, sizeof(*entries));
    bool minutes = false;
    if (h->now) {
        buf_addf(out, "%s%s", out->len > 1 ? "," : "", h->now);
        return 0;
    }
    travel_to(job->travel, job->now_ms, job->now_ms);
    int r = h->shown ? travel_times(job->travel, i, past, job->moments, at_ms, &minutes, err) : 0;
    size_t n = 0, asked = r > 0 ? (size_t)r : 0;
    for (size_t k = 0; r >= 0 && k < asked; k++) {
        r = past_stopped(past) ? -ECANCELED : 0;
        travel_to(job->travel, at_ms[k], minutes ? TRAVEL_MINUTE : at_ms[k]); /* samples, of any age */
        if (r == 0 && (r = travel_node(job->travel, i, past, &entries[n], err)) == 1) {
            entries[n].at_ms = entries[n].at_ms ?: at_ms[k]; /* an entry exists, even without values */
            n++;
        }
    }
    if (r >= 0)
        render_vesta_past(out, &job->view, h->name, h->address, h->status, h->at_ms, entries, n);
    for (size_t k = 0; k < n; k++)
        node_now_fini(&entries[k]);
    return MIN(r, 0);
}

static void states_run(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    struct states_job *job = (struct states_job *)k;
    struct err err = {0};
    rp->body = BUF_INIT(TRAVEL_MAX);
    buf_addc(&rp->body, '{');
    for (size_t i = 0; i < job->n && !rp->body.err; i++) {
        if (i && strcmp(job->hosts[i - 1].name, job->hosts[i].name) == 0)
            continue; /* one key; duplicates are adjacent */
        int r = states_host(job, i, past, &rp->body, &err);
        if (r < 0) {
            reply_failed(rp, r, &err);
            return;
        }
    }
    buf_adds(&rp->body, "}\n");
    if (rp->body.err)
        reply_problem(rp, 413, "the response is larger than %u MiB; request fewer", TRAVEL_MAX >> 20);
}

static void states_end(struct async_query *k)
{
    struct states_job *job = (struct states_job *)k;
    travel_free(job->travel);
    for (size_t i = 0; i < job->n; i++)
        free(job->hosts[i].now);
    free(job->hosts);
    free(job);
}

/* "host":{...} of a node whose values are in memory. */
static char *states_now(const struct view *v, const struct node_now *n, bool alone)
{
    AUTO_BUF b = BUF_INIT(TRAVEL_MAX);
    render_vesta_member(&b, v, n, alone);
    return mem_strn(b.p, b.len);
}

static enum reply_mode get_states_past(struct api *a, struct request *rq, struct reply *rp, const struct view *v)
{
    struct states_job *job =
        NEW(struct states_job, .ask = {.run = states_run, .end = states_end},
            .travel = travel_new(v, live_rule(a->live), rq->now_ms, rq->now_ms), .view = {.time_form = v->time_form},
            .now_ms = rq->now_ms, .moments = (size_t)request_int(rq, "fetch_num", 1, 1, FETCH_MAX), .n = v->n,
            .hosts = mem_zero(MAX(v->n, 1u), sizeof(struct host)));
    for (size_t i = 0; i < v->n; i++) {
        struct host *h = &job->hosts[i];
        mem_copy_str(h->name, sizeof(h->name), v->nodes[i]->name);
        mem_copy_str(h->address, sizeof(h->address), v->nodes[i]->address);
        h->status = vesta_status(v->nodes[i]);
        h->at_ms = v->nodes[i]->never_sampled ? 0 : v->nodes[i]->at_ms;
        h->shown = rq->tail.len > 0 || strcmp(h->status, "down") != 0;
        if (job->moments == 1 && !vesta_needs_history(v->nodes[i], rq->tail.len > 0))
            h->now = states_now(v, v->nodes[i], rq->tail.len > 0);
    }
    return query_async(a->hub, rq, rp, &job->ask);
}

void travel_register(struct api *a)
{
    a->get_state_at = get_state_at;
    a->get_states_past = get_states_past;
}
