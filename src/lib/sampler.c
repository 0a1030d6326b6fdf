/*
 * sampler.c: opening, the sampling thread, current labels and values. Reading is in cursor.c and table.c, storage of
 * samples in keep.c.
 */
#include "lib/sampler.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/thread.h"
#include "collect/trace.h"

enum {
    INTERVAL_DEFAULT_US = 200000,
    INTERVAL_MIN_US = 10000,
    INTERVAL_MAX_US = 60000000,
    RETRY_US = 1000000,  /* between tries while the driver does not work */
    HOLD_US = 130000000, /* a slow metric's last value is valid this long: twice the longest interval */
    STOP_US = 2000000,
    STACK = 1 << 20,
    SLACK_NS = 1000, /* how late the kernel may wake us; default 50,000 */
};

int sampler_check(const muster_sampler *s)
{
    return !s ? -EINVAL : s->pid != getpid() ? -ECHILD : 0;
}

bool sampler_dead(const muster_sampler *s)
{
    return sampler_check(s) < 0;
}

int sampler_fail(const struct err *e, int code, char *err, size_t err_size)
{
    if (err && err_size)
        mem_copy_str(err, err_size, e->msg[0] ? e->msg : strerror(-code));
    return code;
}

const char *muster_version(void)
{
    return MUSTER_VERSION;
}

int muster_api(void)
{
    return MUSTER_API;
}

void muster_free(void *p)
{
    free(p);
}

/* ---- opening ---- */

static int read_options(const struct muster_options *o, struct muster_options *ret, struct err *err)
{
    *ret = (struct muster_options){.size = sizeof(*ret)};
    if (o && (o->size < sizeof(*ret) || o->size > 65536)) /* this is the first of its versions */
        return err_set(err, -EINVAL, "muster_options.size is %u: it should be sizeof(struct muster_options)", o->size);
    if (o)
        memcpy(ret, o, MIN(o->size, sizeof(*ret)));
    ret->size = sizeof(*ret);
    ret->interval_us = ret->interval_us ? ret->interval_us : INTERVAL_DEFAULT_US;
    if (ret->interval_us < INTERVAL_MIN_US || ret->interval_us > INTERVAL_MAX_US)
        return err_set(err, -EINVAL, "an interval is 10 ms to 60 s, not %.3f ms", ret->interval_us / 1e3);
    if (ret->mem_limit > INT64_MAX)
        ret->mem_limit = 0;
    return 0;
}

#define NO_GPU_HINT "; to try things out without one, use the collector 'replay'"

static int open_collector(muster_sampler *s, const char *name, struct err *err)
{
    struct str word = str_of(name && name[0] ? name : "auto");
    struct collect_conf conf = {.tick_ms = s->interval_us / 1000, .want = &s->pick.want};
    AUTO_FREE char *replay = NULL;
    uint64_t gpus;

    if (str_eq(word, "auto") || str_eq(word, "nvml")) {
        s->ops = &collector_nvml;
        if (str_eq(word, "auto") && !s->ops->present(&conf))
            return err_set(err, -ENODEV, "no GPU found on this machine: there is no NVIDIA driver" NO_GPU_HINT);
    } else if (str_eq(word, "replay") || str_starts(word, "replay:")) {
        s->ops = &collector_replay;
        struct str what = word.len > 7 ? str_n(word.p + 7, word.len - 7) : STR("1");
        bool built_in = str_uint(what, &gpus);
        replay = mem_fmt("%s%.*s", built_in ? ":" : "", STR_ARG(what));
        conf.replay = replay;
        if (built_in)
            conf.replay_text = trace_text();
    } else
        return err_set(err, -EINVAL, "unknown collector '%.64s': there are auto, nvml, replay", name);
    mem_copy_str(s->collector, sizeof(s->collector), s->ops->name);
    int r = s->ops->open(&s->collector_state, &conf, err);
    if (r < 0 && s->ops == &collector_nvml && err->msg[0]) {
        struct err why = *err;
        return err_set(err, r, "%.300s" NO_GPU_HINT, why.msg);
    }
    return r;
}

