/*
 * nvml.c: the collector for NVIDIA GPUs. Reads quick values at every tick. Slow values come from nvml_slow.c, driver
 * events from nvml_events.c, the list of devices from nvml_scan.c.
 */
#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/order.h"
#include "collect/collect.h"
#include "collect/nvml_events.h"
#include "collect/nvml_scan.h"
#include "collect/nvml_slow.h"

enum {
    PICKY_LOOK_MS = 1000, /* for a caller that reads often: has a GPU fallen asleep or woken up */
    SELDOM_MS = 5000,     /* processes with the same memory, and the sleep state of a GPU that may not sleep */
    LOOK_MS = 10000,      /* is a lost GPU back, is there a new one */
    RENEW_MS = 60000,     /* while a GPU is lost, close and reopen the driver: first after this time, */
    LONGEST_MS = 3600000, /* then with doubled pauses, up to this */
    STUCK_MS = 30000,     /* an expensive call that takes this long is reported in a note */
    REST_IDLE_MS = 60000, /* close an idle GPU that may sleep after this time; doubled while in vain */
    REST_MS = 20000,      /* and then wait this long for it to fall asleep */
};

struct collector {
    char *path; /* NULL: the system's library */
    char *root;
    struct nvml lib;
    bool connected;
    bool stuck; /* a thread hangs in the driver: this process is of no more use */
    int64_t connected_ms, look_ms, renew_wait_ms;
    char driver[32], cuda[16];
    struct nvml_list list;
    struct nvml_slow *slow;
    struct nvml_events *events;
    bool picky;           /* the caller wants some metrics only */
    bool dear;            /* and expensive ones are among them */
    struct bits unwanted; /* when picky */
    size_t n_asks;
    struct nvml_query *asks; /* room for one per device of the list */
    int64_t asleep_ms;       /* when to check again which GPUs sleep */
    size_t n_procs;          /* room of procs, in records of the longest kind */
    char *procs;
    /* letting go of GPUs that may sleep */
    bool resting;
    int64_t idle_since_ms, rest_until_ms, rest_wait_ms;
};
enum { PROC_RECORD = 32 };

/* ---- coming and going ---- */

static int stop_threads(struct collector *c, struct err *err)
{
    if (nvml_slow_free(c->slow) == 0)
        c->slow = NULL;
    if (nvml_events_free(c->events) == 0)
        c->events = NULL;
    c->stuck = c->slow || c->events;
    if (!c->stuck)
        return 0;
    return err_set(err, -ESTALE, "a call to the NVIDIA driver does not return");
}

/* Marks unwanted metrics as absent. */
static void forget_unwanted(struct collector *c)
{
    for (size_t i = 0; i < c->list.n; i++)
        for (size_t w = 0; w < ARRAY_LEN(c->unwanted.w); w++) {
            c->list.v[i]->absent.w[w] |= c->unwanted.w[w];
            c->list.v[i]->dear.absent.w[w] |= c->unwanted.w[w];
        }
}

static int start_threads(struct collector *c, struct err *err)
{
    if (c->picky)
        forget_unwanted(c);
    if (c->picky && !c->dear)
        return 0;
    c->slow = nvml_slow_new(&c->lib, c->list.v, c->list.n);
    int r = nvml_slow_start(c->slow);
    if (r < 0)
        return err_set(err, r, "cannot start a thread: %s", strerror(-r));
    if (!c->picky)
        c->events = nvml_events_start(&c->lib, c->list.v, c->list.n);
    return 0;
}

static int disconnect(struct collector *c, struct err *err)
{
    int r = stop_threads(c, err);
    if (r < 0)
        return r;
    if (c->connected)
        c->lib.shutdown();
    c->connected = false;
    nvml_list_close(&c->list);
    nvml_unload(&c->lib);
    return 0;
}

/* Maps an NVML code that concerns the whole collector to an errno. */
static int failed(const struct nvml *lib, int rc, const char *what, struct err *err)
{
    if (nvml_judge(rc) == NVML_STALE)
        return err_set(err, -ESTALE, "NVIDIA's library and driver differ (%s): %s", what, nvml_text(lib, rc));
    return err_set(err, -ENODEV, "the NVIDIA driver does not work (%s): %s", what, nvml_text(lib, rc));
}

