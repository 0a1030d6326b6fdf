/*
 * runs.c: records of processes and jobs -> pieces (a device, from when to when, by whom) -> runs -> run-days. First all
 * pieces are gathered, then sorted by what makes them one run, then cut by day; utilisation is added node by node.
 */
#include "report/runs.h"

#include <errno.h>

#include "base/order.h"
#include "jobs/auto.h"

#define SEEN_LATELY_MS 600000              /* when a process was last seen is written down this often */
#define GAP_MS         600000              /* a tree that was off its devices for longer is another run */
#define UTIL_UNITS     (PERCENT_ONE / 100) /* a stored unit is 0.01 % */

enum run_kind { RUN_JOB, RUN_SLURM, RUN_TREE };

struct piece {
    uint8_t kind; /* enum run_kind */
    uint32_t node, device;
    int64_t key;       /* of a job or a Slurm job its id, of a tree its root pid */
    const char *login; /* the same pointer for the same name */
    int64_t uid;
    int64_t from_ms, until_ms; /* until_ms is the last moment that counts */
};

struct labelled {
    struct job_fact *j;
    uint32_t node;
    int64_t slurm; /* number of the Slurm job this is, on one of its nodes; 0: it is none */
    bool part;     /* of a Slurm job that is here, too */
};

/* A node of the records: those asked about, and others as they turn up. */
struct host {
    const char *key, *name;
    int64_t last_ms;
    const char **devices;
    size_t n_devices, cap_devices;
    size_t first_job, n_jobs; /* of the labelled ones, by node */
};

struct counts {
    int64_t sum, n, max;
    int64_t bins; /* that have a value */
};

/* What a run's day gathers before it is run-days. */
struct measured {
    struct counts of[RUNS_METRICS];
    int64_t bins; /* that there are */
};

struct making {
    const struct runs_query *ask;
    struct runs *to;
    int64_t from_ms, to_ms; /* [from, to) of the days asked for */
    struct host *hosts;
    size_t n_hosts, cap_hosts;
    const char **logins;
    size_t n_logins, cap_logins;
    struct labelled *jobs;
    size_t n_jobs, cap_jobs;
    struct piece *pieces;
    size_t n_pieces, cap_pieces, looked;
    int code;
};

/* ---- names ---- */

static uint32_t host_of(struct making *k, const char *key)
{
    for (size_t i = k->n_hosts; i-- > 0;)
        if (strcmp(k->hosts[i].key, key) == 0)
            return (uint32_t)i;
    const char *own = arena_str(&k->to->arena, key);
    VEC_ADD(k->hosts, k->n_hosts, k->cap_hosts, (struct host){.key = own, .name = own});
    return (uint32_t)k->n_hosts - 1;
}

static uint32_t device_of(struct making *k, uint32_t host, struct str uuid)
{
    struct host *h = &k->hosts[host];
    size_t at = FIRST(h->n_devices, i, str_eq(uuid, h->devices[i]));

    if (at == h->n_devices)
        VEC_ADD(h->devices, h->n_devices, h->cap_devices, arena_strn(&k->to->arena, uuid.p, uuid.len));
    return (uint32_t)at;
}

static const char *login_of(struct making *k, const char *login)
{
    size_t at = FIRST(k->n_logins, i, strcmp(k->logins[i], login) == 0);

    if (at == k->n_logins)
        VEC_ADD(k->logins, k->n_logins, k->cap_logins, arena_str(&k->to->arena, login));
    return k->logins[at];
}

/* ---- pieces ---- */

static void piece_add(struct making *k, const struct piece *p)
{
    if (k->code < 0 || p->from_ms >= k->to_ms || p->until_ms < k->from_ms || p->until_ms < p->from_ms)
        return;
    if (k->n_pieces == RUNS_PIECES_MAX) {
        k->code = -E2BIG;
        return;
    }
    VEC_ADD(k->pieces, k->n_pieces, k->cap_pieces, *p);
}

