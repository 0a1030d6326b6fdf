/*
 * feature.c: jobs in the hub: Slurm's (slurm.c), and runs of unlabelled processes (auto.c). A worker thread reads the
 * stored jobs of a run's node, a few nodes at a time. Only the leader hub does this and writes.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "hub/handlers.h"
#include "hub/hub.h"
#include "hub/record_fetch.h"
#include "hub/self.h"
#include "jobs/apart.h"
#include "jobs/apart_first.h"
#include "jobs/feature.h"
#include "jobs/late_procs.h"
#include "jobs/slurm.h"
#include "nodes/peers.h"
#include "people/people.h"

#define LOOKS     32   /* nodes per read */
#define JOBS_MOST 1000 /* of a node, at the time of its runs */
#define AGAIN_MS  60000

static const char *const slurm_words[] = {"auto", "on", "off", NULL};

#define SETTINGS jobs
#include "base/opt_def.h"

struct hub_jobs {
    struct hub *h;
    struct hub_slurm *slurm;
    struct auto_runs *runs;
    struct apart_first *first;
    struct late_procs_read *late;
    bool led;         /* this hub detected runs at the last tick */
    bool looking;     /* a read is in progress */
    int64_t again_ms; /* a write failed: looks for all runs again at this time; 0: no failure */
    uint64_t made, looks;
};

/* ---- stored jobs of the nodes of runs ---- */

struct node_scan {
    struct record_fetch read; /* first */
    struct hub_jobs *d;
    size_t n;
    struct auto_query v[LOOKS];
    struct found_jobs {
        struct job_fact **v;
        size_t n, cap;
    } found[LOOKS];
};

static void take_job(void *arg, const struct job_fact *j)
{
    struct found_jobs *f = arg;
    VEC_ADD(f->v, f->n, f->cap, job_copy(j));
}

static int read_jobs(struct record_fetch *r, struct store *s, struct err *err)
{
    struct node_scan *k = (struct node_scan *)r;
    int code = 0;
    for (size_t i = 0; i < k->n && code >= 0; i++) {
        struct job_query ask = {.from_ms = k->v[i].from_ms,
                                .to_ms = k->v[i].to_ms,
                                .node = k->v[i].node,
                                .limit = JOBS_MOST};
        code = store_each(s, EACH_JOB(&ask, take_job, &k->found[i]), err);
    }
    return code;
}

static void look_next(struct hub_jobs *d, int64_t now_ms);

static void jobs_come(struct record_fetch *r)
{
    struct node_scan *k = (struct node_scan *)r;
    struct hub_jobs *d = k->d;
    int64_t now_ms = clock_wall_ms();
    bool leads = hub_leads(d->h);
    for (size_t i = 0; i < k->n; i++) {
        if (r->code < 0 || !leads)
            auto_put_off(d->runs, k->v[i].node, now_ms);
        else if (!live_find(d->h->live, k->v[i].node))
            auto_forget(d->runs, k->v[i].node);
        else
            auto_settle(d->runs, k->v[i].node, k->found[i].v, k->found[i].n, now_ms);
        for (size_t n = 0; n < k->found[i].n; n++)
            free(k->found[i].v[n]);
        free(k->found[i].v);
    }
    d->looking = false;
    if (r->code >= 0 && leads)
        look_next(d, now_ms);
    free(k);
}

static void look_next(struct hub_jobs *d, int64_t now_ms)
{
    struct node_scan *k = NEW(struct node_scan, .read = {.read = read_jobs, .done = jobs_come}, .d = d);
    struct err err = {0};
    k->n = auto_due(d->runs, now_ms, k->v, LOOKS);
    d->looking = k->n > 0 && record_fetch(d->h, &k->read, &err) == 0;
    d->looks += k->n;
    if (d->looking)
        return;
    for (size_t i = 0; i < k->n; i++)
        auto_put_off(d->runs, k->v[i].node, now_ms);
    free(k);
}

/* ---- writes ---- */

static void stored(void *arg, int result)
{
    struct hub_jobs *d = arg;
    if (result >= 0 || result == -ESTALE)
        return;
    if (!d->again_ms)
        log_warn("jobs", "a run could not be stored: %s", store_error_text(result));
    d->again_ms = clock_wall_ms() + AGAIN_MS;
}

