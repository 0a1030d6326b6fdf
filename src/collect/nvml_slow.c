/*
 * nvml_slow.c: a thread that reads slow values sequentially, each when it is due. The results go to an inbox per
 * device, under one lock that is never held during a call to the driver.
 */
#include "collect/nvml_slow.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/order.h"
#include "base/rand.h"
#include "base/thread.h"
#include "collect/nvml_gpm.h"
#include "collect/worker.h"
#include "model/work.h"

enum {
    SAMPLES_MAX = 4096,
    SAMPLE_GAP_US = 1500000, /* longer gaps between samples are left out: the utilisation in them is unknown */
    IDLE_MS = 10000,         /* the sample buffer holds 14 s: without a process on the GPU this is often enough */
    LOOK_MS = 5000,          /* interval of the check for processes to query */
    SOON_MS = 1000,          /* delay of the second reading: the first one is only the reference */
    JOB_GPM = 1,             /* their places in jobs[] */
    JOB_BUSY = 3,
    JOB_PROCS = 4,
    JOB_RARE = 7,
};

struct inbox {
    struct sample fresh;
    int64_t new_ecc;
    int64_t clock_sum, n_clock; /* the multiprocessors' clock at the ticks since the last GPM reading */
    const char *no_gpm;         /* why there is no activity; NULL if there is, or if unknown */
    size_t n_on;                /* processes on it */
    bool sm_known;
    int64_t sm_from_ms; /* processes first seen before this were there the whole round */
    int32_t active;     /* active time in the last GPM reading, in 0.01 %; -1: unknown */
    int64_t active_from_ms;
    size_t n_sm, cap_sm;
    struct proc_sm {
        int32_t pid, sm, n;
    } * sm;
};

struct nvml_slow {
    const struct nvml *lib;
    struct nvml_dev *const *devs;
    size_t n;
    struct inbox *inbox; /* one per device, under lock */
    pthread_mutex_t lock;
    struct worker *thread;
    int wake; /* eventfd */
    atomic_bool stop, mig_changed;
    atomic_int bad;
    atomic_llong call_since_ms;
    atomic_bool *ecc_now;
    /* the thread's own */
    int64_t clock_gap_ms; /* wall less monotonic */
    bool clock_seen;
    size_t n_util, n_procs;
    struct nvml_sample *util;
    struct nvml_process_sample *procs;
};

struct job {
    struct nvml_slow *s;
    size_t i;
    struct nvml_dev *d;
    struct nvml_query *ask;
    int64_t now_ms;
};

COMPARE(by_time, struct nvml_sample, ORDER(x->at_us, y->at_us))

/* Queries the size of the driver's buffer, once, and allocates room for it. */
static bool util_room(struct job *j)
{
    struct nvml_slow *s = j->s;
    unsigned type, n = 0;
    if (s->util)
        return true;
    int rc = s->lib->samples(j->d->handle, NVML_SAMPLES_UTIL, 0, &type, &n, NULL);
    enum nvml_verdict v = nvml_note_result(j->ask, rc);
    if (v == NVML_ABSENT)
        bits_set(j->ask->absent, M_busy);
    if (v != NVML_GOOD || n == 0)
        return false;
    s->n_util = MIN(n, (unsigned)SAMPLES_MAX);
    s->util = mem_alloc(s->n_util * sizeof(s->util[0]));
    return true;
}

static size_t procs_on(struct nvml_slow *s, size_t i)
{
    LOCKED(&s->lock);
    return s->inbox[i].n_on;
}

/*
 * Counts busy-seconds if GPM does not report the active time: adds every sample of the driver's buffer since the last
 * one counted, so that there are no gaps.
 */