static int find_devices(muster_sampler *s, const char *list, struct err *err)
{
    size_t at[DEVICES_MAX];

    reading_reset(&s->reading);
    s->reading.at_ms = clock_wall_ms();
    int r = s->ops->read(s->collector_state, &s->reading, err);
    if (r < 0)
        return r;
    if (s->reading.n_devices == 0)
        return err_set(err, -ENODEV, "the NVIDIA driver is here, but it has no GPU" NO_GPU_HINT);
    r = pick_devices(&s->reading, list, getenv("CUDA_VISIBLE_DEVICES"), at, ARRAY_LEN(at), err);
    if (r < 0)
        return r;
    s->n_devices = (size_t)r;
    s->devices = mem_zero(s->n_devices, sizeof(*s->devices));
    for (size_t i = 0; i < s->n_devices; i++) {
        const struct device_fact *f = &s->reading.devices[at[i]].fact;
        struct sampler_device *d = &s->devices[i];
        mem_copy_str(d->uuid, sizeof(d->uuid), f->uuid);
        mem_copy_str(d->name, sizeof(d->name), f->name);
        d->index = f->index;
        d->at = at[i];
    }
    mem_copy_str(s->driver, sizeof(s->driver), s->reading.driver);
    return 0;
}

static void init_locks(muster_sampler *s)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&s->tick, NULL);
    pthread_mutex_init(&s->life, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attr);
    pthread_condattr_destroy(&attr);
}

/* Call it when no thread uses s. */
static void sampler_free(muster_sampler *s)
{
    if (s->collector_state)
        s->ops->close(s->collector_state);
    reading_fini(&s->reading);
    keep_fini(&s->keep);
    tape_state_fini(&s->now);
    tape_state_fini(&s->last);
    for (size_t i = 0; i < s->n_notes; i++)
        free(s->notes[i].value);
    FREE_ALL(s->held, s->devices);
    pthread_mutex_destroy(&s->tick);
    pthread_mutex_destroy(&s->life);
    pthread_cond_destroy(&s->wake);
    free(s);
}

static int open_parts(muster_sampler *s, const struct muster_options *o, struct err *err)
{
    int r = pick_metrics(o->metrics, &s->pick, err);
    if (r == 0)
        r = open_collector(s, o->collector, err);
    if (r == 0)
        r = find_devices(s, o->devices, err);
    if (r < 0)
        return r;
    r = keep_init(&s->keep, o->spill_dir, (int64_t)o->mem_limit, SAMPLER_BLOCK);
    if (r < 0)
        return err_set(err, r, "cannot have %u bytes of memory for samples", 2 * SAMPLER_BLOCK);
    tape_state_init(&s->now, s->n_devices, s->pick.n);
    tape_state_init(&s->last, s->n_devices, s->pick.n);
    s->held = mem_zero(s->n_devices * s->pick.n, sizeof(*s->held));
    if (s->pick.tasks)
        tape_mark_add(&s->now, STR("tasks"), MARK_LABEL);
    return 0;
}

int muster_open(muster_sampler **ret, const struct muster_options *o, char *err, size_t err_size)
{
    struct err e = {0};
    struct muster_options opts;

    if (!ret)
        return -EINVAL;
    int r = read_options(o, &opts, &e);
    if (r < 0)
        return sampler_fail(&e, r, err, err_size);
    muster_sampler *s = mem_zero(1, sizeof(*s));
    s->pid = getpid();
    s->interval_us = opts.interval_us;
    s->keep.fd = -1;
    init_locks(s);
    r = open_parts(s, &opts, &e);
    if (r < 0) {
        sampler_free(s);
        return sampler_fail(&e, r, err, err_size);
    }
    *ret = s;
    return 0;
}

