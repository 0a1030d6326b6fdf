/* travel.c: /api/v1/state?at=TIME: the whole cluster as it was, read beside the loop. */
#include <errno.h>

#include "api/handlers.h"
#include "base/mem.h"
#include "query/filter.h"
#include "query/travel.h"
#include "query/view.h"
#include "query/when.h"
#include "render/render.h"

#define TRAVEL_MAX (512u << 20)

struct travel_job {
    struct past_ask ask; /* first */
    struct travel *travel;
    struct filter *filter; /* NULL: everything */
    struct view view;      /* its nodes come one by one */
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

static void travel_run(struct past_ask *k, const struct past *past, struct reply *rp)
{
    struct travel_job *job = (struct travel_job *)k;
    struct buf *out = &rp->body;
    struct err err = {0};
    bool first = true;
    *out = BUF_INIT(TRAVEL_MAX);
    render_state_start(out, &job->view);
    for (size_t i = 0; i < travel_count(job->travel); i++) {
        struct node_now n;
        int r = past->stop && past->stop(past->stop_arg) ? -ECANCELED : 0;
        if (r == 0)
            r = travel_node(job->travel, i, past, &n, &err);
        if (r < 0) {
            reply_failed(rp, r, &err);
            return;
        }
        if (r == 0)
            continue;
        if (sift(job, &n)) {
            if (!first)
                buf_addc(out, ',');
            first = false;
            render_node(out, &job->view, &n);
        }
        node_now_fini(&n);
    }
    render_state_end(out);
    if (out->err)
        reply_problem(rp, 413, "the answer is larger than %u MiB; ask for one node", TRAVEL_MAX >> 20);
}

static void travel_end(struct past_ask *k)
{
    struct travel_job *job = (struct travel_job *)k;
    travel_free(job->travel);
    filter_free(job->filter);
    free(job);
}

enum reply_how get_state_at(struct api *a, struct request *rq, struct reply *rp)
{
    struct view v;
    const struct node_now *one[1];
    struct str node = request_query(rq, "node"), text = request_query(rq, "filter");
    AUTO_FREE char *name = node.len ? mem_strn(node.p, node.len) : NULL;
    struct view_ask ask = {.node = name,
                           .all = true,
                           .demo = a->demo,
                           .show_cmd = a->show_cmd || rq->role == ROLE_ADMIN,
                           .reader = rq->role == ROLE_MEMBER ? rq->token.person : ""};
    struct filter *filter = NULL;
    struct filter_err why;
    struct err err = {0};
    int64_t at_ms;
    if (when_parse(request_query(rq, "at"), "at", rq->now_ms, &at_ms, &err) < 0)
        return reply_problem(rp, 400, "%s", err.msg);
    if (at_ms > rq->now_ms)
        return reply_problem(rp, 400, "at is a time to come: leave it out for the state now");
    if (view_of(a->live, &ask, rq->now_ms, one, &v) < 0)
        return reply_problem(rp, 404, "no node is called '%.128s'; /api/v1/nodes lists them", name);
    if (text.len && filter_new(text, ask.reader[0] ? ask.reader : NULL, &filter, &why) < 0)
        return reply_problem(rp, 400, "filter, column %u: %s", why.column, why.message);
    struct travel_job *job = mem_zero(1, sizeof(*job));
    *job = (struct travel_job){.ask = {travel_run, travel_end},
                               .travel = travel_new(&v, live_rule(a->live), at_ms, rq->now_ms),
                               .filter = filter,
                               .view = v};
    job->view.at_ms = at_ms;
    job->view.n = 0;
    job->view.nodes = NULL;
    job->view.version = 0;
    return a->ask(a->hub, rq, rp, &job->ask);
}