static void job_busy(struct job *j)
{
    struct nvml_slow *s = j->s;
    struct nvml_dear *dear = &j->d->dear;
    if (dear->gpm_busy) {
        dear->util_at_us = 0;
        return;
    }
    if (!s->lib->samples || !nvml_can_query(j->ask, M_busy) || !util_room(j))
        return;
    if (!procs_on(s, j->i))
        dear->due_ms[JOB_BUSY] = j->now_ms + IDLE_MS;
    unsigned type = NVML_U32, n = (unsigned)s->n_util;
    int rc = s->lib->samples(j->d->handle, NVML_SAMPLES_UTIL, dear->util_at_us, &type, &n, s->util);
    if (rc == NVML_TOO_SMALL) { /* larger than reported: query the size again next time */
        free(s->util);
        s->util = NULL;
        return;
    }
    if (rc == NVML_NOT_FOUND)
        rc = (int)(n = 0);
    n = MIN(n, (unsigned)s->n_util);
    if (rc == 0 && n > 0) {
        qsort(s->util, n, sizeof(s->util[0]), by_time);
        for (unsigned k = 0; k < n && dear->util_at_us; k++) {
            if (s->util[k].at_us <= dear->util_at_us)
                continue;
            int64_t us = (int64_t)MIN(s->util[k].at_us - dear->util_at_us, (uint64_t)SAMPLE_GAP_US);
            int64_t percent = nvml_number(type, s->util[k].value);
            dear->busy_us += us * MAX(0, MIN(percent, 100)) / 100;
            dear->util_at_us = s->util[k].at_us;
        }
        if (!dear->util_at_us) /* the first time: count from here on */
            dear->util_at_us = s->util[n - 1].at_us;
        dear->busy_ms = j->now_ms;
    }
    nvml_answer(j->ask, M_busy, rc, dear->busy_us);
}

/* The mean clock since the last time, which the ticks read anyway. */
static int64_t take_clock(struct nvml_slow *s, size_t i)
{
    struct inbox *in = &s->inbox[i];
    LOCKED(&s->lock);
    int64_t hz = in->n_clock ? in->clock_sum / in->n_clock : 0;
    in->clock_sum = in->n_clock = 0;
    return hz;
}

/*
 * Takes the active time since the previous GPM reading, which happens anyway: utilisation without gaps. The sample
 * buffer and process utilisation would cost 2.6 to 6 ms each.
 */
static void take_active(struct job *j, int64_t from_ms, bool told)
{
    struct nvml_dear *dear = &j->d->dear;
    struct inbox *in = &j->s->inbox[j->i];
    int64_t active = j->ask->sample->v[M_active];
    dear->gpm_busy = told && !j->d->parent;
    if (dear->gpm_busy) {
        from_ms = MAX(from_ms, dear->busy_ms); /* the sample buffer may have covered the start */
        dear->busy_us += MAX(0, j->now_ms - from_ms) * active / 10;
        dear->busy_ms = j->now_ms;
        sample_set(j->ask->sample, M_busy, dear->busy_us);
    }
    LOCKED(&j->s->lock);
    in->active = told ? (int32_t)active : -1;
    in->active_from_ms = from_ms;
}

static void job_gpm(struct job *j)
{
    struct nvml_dear *dear = &j->d->dear;
    int64_t from_ms = dear->gpm_ms;
    bool begun = dear->gpm_begun;
    dear->clock_hz = take_clock(j->s, j->i);
    dear->gpm_ms = j->now_ms;
    bool got = nvml_gpm_read(j->ask, j->d);
    if (got || begun || !dear->gpm_begun) /* else it is the first reading, which has no difference yet */
        take_active(j, from_ms, got && sample_has(j->ask->sample, M_active));
    if (!got && dear->gpm == 1)
        dear->due_ms[JOB_GPM] = j->now_ms + SOON_MS;
    LOCKED(&j->s->lock);
    j->s->inbox[j->i].no_gpm = dear->gpm_refused ? NO_WORK_RIGHTS
                               : dear->gpm != 0  ? NULL
                               : dear->gpm_old   ? NO_WORK_MODEL
                                                 : NO_WORK_DRIVER;
}

/* Blocks 20 ms for each direction. */
static void job_pcie(struct job *j)
{
    if (j->d->dear.gpm == 1)
        return;
    NVML_ASK(j->ask, M_pcie_tx, 1000, pcie_rate, 0, &u);
    NVML_ASK(j->ask, M_pcie_rx, 1000, pcie_rate, 1, &u);
}

static int8_t has_links(const struct nvml *lib, nvml_handle h)
{
    for (unsigned link = 0; lib->link_state && link < NVML_LINKS; link++) {
        unsigned active = 0;
        if (lib->link_state(h, link, &active) == 0 && active == 1)
            return 1;
    }
    return 0;
}