void muster_close(muster_sampler *s)
{
    if (sampler_dead(s))
        return; /* a fork's copy: its content belongs to the other process, or may be inconsistent */
    muster_stop(s);
    pthread_mutex_lock(&s->keep.lock);
    s->orphan = s->given_up && !s->ended; /* the thread may return from the driver at any time: keep what it uses */
    bool free_now = !s->orphan;
    pthread_mutex_unlock(&s->keep.lock);
    if (free_now)
        sampler_free(s);
}

/* ---- devices and metrics ---- */

int muster_devices(const muster_sampler *s)
{
    return sampler_dead(s) ? 0 : (int)s->n_devices;
}

static const struct sampler_device *device_of(const muster_sampler *s, int device)
{
    return sampler_dead(s) || device < 0 || (size_t)device >= s->n_devices ? NULL : &s->devices[device];
}

int muster_device_index(const muster_sampler *s, int device)
{
    const struct sampler_device *d = device_of(s, device);
    return d ? d->index : sampler_dead(s) ? sampler_check(s) : -EINVAL;
}

const char *muster_device_uuid(const muster_sampler *s, int device)
{
    const struct sampler_device *d = device_of(s, device);
    return d ? d->uuid : NULL;
}

const char *muster_device_name(const muster_sampler *s, int device)
{
    const struct sampler_device *d = device_of(s, device);
    return d ? d->name : NULL;
}

int muster_metrics(const muster_sampler *s)
{
    return sampler_dead(s) ? 0 : (int)s->pick.n;
}

static const struct picked *column_of(const muster_sampler *s, int metric)
{
    return sampler_dead(s) || metric < 0 || (size_t)metric >= s->pick.n ? NULL : &s->pick.columns[metric];
}

const char *muster_metric_name(const muster_sampler *s, int metric)
{
    const struct picked *c = column_of(s, metric);
    return c ? c->name : NULL;
}

const char *muster_metric_unit(const muster_sampler *s, int metric)
{
    const struct picked *c = column_of(s, metric);
    return c ? c->unit : NULL;
}

int muster_metric_find(const muster_sampler *s, const char *name)
{
    if (sampler_dead(s))
        return sampler_check(s);
    size_t at = name ? FIRST(s->pick.n, i, !strcmp(s->pick.columns[i].name, name)) : s->pick.n;
    return at < s->pick.n ? (int)at : -ENOENT;
}

double sampler_number(const muster_sampler *s, size_t metric, int64_t v)
{
    return (double)v / (double)s->pick.columns[metric].per;
}

/* ---- one sample ---- */

static const struct device_reading *reading_of(muster_sampler *s, struct sampler_device *d)
{
    const struct reading *r = &s->reading;

    if (d->at < r->n_devices && !strcmp(r->devices[d->at].fact.uuid, d->uuid))
        return &r->devices[d->at];
    d->at = FIRST(r->n_devices, i, !strcmp(r->devices[i].fact.uuid, d->uuid));
    return d->at < r->n_devices ? &r->devices[d->at] : NULL;
}

/* The current value of a column of a device: the reading, or the last value of a slow metric. */
static bool cell_value(muster_sampler *s, const struct device_reading *d, size_t m, size_t cell, int64_t now_us,
                       int64_t *ret)
{
    const struct picked *c = &s->pick.columns[m];
    struct held *h = &s->held[cell];

    if (!d || d->fact.lost) {
        h->have = false;
        return false;
    }
    if (pick_value(c, &d->sample, ret)) {
        *h = (struct held){true, *ret, now_us};
        return true;
    }
    *ret = h->v;
    return c->slow && h->have && now_us - h->at_us <= HOLD_US;
}

