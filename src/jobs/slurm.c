/*
 * slurm.c: the GPUs that Slurm allocated, as jobs of kind slurm in the store: one for each job and node. It starts when
 * it is first seen and ends when squeue no longer lists it. So an allocation without a process counts as held.
 *
 * One squeue per poll for the whole cluster, and one scontrol for a job whose GPUs are not known yet; at most every 30
 * s. While squeue fails nothing changes.
 *
 * A hub that becomes the leader, at its start or after another hub, reads the open jobs from the store. The other hub
 * may have started and ended some. The first poll ends the jobs that ended in between.
 */

#include "jobs/slurm.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/timer.h"
#include "hub/hub.h"
#include "hub/peer_hubs.h"
#include "hub/record_fetch.h"
#include "jobs/squeue.h"
#include "now/live.h"

#define OUT_MAX  (64u << 20)
#define LIMIT_MS 30000
#define OPEN_MAX 20000 /* open jobs on nodes */
#define LEAD_MS  2000  /* interval of checks whether this hub is the leader now */

struct open_job {
    int64_t id, start_ms;
    char node[NODE_KEY_MAX];
    bool seen;
};

struct hub_slurm {
    struct hub *h;
    struct timer *timer;
    struct command *running;
    struct slurm_jobs jobs;
    char mark[SLURM_MARK_MAX]; /* of the squeue in flight */
    int64_t polled_ms, every_ms;
    int64_t epoch; /* epoch in which the open jobs were read; -1: not read yet */
    bool reading, said;
    bool automatic; /* on because squeue is installed, not because of the setting */
    bool answered;  /* squeue worked since the hub started */
    size_t n, cap;
    struct open_job *v; /* by id */
};

/* ---- open jobs ---- */

static size_t open_at(const struct hub_slurm *d, int64_t id)
{
    return COUNT_BEFORE(d->n, i, d->v[i].id < id);
}

static struct open_job *open_find(const struct hub_slurm *d, int64_t id)
{
    size_t at = open_at(d, id);
    return at < d->n && d->v[at].id == id ? &d->v[at] : NULL;
}

static void open_add(struct hub_slurm *d, int64_t id, const char *node, int64_t start_ms)
{
    size_t at = open_at(d, id);
    VEC_INSERT(d->v, d->n, d->cap, at, (struct open_job){.id = id, .start_ms = start_ms, .seen = true});
    mem_copy_str(d->v[at].node, sizeof(d->v[at].node), node);
}

/* Reads the open jobs from the store. */
struct open_read {
    struct record_fetch read; /* first */
    struct hub_slurm *d;
    int64_t epoch, now_ms;
    size_t n, cap;
    struct job_fact **v;
};

static void take_open(void *arg, const struct job_fact *j)
{
    struct open_read *k = arg;
    if (!j->end_ms && strcmp(j->owner, "slurm") == 0)
        VEC_ADD(k->v, k->n, k->cap, job_copy(j));
}

static int read_open(struct record_fetch *r, struct store *s, struct err *err)
{
    struct open_read *k = (struct open_read *)r;
    struct job_query ask = {.from_ms = k->now_ms, .kind = "slurm", .limit = OPEN_MAX};
    return store_each(s, EACH_JOB(&ask, take_open, k), err);
}

static void look(void *self);

static void open_come(struct record_fetch *r)
{
    struct open_read *k = (struct open_read *)r;
    struct hub_slurm *d = k->d;
    bool good = r->code >= 0;
    d->reading = false;
    if (good) {
        d->n = 0;
        d->epoch = k->epoch;
    }
    for (size_t i = 0; i < k->n; i++) {
        if (good && d->n < OPEN_MAX && !open_find(d, k->v[i]->id))
            open_add(d, k->v[i]->id, k->v[i]->node, k->v[i]->start_ms);
        free(k->v[i]);
    }
    FREE_ALL(k->v, k);
    if (good)
        look(d);
    else
        timer_after(d->timer, LEAD_MS);
}

static void ask_open(struct hub_slurm *d)
{
    struct open_read *k = NEW(struct open_read, .read = {.read = read_open, .done = open_come}, .d = d,
                              .epoch = hub_epoch(d->h), .now_ms = clock_wall_ms());
    d->reading = record_fetch(d->h, &k->read, NULL) == 0;
    if (d->reading)
        return;
    free(k);
    timer_after(d->timer, LEAD_MS);
}