static void job_links(struct job *j)
{
    const struct nvml *lib = j->s->lib;
    struct nvml_dear *dear = &j->d->dear;
    if (dear->links < 0)
        dear->links = has_links(lib, j->d->handle);
    if (!dear->links || dear->gpm == 1 || !lib->fields || !nvml_can_query(j->ask, M_nvlink_tx))
        return;
    struct nvml_field f[2] = {{.id = NVML_FIELD_NVLINK_TX, .scope = NVML_ALL_LINKS},
                              {.id = NVML_FIELD_NVLINK_RX, .scope = NVML_ALL_LINKS}};
    int rc = lib->fields(j->d->handle, 2, f);
    if (rc == 0)
        rc = f[0].rc ? f[0].rc : f[1].rc;
    int64_t tx = nvml_number(f[0].type, f[0].value), rx = nvml_number(f[1].type, f[1].value);
    int64_t ms = j->now_ms - dear->link_at_ms;
    if (rc) {
        nvml_answer(j->ask, M_nvlink_tx, rc, 0);
        return;
    }
    if (dear->link_at_ms && ms > 0 && tx >= dear->link_tx_kib && rx >= dear->link_rx_kib) {
        sample_set(j->ask->sample, M_nvlink_tx, (tx - dear->link_tx_kib) * 1024 * 1000 / ms);
        sample_set(j->ask->sample, M_nvlink_rx, (rx - dear->link_rx_kib) * 1024 * 1000 / ms);
    }
    dear->link_at_ms = j->now_ms;
    dear->link_tx_kib = tx;
    dear->link_rx_kib = rx;
}

static void add_sm(struct inbox *in, const struct nvml_process_sample *p)
{
    size_t k = FIRST(in->n_sm, i, in->sm[i].pid == (int32_t)p->pid);
    if (k == in->n_sm) {
        if (k == PROCS_MAX)
            return;
        VEC_ADD(in->sm, in->n_sm, in->cap_sm, (struct proc_sm){.pid = (int32_t)p->pid});
    }
    in->sm[k].sm += (int32_t)MIN(p->sm, 100u) * 100;
    in->sm[k].n++;
}

/*
 * Sets how much of the GPU each process used. The driver lists only processes that used some. A single process used all
 * of it.
 */
static void job_procs(struct job *j)
{
    struct nvml_slow *s = j->s;
    struct nvml_dear *dear = &j->d->dear;
    struct inbox *in = &s->inbox[j->i];
    if (!s->lib->process_util || dear->no_procs)
        return;
    size_t on = procs_on(s, j->i);
    if (on == 0 || (on == 1 && dear->gpm_busy)) {
        dear->due_ms[JOB_PROCS] = j->now_ms + LOOK_MS;
        dear->procs_begun = false;
        return;
    }
    unsigned n = (unsigned)s->n_procs;
    int rc = s->lib->process_util(j->d->handle, s->procs, &n, dear->procs_at_us);
    if (rc == NVML_TOO_SMALL && n > 0) { /* n is now the number of samples */
        s->n_procs = MIN((size_t)n * 2, (size_t)SAMPLES_MAX);
        free(s->procs);
        s->procs = mem_alloc(s->n_procs * sizeof(s->procs[0]));
        n = (unsigned)s->n_procs;
        rc = s->lib->process_util(j->d->handle, s->procs, &n, dear->procs_at_us);
    }
    if (rc == NVML_NOT_FOUND)
        rc = (int)(n = 0);
    enum nvml_verdict v = nvml_note_result(j->ask, rc);
    dear->no_procs = v == NVML_ABSENT;
    if (v != NVML_GOOD)
        return;
    n = MIN(n, (unsigned)s->n_procs);
    uint64_t since_us = dear->procs_at_us;
    pthread_mutex_lock(&s->lock);
    in->n_sm = 0;
    for (unsigned k = 0; k < n; k++) {
        if (s->procs[k].at_us > since_us && dear->procs_begun)
            add_sm(in, &s->procs[k]);
        dear->procs_at_us = MAX(dear->procs_at_us, s->procs[k].at_us);
    }
    in->sm_known = dear->procs_begun;
    in->sm_from_ms = dear->procs_ms;
    pthread_mutex_unlock(&s->lock);
    if (!dear->procs_begun)
        dear->due_ms[JOB_PROCS] = j->now_ms + SOON_MS;
    dear->procs_begun = true;
    dear->procs_ms = j->now_ms;
}