static void read_versions(struct collector *c)
{
    char driver[80] = "";
    int cuda = 0;
    c->driver[0] = c->cuda[0] = 0;
    if (c->lib.driver_version && c->lib.driver_version(driver, sizeof(driver)) == 0)
        mem_copy_str(c->driver, sizeof(c->driver), driver);
    if (c->lib.cuda_version && c->lib.cuda_version(&cuda) == 0 && cuda > 0)
        snprintf(c->cuda, sizeof(c->cuda), "%d.%d", cuda / 1000, cuda % 1000 / 10);
}

/* Makes the list of devices again. On failure it closes the driver. */
static int rescan(struct collector *c, int64_t now_ms, struct err *err)
{
    int r = stop_threads(c, err);
    if (r < 0)
        return r;
    int rc = nvml_scan(&c->list, &c->lib, c->root, now_ms);
    r = rc ? failed(&c->lib, rc, "listing GPUs", err) : start_threads(c, err);
    if (r < 0)
        disconnect(c, NULL);
    return r;
}

static int connect_driver(struct collector *c, int64_t now_ms, struct err *err)
{
    int r = nvml_load(&c->lib, c->path, err);
    if (r < 0)
        return r;
    int rc = c->lib.init();
    if (rc && nvml_judge(rc) < NVML_STALE && c->lib.init_flags && c->list.n > 0)
        rc = c->lib.init_flags(NVML_INIT_NO_GPUS); /* all of them are gone */
    if (rc) {
        r = failed(&c->lib, rc, "start", err);
        nvml_unload(&c->lib);
        return r;
    }
    c->connected = true;
    c->connected_ms = now_ms;
    c->look_ms = now_ms + LOOK_MS;
    c->idle_since_ms = 0;
    read_versions(c);
    return rescan(c, now_ms, err);
}

/* ---- letting GPUs sleep ---- */

/* Reads each GPU's power state from the kernel. Returns true if all are asleep. */
static bool look_asleep(struct collector *c, bool *ret_changed)
{
    bool all = c->list.n > 0;
    *ret_changed = false;
    for (size_t i = 0; i < c->list.n; i++) {
        struct nvml_dev *d = c->list.v[i];
        bool asleep = !d->parent && nvml_pci_asleep(c->root, d->fact.pci);
        if (!d->parent && !d->fact.lost)
            *ret_changed |= asleep != d->fact.asleep;
        all &= asleep;
    }
    return all;
}

static void mark_resting(struct collector *c)
{
    for (size_t i = 0; i < c->list.n; i++) {
        struct device_fact *f = &c->list.v[i]->fact;
        f->asleep = nvml_pci_asleep(c->root, f->pci);
        mem_copy_str(f->note, sizeof(f->note),
                     f->asleep ? "asleep; not woken by muster" : "idle; released for a while so that it may sleep");
    }
}

/* Be connected, or know why that is not wanted now. */
static int be_ready(struct collector *c, int64_t now_ms, struct err *err)
{
    bool changed;
    if (c->connected)
        return 0;
    if (c->resting) {
        bool all = look_asleep(c, &changed);
        if (all)
            c->rest_wait_ms = REST_IDLE_MS;
        if (all || now_ms < c->rest_until_ms) {
            mark_resting(c);
            return 0;
        }
        c->resting = false;
    }
    if (!c->picky && nvml_scan_asleep(&c->list, c->root)) {
        c->resting = true;
        c->rest_until_ms = 0;
        return 0;
    }
    return connect_driver(c, now_ms, err);
}

static bool idle(const struct nvml_dev *d, const struct device_reading *r)
{
    return d->may_sleep && d->handle && r->n_uses == 0 && (!sample_has(&r->sample, M_util) || r->sample.v[M_util] == 0);
}