/* ---- output of squeue ---- */

/* What the store has is read again then. */
static void stored(void *arg, int result)
{
    struct hub_slurm *d = arg;
    if (result < 0)
        d->epoch = -1;
    if (result < 0 && result != -ESTALE)
        log_warn("slurm", "a job could not be stored: %s", store_error_text(result));
}

/* The same after a restart: Slurm counts on, and a job that is put back in the queue starts at another time. */
static int64_t id_of(const struct slurm_job *j, const char *node)
{
    AUTO_BUF b = BUF_INIT(1024);
    buf_addf(&b, "slurm\n%lld\n%s\n%s", (long long)j->id, j->start, node);
    int64_t id = (int64_t)(fnv64(b.p, b.len) & INT64_MAX);
    return id ? id : 1;
}

/* Comma-separated UUIDs of the job's GPUs on this node; empty if unknown. */
static void devices_of(const struct slurm_job *j, const struct node_now *n, struct buf *out)
{
    uint64_t gpus[4] = {0};
    size_t whole = 0, instances = 0;
    bool known = false;
    for (size_t i = 0; i < j->n_parts; i++)
        if (slurm_list_has(str_of(j->parts[i].nodes), n->name)) {
            known = true;
            for (int w = 0; w < 4; w++)
                gpus[w] |= j->parts[i].gpus[w];
        }
    for (size_t i = 0; i < n->n_devices; i++) {
        bool instance = n->devices[i].fact.parent[0];
        instances += instance;
        whole += !instance;
    }
    if (instances)
        return; /* Slurm's indices count instances and GPUs in one row: they are no GPU indices */
    bool all = !known && whole && (size_t)j->per_node >= whole; /* it has every one */
    for (size_t i = 0; i < n->n_devices; i++) {
        const struct device_fact *f = &n->devices[i].fact;
        if (f->parent[0] || f->index < 0 || f->index > 255)
            continue;
        if (all || gpus[f->index / 64] >> (f->index % 64) & 1)
            buf_addf(out, "%s%s", out->len ? "," : "", f->uuid);
    }
}

static void begin_job(struct hub_slurm *d, const struct slurm_job *j, const struct node_now *n, int64_t id)
{
    AUTO_BUF devices = BUF_INIT((size_t)JOB_DEVICES * UUID_MAX), attrs = BUF_INIT(JOB_ATTRS_MAX);
    int64_t start_ms = d->polled_ms - j->used_ms;
    devices_of(j, n, &devices);
    if (!devices.len || devices.err)
        return; /* GPUs unknown: the next poll tries again */
    json_print(&attrs, "{'job':%lld,'account':%s,'partition':%s}", (long long)j->id, j->account, j->partition);
    const struct job_fact fact = {.id = id,
                                  .start_ms = start_ms,
                                  .name = j->name[0] ? j->name : "slurm",
                                  .kind = "slurm",
                                  .person = j->user,
                                  .owner = "slurm",
                                  .node = n->key,
                                  .devices = devices.p,
                                  .pids = "",
                                  .attrs = attrs.err ? "" : attrs.p};
    open_add(d, id, n->key, start_ms);
    hub_time(d->h, n->key, start_ms, d->polled_ms, d->polled_ms);
    hub_put_once(d->h, STORE_JOB, &fact, 1, stored, d);
}

static void end_jobs(struct hub_slurm *d)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->n; i++) {
        struct open_job *o = &d->v[i];
        if (o->seen) {
            o->seen = false;
            d->v[kept++] = *o;
            continue;
        }
        struct job_change c = {.id = o->id, .end_ms = MAX(d->polled_ms, o->start_ms)};
        hub_time(d->h, o->node, o->start_ms, d->polled_ms, d->polled_ms);
        hub_put_once(d->h, STORE_JOB_CHANGE, &c, 1, stored, d);
    }
    d->n = kept;
}

/* This job on this node: seen, or started. True: it was unknown before. */
static bool meet(struct hub_slurm *d, const struct slurm_job *j, const struct node_now *n, bool begin)
{
    int64_t id = id_of(j, n->key);
    struct open_job *o = open_find(d, id);
    if (o)
        o->seen = true;
    else if (begin && d->n < OPEN_MAX)
        begin_job(d, j, n, id);
    return !o;
}