static void job_energy(struct job *j)
{
    nvml_u64 mj = 0;
    if (j->s->lib->energy && nvml_can_query(j->ask, M_energy)) {
        int rc = j->s->lib->energy(j->d->handle, &mj);
        nvml_answer(j->ask, M_energy, rc, (int64_t)mj);
    }
    NVML_ASK(j->ask, M_fan, 100, fan, &u);
}

static uint64_t names_hash(uint64_t h, const char *uuid)
{
    return h * 1099511628211ull ^ fnv64(uuid, strlen(uuid));
}

static void job_mig(struct job *j)
{
    const struct nvml *lib = j->s->lib;
    uint64_t now = 1, then = 1;
    int slots = nvml_mig_slots(lib, j->d->handle);
    for (int i = 0; i < slots; i++) {
        struct device_fact f;
        nvml_handle h;
        unsigned gi;
        if (nvml_identify_mig(lib, j->d, (unsigned)i, &h, &gi, &f) == 0)
            now = names_hash(now, f.uuid);
    }
    for (size_t k = 1; k <= j->d->instances; k++)
        then = names_hash(then, j->s->devs[j->i + k]->fact.uuid);
    if (now != then)
        atomic_store(&j->s->mig_changed, true);
}

static void ask_ecc(struct job *j, enum metric m, unsigned uncorrected)
{
    nvml_u64 n = 0;
    if (!j->s->lib->ecc || !nvml_can_query(j->ask, m))
        return;
    int rc = j->s->lib->ecc(j->d->handle, uncorrected, 0, &n);
    nvml_answer(j->ask, m, rc, (int64_t)n);
    if (rc || !uncorrected)
        return;
    int64_t before = j->d->dear.ecc_unc;
    j->d->dear.ecc_unc = (int64_t)n;
    LOCKED(&j->s->lock);
    if (before >= 0 && (int64_t)n > before)
        j->s->inbox[j->i].new_ecc += (int64_t)n - before;
}

static void ask_rows_left(struct job *j)
{
    struct nvml_rows_left left = {0};
    if (!j->s->lib->rows_left || !nvml_can_query(j->ask, M_rows_spent))
        return;
    int rc = j->s->lib->rows_left(j->d->handle, &left);
    nvml_answer(j->ask, M_rows_spent, rc, left.none);
}

static void ask_rows(struct job *j)
{
    const struct nvml *lib = j->s->lib;
    struct nvml_query *a = j->ask;
    unsigned corrected = 0, uncorrected = 0, pending = 0, failure = 0;
    if (lib->rows && !j->d->dear.no_rows && nvml_can_query(a, M_rows_remapped)) {
        int rc = lib->rows(j->d->handle, &corrected, &uncorrected, &pending, &failure);
        enum nvml_verdict v = nvml_note_result(a, rc);
        if (v == NVML_GOOD) {
            sample_set(a->sample, M_rows_remapped, (int64_t)corrected + uncorrected);
            sample_set(a->sample, M_rows_pending, pending != 0);
            sample_set(a->sample, M_rows_failed, failure != 0);
        }
        j->d->dear.no_rows = v == NVML_ABSENT;
        if (v == NVML_GOOD)
            ask_rows_left(j);
        if (v != NVML_ABSENT)
            return;
    }
    if (!lib->pages || !nvml_can_query(a, M_rows_remapped)) /* before Ampere pages were retired instead */
        return;
    int rc = lib->pages(j->d->handle, 0, &corrected, NULL);
    if (rc == 0 || rc == NVML_TOO_SMALL) /* both set the number of pages */
        rc = lib->pages(j->d->handle, 1, &uncorrected, NULL);
    nvml_answer(a, M_rows_remapped, rc == NVML_TOO_SMALL ? 0 : rc, (int64_t)corrected + uncorrected);
    NVML_ASK(a, M_rows_pending, 1, pages_pending, &u);
}

/* Constant values are in every sample, but queried only once: the highest clock takes the driver 3 ms. */
static void ask_fixed(struct job *j)
{
    static const enum metric fixed[] = {M_power_default, M_clock_sm_max};
    struct sample *known = &j->d->dear.fixed, *now = j->ask->sample;
    if (!sample_has(known, M_power_default))
        NVML_ASK(j->ask, M_power_default, 1, power_default, &u);
    if (!sample_has(known, M_clock_sm_max))
        NVML_ASK(j->ask, M_clock_sm_max, 1000000, clock_max, NVML_CLOCK_SM, &u);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        if (sample_has(now, fixed[i]))
            sample_set(known, fixed[i], now->v[fixed[i]]);
        else if (sample_has(known, fixed[i]))
            sample_set(now, fixed[i], known->v[fixed[i]]);
}

