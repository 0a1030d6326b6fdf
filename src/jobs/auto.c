/* auto.c: groups processes into runs and schedules reads of stored jobs; auto_settle.c stores the runs. */
#include "jobs/auto.h"

#include "base/order.h"
#include "base/rand.h"
#include "jobs/auto_run.h"
#include "model/launch.h"

#define GROUPS_MAX 64
#define RETRY_MS   30000
#define NODE_RUNS  512

/* ---- queues ---- */

void auto_queue(struct auto_runs *a, struct auto_run *r, enum auto_queue to, int64_t due_ms)
{
    if (r->queue)
        TAILQ_REMOVE(&a->queues[r->queue], r, link);
    r->queue = to;
    r->due_ms = due_ms;
    const struct auto_run *first = to ? TAILQ_FIRST(&a->queues[to]) : NULL;
    if (first && due_ms < first->due_ms)
        TAILQ_INSERT_HEAD(&a->queues[to], r, link);
    else if (to)
        TAILQ_INSERT_TAIL(&a->queues[to], r, link);
}

/* ---- runs ---- */

static struct auto_node *find_node(const struct auto_runs *a, const char *key)
{
    return lookup_named(&a->by_node, key, offsetof(struct auto_node, key));
}

static struct auto_node *node_of(struct auto_runs *a, const char *key)
{
    struct auto_node *n = find_node(a, key);
    if (n)
        return n;
    n = NEW(struct auto_node);
    mem_copy_str(n->key, sizeof(n->key), key);
    lookup_add(&a->by_node, lookup_hash(n->key), n);
    return n;
}

static void join_launch(struct auto_runs *a, struct auto_run *r, uint64_t hash)
{
    size_t at = 0;
    struct auto_launch *w = lookup_next(&a->launches, hash, &at);
    if (!w) {
        w = NEW(struct auto_launch, .hash = hash, .start_ms = r->start_ms);
        lookup_add(&a->launches, hash, w);
    }
    w->n++;
    r->launch = w;
}

static void leave_launch(struct auto_runs *a, struct auto_run *r)
{
    struct auto_launch *w = r->launch;
    if (w && r->leads)
        lookup_drop(&a->by_launch, w->hash, r);
    if (w && --w->n == 0) {
        lookup_drop(&a->launches, w->hash, w);
        free(w);
    }
    r->launch = NULL;
}

static void free_run(struct auto_run *r)
{
    for (size_t i = 0; i < r->n_devices; i++)
        free(r->devices[i]);
    FREE_ALL(r->devices, r->procs, r->groups, r->cmd, r->at, r);
}

void auto_drop(struct auto_runs *a, struct auto_run *r)
{
    struct auto_node *n = r->node;
    auto_queue(a, r, AUTO_WAITS_NOT, 0);
    leave_launch(a, r);
    size_t at = FIRST(n->n, i, n->runs[i] == r);
    if (at < n->n)
        n->runs[at] = n->runs[--n->n];
    a->n--;
    free_run(r);
    if (!n->n) {
        lookup_drop(&a->by_node, lookup_hash(n->key), n);
        FREE_ALL(n->runs, n);
    }
}

size_t auto_device(struct auto_run *r, struct str uuid)
{
    size_t at = FIRST(r->n_devices, i, str_eq(uuid, r->devices[i]));
    if (at == r->n_devices && at < JOB_DEVICES)
        VEC_ADD(r->devices, r->n_devices, r->cap_devices, mem_strn(uuid.p, uuid.len));
    return MIN(at, r->n_devices - 1);
}

static uint64_t hash_of(const char *kind, const char *text)
{
    AUTO_BUF b = BUF_INIT(512);
    buf_addf(&b, "%s\n%s", kind, text);
    return fnv64(b.p, b.len);
}

static uint64_t group_of(const struct proc_fact *f)
{
    char root[16];
    snprintf(root, sizeof(root), "%d", (int)(f->root_pid ? f->root_pid : f->pid));
    return f->container[0] ? hash_of("container", f->container) : hash_of("root", root);
}

/* Processes of one person with the same launch text are in one run, on any node. The agent's launch text takes
 * precedence over the command line, which it may have cut; older agents send none. */
