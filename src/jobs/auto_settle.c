/* auto_settle.c: decides on a run when the jobs of its node are known: what to store, and how. */
#include "base/json.h"
#include "base/order.h"
#include "jobs/auto_run.h"

#define BEGAN_SLACK_MS 5000 /* clocks of a label and of a process differ by so much */
#define JOINED         "{\"joined\":\""

/* ---- labelled jobs ---- */

static bool pid_listed(const char *list, int32_t pid)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", (int)pid);
    return pid > 0 && str_listed(list, str_of(text));
}

static bool is_slurm(const struct job_fact *j, int64_t number)
{
    char text[40];
    snprintf(text, sizeof(text), "{\"job\":%lld", (long long)number);
    size_t len = strlen(text);
    return number > 0 && strcmp(j->kind, "slurm") == 0 && strncmp(j->attrs, text, len) == 0 &&
           (j->attrs[len] == ',' || j->attrs[len] == '}');
}

/* A label without GPUs yet (`muster record` at first) covers processes that its person started since. */
static bool began_within(const struct job_fact *j, const struct auto_run *r, const struct auto_proc *p)
{
    return !j->devices[0] && !j->end_ms && strcmp(j->person, r->login) == 0 &&
           p->start_ms >= j->start_ms - BEGAN_SLACK_MS;
}

/* A run of W&B is matched with runs where it is made a job (wandb/match.h). */
static bool covers(const struct job_fact *j, const struct auto_run *r, const struct auto_proc *p)
{
    int64_t until_ms = p->ended ? p->last_ms : INT64_MAX;
    if (strcmp(j->kind, AUTO_KIND) == 0 || strcmp(j->owner, JOB_OWNER_WANDB) == 0 || j->start_ms > until_ms ||
        (j->end_ms && j->end_ms < p->first_ms))
        return false;
    bool listed = str_listed(j->devices, str_of(r->devices[p->device]));
    return is_slurm(j, r->slurm) || pid_listed(j->pids, p->pid) || pid_listed(j->pids, p->root_pid) ||
           pid_listed(j->pids, p->ppid) || (listed && (!j->person[0] || strcmp(j->person, r->login) == 0)) ||
           began_within(j, r, p);
}

/* How many of its processes no job covers; by: one that does. */
static size_t cover(struct auto_run *r, struct job_fact *const *jobs, size_t n, const struct job_fact **by)
{
    size_t left = 0;
    for (size_t i = 0; i < r->n_procs; i++) {
        size_t at = FIRST(n, k, covers(jobs[k], r, &r->procs[i]));
        r->procs[i].covered = at < n;
        *by = at < n ? jobs[at] : *by;
        left += at == n;
    }
    return left;
}

/* ---- already stored jobs ---- */

int64_t auto_joined(const struct job_fact *j)
{
    uint64_t id;
    if (strcmp(j->kind, AUTO_KIND) != 0 || strncmp(j->attrs, JOINED, strlen(JOINED)) != 0)
        return 0;
    struct str hex = str_n(j->attrs + strlen(JOINED), strnlen(j->attrs + strlen(JOINED), JOB_ID_LEN - 1));
    return str_hex(hex, &id) && id <= INT64_MAX ? (int64_t)id : 0;
}

static void put_attrs(const struct auto_run *r, bool command, struct buf *out)
{
    struct json j = json_on(out);
    json_obj(&j, NULL);
    if (r->slurm)
        json_int(&j, "slurm_job", r->slurm);
    json_some(&j, "pod", r->pod);
    json_some(&j, "container", r->container);
    if (!r->slurm)
        json_some(&j, "launch", r->at);
    if (command)
        json_some(&j, "command", r->cmd);
    json_end_obj(&j);
}

/* Both belong to the same scheduler's job, or both to none. */
static bool is_alike(const struct job_fact *j, const struct auto_run *r)
{
    char slurm[40];
    AUTO_BUF pod = BUF_INIT(512);
    snprintf(slurm, sizeof(slurm), "\"slurm_job\":%lld", (long long)r->slurm);
    buf_adds(&pod, "\"pod\":");
    json_escape(&pod, str_of(r->pod));
    return (r->slurm ? strstr(j->attrs, slurm) != NULL : !strstr(j->attrs, "\"slurm_job\":")) &&
           (r->pod[0] ? strstr(j->attrs, pod.p) != NULL : !strstr(j->attrs, "\"pod\":"));
}