/* An open driver keeps a GPU awake. If all may sleep and none is in use, close the driver. */
static int maybe_rest(struct collector *c, const struct reading *r, int64_t now_ms, struct err *err)
{
    bool all = r->n_devices == c->list.n && c->list.n > 0 && !c->picky;
    for (size_t i = 0; i < c->list.n && all; i++)
        all = idle(c->list.v[i], &r->devices[i]);
    if (!all || !c->idle_since_ms)
        c->idle_since_ms = all ? now_ms : 0;
    if (!all || now_ms - c->idle_since_ms < c->rest_wait_ms)
        return 0;
    c->resting = true;
    c->rest_until_ms = now_ms + REST_MS;
    c->rest_wait_ms = MIN(c->rest_wait_ms * 2, (int64_t)LONGEST_MS);
    return disconnect(c, err);
}

/* ---- one tick of one device ---- */

static void read_memory(struct nvml_query *a)
{
    struct nvml_memory_v2 m = {.version = NVML_MEMORY_V2};
    struct nvml_memory_v1 old;
    int rc = 3;
    if (!nvml_can_query(a, M_mem_used))
        return;
    if (a->lib->memory_v2 && !bits_has(a->absent, M_mem_reserved)) {
        rc = a->lib->memory_v2(a->handle, &m);
        nvml_answer(a, M_mem_reserved, rc, (int64_t)m.reserved);
    }
    if (a->lib->memory_v1 && nvml_judge(rc) == NVML_ABSENT) { /* v1 counts reserved memory as used */
        rc = a->lib->memory_v1(a->handle, &old);
        m.used = old.used;
        m.total = old.total;
    }
    nvml_answer(a, M_mem_used, rc, (int64_t)m.used);
    nvml_answer(a, M_mem_total, rc, (int64_t)m.total);
}

static void read_gpu(struct nvml_query *a)
{
    const struct nvml *lib = a->lib;
    struct nvml_utilization util;
    struct nvml_field temp = {.id = NVML_FIELD_MEM_TEMP};
    nvml_u64 reasons;
    unsigned period;
    if (lib->utilization && nvml_can_query(a, M_util)) {
        int rc = lib->utilization(a->handle, &util);
        nvml_answer(a, M_util, rc, rc ? 0 : (int64_t)MIN(util.gpu, 100u) * 100);
        nvml_answer(a, M_mem_util, rc, rc ? 0 : (int64_t)MIN(util.memory, 100u) * 100);
    }
    read_memory(a);
    NVML_ASK(a, M_temp, 1000, temperature, 0, &u);
    NVML_ASK(a, M_power, 1, power, &u);
    NVML_ASK(a, M_clock_sm, 1000000, clock, NVML_CLOCK_SM, &u);
    NVML_ASK(a, M_clock_mem, 1000000, clock, NVML_CLOCK_MEM, &u);
    NVML_ASK(a, M_pstate, 1, pstate, &u);
    NVML_ASK(a, M_enc, 100, encoder, &u, &period);
    NVML_ASK(a, M_dec, 100, decoder, &u, &period);
    if (lib->reasons && nvml_can_query(a, M_throttle)) {
        int rc = lib->reasons(a->handle, &reasons);
        nvml_answer(a, M_throttle, rc, rc ? 0 : (int64_t)reasons);
    }
    if (lib->fields && nvml_can_query(a, M_temp_mem)) {
        int rc = lib->fields(a->handle, 1, &temp);
        rc = rc ? rc : temp.rc;
        nvml_answer(a, M_temp_mem, rc, rc ? 0 : nvml_number(temp.type, temp.value) * 1000);
    }
    if (sample_has(a->sample, M_pstate) && a->sample->v[M_pstate] > 15)
        bits_clear(&a->sample->have, M_pstate); /* 32: the driver does not know */
}

/* ---- processes ---- */

/* False: it has no number here. */
static bool add_use(struct device_reading *r, uint8_t kind, const char *record)
{
    uint32_t pid;
    uint64_t mem;
    memcpy(&pid, record, sizeof(pid));
    memcpy(&mem, record + 8, sizeof(mem));
    if (pid == 0 || pid > INT32_MAX)
        return false; /* outside our pid namespace */
    int64_t bytes = mem == NVML_NO_MEMORY || mem > INT64_MAX ? -1 : (int64_t)mem;
    struct raw_use *same = FIND(r->uses, r->n_uses, u, u->pid == (int32_t)pid);
    if (same) { /* in several lists: one process */
        same->kind |= kind;
        same->mem = MAX(same->mem, bytes);
    } else {
        device_reading_use(r, (struct raw_use){.pid = (int32_t)pid, .kind = kind, .mem = bytes, .sm = -1});
    }
    return true;
}