static void job_rare(struct job *j)
{
    ask_ecc(j, M_ecc_corrected, 0);
    ask_ecc(j, M_ecc_uncorrected, 1);
    ask_rows(j);
    NVML_ASK(j->ask, M_power_limit, 1, power_limit, &u);
    ask_fixed(j);
    NVML_ASK(j->ask, M_pcie_gen, 1, pcie_gen, &u);
    NVML_ASK(j->ask, M_pcie_width, 1, pcie_width, &u);
    NVML_ASK(j->ask, M_pcie_replay, 1, pcie_replay, &u);
    j->d->dear.links = has_links(j->s->lib, j->d->handle); /* links may have come up */
}

/*
 * Cost of one call on an H200 with driver 580, in CPU time, idle and under load: sample buffer 2.6 to 5.8 ms, process
 * utilisation 2.6 to 5.3 ms, energy 4.0 to 5.8 ms, highest clock 1.6 to 3.3 ms, MIG mode 0.4 to 0.7 ms, GPM 1.7 to 2.0
 * ms (the sample 0.25, `active` nearly all the rest), the other rare ones 1 ms in total. With one process on the GPU,
 * and GPM, this thread uses 0.5 ms a second. The order matters: links before gpm before pcie and busy and procs.
 */
static const struct {
    int64_t every_ms;
    bool mig; /* for MIG instances too */
    void (*run)(struct job *);
} jobs[] = {
    {5000, false, job_links},  {5000, true, job_gpm},      {5000, false, job_pcie}, {5000, false, job_busy},
    {10000, false, job_procs}, {60000, false, job_energy}, {30000, false, job_mig}, {60000, false, job_rare},
};
_Static_assert(ARRAY_LEN(jobs) == NVML_JOBS, "a due time for each");

static void run_jobs(struct nvml_slow *s, size_t i, int64_t now_ms, int64_t *next_ms)
{
    struct nvml_dev *d = s->devs[i];
    struct sample fresh = {0};
    struct nvml_query ask = {.lib = s->lib, .handle = d->handle, .absent = &d->dear.absent, .sample = &fresh};
    struct job j = {s, i, d, &ask, now_ms};
    if (atomic_exchange(&s->ecc_now[i], false))
        d->dear.due_ms[JOB_RARE] = 0;
    for (size_t k = 0; k < ARRAY_LEN(jobs) && !atomic_load(&s->stop); k++) {
        if (d->parent && !jobs[k].mig)
            continue;
        if (d->dear.due_ms[k] <= now_ms && ask.worst == NVML_GOOD) {
            d->dear.due_ms[k] = now_ms + jobs[k].every_ms;
            atomic_store(&s->call_since_ms, MAX(clock_mono_ms(), 1));
            jobs[k].run(&j);
            atomic_store(&s->call_since_ms, 0);
        }
        *next_ms = MIN(*next_ms, d->dear.due_ms[k]);
    }
    if (ask.worst >= NVML_STALE)
        atomic_store(&s->bad, ask.rc);
    LOCKED(&s->lock);
    for (enum metric m = 0; m < M_COUNT; m++)
        if (sample_has(&fresh, m))
            sample_set(&s->inbox[i].fresh, m, fresh.v[m]);
}

/* If the wall clock was set, the driver's time stamps jumped with it: restart from the newest sample. */
static void mind_clock(struct nvml_slow *s, int64_t now_ms)
{
    int64_t gap = clock_wall_ms() - now_ms;
    if (s->clock_seen && (gap > s->clock_gap_ms + 1000 || gap < s->clock_gap_ms - 1000))
        for (size_t i = 0; i < s->n; i++) {
            s->devs[i]->dear.util_at_us = s->devs[i]->dear.procs_at_us = 0;
            s->devs[i]->dear.procs_begun = false;
        }
    s->clock_gap_ms = gap;
    s->clock_seen = true;
}

int64_t nvml_slow_round(struct nvml_slow *s, int64_t now_ms)
{
    int64_t next_ms = now_ms + 60000;
    mind_clock(s, now_ms);
    for (size_t i = 0; i < s->n && !atomic_load(&s->stop); i++)
        if (s->devs[i]->handle)
            run_jobs(s, i, now_ms, &next_ms);
    return next_ms;
}