static bool is_stored_as(const struct auto_runs *a, const struct auto_run *r, const struct job_fact *j)
{
    if (strcmp(j->kind, AUTO_KIND) != 0 || auto_joined(j) || strcmp(j->person, r->login) != 0)
        return false;
    if (j->id == r->id && r->kept)
        return true;
    const struct auto_node *n = r->node;
    if (!is_alike(j, r) || ANY(n->n, i, n->runs[i] != r && n->runs[i]->id == j->id))
        return false;
    bool near = j->end_ms && j->start_ms <= (r->n_active ? INT64_MAX : r->last_ms + a->conf.gap_ms) &&
                j->end_ms >= r->start_ms - a->conf.gap_ms;
    return ANY(r->n_procs, i, pid_listed(j->pids, r->procs[i].pid)) ||
           (near && ANY(r->n_devices, i, str_listed(j->devices, str_of(r->devices[i]))));
}

static void take_record(struct auto_run *r, const struct job_fact *j)
{
    struct str rest = str_of(j->devices), one;
    size_t stored = 0;
    for (; str_cut(&rest, ',', &one); stored++)
        auto_device(r, one);
    r->id = j->id;
    r->parent = j->parent ? j->parent : r->parent;
    r->kept = true;
    r->put_start_ms = j->start_ms;
    r->put_end_ms = j->end_ms;
    r->put_parent = j->parent;
    r->put_devices = stored;
    r->start_ms = MIN(r->start_ms, j->start_ms);
}

/* Of several stored jobs that match this run, the one that started first continues. */
static void find_again(struct auto_runs *a, struct auto_run *r, struct job_fact *const *jobs, size_t n)
{
    const struct job_fact *first = NULL;
    AUTO_FREE bool *its = mem_zero(n + 1, sizeof(*its));
    for (size_t i = 0; i < n; i++) {
        its[i] = is_stored_as(a, r, jobs[i]);
        if (its[i] && (!first || jobs[i]->start_ms < first->start_ms))
            first = jobs[i];
    }
    for (size_t i = 0; i < n; i++)
        if (its[i] && jobs[i] != first) {
            struct str rest = str_of(jobs[i]->devices), one;
            while (str_cut(&rest, ',', &one))
                auto_device(r, one);
            r->last_ms = MAX(r->last_ms, jobs[i]->end_ms);
            auto_publish_joined(a, jobs[i]->id, jobs[i]->start_ms, first->id);
        }
    if (first)
        take_record(r, first);
    else if (!r->kept)
        auto_name(r, jobs, n);
}

/* ---- jobs to store ---- */

struct run_now {
    int64_t start_ms, last_ms, end_ms;
    size_t n_devices;
    bool active;
    struct buf devices, pids, attrs;
};

static void add_listed(struct buf *b, const char *text)
{
    if (!str_listed(b->p ? b->p : "", str_of(text)))
        buf_addf(b, "%s%s", b->len ? "," : "", text);
}

static struct run_now now_of(const struct auto_runs *a, const struct auto_run *r, int64_t now_ms)
{
    struct run_now w = {.start_ms = INT64_MAX,
                        .devices = BUF_INIT((size_t)JOB_DEVICES * UUID_MAX),
                        .pids = BUF_INIT((size_t)JOB_PIDS * 12),
                        .attrs = BUF_INIT(JOB_ATTRS_MAX)};
    bool part = ANY(r->n_procs, i, r->procs[i].covered), *has = mem_zero(r->n_devices + 1, sizeof(*has));
    char pid[16];
    for (size_t i = 0; i < r->n_procs; i++) {
        const struct auto_proc *p = &r->procs[i];
        if (p->covered)
            continue;
        w.start_ms = MIN(w.start_ms, p->first_ms);
        w.last_ms = MAX(w.last_ms, p->last_ms);
        w.active |= !p->ended;
        has[p->device] = true;
        snprintf(pid, sizeof(pid), "%d", (int)p->pid);
        add_listed(&w.pids, pid);
    }
    for (size_t i = 0; i < r->n_devices; i++)
        if (!part || has[i]) {
            add_listed(&w.devices, r->devices[i]);
            w.n_devices++;
        }
    free(has);
    if (!part || r->kept) {
        w.start_ms = MIN(w.start_ms, part ? r->put_start_ms : r->start_ms);
        w.last_ms = MAX(w.last_ms, part ? 0 : r->last_ms);
    }
    w.end_ms = !w.active && now_ms >= w.last_ms + a->conf.gap_ms ? MAX(w.last_ms, w.start_ms) : 0;
    put_attrs(r, true, &w.attrs);
    if (w.attrs.err) { /* a command line that needs six bytes per letter */
        buf_fini(&w.attrs);
        w.attrs = BUF_INIT(JOB_ATTRS_MAX);
        put_attrs(r, false, &w.attrs);
    }
    return w;
}

