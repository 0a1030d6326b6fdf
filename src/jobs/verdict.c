/* verdict.c: reads the samples of a run's GPUs, a few hours at a time, and hands them to verdict/run.c. */
#include "jobs/verdict.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/lookup.h"
#include "base/mem.h"
#include "base/order.h"
#include "jobs/apart_first.h"
#include "jobs/auto.h"
#include "model/work.h"
#include "verdict/straggling.h"

#define FINE_MS    5000     /* activity is read so often */
#define CELLS_FINE 60000000 /* bins in all that are read finely, */
#define CELLS_MOST 60000000 /* and by the minute */
#define SLICE_BINS 1440     /* bins of one query */
#define SLICE_GPUS 16
#define PARTS_MOST 16384
#define SAMPLE     4      /* minimum number of GPUs that are read */
#define SAME_MS    300000 /* parts of a Slurm job start within this time */
#define CARRY_MOST 10     /* minutes that a sample may count for (usage/count.h) */

struct reading {
    const struct past_source *past;
    struct run_verdict *to;
    size_t cap, cap_parts, told; /* told: runs that may be parts */
    struct lookup seen;          /* hashes of the GPUs that are counted */
    const struct job_fact *job;
    struct known_span known;       /* of all GPUs */
    int64_t newest_ms[SLICE_BINS]; /* of all GPUs in the bins that are read now; 0: no data */
};

/* ---- which GPUs ---- */

static void add_gpus(struct reading *r, const struct job_fact *j)
{
    struct run_verdict *v = r->to;
    struct str rest = str_of(j->devices), one;
    while (str_cut(&rest, ',', &one)) {
        struct verdict_gpu g = {.index = -1, .gap_ms = KNOWN_GAP_MS};
        size_t at = 0;
        if (!one.len || one.len >= UUID_MAX)
            continue;
        memcpy(g.uuid, one.p, one.len);
        uint64_t hash = lookup_hash(g.uuid);
        if (lookup_next(&r->seen, hash, &at))
            continue;
        lookup_add(&r->seen, hash, r);
        v->n_all++;
        if (v->n == VERDICT_GPUS) {
            v->cut = true;
            continue;
        }
        mem_copy_str(g.node, sizeof(g.node), j->node);
        VEC_ADD(v->gpus, v->n, r->cap, g);
    }
}

/* The hub labels each node of a Slurm job; its number is the first of the attributes. */
static struct str slurm_number(const struct job_fact *j)
{
    struct str rest = str_of(j->attrs), number = {0};
    if (strcmp(j->kind, "slurm") == 0 && str_skip(&rest, "{\"job\":"))
        number = str_n(rest.p, FIRST(rest.len, i, rest.p[i] < '0' || rest.p[i] > '9'));
    return number;
}

static void take_part(void *arg, const struct job_fact *j)
{
    struct reading *r = arg;
    bool slurm = strcmp(r->job->kind, "slurm") == 0;
    r->to->cut |= ++r->told == PARTS_MOST;
    if (j->id == r->job->id || auto_joined(j) || strcmp(j->kind, r->job->kind) != 0 ||
        (slurm && !str_eq_str(slurm_number(j), slurm_number(r->job))))
        return;
    struct verdict_part p = {.id = j->id};
    mem_copy_str(p.node, sizeof(p.node), j->node);
    VEC_ADD(r->to->parts, r->to->n_parts, r->cap_parts, p);
    add_gpus(r, j);
}

/* Runs on other nodes that are parts of this one. Parts of other kinds of jobs are stretches of its own time. */
static int find_parts(struct reading *r, struct err *err)
{
    const struct job_fact *j = r->job;
    struct job_query ask = {.from_ms = j->start_ms - SAME_MS,
                            .to_ms = j->start_ms + SAME_MS,
                            .person = j->person,
                            .kind = j->kind,
                            .limit = PARTS_MOST,
                            .stop = r->past->stop,
                            .stop_arg = r->past->stop_arg};
    if (strcmp(j->kind, AUTO_KIND) == 0) {
        ask.parent = j->id;
        ask.to_ms = 0;
    } else if (!slurm_number(j).len) {
        return 0;
    }
    return past_each(r->past, EACH_JOB(&ask, take_part, r), err);
}