static bool launch_of(const struct proc_fact *f, char ret[LAUNCH_MAX])
{
    if (f->slurm_job > 0)
        return snprintf(ret, LAUNCH_MAX, LAUNCH_SLURM "%lld", (long long)f->slurm_job) > 0;
    if (f->launch[0])
        return mem_copy_str(ret, LAUNCH_MAX, f->launch);
    return launch_of_command(str_of(f->cmd), ret) || launch_of_pod(str_of(f->pod), ret);
}

static void take_launch(struct auto_runs *a, struct auto_run *r, const struct proc_fact *f)
{
    char words[LAUNCH_MAX];
    if (r->launch || !launch_of(f, words))
        return;
    r->at = mem_str(words);
    join_launch(a, r, hash_of(f->user, words));
}

/* nth: index among runs of one person that started on one node at the same millisecond. */
static int64_t make_id(const char *node, const char *login, int64_t start_ms, int nth)
{
    AUTO_BUF b = BUF_INIT(512);
    buf_addf(&b, "auto\n%s\n%s\n%lld", node, login, (long long)start_ms);
    if (nth)
        buf_addf(&b, "\n%d", nth);
    int64_t id = (int64_t)(fnv64(b.p, b.len) & INT64_MAX);
    return id ? id : 1;
}

void auto_name(struct auto_run *r, struct job_fact *const *jobs, size_t n_jobs)
{
    const struct auto_node *n = r->node;
    int nth = 0;
    do
        r->id = make_id(n->key, r->login, r->start_ms, nth++);
    while (ANY(n->n, i, n->runs[i] != r && n->runs[i]->id == r->id) || ANY(n_jobs, i, jobs[i]->id == r->id));
}

static struct auto_run *new_run(struct auto_runs *a, struct auto_node *n, const struct auto_seen *s)
{
    const struct proc_fact *f = s->fact;
    struct auto_run *r =
        NEW(struct auto_run, .node = n, .start_ms = s->first_ms, .last_ms = s->last_ms, .slurm = f->slurm_job);
    mem_copy_str(r->login, sizeof(r->login), f->user);
    mem_copy_str(r->name, sizeof(r->name), f->pod[0] ? f->pod : f->name);
    mem_copy_str(r->pod, sizeof(r->pod), f->pod);
    mem_copy_str(r->container, sizeof(r->container), f->container);
    r->cmd = f->cmd[0] ? mem_str(f->cmd) : NULL;
    auto_name(r, NULL, 0);
    VEC_ADD(n->runs, n->n, n->cap, r);
    a->n++;
    return r;
}

int64_t auto_until(const struct auto_run *r)
{
    return r->n_active ? INT64_MAX : r->last_ms;
}

int64_t auto_shown(const struct auto_run *r)
{
    return r->label ? r->label : r->parent ? r->parent : r->id;
}

/* The start of the whole run: processes of a Slurm job may pause longer than those of a run. */
static int64_t start_of(const struct auto_run *r)
{
    int64_t start_ms = r->launch ? MIN(r->start_ms, r->launch->start_ms) : r->start_ms;
    return r->label ? MIN(start_ms, r->label_start_ms) : start_ms;
}

bool auto_find(const struct auto_runs *a, const char *node, const char *device, struct auto_found *ret)
{
    const struct auto_node *n = find_node(a, node);
    for (size_t i = 0; n && i < n->n; i++) {
        const struct auto_run *r = n->runs[i];
        if (ANY(r->n_procs, k, !r->procs[k].ended && strcmp(r->devices[r->procs[k].device], device) == 0)) {
            *ret = (struct auto_found){auto_shown(r), r->launch ? r->launch->hash : 0, start_of(r)};
            return true;
        }
    }
    return false;
}

bool auto_is_active(const struct auto_runs *a, const char *node, int64_t id)
{
    const struct auto_node *n = find_node(a, node);
    return n && ANY(n->n, i, auto_shown(n->runs[i]) == id);
}

bool auto_launched(const struct auto_runs *a, uint64_t launch)
{
    size_t at = 0;
    return lookup_next(&a->launches, launch, &at) != NULL;
}