/* The first run of the same launch on another node; it is stored, or the launch has no leader. */
static int64_t parent_of(struct auto_runs *a, struct auto_run *r)
{
    size_t at = 0;
    if (!r->launch || r->parent || r->leads)
        return r->parent;
    for (struct auto_run *first; (first = lookup_next(&a->by_launch, r->launch->hash, &at));)
        if (first->node != r->node && first->kept)
            return first->parent ? first->parent : first->id;
    lookup_add(&a->by_launch, r->launch->hash, r);
    r->leads = true;
    return 0;
}

static void begin_run(struct auto_runs *a, struct auto_run *r, const struct run_now *w)
{
    a->out.begin(a->out.arg, &(struct job_fact){.id = r->id,
                                                .parent = r->parent,
                                                .start_ms = w->start_ms,
                                                .end_ms = w->end_ms,
                                                .name = r->name[0] ? r->name : "run",
                                                .kind = AUTO_KIND,
                                                .person = r->login,
                                                .owner = AUTO_KIND,
                                                .node = r->node->key,
                                                .devices = w->devices.p,
                                                .pids = w->pids.p,
                                                .attrs = w->attrs.p});
}

static void put_run(struct auto_runs *a, struct auto_run *r, const struct run_now *w)
{
    bool same = r->put_start_ms == w->start_ms && r->put_end_ms == w->end_ms && r->put_devices == w->n_devices &&
                r->put_parent == r->parent;
    if (!r->kept)
        begin_run(a, r, w);
    else if (!same)
        a->out.change(a->out.arg, &(struct job_change){.id = r->id,
                                                       .start_ms = w->start_ms,
                                                       .parent = r->parent,
                                                       .end_ms = w->end_ms,
                                                       .devices = w->devices.p,
                                                       .pids = w->pids.p});
    r->kept = true;
    r->put_start_ms = w->start_ms;
    r->put_end_ms = w->end_ms;
    r->put_devices = w->n_devices;
    r->put_parent = r->parent;
}

void auto_settle_run(struct auto_runs *a, struct auto_run *r, struct job_fact *const *jobs, size_t n, int64_t now_ms)
{
    const struct job_fact *by = NULL;
    size_t left = cover(r, jobs, n, &by);
    find_again(a, r, jobs, n);
    if (r->early && r->n_active && !r->queue)
        auto_queue(a, r, AUTO_BEGINS, now_ms + a->conf.after_ms);
    r->early = false;
    r->label = !left && by ? by->id : 0;
    r->label_start_ms = r->label ? by->start_ms : 0;
    if (!left && by) {
        if (r->kept)
            auto_publish_joined(a, r->id, r->put_start_ms, by->id);
        r->kept = false;
        return;
    }
    struct run_now w = now_of(a, r, now_ms);
    bool lasts = (w.end_ms ? w.end_ms : now_ms) - w.start_ms >= a->conf.after_ms;
    if (r->kept || lasts) {
        r->parent = parent_of(a, r);
        put_run(a, r, &w);
    } else if (r->n_active && !r->queue) {
        auto_queue(a, r, AUTO_BEGINS, now_ms + a->conf.after_ms);
    }
    buf_fini(&w.devices);
    buf_fini(&w.pids);
    buf_fini(&w.attrs);
}