/* A run shows that utilisation is not efficiency: the note need not. */
static void copy_note(struct verdict_gpu *g, const struct device_fact *f)
{
    struct str note = str_of(f->note);
    int end = str_find(note, "; utilisation is not ");
    if (end >= 0)
        note.len = (size_t)end;
    snprintf(g->note, sizeof(g->note), "%.*s", STR_ARG(note));
}

/* As in usage, a sample counts for the next minute, or for several if the node is read less often. */
static int64_t gap_of(const struct node_fact *f)
{
    return (MAX(1, MIN((f->tick_ms + MINUTE_MS - 1) / MINUTE_MS, CARRY_MOST)) + 1) * MINUTE_MS;
}

/* Reads the names and notes of the GPUs at that time. */
static int find_facts(struct reading *r, struct err *err)
{
    struct run_verdict *v = r->to;
    for (size_t i = 0; i < v->n && r->past->was; i++) {
        struct node_at was = {0};
        if (i && strcmp(v->gpus[i].node, v->gpus[i - 1].node) == 0)
            continue;
        int code = r->past->was(r->past->store, r->past->session, v->gpus[i].node, v->to_ms - 1, &was, err);
        for (size_t k = i; code > 0 && was.has_fact && k < v->n && strcmp(v->gpus[k].node, v->gpus[i].node) == 0; k++) {
            struct verdict_gpu *g = &v->gpus[k];
            const struct device_fact *f = FIND(was.fact.devices, was.fact.n_devices, e, strcmp(e->uuid, g->uuid) == 0);
            if (!f)
                continue;
            g->index = f->index;
            g->gap_ms = gap_of(&was.fact);
            mem_copy_str(g->model, sizeof(g->model), f->name);
            copy_note(g, f);
        }
        node_fact_fini(&was.fact);
        if (code < 0)
            return code;
    }
    return 0;
}

/* ---- their samples ---- */

/* Returns when its newest reading was; 0: it has none. */
static int64_t take_bins(struct run_gpu *g, const struct history *h, size_t series, size_t bin)
{
    struct sample mean = {.at_ms = h->from_ms + (int64_t)(bin + 1) * h->step_ms}, most = mean;
    int64_t newest_ms = 0;
    for (size_t k = 0; k < RUN_METRICS; k++) {
        enum metric m = run_metrics[k];
        size_t at = (series + k) * h->n + bin;
        const struct bin *b = &h->v[at];
        bool newest = metrics[m].kind == KIND_COUNTER || m == M_mem_total || m == M_clock_sm_max ||
                      m == M_power_limit || m == M_power_default;
        if (!b->count)
            continue;
        newest_ms = MAX(newest_ms, h->last_ms[at]);
        sample_set(&mean, m, m == M_throttle ? b->max : newest ? b->last : b->sum / (int64_t)b->count);
        sample_set(&most, m, b->max);
    }
    most.at_ms = newest_ms;
    if (newest_ms)
        run_gpu_add(g, &mean, &most);
    return newest_ms;
}

/* n GPUs of one node, in [from, to). */
static int read_slice(struct reading *r, struct run_gpu *const *g, size_t first, size_t n, int64_t from_ms,
                      int64_t to_ms, struct err *err)
{
    const char *uuids[SLICE_GPUS], *names[RUN_METRICS];
    struct history h = {0};
    for (size_t i = 0; i < n; i++)
        uuids[i] = r->to->gpus[first + i].uuid;
    for (size_t k = 0; k < RUN_METRICS; k++)
        names[k] = metrics[run_metrics[k]].name;
    struct bins_query ask = {.node = r->to->gpus[first].node,
                             .devices = uuids,
                             .n_devices = n,
                             .metrics = names,
                             .n_metrics = RUN_METRICS,
                             .from_ms = from_ms,
                             .to_ms = to_ms,
                             .step_ms = r->to->step_ms,
                             .fields = BIN_SUM | BIN_MAX | BIN_LAST,
                             .tier = -1,
                             .once = true};
    int code = past_history(r->past, ask, &h, err);
    for (size_t i = 0; code >= 0 && i < n; i++)
        for (size_t bin = 0; bin < h.n; bin++) {
            int64_t newest_ms = take_bins(g[first + i], &h, i * RUN_METRICS, bin);
            if (bin < SLICE_BINS)
                r->newest_ms[bin] = MAX(r->newest_ms[bin], newest_ms);
        }
    history_fini(&h);
    return code;
}