static bool is_near(const struct auto_runs *a, const struct auto_run *r, int64_t from_ms, int64_t to_ms)
{
    int64_t gap = a->conf.gap_ms, until_ms = auto_until(r);
    return from_ms <= (until_ms > INT64_MAX - gap ? until_ms : until_ms + gap) && to_ms >= r->start_ms - gap;
}

/* A scheduler defines its jobs: its jobs are not merged because they share a GPU. */
static bool is_of(const struct auto_runs *a, const struct auto_run *r, const struct auto_seen *s, uint64_t group)
{
    return strcmp(r->login, s->fact->user) == 0 && r->slurm == s->fact->slurm_job &&
           strcmp(r->pod, s->fact->pod) == 0 && is_near(a, r, s->first_ms, s->ended ? s->last_ms : INT64_MAX) &&
           (r->slurm || r->pod[0] || ANY(r->n_groups, i, r->groups[i] == group) ||
            ANY(r->n_devices, i, strcmp(r->devices[i], s->device) == 0));
}

static struct auto_proc *find_proc(struct auto_node *n, const struct auto_seen *s, struct auto_run **ret)
{
    for (size_t i = 0; i < n->n; i++) {
        struct auto_run *r = n->runs[i];
        for (size_t k = 0; k < r->n_procs; k++) {
            struct auto_proc *p = &r->procs[k];
            if (p->pid == s->fact->pid && p->start_ms == s->fact->start_ms &&
                strcmp(r->devices[p->device], s->device) == 0) {
                *ret = r;
                return p;
            }
        }
    }
    return NULL;
}

/* Ended processes can be dropped: the run keeps their times and GPUs. */
static struct auto_proc *proc_room(struct auto_run *r)
{
    if (r->n_procs < AUTO_PROCS) {
        VEC_ROOM(r->procs, r->n_procs, r->cap_procs);
        return &r->procs[r->n_procs++];
    }
    size_t old = FIRST(r->n_procs, i, r->procs[i].ended);
    return old < r->n_procs ? &r->procs[old] : NULL;
}

static void add_group(struct auto_run *r, uint64_t group)
{
    if (r->n_groups < GROUPS_MAX && !ANY(r->n_groups, i, r->groups[i] == group))
        VEC_ADD(r->groups, r->n_groups, r->cap_groups, group);
}

struct job_change auto_leads_to(int64_t id, int64_t start_ms, int64_t into, char attrs[AUTO_JOINED_LEN])
{
    char text[JOB_ID_LEN];
    snprintf(attrs, AUTO_JOINED_LEN, "{\"joined\":\"%s\"}", job_id_text(into, text));
    return (struct job_change){.id = id, .end_ms = start_ms, .devices = "", .pids = "", .attrs = attrs};
}

void auto_publish_joined(struct auto_runs *a, int64_t id, int64_t start_ms, int64_t into)
{
    char attrs[AUTO_JOINED_LEN];
    struct job_change c = auto_leads_to(id, start_ms, into, attrs);
    a->out.change(a->out.arg, &c);
}

/* Merges from into to and removes from. */
static void join_runs(struct auto_runs *a, struct auto_run *to, struct auto_run *from)
{
    for (size_t i = 0; i < from->n_procs; i++) {
        struct auto_proc p = from->procs[i], *room = proc_room(to);
        p.device = (uint16_t)auto_device(to, str_of(from->devices[p.device]));
        if (room)
            *room = p;
        to->n_active += room && !p.ended;
    }
    for (size_t i = 0; i < from->n_devices; i++)
        auto_device(to, str_of(from->devices[i]));
    for (size_t i = 0; i < from->n_groups; i++)
        add_group(to, from->groups[i]);
    to->start_ms = MIN(to->start_ms, from->start_ms);
    to->last_ms = MAX(to->last_ms, from->last_ms);
    if (from->kept)
        auto_publish_joined(a, from->id, from->start_ms, to->id);
    auto_drop(a, from);
}

/* Which of two runs continues: the stored one, else the one that started first. */
static bool goes_on(const struct auto_run *x, const struct auto_run *than)
{
    return x->kept != than->kept ? x->kept : x->start_ms < than->start_ms;
}