/* The hub labels each node of a Slurm job, with the job's number first in its attributes. */
static int64_t slurm_number(const struct job_fact *j)
{
    struct str rest = str_of(j->attrs), digits;
    int64_t v = 0;

    if (strcmp(j->kind, "slurm") != 0 || !str_skip(&rest, "{\"job\":") || !str_cut(&rest, ',', &digits))
        return 0;
    while (digits.len && digits.p[digits.len - 1] == '}')
        digits.len--;
    return str_int(digits, &v) && v > 0 ? v : 0;
}

static void take_job(void *arg, const struct job_fact *j)
{
    struct making *k = arg;

    /* a part of a job that is there itself, or on no node; processes tell of what nobody labelled, or W&B did */
    if (j->parent || !j->node[0] || strcmp(j->kind, AUTO_KIND) == 0 || strcmp(j->owner, JOB_OWNER_WANDB) == 0)
        return;
    VEC_ADD(k->jobs, k->n_jobs, k->cap_jobs,
            (struct labelled){.j = job_copy(j), .node = host_of(k, j->node), .slurm = slurm_number(j)});
}

COMPARE(by_node, struct labelled, ORDER(x->node, y->node) ?: job_order(&x->j, &y->j))

static int64_t job_until(const struct making *k, const struct labelled *l)
{
    return l->j->end_ms ? l->j->end_ms : MIN(k->ask->now_ms, k->hosts[l->node].last_ms);
}

static bool pid_listed(const char *list, int32_t pid)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", (int)pid);
    return str_listed(list, str_of(text));
}

/* Is a within b: the same person's, on no other devices, at no other time? */
static bool within(const struct making *k, const struct labelled *a, const struct labelled *b)
{
    struct str rest = str_of(a->j->devices), uuid;

    if (strcmp(a->j->person, b->j->person) != 0 || a->j->start_ms < b->j->start_ms - GAP_MS ||
        job_until(k, a) > job_until(k, b) + GAP_MS)
        return false;
    while (str_cut(&rest, ',', &uuid))
        if (str_trim(uuid).len && !str_listed(b->j->devices, str_trim(uuid)))
            return false;
    return true;
}

/* What somebody labels inside a Slurm job is on that job's devices: it is no run beside it. */
static void mark_parts(struct making *k, const struct host *h)
{
    bool any = ANY(h->n_jobs, i, k->jobs[h->first_job + i].slurm != 0);

    for (size_t i = h->first_job; i < h->first_job + h->n_jobs; i++)
        for (size_t s = h->first_job; any && !k->jobs[i].slurm && !k->jobs[i].part && s < h->first_job + h->n_jobs; s++)
            k->jobs[i].part = k->jobs[s].slurm && within(k, &k->jobs[i], &k->jobs[s]);
}

/* The devices a job was labelled with are its own as long as it lasted. */
static void job_pieces(struct making *k, const struct labelled *l)
{
    struct str rest = str_of(l->j->devices), uuid;

    while (str_cut(&rest, ',', &uuid)) {
        uuid = str_trim(uuid);
        if (!uuid.len)
            continue;
        struct piece p = {.kind = l->slurm ? RUN_SLURM : RUN_JOB,
                          .node = l->node,
                          .device = device_of(k, l->node, uuid),
                          .key = l->slurm ? l->slurm : l->j->id,
                          .login = login_of(k, l->j->person),
                          .uid = -1,
                          .from_ms = l->j->start_ms,
                          .until_ms = job_until(k, l)};
        piece_add(k, &p);
    }
}

/* The job a process is part of; NULL: none. */
static const struct labelled *claimed(const struct making *k, uint32_t node, const struct proc_span *p, int64_t last_ms)
{
    const struct host *h = &k->hosts[node];

    for (size_t i = h->first_job; i < h->first_job + h->n_jobs; i++) {
        const struct job_fact *j = k->jobs[i].j;
        if (k->jobs[i].part || p->first_ms > job_until(k, &k->jobs[i]) || last_ms < j->start_ms)
            continue;
        if (pid_listed(j->pids, p->fact.pid) || pid_listed(j->pids, p->fact.root_pid))
            return &k->jobs[i];
        if (str_listed(j->devices, str_of(p->device)) && (!j->person[0] || strcmp(j->person, p->fact.user) == 0))
            return &k->jobs[i];
    }
    return NULL;
}