/* All GPUs, a few of a node at a time, in [from, to). */
static int read_span(struct reading *r, struct run_gpu *const *g, int64_t from_ms, int64_t to_ms, struct err *err)
{
    struct run_verdict *v = r->to;
    int code = 0;
    for (size_t first = 0, n; first < v->n && code >= 0; first += n) {
        for (n = 1; first + n < v->n && n < SLICE_GPUS && strcmp(v->gpus[first].node, v->gpus[first + n].node) == 0;)
            n++;
        code = past_stopped(r->past) ? err_set(err, -ECANCELED, "stopped")
                                     : read_slice(r, g, first, n, from_ms, to_ms, err);
    }
    return code;
}

static int read_all(struct reading *r, struct run_gpu *const *g, struct straggling *apart, struct err *err)
{
    struct run_verdict *v = r->to;
    int64_t slice_ms = SLICE_BINS * v->step_ms, at = v->from_ms - v->from_ms % v->step_ms;
    int code = 0;
    for (; at < v->to_ms && code >= 0; at += slice_ms) {
        int64_t end_ms = MIN(at + slice_ms, v->to_ms);
        memset(r->newest_ms, 0, sizeof(r->newest_ms));
        code = read_span(r, g, at, end_ms, err);
        for (int64_t i = 0; i < SLICE_BINS; i++)
            if (r->newest_ms[i])
                known_span_add(&r->known, at + i * v->step_ms, r->newest_ms[i]);
        if (code >= 0 && v->step_ms <= MINUTE_MS)
            run_follow(g, v->n, end_ms, apart);
    }
    return code;
}

/* Reads the first minutes, if the run started before the time that is read. */
static int read_first(struct reading *r, struct run_gpu *const *g, struct err *err)
{
    struct run_verdict *v = r->to;
    int code = 0;
    if (v->from_ms <= r->job->start_ms || v->n < STRAGGLER_LEAST || v->step_ms > MINUTE_MS)
        return 0;
    AUTO_FREE struct first_gpus *f = NEW(struct first_gpus);
    for (size_t at = 0; at < v->n && code >= 0; at += f->n) {
        f->n = MIN(v->n - at, (size_t)FIRST_GPUS);
        for (size_t i = 0; i < f->n; i++) {
            f->v[i] = (struct first_gpu){.from_ms = r->job->start_ms};
            mem_copy_str(f->v[i].node, sizeof(f->v[i].node), v->gpus[at + i].node);
            mem_copy_str(f->v[i].uuid, sizeof(f->v[i].uuid), v->gpus[at + i].uuid);
        }
        code = first_read(r->past, f, v->from_ms, err);
        for (size_t i = 0; i < f->n && code >= 0; i++)
            run_gpu_first(g[at + i], &f->v[i].s);
    }
    return code;
}

static double cells_of(const struct run_verdict *v, size_t gpus, int64_t step_ms)
{
    return (double)(v->to_ms - v->from_ms) / (double)step_ms * (double)gpus * RUN_METRICS;
}

/* How long the bins are in which it can be read; of how many of its GPUs goes into v. */
static int64_t plan_reading(struct run_verdict *v, double cells)
{
    if (cells_of(v, v->n, FINE_MS) <= (cells > 0 ? MIN(cells, CELLS_FINE) : CELLS_FINE))
        return FINE_MS;
    if (cells <= 0)
        return cells_of(v, v->n, MINUTE_MS) <= CELLS_MOST ? MINUTE_MS : HOUR_MS;
    size_t n = MIN((size_t)MAX(cells / cells_of(v, 1, MINUTE_MS), SAMPLE), v->n);
    for (size_t i = 0; i < n; i++)
        v->gpus[i] = v->gpus[i * v->n / n];
    v->n = n;
    return MINUTE_MS;
}