static bool walk(struct hub_slurm *d, bool begin)
{
    bool fresh = false;
    size_t n;
    const struct node_now *const *nodes = live_nodes(d->h->live, true, &n);
    for (size_t i = 0; i < d->jobs.n; i++) {
        const struct slurm_job *j = &d->jobs.v[i];
        const struct node_now *one = strpbrk(j->nodes, "[,") ? NULL : live_find(d->h->live, j->nodes);
        if (strlen(j->user) > 63)
            continue;
        if (one) /* most jobs have one node */
            fresh |= meet(d, j, one, begin);
        for (size_t k = 0; !one && k < n; k++)
            if (slurm_list_has(str_of(j->nodes), nodes[k]->name))
                fresh |= meet(d, j, nodes[k], begin);
    }
    return fresh;
}

static void rest(struct hub_slurm *d)
{
    slurm_jobs_fini(&d->jobs);
    timer_after(d->timer, d->every_ms);
}

static void settle(struct hub_slurm *d)
{
    walk(d, true);
    end_jobs(d);
    rest(d);
}

/* Slurm's programs are installed, and no cluster is configured. */
static bool is_unconfigured(const char *why)
{
    return strstr(why, "configuration source") || strstr(why, "configuration file") || strstr(why, "slurm.conf");
}

static void fail(struct hub_slurm *d, const char *why)
{
    if (d->automatic && !d->answered && is_unconfigured(why)) {
        log_debug("slurm", "%s", why);
    } else {
        if (!d->said)
            log_warn("slurm", "%s", why);
        d->said = true;
    }
    rest(d);
}

static void on_scontrol(void *arg, const struct command_result *r)
{
    struct hub_slurm *d = arg;
    d->running = NULL;
    if (!r->error)
        slurm_scontrol(&d->jobs, r->out);
    else if (!d->said)
        log_warn("slurm", "which GPUs jobs have is not known: %s", r->error);
    d->said = r->error != NULL;
    settle(d);
}

static void on_squeue(void *arg, const struct command_result *r)
{
    static const char *const argv[] = {"scontrol", "-d", "-o", "show", "job", NULL};
    struct hub_slurm *d = arg;
    struct err err = {0};
    d->running = NULL;
    d->polled_ms = clock_wall_ms();
    for (size_t i = 0; i < d->n; i++)
        d->v[i].seen = false;
    d->answered |= !r->error;
    if (r->error || slurm_squeue(&d->jobs, r->out, d->mark, &err) < 0) {
        fail(d, r->error ? r->error : err.msg);
    } else if (!walk(d, false)) {
        d->said = false;
        settle(d);
    } else if (command_start(&d->running, d->h->loop, argv, NEEDS_SLURM, OUT_MAX, LIMIT_MS, on_scontrol, d, &err) < 0) {
        fail(d, err.msg);
    }
}

static void look(void *self)
{
    struct hub_slurm *d = self;
    struct err err = {0};
    uint64_t random = rand_u64();
    slurm_jobs_fini(&d->jobs);
    if (!hub_leads(d->h)) {
        timer_after(d->timer, LEAD_MS);
        return;
    }
    if (d->epoch != hub_epoch(d->h)) {
        ask_open(d);
        return;
    }
    AUTO_BUF format = BUF_INIT(1024);
    hex_text(&random, sizeof(random), d->mark);
    slurm_format(&format, d->mark);
    const char *const argv[] = {"squeue", "-h", "-t", "R", "-O", format.p, NULL};
    if (command_start(&d->running, d->h->loop, argv, NEEDS_SLURM, OUT_MAX, LIMIT_MS, on_squeue, d, &err) < 0)
        fail(d, err.msg);
}

/* ---- start, settings and end ---- */

struct hub_slurm *slurm_open(struct hub *h)
{
    struct hub_slurm *d = NEW(struct hub_slurm, .h = h, .epoch = -1);
    d->timer = timer_new(h->loop, look, d);
    return d;
}

void slurm_set(struct hub_slurm *d, enum slurm_use use, int64_t every_ms)
{
    d->every_ms = every_ms;
    d->automatic = use == SLURM_AUTO;
    if (d->running || d->reading)
        return; /* its end sees to the next one */
    timer_stop(d->timer);
    if (use == SLURM_ON || (use == SLURM_AUTO && file_in_path("squeue")))
        timer_after(d->timer, 0);
}

void slurm_close(struct hub_slurm *d)
{
    command_stop(d->running);
    timer_free(d->timer);
    slurm_jobs_fini(&d->jobs);
    FREE_ALL(d->v, d);
}