static bool read_list(struct collector *c, struct nvml_dev *d, struct nvml_query *a, struct device_reading *r,
                      uint8_t kind, int (*list)(nvml_handle, unsigned *, void *), size_t stride)
{
    unsigned n = 0;
    int rc = NVML_TOO_SMALL;
    if (!list)
        return false;
    for (int tries = 0; tries < 3 && rc == NVML_TOO_SMALL; tries++) {
        if (n >= c->n_procs) { /* their number may grow until the next call */
            c->n_procs = MIN((size_t)n * 2 + 5, (size_t)PROCS_MAX * 2);
            c->procs = mem_grow(c->procs, c->n_procs, PROC_RECORD);
        }
        n = (unsigned)c->n_procs;
        rc = list(a->handle, &n, c->procs);
    }
    if (nvml_note_result(a, rc) != NVML_GOOD)
        return nvml_judge(rc) != NVML_ABSENT;
    for (size_t i = 0; i < MIN((size_t)n, c->n_procs); i++)
        d->n_hidden += !add_use(r, kind, c->procs + i * stride);
    return true;
}

static void read_lists(struct collector *c, struct nvml_dev *d, struct nvml_query *a, struct device_reading *r)
{
    const struct nvml *lib = a->lib;
    const struct {
        uint8_t kind;
        int (*now)(nvml_handle, unsigned *, void *), (*old)(nvml_handle, unsigned *, void *);
    } lists[] = {{PROC_COMPUTE, lib->compute_v3, lib->compute_v1},
                 {PROC_GRAPHICS, lib->graphics_v3, lib->graphics_v1},
                 {PROC_MPS, lib->mps_v3, lib->mps_v1}};
    d->n_hidden = 0;
    for (size_t i = 0; i < ARRAY_LEN(lists) && a->worst == NVML_GOOD; i++) {
        if (d->no_list & lists[i].kind)
            continue;
        bool ok = lists[i].now ? read_list(c, d, a, r, lists[i].kind, lists[i].now, lib->stride_v3)
                               : read_list(c, d, a, r, lists[i].kind, lists[i].old, 16);
        if (!ok)
            d->no_list |= lists[i].kind;
    }
}

/*
 * Reads the processes on the device. A process that starts or ends changes the memory in use, and the lists cost as
 * much as the rest of a tick. So while the memory in use stays the same, the lists are read only every SELDOM_MS.
 */
static void read_uses(struct collector *c, struct nvml_dev *d, struct nvml_query *a, struct device_reading *r,
                      int64_t now_ms)
{
    int64_t mem = sample_has(a->sample, M_mem_used) ? a->sample->v[M_mem_used] : -1;
    if (mem >= 0 && mem == d->listed_mem && d->listed_ms && now_ms - d->listed_ms < SELDOM_MS) {
        for (size_t i = 0; i < d->n_uses; i++)
            device_reading_use(r, d->uses[i]);
        return;
    }
    read_lists(c, d, a, r);
    d->listed_ms = a->worst == NVML_GOOD ? now_ms : 0;
    d->listed_mem = mem;
    d->n_uses = 0;
    for (size_t i = 0; i < r->n_uses; i++)
        VEC_ADD(d->uses, d->n_uses, d->cap_uses, r->uses[i]);
}

/* Keeps the time each process was first seen, and sets its SM use. */
static void read_sm(struct collector *c, size_t i, struct device_reading *r, int64_t now_ms)
{
    struct nvml_dev *d = c->list.v[i];
    size_t n = 0;
    for (size_t k = 0; k < d->n_pids; k++)
        if (ANY(r->n_uses, u, r->uses[u].pid == d->pids[k].pid))
            d->pids[n++] = d->pids[k];
    d->n_pids = n;
    for (size_t u = 0; u < r->n_uses; u++) {
        size_t k = FIRST(d->n_pids, p, d->pids[p].pid == r->uses[u].pid);
        if (k == d->n_pids)
            VEC_ADD(d->pids, d->n_pids, d->cap_pids, (struct nvml_pid){r->uses[u].pid, now_ms});
        r->uses[u].sm = nvml_slow_sm(c->slow, i, r->uses[u].pid, d->pids[k].since_ms);
    }
    nvml_slow_procs(c->slow, i, r->n_uses + d->n_hidden);
}