static void take_process(void *arg, const struct proc_span *p)
{
    struct making *k = arg;
    bool still = !p->ended && p->last_ms >= k->ask->now_ms - SEEN_LATELY_MS;
    int64_t last_ms = still ? MAX(k->ask->now_ms, p->last_ms) : p->last_ms;

    if (k->code == 0 && ++k->looked % 1024 == 0 && past_stopped(k->ask->past))
        k->code = -ECANCELED;
    if (k->code < 0 || p->first_ms >= k->to_ms || last_ms < k->from_ms)
        return;
    if (proc_only_draws(p->kind, p->mem_max, k->ask->graphics_mem))
        return;
    uint32_t node = host_of(k, p->node);
    if (people_ignored(k->ask->people, k->hosts[node].name, p->fact.user, p->fact.uid))
        return;
    const struct labelled *l = claimed(k, node, p, last_ms);
    bool named = l && l->j->person[0];
    int64_t slurm = l ? l->slurm : p->fact.slurm_job;
    struct piece piece = {.kind = slurm > 0 ? RUN_SLURM
                                  : l       ? RUN_JOB
                                            : RUN_TREE,
                          .node = node,
                          .device = device_of(k, node, str_of(p->device)),
                          .key = slurm > 0 ? slurm
                                 : l       ? l->j->id
                                           : p->fact.root_pid,
                          .login = login_of(k, named ? l->j->person : p->fact.user),
                          .uid = named ? -1 : p->fact.uid,
                          .from_ms = p->first_ms,
                          .until_ms = last_ms};
    piece_add(k, &piece);
}

static int gather(struct making *k, struct err *err)
{
    const struct past_source *past = k->ask->past;
    struct job_query jobs = {.from_ms = k->from_ms,
                             .to_ms = k->to_ms,
                             .limit = RUNS_JOBS_MAX,
                             .stop = past->stop,
                             .stop_arg = past->stop_arg};
    int r = past_each(past, EACH_JOB(&jobs, take_job, k), err);

    if (r < 0)
        return r;
    if (k->n_jobs >= RUNS_JOBS_MAX)
        return err_set(err, -E2BIG, "too many jobs in that period: request a shorter one");
    SORT(k->jobs, k->n_jobs, by_node);
    for (size_t i = 0; i < k->n_jobs; i++) {
        struct host *h = &k->hosts[k->jobs[i].node];
        if (!h->n_jobs++)
            h->first_job = i;
    }
    for (size_t i = 0; i < k->n_hosts; i++)
        mark_parts(k, &k->hosts[i]);
    for (size_t i = 0; i < k->n_jobs; i++)
        if (!k->jobs[i].part)
            job_pieces(k, &k->jobs[i]);
    r = past_each(past, EACH_PROC(take_process, k, .from_ms = k->from_ms - SEEN_LATELY_MS), err);
    if (r >= 0 && k->code < 0)
        r = err_set(err, k->code, "too many processes in that period: request a shorter one");
    return MIN(r, 0);
}

/* ---- runs ---- */

/* One run: pieces of one key, each device's joined, by device and time. */
struct run {
    struct piece *v;
    size_t n;
    int64_t from_ms, until_ms;
    struct measured *days;
    int32_t first_day, n_days;
    const char *id;
};

COMPARE(by_run, struct piece,
        ORDER(x->kind, y->kind) ?: (x->kind == RUN_TREE ? ORDER(x->node, y->node) : 0) ?: ORDER(x->key, y->key)
            ?: (x->kind == RUN_TREE ? strcmp(x->login, y->login) : 0) ?: ORDER(x->from_ms, y->from_ms))

static bool same_run(const struct piece *a, const struct piece *b)
{
    return a->kind == b->kind && a->key == b->key &&
           (a->kind != RUN_TREE || (a->node == b->node && a->login == b->login));
}