static void fill_cells(muster_sampler *s, bool good, int64_t now_us)
{
    for (size_t i = 0; i < s->n_devices; i++) {
        const struct device_reading *d = good ? reading_of(s, &s->devices[i]) : NULL;
        for (size_t m = 0; m < s->pick.n; m++) {
            size_t cell = m * s->n_devices + i;
            int64_t v = 0;
            bool have = cell_value(s, d, m, cell, now_us, &v);
            s->now.have[cell] = have;
            if (have)
                s->now.v[cell] = v;
        }
    }
}

/* With keep.lock held: time counts from here, unless it does already. */
static void begin(muster_sampler *s, int64_t now_us)
{
    if (s->begun)
        return;
    s->begun = true;
    s->origin_us = now_us;
    s->origin_wall_us = clock_wall_ms() * 1000;
}

/* Takes one sample. The caller holds s->tick. */
static void sampler_tick(muster_sampler *s)
{
    struct err e = {0};
    int64_t now_us = clock_mono_us();
    int r = -EAGAIN;

    if (now_us >= s->retry_us) {
        reading_reset(&s->reading);
        s->reading.at_ms = clock_wall_ms();
        r = s->ops->read(s->collector_state, &s->reading, &e);
        if (r < 0)
            s->retry_us = now_us + RETRY_US;
    }
    int64_t took_us = clock_mono_us() - now_us;
    pthread_mutex_lock(&s->keep.lock);
    begin(s, now_us);
    fill_cells(s, r == 0, now_us);
    s->now.at_us = now_us - s->origin_us;
    s->sampled = true;
    s->failed += r < 0;
    s->slowest_us = MAX(s->slowest_us, took_us);
    if (r < 0 && e.msg[0])
        s->error = e;
    bool full = keep_put(&s->keep, &s->now, &s->last);
    pthread_mutex_unlock(&s->keep.lock);
    if (full && keep_flush(&s->keep, &e) < 0) {
        LOCKED(&s->keep.lock);
        s->error = e;
    }
}

int muster_tick(muster_sampler *s)
{
    if (sampler_dead(s))
        return sampler_check(s);
    pthread_mutex_lock(&s->life);
    int r = s->given_up ? -ETIMEDOUT : s->running ? -EBUSY : 0;
    pthread_mutex_unlock(&s->life);
    if (r < 0)
        return r;
    LOCKED(&s->tick);
    sampler_tick(s);
    return 0;
}

/* ---- the thread ---- */

static struct timespec at_us(int64_t us)
{
    return (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
}

static void *sampler_main(void *arg)
{
    muster_sampler *s = arg;
    int64_t due_us = clock_mono_us(), now_us;

    pthread_setname_np(pthread_self(), "muster");
    prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
    pthread_mutex_lock(&s->keep.lock);
    while (!s->stop) {
        if ((now_us = clock_mono_us()) < due_us) {
            struct timespec ts = at_us(due_us);
            pthread_cond_timedwait(&s->wake, &s->keep.lock, &ts);
            continue;
        }
        int64_t late = (now_us - due_us) / s->interval_us;
        s->skipped += late;
        due_us += (late + 1) * s->interval_us;
        pthread_mutex_unlock(&s->keep.lock);
        pthread_mutex_lock(&s->tick);
        sampler_tick(s);
        pthread_mutex_unlock(&s->tick);
        pthread_mutex_lock(&s->keep.lock);
    }
    s->ended = true;
    bool orphan = s->orphan;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->keep.lock);
    if (orphan)
        sampler_free(s);
    return NULL;
}

/* Signals are the program's own. */
static int start_thread(muster_sampler *s)
{
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    int r = thread_start(&s->thread, &attr, sampler_main, s);
    pthread_attr_destroy(&attr);
    return r;
}