/* ---- the tick ---- */

static void add_event(struct reading *r, size_t slot, int kind, int64_t code, int64_t at_ms, const char *text)
{
    struct node_event e = {.at_ms = at_ms, .kind = (uint16_t)kind, .slot = (uint16_t)slot, .code = code};
    mem_copy_str(e.text, sizeof(e.text), text);
    reading_event(r, &e);
}

/* Fills out with the readings of device i; a holds the result of the calls. */
static void read_dev(struct collector *c, size_t i, struct device_reading *out, struct nvml_query *a, int64_t now_ms)
{
    struct nvml_dev *d = c->list.v[i];
    *a = (struct nvml_query){.lib = &c->lib, .handle = d->handle, .absent = &d->absent, .sample = &out->sample};
    out->fact = d->fact;
    if (!d->handle)
        return;
    if (d->parent)
        read_memory(a);
    else
        read_gpu(a);
    if (d->instances == 0 && !c->picky)
        read_uses(c, d, a, out, now_ms); /* else they are listed with the instances */
    for (enum metric m = 0; m < M_COUNT; m++)
        if (sample_has(&d->first, m))
            sample_set(&out->sample, m, d->first.v[m]);
    d->first.have = (struct bits){0};
    if (!c->picky)
        read_sm(c, i, out, now_ms);
}

static void read_slow(struct collector *c, size_t i, struct reading *r)
{
    int64_t new_ecc = 0;
    if (!c->slow)
        return;
    nvml_slow_take(c->slow, i, &r->devices[i].sample, &new_ecc);
    if (new_ecc > 0)
        add_event(r, i + 1, EVENT_ECC, new_ecc, r->at_ms, "memory errors that could not be corrected");
}

/* Results of one tick that concern the whole driver. */
struct outcome {
    enum nvml_verdict worst; /* NVML_GOOD, or NVML_STALE and up */
    int rc;
    bool rescan;
};

static void lose(struct collector *c, size_t i, int rc, struct device_reading *out, int64_t now_ms)
{
    struct nvml_dev *d = c->list.v[i];
    nvml_list_lose(d, nvml_text(&c->lib, rc), now_ms);
    out->fact = d->fact;
    out->sample.have = (struct bits){0};
    out->n_uses = 0;
}

static struct outcome read_all(struct collector *c, struct reading *r, int64_t now_ms)
{
    struct outcome o = {.worst = NVML_GOOD};
    size_t open = 0, unknown = 0;
    if (c->n_asks < c->list.n) {
        c->n_asks = c->list.n;
        c->asks = mem_grow(c->asks, c->n_asks, sizeof(c->asks[0]));
    }
    struct nvml_query *asks = c->asks;
    int64_t clock_hz = 0; /* a MIG instance has its GPU's, which comes before it */
    for (size_t i = 0; i < c->list.n; i++) {
        struct nvml_query *a = &asks[i];
        read_dev(c, i, reading_add(r), a, now_ms);
        const struct sample *s = &r->devices[i].sample;
        if (!c->list.v[i]->parent)
            clock_hz = sample_has(s, M_clock_sm) ? s->v[M_clock_sm] : 0;
        if (c->slow && clock_hz > 0)
            nvml_slow_clock(c->slow, i, clock_hz);
        if (a->worst > o.worst && a->worst >= NVML_STALE)
            o = (struct outcome){.worst = a->worst, .rc = a->rc};
        open += c->list.v[i]->handle != NULL;
        unknown += a->unknown && !a->good;
    }
    if (unknown > 0 && unknown == open) /* not one GPU works: it is the driver */
        o = (struct outcome){.worst = NVML_DEAD, .rc = NVML_UNKNOWN};
    for (size_t i = 0; i < c->list.n; i++) {
        struct nvml_dev *d = c->list.v[i];
        const struct nvml_query *a = &asks[i];
        bool dumb = a->unknown && !a->good;
        if (o.worst == NVML_GOOD && d->handle && !d->parent && (a->worst == NVML_LOST || dumb)) {
            lose(c, i, dumb ? NVML_UNKNOWN : a->rc, &r->devices[i], now_ms);
            o.rescan = true;
        } else if (d->handle)
            read_slow(c, i, r);
    }
    return o;
}