COMPARE(by_device, struct piece,
        ORDER(x->node, y->node) ?: ORDER(x->device, y->device) ?: ORDER(x->from_ms, y->from_ms))

/* A device's pieces that touch become one; how many there are then. */
static size_t join(struct piece *v, size_t n)
{
    size_t to = 0;

    for (size_t i = 1; i < n; i++) {
        struct piece *last = &v[to];
        if (v[i].node == last->node && v[i].device == last->device && v[i].from_ms <= last->until_ms + 1)
            last->until_ms = MAX(last->until_ms, v[i].until_ms);
        else
            v[++to] = v[i];
    }
    return to + 1;
}

/* A change of how many devices a run is on. */
struct turn {
    int64_t at_ms;
    int by;
    uint64_t bit;
};

COMPARE(by_time, struct turn, ORDER(x->at_ms, y->at_ms) ?: x->by - y->by)

static const char *company_of(const struct making *k, const struct run *run, int64_t at_ms)
{
    const struct piece *p = &run->v[0];
    const struct people *c = k->ask->people;
    const char *host = k->hosts[p->node].name, *groups[16];
    const char *of_node = people_company_of_node(c, host, at_ms);
    const char *person = people_person(c, host, p->login, p->uid);
    size_t n = people_groups(c, GROUP_COMPANY, person, at_ms, groups, ARRAY_LEN(groups));

    if (of_node && ANY(MIN(n, ARRAY_LEN(groups)), i, strcmp(groups[i], of_node) == 0))
        return of_node; /* of several it is the one whose node this is */
    return n ? groups[0] : of_node;
}

static const char *project_of(const struct making *k, const struct run *run, int64_t at_ms)
{
    const struct piece *p = &run->v[0];
    const char *groups[1];
    const char *person = people_person(k->ask->people, k->hosts[p->node].name, p->login, p->uid);
    return people_groups(k->ask->people, GROUP_PROJECT, person, at_ms, groups, 1) ? groups[0] : NULL;
}

static const char *id_of(struct making *k, const struct run *run)
{
    const struct piece *p = &run->v[0];
    char text[NODE_KEY_MAX + 64], id[JOB_ID_LEN];

    if (p->kind == RUN_JOB)
        snprintf(text, sizeof(text), "job:%s", job_id_text(p->key, id));
    else if (p->kind == RUN_SLURM)
        snprintf(text, sizeof(text), "slurm:%lld", (long long)p->key);
    else
        snprintf(text, sizeof(text), "%s/%lld@%lld", k->hosts[p->node].key, (long long)p->key,
                 (long long)(run->from_ms / 1000));
    return arena_str(&k->to->arena, text);
}

/* The run-day of this many devices on this day, among those of the run that begin at first. */
static struct run_day *run_day_of(struct making *k, size_t first, const struct run *run, int32_t day, int32_t gpus)
{
    struct runs *to = k->to;

    for (size_t i = to->n; i-- > first && to->v[i].day == day;)
        if (to->v[i].gpus == gpus)
            return &to->v[i];
    int64_t at_ms = MAX(run->from_ms, zone_date_ms(k->ask->zone, day));
    VEC_ROOM(to->v, to->n, to->cap);
    to->v[to->n] = (struct run_day){.day = day,
                                    .gpus = gpus,
                                    .company = company_of(k, run, at_ms),
                                    .project = project_of(k, run, at_ms),
                                    .run_id = run->id,
                                    .host = k->hosts[run->v[0].node].name,
                                    .from_ms = run->from_ms,
                                    .until_ms = run->until_ms};
    return &to->v[to->n++];
}

static int64_t per_cent(int64_t sum, int64_t n)
{
    __int128 top = (__int128)sum * UTIL_UNITS, below = n;
    return (int64_t)((top * 2 + below) / (below * 2));
}

