/* desk.c: writes jobs to the store, and answers the request when they are durable. */
#include "jobs/desk.h"

#include <errno.h>

#include "base/clock.h"
#include "hub/hub.h"
#include "jobs/routes.h"

struct labelling {
    struct hub *h;
    struct late *late;
    int64_t id;
    int status; /* when it went well */
};

static void labelled(void *arg, int result)
{
    struct labelling *l = arg;
    struct reply rp = {0};
    struct job_fact *j = NULL;
    struct err err = {0};
    int r = result < 0 ? result : store_job_get(l->h->store, l->id, &j, &err);
    if (result == -ENOSPC)
        reply_problem(&rp, 507, "the hub's disk is full: try again later");
    else if (r < 0)
        reply_problem(&rp, 503, "the hub cannot store: %s", err.msg[0] ? err.msg : strerror(-r));
    else if (r == 0)
        reply_problem(&rp, 404, "the job went while it was changed: it was too old to be kept");
    else
        reply_job(&rp, &l->h->api, j, true);
    if (r == 1)
        rp.status = l->status;
    if (result == -EAGAIN)
        snprintf(rp.extra, sizeof(rp.extra), "Retry-After: 2");
    httpd_late_reply(l->late, &rp);
    free(j);
    free(l);
}

static struct labelling *labelling_new(struct hub *h, struct request *rq, int64_t id, int status)
{
    struct labelling *l = mem_alloc(sizeof(*l));
    *l = (struct labelling){h, httpd_late(rq), id, status};
    return l;
}

/* Who has what from Slurm counts. */
static void mark_job(struct hub *h, const struct job_fact *j)
{
    int64_t now_ms = clock_wall_ms();
    if (strcmp(j->kind, "slurm") == 0 && j->node[0])
        hub_time(h, j->node, j->start_ms, now_ms, now_ms);
}

enum reply_how jobs_put(struct hub *h, struct request *rq, const struct job_fact *j)
{
    mark_job(h, j);
    store_job_put(h->store, j, labelled, labelling_new(h, rq, j->id, 201));
    return REPLY_LATER;
}

enum reply_how jobs_change(struct hub *h, struct request *rq, const struct job_change *c)
{
    AUTO_FREE struct job_fact *old = NULL;
    if (store_job_get(h->store, c->id, &old, NULL) == 1)
        mark_job(h, old);
    store_job_change(h->store, c, labelled, labelling_new(h, rq, c->id, 200));
    return REPLY_LATER;
}