static void slow_main(void *arg)
{
    struct nvml_slow *s = arg;
    while (!atomic_load(&s->stop)) {
        int64_t next_ms = nvml_slow_round(s, clock_mono_ms());
        struct pollfd p = {.fd = s->wake, .events = POLLIN};
        if (poll(&p, 1, (int)MAX(20, MIN(next_ms - clock_mono_ms(), LOOK_MS))) > 0)
            wake_clear(s->wake);
    }
}

struct nvml_slow *nvml_slow_new(const struct nvml *lib, struct nvml_dev *const *devs, size_t n)
{
    struct nvml_slow *s = NEW(struct nvml_slow, .lib = lib, .devs = devs, .n = n, .wake = -1, .n_procs = 128);
    s->inbox = mem_zero(n, sizeof(s->inbox[0]));
    for (size_t i = 0; i < n; i++)
        s->inbox[i].active = -1;
    s->ecc_now = mem_zero(n, sizeof(s->ecc_now[0]));
    s->procs = mem_alloc(s->n_procs * sizeof(s->procs[0]));
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

int nvml_slow_start(struct nvml_slow *s)
{
    s->wake = wake_new();
    if (s->wake < 0)
        return -errno;
    s->thread = worker_new(slow_main, NULL, s);
    worker_kick(s->thread);
    return 0;
}

int nvml_slow_free(struct nvml_slow *s)
{
    if (!s)
        return 0;
    atomic_store(&s->stop, true);
    wake_ring(s->wake);
    if (s->thread && !worker_settle(s->thread, NVML_STOP_MS))
        return -ETIMEDOUT;
    worker_free(s->thread);
    for (size_t i = 0; i < s->n; i++) {
        nvml_gpm_close(s->lib, s->devs[i]);
        free(s->inbox[i].sm);
    }
    if (s->wake >= 0)
        close(s->wake);
    pthread_mutex_destroy(&s->lock);
    FREE_ALL(s->inbox, s->ecc_now, s->util, s->procs, s);
    return 0;
}

void nvml_slow_take(struct nvml_slow *s, size_t i, struct sample *ret, int64_t *ret_new_ecc)
{
    struct inbox *in = &s->inbox[i];
    LOCKED(&s->lock);
    for (enum metric m = 0; m < M_COUNT; m++)
        if (sample_has(&in->fresh, m))
            sample_set(ret, m, in->fresh.v[m]);
    in->fresh.have = (struct bits){0};
    *ret_new_ecc = in->new_ecc;
    in->new_ecc = 0;
}

int32_t nvml_slow_sm(struct nvml_slow *s, size_t i, int32_t pid, int64_t since_ms)
{
    struct inbox *in = &s->inbox[i];
    LOCKED(&s->lock);
    if (in->n_on == 1 && in->active >= 0)
        return since_ms <= in->active_from_ms ? in->active : -1;
    const struct proc_sm *p = in->sm_known ? FIND(in->sm, in->n_sm, e, e->pid == pid) : NULL;
    return p ? p->sm / p->n : in->sm_known && since_ms <= in->sm_from_ms ? 0 : -1;
}

void nvml_slow_procs(struct nvml_slow *s, size_t i, size_t n)
{
    LOCKED(&s->lock);
    s->inbox[i].n_on = n;
}

void nvml_slow_clock(struct nvml_slow *s, size_t i, int64_t hz)
{
    LOCKED(&s->lock);
    s->inbox[i].clock_sum += hz;
    s->inbox[i].n_clock++;
}

const char *nvml_slow_no_gpm(struct nvml_slow *s, size_t i)
{
    LOCKED(&s->lock);
    return s->inbox[i].no_gpm;
}

void nvml_slow_ecc_now(struct nvml_slow *s, size_t i)
{
    atomic_store(&s->ecc_now[i], true);
    wake_ring(s->wake);
}

int nvml_slow_bad(struct nvml_slow *s)
{
    return atomic_load(&s->bad);
}

bool nvml_slow_mig_changed(struct nvml_slow *s)
{
    return atomic_load(&s->mig_changed);
}

int64_t nvml_slow_stuck_ms(struct nvml_slow *s, int64_t now_ms)
{
    int64_t since = atomic_load(&s->call_since_ms);
    return since ? MAX(now_ms - since, 0) : 0;
}