/* Reads the events of the driver. Returns true if MIG instances were added or removed. */
static bool read_news(struct collector *c, struct reading *r)
{
    struct nvml_event_list news;
    bool mig = false;
    while (nvml_events_next(c->events, &news)) {
        if (news.type == NVML_EVENT_XID) {
            struct node_event e = {.kind = EVENT_XID, .code = (int64_t)news.data};
            AUTO_BUF text = BUF_INIT(sizeof(e.text)); /* for hubs that know fewer numbers */
            event_about(&e, &text);
            add_event(r, news.dev + 1, EVENT_XID, e.code, news.at_ms, buf_str(&text).p);
        } else if (news.type == NVML_EVENT_DOUBLE_BIT)
            nvml_slow_ecc_now(c->slow, news.dev);
        else
            mig = true;
    }
    return mig;
}

/* Why values are missing, of devices that have no other remark. */
static void note_missing(struct collector *c, struct reading *r, int64_t now_ms)
{
    bool stuck = c->slow && nvml_slow_stuck_ms(c->slow, now_ms) >= STUCK_MS;
    for (size_t i = 0; i < r->n_devices && c->slow; i++) {
        struct device_fact *f = &r->devices[i].fact;
        const char *why =
            stuck ? "some values are missing: a call to the driver does not return" : nvml_slow_no_gpm(c->slow, i);
        if (why && !f->note[0])
            mem_copy_str(f->note, sizeof(f->note), why);
    }
}

/* After the tick: is the list of devices still right, is the driver still there? */
static int look_after(struct collector *c, const struct reading *reading, struct outcome o, int64_t now_ms,
                      struct err *err)
{
    if (o.worst == NVML_GOOD && c->slow && (o.rc = nvml_slow_bad(c->slow)))
        o.worst = nvml_judge(o.rc);
    if (o.worst == NVML_STALE)
        return failed(&c->lib, o.rc, "reading", err);
    if (o.worst == NVML_DEAD) {
        int r = failed(&c->lib, o.rc, "reading", err);
        return disconnect(c, NULL) < 0 ? -ESTALE : r;
    }
    bool lost = ANY(c->list.n, i, c->list.v[i]->fact.lost);
    if (!lost)
        c->renew_wait_ms = RENEW_MS;
    if (!o.rescan && now_ms >= c->look_ms) {
        c->look_ms = now_ms + LOOK_MS;
        o.rescan = nvml_list_stale(&c->list, &c->lib);
    }
    if (o.rescan)
        return rescan(c, now_ms, err);
    if (lost && now_ms - c->connected_ms >= c->renew_wait_ms) { /* some GPUs need a reloaded library */
        c->renew_wait_ms = MIN(c->renew_wait_ms * 2, (int64_t)LONGEST_MS);
        int gone = disconnect(c, err);
        return gone < 0 ? gone : connect_driver(c, now_ms, err);
    }
    return maybe_rest(c, reading, now_ms, err);
}

static int nvml_read(struct collector *c, struct reading *ret, struct err *err)
{
    int64_t now_ms = clock_mono_ms();
    bool changed;
    if (c->stuck)
        return err_set(err, -ESTALE, "a call to the NVIDIA driver does not return");
    int r = be_ready(c, now_ms, err);
    if (r == 0 && c->connected && now_ms >= c->asleep_ms) {
        bool may = ANY(c->list.n, i, c->list.v[i]->may_sleep);
        c->asleep_ms = now_ms + (c->picky ? PICKY_LOOK_MS : may ? 0 : SELDOM_MS);
        look_asleep(c, &changed);
        r = changed ? rescan(c, now_ms, err) : 0;
    }
    if (r < 0)
        return r;
    mem_copy_str(ret->driver, sizeof(ret->driver), c->driver);
    mem_copy_str(ret->cuda, sizeof(ret->cuda), c->cuda);
    struct outcome o = read_all(c, ret, now_ms);
    if (c->list.nameless) /* a remark, not a failure */
        err_set(err, 0, "%zu GPUs are asleep and were not seen awake yet", c->list.nameless);
    if (!c->connected)
        return 0;
    o.rescan |= read_news(c, ret) || (c->slow && nvml_slow_mig_changed(c->slow));
    note_missing(c, ret, now_ms);
    return look_after(c, ret, o, now_ms, err);
}