static struct auto_run *run_of(struct auto_runs *a, struct auto_node *n, const struct auto_seen *s, uint64_t group)
{
    struct auto_run *to = NULL;
    for (size_t i = 0; i < n->n; i++)
        if (is_of(a, n->runs[i], s, group) && (!to || goes_on(n->runs[i], to)))
            to = n->runs[i];
    for (size_t i = n->n; to && i-- > 0;)
        if (n->runs[i] != to && is_of(a, n->runs[i], s, group))
            join_runs(a, to, n->runs[i]);
    return to;
}

/* Schedules a read of the stored jobs once the run has lasted long enough; immediately if it has when first seen, as
 * after the start of the hub. The end waits for as long as a pause may last. */
static void plan_look(struct auto_runs *a, struct auto_run *r, bool changed, int64_t now_ms)
{
    if (!r->n_active) {
        if (r->queue != AUTO_ENDS)
            auto_queue(a, r, AUTO_ENDS, MAX(r->last_ms + a->conf.gap_ms, now_ms));
    } else if (r->queue == AUTO_ENDS || (changed && !r->queue)) {
        r->early = !r->planned && r->start_ms + a->conf.after_ms <= now_ms;
        auto_queue(a, r, AUTO_BEGINS, r->early ? now_ms : now_ms + a->conf.after_ms);
    }
    r->planned = true;
}

static void end_proc(struct auto_run *r, struct auto_proc *p)
{
    r->n_active -= !p->ended;
    p->ended = true;
}

static void extend(struct auto_run *r, const struct auto_seen *s)
{
    r->start_ms = MIN(r->start_ms, s->first_ms);
    r->last_ms = MAX(r->last_ms, s->last_ms);
    if (r->launch)
        r->launch->start_ms = MIN(r->launch->start_ms, r->start_ms);
}

void auto_see(struct auto_runs *a, const struct auto_seen *s, int64_t now_ms)
{
    struct auto_run *r = NULL;
    if (!a->conf.after_ms || !s->fact->user[0])
        return;
    struct auto_node *n = node_of(a, s->node);
    struct auto_proc *p = find_proc(n, s, &r);
    if (p) {
        bool earlier = s->first_ms < p->first_ms;
        p->first_ms = MIN(p->first_ms, s->first_ms);
        p->last_ms = MAX(p->last_ms, s->last_ms);
        extend(r, s);
        if (s->ended)
            end_proc(r, p);
        if (earlier)
            r = run_of(a, n, s, group_of(s->fact)) ?: r;
        plan_look(a, r, earlier, now_ms);
        return;
    }
    uint64_t group = group_of(s->fact);
    r = run_of(a, n, s, group);
    bool fresh = !r;
    if (!r && (a->n >= AUTO_RUNS || n->n >= NODE_RUNS)) {
        if (!n->n) {
            lookup_drop(&a->by_node, lookup_hash(n->key), n);
            FREE_ALL(n->runs, n);
        }
        return;
    }
    if (!r)
        r = new_run(a, n, s);
    take_launch(a, r, s->fact);
    size_t had = r->n_devices;
    auto_device(r, str_of(s->device));
    add_group(r, group);
    extend(r, s);
    if ((p = proc_room(r))) {
        *p = (struct auto_proc){.pid = s->fact->pid,
                                .root_pid = s->fact->root_pid,
                                .ppid = s->fact->ppid,
                                .start_ms = s->fact->start_ms,
                                .first_ms = s->first_ms,
                                .last_ms = s->last_ms,
                                .device = (uint16_t)auto_device(r, str_of(s->device)),
                                .ended = s->ended};
        r->n_active += !s->ended;
    }
    plan_look(a, r, fresh || r->n_devices != had, now_ms);
}

/* ---- looking ---- */

static struct auto_query *look_for(struct auto_query *v, size_t *n, const char *node, size_t max)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(v[i].node, node) == 0)
            return &v[i];
    if (*n == max)
        return NULL;
    struct auto_query *l = &v[(*n)++];
    *l = (struct auto_query){.from_ms = INT64_MAX};
    mem_copy_str(l->node, sizeof(l->node), node);
    return l;
}