static void tell_measured(struct run_day *r, const struct measured *t)
{
    const struct counts *util = &t->of[RUNS_UTIL], *mem = &t->of[RUNS_MEM];

    if (util->n) {
        r->have |= RUN_UTIL;
        r->util_avg = per_cent(util->sum, util->n);
        r->util_max = util->max * UTIL_UNITS;
    }
    if (mem->n) {
        r->have |= RUN_MEM;
        r->mem_avg = per_cent(mem->sum, mem->n);
        r->mem_max = mem->max * UTIL_UNITS;
    }
    for (size_t w = 0; w < WORK_KINDS; w++) {
        const struct counts *c = &t->of[RUNS_WORK + w];
        if (c->n)
            r->work[w] = (struct run_work){per_cent(c->sum, c->n), (int64_t)r->minutes * r->gpus * c->bins / t->bins};
    }
}

/* A stretch with the same devices: its minutes, day by day. */
static void stretch(struct making *k, size_t first, const struct run *run, int64_t a, int64_t b, int gpus,
                    uint64_t bits)
{
    a = MAX(a, k->from_ms);
    b = MIN(b, k->to_ms);
    while (a < b) {
        int32_t day = zone_date(k->ask->zone, a);
        int64_t next_ms = MIN(b, zone_date_ms(k->ask->zone, day + 1));
        int32_t minutes = run_minutes(run->from_ms, next_ms - 1, a, next_ms);
        if (minutes) {
            struct run_day *r = run_day_of(k, first, run, day, gpus);
            r->minutes += minutes;
            r->devices |= bits;
        }
        a = next_ms;
    }
}

static void run_days(struct making *k, struct run *run)
{
    AUTO_FREE struct turn *turns = mem_zero(run->n * 2, sizeof(*turns));
    size_t first = k->to->n;
    int on = 0;
    int held[64] = {0};
    uint64_t bits = 0;

    run->id = id_of(k, run);
    for (size_t i = 0; i < run->n; i++) {
        unsigned bit = run->v[i].device % 64;
        turns[i * 2] = (struct turn){run->v[i].from_ms, 1, bit};
        turns[i * 2 + 1] = (struct turn){run->v[i].until_ms + 1, -1, bit};
    }
    qsort(turns, run->n * 2, sizeof(*turns), by_time);
    for (size_t i = 0; i < run->n * 2; i++) {
        if (on > 0 && turns[i].at_ms > turns[i - 1].at_ms)
            stretch(k, first, run, turns[i - 1].at_ms, turns[i].at_ms, on, bits);
        on += turns[i].by;
        held[turns[i].bit] += turns[i].by;
        bits = held[turns[i].bit] ? bits | 1ull << turns[i].bit : bits & ~(1ull << turns[i].bit);
    }
    for (size_t i = first; i < k->to->n; i++) {
        int32_t at = k->to->v[i].day - run->first_day;
        if (run->days && at >= 0 && at < run->n_days)
            tell_measured(&k->to->v[i], &run->days[at]);
    }
}

static void tell_spans(struct making *k, const struct run *run)
{
    struct runs *to = k->to;

    for (size_t i = 0; i < run->n; i++) {
        const struct piece *p = &run->v[i];
        VEC_ADD(to->spans, to->n_spans, to->cap_spans,
                (struct run_span){p->node, p->device, p->login, p->uid, p->from_ms, p->until_ms});
    }
}

/* ---- utilisation ---- */

static const char *const metric_names[RUNS_METRICS] = {[RUNS_UTIL] = "util",
                                                       [RUNS_MEM] = "mem_util",
                                                       [RUNS_WORK + WORK_EFFECTIVE] = "work",
                                                       [RUNS_WORK + WORK_TENSOR] = "tensor_active"};

static void count_bins(struct counts *c, const struct bin *b, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (b[i].count) {
            c->max = c->n ? MAX(c->max, b[i].max) : b[i].max;
            c->sum += b[i].sum;
            c->n += b[i].count;
            c->bins++;
        }
}