int muster_start(muster_sampler *s, char *err, size_t err_size)
{
    struct err e = {0};
    int r = 0;

    if (sampler_dead(s)) {
        err_set(&e, sampler_check(s),
                s ? "this sampler belongs to the process that opened it, not to its fork" : "no sampler");
        return sampler_fail(&e, sampler_check(s), err, err_size);
    }
    LOCKED(&s->life);
    if (s->given_up)
        r = err_set(&e, -ETIMEDOUT, "a call to the GPU's driver has not returned: this sampler has stopped");
    else if (!s->running) {
        pthread_mutex_lock(&s->keep.lock);
        s->stop = s->ended = false;
        begin(s, clock_mono_us());
        pthread_mutex_unlock(&s->keep.lock);
        r = start_thread(s);
        s->running = r == 0;
        if (r < 0)
            err_set(&e, r, "cannot start a thread: %s", strerror(-r));
    }
    return r < 0 ? sampler_fail(&e, r, err, err_size) : 0;
}

int muster_stop(muster_sampler *s)
{
    if (sampler_dead(s))
        return sampler_check(s);
    LOCKED(&s->life);
    if (s->running) {
        struct timespec until = at_us(clock_mono_us() + STOP_US);
        int r = 0;
        pthread_mutex_lock(&s->keep.lock);
        s->stop = true;
        pthread_cond_broadcast(&s->wake);
        while (!s->ended && r == 0)
            r = pthread_cond_timedwait(&s->wake, &s->keep.lock, &until);
        bool ended = s->ended;
        pthread_mutex_unlock(&s->keep.lock);
        if (ended)
            pthread_join(s->thread, NULL);
        else
            pthread_detach(s->thread);
        s->given_up = !ended;
        s->running = false;
    }
    return s->given_up ? -ETIMEDOUT : 0;
}

/* ---- how it goes ---- */

/* Locks a sampler that is const for the caller: only the meaning of muster_sampler is constant. */
static pthread_mutex_t *lock_of(const muster_sampler *s)
{
    return (pthread_mutex_t *)&s->keep.lock;
}

int muster_latest(const muster_sampler *s, int metric, int device, double *ret)
{
    if (sampler_dead(s))
        return sampler_check(s);
    if (!column_of(s, metric) || !device_of(s, device) || !ret)
        return -EINVAL;
    size_t cell = (size_t)metric * s->n_devices + (size_t)device;
    LOCKED(lock_of(s));
    if (!s->sampled || !s->now.have[cell])
        return -ENODATA;
    *ret = sampler_number(s, (size_t)metric, s->now.v[cell]);
    return 0;
}

int muster_stats(const muster_sampler *s, struct muster_stats *ret)
{
    if (sampler_dead(s))
        return sampler_check(s);
    if (!ret || ret->size < sizeof(uint32_t) || ret->size > 65536)
        return -EINVAL;
    struct muster_stats st = {.size = ret->size, .interval_us = (uint32_t)s->interval_us};
    LOCKED(lock_of(s));
    st.samples = s->keep.taken;
    st.skipped = s->skipped;
    st.failed = s->failed;
    st.spilled = s->keep.spilled;
    st.spilled_bytes = s->keep.spilled_bytes;
    st.dropped = s->keep.dropped;
    st.memory_bytes = (int64_t)(s->keep.grows.cap + s->keep.full.cap);
    st.slowest_us = s->slowest_us;
    memcpy(ret, &st, MIN(ret->size, sizeof(st)));
    return 0;
}

int muster_error(const muster_sampler *s, char *err, size_t err_size)
{
    if (sampler_dead(s))
        return sampler_check(s);
    LOCKED(lock_of(s));
    if (err && err_size)
        mem_copy_str(err, err_size, s->error.msg);
    return s->error.code;
}

int64_t muster_count(const muster_sampler *s)
{
    if (sampler_dead(s))
        return sampler_check(s);
    LOCKED(lock_of(s));
    return keep_count(&s->keep);
}

int muster_clear(muster_sampler *s)
{
    if (sampler_dead(s))
        return sampler_check(s);
    keep_clear(&s->keep);
    LOCKED(&s->keep.lock);
    s->sampled = false;
    s->skipped = s->failed = s->slowest_us = 0;
    s->error = (struct err){0};
    return 0;
}