size_t auto_due(struct auto_runs *a, int64_t now_ms, struct auto_query *ret, size_t max)
{
    size_t n = 0;
    for (enum auto_queue q = AUTO_BEGINS; q <= AUTO_ENDS; q++)
        for (struct auto_run *r; (r = TAILQ_FIRST(&a->queues[q])) && r->due_ms <= now_ms;) {
            struct auto_query *l = look_for(ret, &n, r->node->key, max);
            if (!l)
                return n;
            l->from_ms = MIN(l->from_ms, r->start_ms - a->conf.gap_ms);
            l->to_ms = MAX(l->to_ms, MAX(now_ms, r->last_ms) + a->conf.gap_ms);
            auto_queue(a, r, AUTO_WAITS_NOT, 0);
            r->looking = true;
        }
    return n;
}

void auto_put_off(struct auto_runs *a, const char *node, int64_t now_ms)
{
    struct auto_node *n = find_node(a, node);
    for (size_t i = 0; n && i < n->n; i++)
        if (n->runs[i]->looking) {
            n->runs[i]->looking = false;
            auto_queue(a, n->runs[i], n->runs[i]->n_active ? AUTO_BEGINS : AUTO_ENDS, now_ms + RETRY_MS);
        }
}

void auto_settle(struct auto_runs *a, const char *node, struct job_fact *const *jobs, size_t n_jobs, int64_t now_ms)
{
    struct auto_node *n = find_node(a, node);
    for (size_t i = n ? n->n : 0; i-- > 0;) {
        struct auto_run *r = n->runs[i];
        bool last = n->n == 1;
        if (!r->looking)
            continue;
        r->looking = false;
        auto_settle_run(a, r, jobs, n_jobs, now_ms);
        if (!r->n_active && r->queue != AUTO_ENDS) {
            auto_drop(a, r);
            if (last)
                return; /* its node went with it */
        }
    }
}

void auto_rest(struct auto_runs *a, int64_t now_ms)
{
    for (struct auto_run *r; (r = TAILQ_FIRST(&a->queues[AUTO_ENDS])) && r->due_ms <= now_ms;)
        auto_drop(a, r);
    for (struct auto_run *r; (r = TAILQ_FIRST(&a->queues[AUTO_BEGINS])) && r->due_ms <= now_ms;)
        auto_queue(a, r, AUTO_WAITS_NOT, 0);
}

void auto_begin(struct auto_runs *a, int64_t now_ms)
{
    size_t at = 0;
    for (struct auto_node *n; (n = lookup_each(&a->by_node, &at));)
        for (size_t i = 0; i < n->n; i++) {
            n->runs[i]->kept = false;
            if (!n->runs[i]->queue)
                auto_queue(a, n->runs[i], AUTO_BEGINS, now_ms);
        }
}

void auto_forget(struct auto_runs *a, const char *node)
{
    struct auto_node *n = find_node(a, node);
    for (size_t i = n ? n->n : 0; i-- > 0;)
        auto_drop(a, n->runs[i]); /* the last call frees n */
}

size_t auto_count(const struct auto_runs *a)
{
    return a->n;
}

/* ---- */

struct auto_runs *auto_new(const struct auto_out *out)
{
    struct auto_runs *a = NEW(struct auto_runs, .out = *out);
    for (size_t i = 0; i < ARRAY_LEN(a->queues); i++)
        TAILQ_INIT(&a->queues[i]);
    return a;
}

void auto_set(struct auto_runs *a, const struct auto_conf *conf)
{
    a->conf = *conf;
}

void auto_free(struct auto_runs *a)
{
    size_t at = 0;
    if (!a)
        return;
    for (struct auto_node *n; (n = lookup_each(&a->by_node, &at));) {
        for (size_t i = 0; i < n->n; i++)
            free_run(n->runs[i]);
        FREE_ALL(n->runs, n);
    }
    at = 0;
    for (struct auto_launch *w; (w = lookup_each(&a->launches, &at));)
        free(w);
    lookup_fini(&a->by_node);
    lookup_fini(&a->launches);
    lookup_fini(&a->by_launch);
    free(a);
}