/* What piece p of run saw of h, whose bins begin at h->from_ms. */
static void tally_piece(const struct making *k, struct run *run, const struct piece *p, const struct history *h)
{
    int64_t end_ms = h->from_ms + (int64_t)h->n * h->step_ms;
    int64_t a = MAX(MAX(p->from_ms, h->from_ms), k->from_ms), b = MIN(MIN(p->until_ms + 1, end_ms), k->to_ms);

    while (a < b) {
        int32_t day = zone_date(k->ask->zone, a), at = day - run->first_day;
        int64_t next_ms = MIN(b, zone_date_ms(k->ask->zone, day + 1));
        size_t from = (size_t)((a - h->from_ms) / h->step_ms);
        size_t to = (size_t)((next_ms - h->from_ms + h->step_ms - 1) / h->step_ms);
        if (at >= 0 && at < run->n_days) {
            const struct bin *bins = h->v + (size_t)p->device * ARRAY_LEN(metric_names) * h->n;
            for (size_t m = 0; m < RUNS_METRICS; m++)
                count_bins(&run->days[at].of[m], bins + m * h->n, from, MIN(to, h->n));
            run->days[at].bins += (int64_t)(MIN(to, h->n) - MIN(from, h->n));
        }
        a = next_ms;
    }
}

/* Which run a piece is of, for going through them node by node. */
struct of {
    struct run *run;
    const struct piece *p;
};

COMPARE(by_host, struct of, ORDER(x->p->node, y->p->node) ?: ORDER(x->p->from_ms, y->p->from_ms))

int runs_history(const struct runs_query *ask, const char *key, const char *const *devices, size_t n, int64_t from_ms,
                 int64_t to_ms, struct history *ret, struct err *err)
{
    struct bins_query own = {.node = key,
                             .devices = devices,
                             .n_devices = n,
                             .metrics = metric_names,
                             .n_metrics = ARRAY_LEN(metric_names),
                             .from_ms = from_ms,
                             .to_ms = to_ms,
                             .step_ms = MINUTE_MS,
                             .fields = BIN_SUM | BIN_MAX,
                             .tier = TIER_MINUTE};
    int r = past_history(ask->past, own, ret, err);

    if (r < 0 || ANY(ret->n_series * ret->n, i, ret->v[i].count))
        return r;
    history_fini(ret);
    own.step_ms = HOUR_MS;
    own.tier = TIER_HOUR;
    return past_history(ask->past, own, ret, err);
}

static int tally_node(struct making *k, struct of *v, size_t n, struct err *err)
{
    const struct host *h = &k->hosts[v[0].p->node];
    const struct zone *z = k->ask->zone;

    for (int32_t day = k->ask->from; day <= k->ask->to; day += RUNS_CHUNK_DAYS) {
        int64_t from_ms = zone_date_ms(z, day), to_ms = zone_date_ms(z, MIN(day + RUNS_CHUNK_DAYS, k->ask->to + 1));
        struct history got = {0};
        if (!ANY(n, i, v[i].p->from_ms < to_ms && v[i].p->until_ms >= from_ms))
            continue;
        int r = runs_history(k->ask, h->key, h->devices, h->n_devices, from_ms, to_ms, &got, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++)
            tally_piece(k, v[i].run, v[i].p, &got);
        history_fini(&got);
    }
    return 0;
}

static int tally(struct making *k, struct run *runs, size_t n_runs, struct err *err)
{
    AUTO_FREE struct of *v = mem_zero(k->n_pieces + 1, sizeof(*v));
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; i < n_runs; i++) {
        struct run *run = &runs[i];
        run->first_day = zone_date(k->ask->zone, MAX(run->from_ms, k->from_ms));
        run->n_days = zone_date(k->ask->zone, MIN(run->until_ms, k->to_ms - 1)) - run->first_day + 1;
        run->days = mem_zero((size_t)MAX(run->n_days, 0) + 1, sizeof(*run->days));
        for (size_t p = 0; p < run->n; p++)
            v[n++] = (struct of){run, &run->v[p]};
    }
    SORT(v, n, by_host);
    for (size_t i = 0, next; i < n && r >= 0; i = next) {
        next = i + FIRST(n - i, e, v[i + e].p->node != v[i].p->node);
        if (past_stopped(k->ask->past))
            return err_set(err, -ECANCELED, "it took too long");
        r = tally_node(k, v + i, next - i, err);
    }
    return r;
}