/* ---- the collector ---- */

static bool nvml_present(const struct collect_conf *conf)
{
    static const char *const signs[] = {"/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg"};
    if (conf->nvml_lib || getenv("MUSTER_NVML_LIB"))
        return true;
    return ANY(ARRAY_LEN(signs), i, access(signs[i], F_OK) == 0);
}

static void nvml_close(struct collector *c)
{
    if (!c || c->stuck || disconnect(c, NULL) < 0)
        return; /* a thread still uses its memory */
    nvml_list_fini(&c->list);
    FREE_ALL(c->procs, c->asks, c->path, c->root, c);
}

bool collect_quick(enum metric m)
{
    static const enum metric quick[] = {M_util,   M_mem_util, M_mem_used, M_mem_reserved, M_mem_total,
                                        M_temp,   M_temp_mem, M_power,    M_clock_sm,     M_clock_mem,
                                        M_pstate, M_enc,      M_dec,      M_throttle};
    return ANY(ARRAY_LEN(quick), i, quick[i] == m);
}

/* Metrics that one call gives are wanted together. */
static void be_picky(struct collector *c, const struct bits *want)
{
    static const enum metric twins[][2] = {{M_util, M_mem_util},
                                           {M_mem_used, M_mem_reserved},
                                           {M_mem_used, M_mem_total},
                                           {M_nvlink_tx, M_nvlink_rx},
                                           {M_rows_remapped, M_rows_pending},
                                           {M_rows_remapped, M_rows_failed},
                                           {M_rows_remapped, M_rows_spent}};
    static const enum metric needs[][2] =
        {{M_work, M_tensor_active}, {M_work, M_fp64_active},  {M_work, M_fp32_active},    {M_work, M_fp16_active},
         {M_work, M_int_active},    {M_work, M_dram_active},  {M_flops, M_tensor_active}, {M_flops, M_hmma_active},
         {M_flops, M_imma_active},  {M_flops, M_dfma_active}, {M_flops, M_fp64_active},   {M_flops, M_fp32_active},
         {M_flops, M_dram_active},  {M_flops, M_clock_sm}}; /* what it is computed from */
    struct bits w = *want;
    for (size_t i = 0; i < ARRAY_LEN(needs); i++)
        if (bits_has(want, needs[i][0]))
            bits_set(&w, needs[i][1]);
    for (size_t i = 0; i < 2 * ARRAY_LEN(twins); i++) { /* twice: a derived metric may need another derived one */
        const enum metric *t = twins[i % ARRAY_LEN(twins)];
        if (bits_has(&w, t[0]) || bits_has(&w, t[1])) {
            bits_set(&w, t[0]);
            bits_set(&w, t[1]);
        }
    }
    c->picky = true;
    for (enum metric m = 0; m < M_COUNT; m++) {
        c->dear |= bits_has(want, m) && !collect_quick(m);
        if (!bits_has(&w, m))
            bits_set(&c->unwanted, m);
    }
}

static int nvml_open(struct collector **ret, const struct collect_conf *conf, struct err *err)
{
    struct collector *c =
        NEW(struct collector, .path = mem_str(conf->nvml_lib ? conf->nvml_lib : getenv("MUSTER_NVML_LIB")),
            .root = mem_str(conf->root ? conf->root : ""), .rest_wait_ms = REST_IDLE_MS, .renew_wait_ms = RENEW_MS);
    if (conf->want)
        be_picky(c, conf->want);
    int r = be_ready(c, clock_mono_ms(), err);
    if (r < 0) {
        nvml_close(c);
        return r;
    }
    *ret = c;
    return 0;
}

const struct collector_ops collector_nvml = {
    .name = "nvml",
    .present = nvml_present,
    .open = nvml_open,
    .read = nvml_read,
    .close = nvml_close,
};