static void begin_run(void *arg, const struct job_fact *j)
{
    struct hub_jobs *d = arg;
    d->made++;
    hub_put_once(d->h, STORE_JOB, j, 1, stored, d);
}

static void change_run(void *arg, const struct job_change *c)
{
    struct hub_jobs *d = arg;
    hub_put_once(d->h, STORE_JOB_CHANGE, c, 1, stored, d);
}

/* ---- processes ---- */

static void see_process(void *arg, const struct proc_span *p)
{
    struct hub_jobs *d = arg;
    const char *user = p->fact.user;
    if (!user[0] || strcmp(user, PROC_GONE) == 0 ||
        proc_only_draws(p->kind, p->mem_max, live_rule(d->h->live)->graphics_mem))
        return;
    const struct node_now *n = live_find(d->h->live, p->node);
    if (people_ignored(d->h->api.people, n ? n->name : p->node, user, p->fact.uid))
        return;
    auto_see(d->runs, &(struct auto_seen){p->node, p->device, &p->fact, p->first_ms, p->last_ms, p->ended},
             clock_wall_ms());
}

static void note_late(void *arg, const char *node, int64_t from_ms, int64_t to_ms)
{
    struct hub_jobs *d = arg;
    if (hub_leads(d->h))
        late_procs_note(d->late, node, from_ms, to_ms, clock_wall_ms());
}

static void hear(void *self, const struct hub_event *n)
{
    struct hub_jobs *d = self;
    if (n->kind == HUB_EVENT_RENAMED)
        auto_forget(d->runs, n->was);
}

static void tick(void *self, int64_t now_ms)
{
    struct hub_jobs *d = self;
    bool leads = hub_leads(d->h);
    if ((leads && !d->led && !hub_is_alone(d->h)) || (d->again_ms && now_ms >= d->again_ms)) {
        d->again_ms = 0;
        auto_begin(d->runs, now_ms);
    }
    d->led = leads;
    apart_first_tick(d->first, now_ms);
    late_procs_tick(d->late, leads, now_ms);
    stragglers_update(d->runs, d->h->live, now_ms);
    if (!leads)
        auto_rest(d->runs, now_ms);
    else if (!d->looking)
        look_next(d, now_ms);
}

/* ---- start, settings and end ---- */

static void *open_jobs(struct hub *h)
{
    struct hub_jobs *d = NEW(struct hub_jobs, .h = h, .slurm = slurm_open(h));
    d->runs = auto_new(&(struct auto_out){begin_run, change_run, d});
    d->first = apart_first_new(h, d->runs);
    d->late = late_procs_new(h, see_process, d);
    peers_procs(h->peers, see_process, d);
    peers_late(h->peers, note_late, d);
    return d;
}

static void take_settings(void *self, void *next)
{
    struct hub_jobs *d = self;
    const struct jobs_settings *c = feature_settings(&d->h->conf, &jobs_feature);
    (void)next;
    slurm_set(d->slurm, (enum slurm_use)c->use, c->every);
    auto_set(d->runs, &(struct auto_conf){.after_ms = c->after, .gap_ms = c->gap});
}

const struct auto_runs *hub_jobs_runs(struct hub *h)
{
    return ((struct hub_jobs *)feature_self(&h->features, &jobs_feature))->runs;
}

static void add_status(void *self, struct status *s)
{
    const struct hub_jobs *d = self;
    status_metric(s, "muster_hub_runs", "runs without a label that are active or ended recently", false,
                  auto_count(d->runs));
    status_metric(s, "muster_hub_runs_made", "runs without a label that were made", true, d->made);
    status_metric(s, "muster_hub_runs_looked", "nodes whose jobs were looked up for them", true, d->looks);
}

static void close_jobs(void *self)
{
    struct hub_jobs *d = self;
    slurm_close(d->slurm);
    apart_first_free(d->first);
    late_procs_free(d->late);
    auto_free(d->runs);
    free(d);
}

const struct feature jobs_feature = {.name = "jobs",
                                     FEATURE_SETTINGS(jobs),
                                     .routes = jobs_routes,
                                     .open = open_jobs,
                                     .take = take_settings,
                                     .hear = hear,
                                     .tick = tick,
                                     .status = add_status,
                                     .close = close_jobs};