/* ---- the whole ---- */

static bool wanted(const struct making *k, const struct run *run)
{
    const struct zone *z = k->ask->zone;

    if (!k->ask->company)
        return true;
    int32_t last = zone_date(z, MIN(run->until_ms, k->to_ms - 1));
    for (int32_t day = zone_date(z, MAX(run->from_ms, k->from_ms)); day <= last; day++) {
        const char *company = company_of(k, run, MAX(run->from_ms, zone_date_ms(z, day)));
        if (company && strcmp(company, k->ask->company) == 0)
            return true;
    }
    return false;
}

static int make(struct making *k, struct err *err)
{
    size_t n_runs = 0, cap_runs = 0;
    struct run *runs = NULL;
    int r = gather(k, err);

    if (r < 0 || !k->n_pieces)
        return r;
    qsort(k->pieces, k->n_pieces, sizeof(*k->pieces), by_run);
    for (size_t i = 0, next; i < k->n_pieces; i = next) {
        struct run run = {.v = k->pieces + i, .from_ms = k->pieces[i].from_ms, .until_ms = k->pieces[i].until_ms};
        for (next = i + 1; next < k->n_pieces && same_run(&k->pieces[i], &k->pieces[next]); next++) {
            if (run.v->kind == RUN_TREE && k->pieces[next].from_ms > run.until_ms + GAP_MS)
                break;
            run.until_ms = MAX(run.until_ms, k->pieces[next].until_ms);
        }
        qsort(run.v, next - i, sizeof(*run.v), by_device);
        run.n = join(run.v, next - i);
        if (!wanted(k, &run))
            continue;
        VEC_ADD(runs, n_runs, cap_runs, run);
    }
    if (k->ask->util)
        r = tally(k, runs, n_runs, err);
    for (size_t i = 0; i < n_runs; i++) {
        if (r >= 0)
            run_days(k, &runs[i]);
        if (r >= 0 && k->ask->spans)
            tell_spans(k, &runs[i]);
        free(runs[i].days);
    }
    free(runs);
    return MIN(r, 0);
}

int runs_of(const struct runs_query *ask, struct runs *ret, struct err *err)
{
    struct making k = {.ask = ask, .to = ret};

    *ret = (struct runs){0};
    if (ask->to < ask->from)
        return 0;
    if ((int64_t)ask->to - ask->from >= RUNS_DAYS_MAX)
        return err_set(err, -E2BIG, "that is more than %d days", RUNS_DAYS_MAX);
    k.from_ms = zone_date_ms(ask->zone, ask->from);
    k.to_ms = zone_date_ms(ask->zone, ask->to + 1);
    for (size_t i = 0; i < ask->n_nodes; i++)
        VEC_ADD(k.hosts, k.n_hosts, k.cap_hosts,
                (struct host){.key = ask->nodes[i].key, .name = ask->nodes[i].name, .last_ms = ask->nodes[i].last_ms});
    int r = make(&k, err);
    if (ask->spans)
        ret->hosts = mem_zero(k.n_hosts + 1, sizeof(*ret->hosts));
    for (size_t i = 0; i < k.n_hosts; i++)
        if (ask->spans)
            ret->hosts[ret->n_hosts++] =
                (struct runs_host){k.hosts[i].key, k.hosts[i].name, k.hosts[i].n_devices, k.hosts[i].devices};
        else
            free(k.hosts[i].devices);
    for (size_t i = 0; i < k.n_jobs; i++)
        free(k.jobs[i].j);
    FREE_ALL(k.hosts, k.logins, k.jobs, k.pieces);
    return r;
}

void runs_fini(struct runs *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n_hosts; i++)
        free(r->hosts[i].devices);
    FREE_ALL(r->hosts, r->spans, r->v, r->known.days.v, r->known.stale.v);
    arena_fini(&r->arena);
    *r = (struct runs){0};
}