/* All of it in bins of that length. */
static int read_with(struct reading *r, int64_t step_ms, struct err *err)
{
    struct run_verdict *v = r->to;
    AUTO_FREE struct run_gpu **g = mem_zero(v->n + 1, sizeof(*g));
    AUTO_FREE struct run_means *means = mem_zero(v->n + 1, sizeof(*means));
    v->step_ms = step_ms;
    v->cells += cells_of(v, v->n, step_ms);
    r->known = (struct known_span){v->from_ms, v->to_ms, KNOWN_GAP_MS, 0, 0};
    for (size_t i = 0; i < v->n; i++) {
        g[i] = run_gpu_new(v->from_ms, v->to_ms, step_ms);
        run_gpu_gap(g[i], MAX(v->gpus[i].gap_ms, step_ms));
        r->known.gap_ms = MAX(r->known.gap_ms, MAX(v->gpus[i].gap_ms, step_ms));
    }
    struct straggling apart = {0};
    int code = read_first(r, g, err);
    if (code >= 0)
        code = read_all(r, g, &apart, err);
    for (size_t i = 0; i < v->n; i++) {
        run_gpu_means(g[i], &means[i]);
        v->gpus[i].means = means[i];
    }
    run_means_all(means, v->n, &v->all);
    v->known_ms = v->n ? known_span_ms(&r->known) : v->to_ms - v->from_ms;
    if (code >= 0)
        v->n_advice = run_advise(g, v->n, &apart, v->advice);
    straggling_fini(&apart);
    for (size_t i = 0; i < v->n; i++)
        run_gpu_free(g[i]);
    return MIN(code, 0);
}

/* Old samples are stored by the minute only: bins of 5 s are then mostly empty. */
static bool is_sparse(const struct run_verdict *v)
{
    int64_t most_ms = v->all.measured_ms;
    return v->step_ms < MINUTE_MS && most_ms > 0 && most_ms * 4 < v->all.held_ms;
}

int run_verdict_read(const struct past_source *past, const struct job_fact *j, const struct verdict_reach *reach,
                     struct run_verdict *ret, struct err *err)
{
    struct reading r = {.past = past, .to = ret, .job = j};
    int64_t end_ms = j->end_ms && j->end_ms < reach->now_ms ? j->end_ms : reach->now_ms;
    *ret = (struct run_verdict){.from_ms = MAX(j->start_ms, reach->from_ms)};
    ret->to_ms = MAX(end_ms, ret->from_ms + 1);
    add_gpus(&r, j);
    int code = find_parts(&r, err);
    lookup_fini(&r.seen);
    int64_t step_ms = plan_reading(ret, reach->cells);
    if (code >= 0)
        code = find_facts(&r, err);
    if (code >= 0)
        code = read_with(&r, step_ms, err);
    if (code >= 0 && is_sparse(ret)) {
        run_advice_fini(ret->advice, ret->n_advice);
        ret->n_advice = 0;
        code = read_with(&r, MINUTE_MS, err);
    }
    return MIN(code, 0);
}

bool verdict_gpu_silent(const struct run_verdict *v, const struct verdict_gpu *g)
{
    return g->means.data_to_ms && v->to_ms - g->means.data_to_ms > MAX(g->gap_ms, v->step_ms);
}

size_t run_verdict_silent(const struct run_verdict *v, const struct job_fact *j)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n && !(j->end_ms && j->end_ms <= v->to_ms); i++)
        n += verdict_gpu_silent(v, &v->gpus[i]);
    return n;
}

void run_verdict_fini(struct run_verdict *v)
{
    run_advice_fini(v->advice, v->n_advice);
    FREE_ALL(v->gpus, v->parts);
    *v = (struct run_verdict){0};
}

const char *run_verdict_reason(const struct run_verdict *v)
{
    size_t at = FIRST(v->n, i, v->gpus[i].note[0] && isnan(v->gpus[i].means.mean[RUN_ACTIVE]));
    if (!v->n)
        return "no GPU of it is known";
    if (isnan(v->all.mean[RUN_UTIL]) && isnan(v->all.mem_peak) && isnan(v->all.mean[RUN_POWER]))
        return "nothing is stored of that time";
    return at < v->n ? v->gpus[at].note : NO_WORK_DRIVER;
}
