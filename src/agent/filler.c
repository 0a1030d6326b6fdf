/*
 * filler.c: fills batches. It keeps the facts and the process list that count now, and the batch being filled. Knows no
 * hub.
 */
#include "agent/filler.h"

#include "agent/counter.h"
#include "base/log.h"
#include "base/order.h"
#include "base/version.h"
#include "model/gather.h"
#include "wire/wire.h"

#define FRAME_MAX      (8u << 20)
#define EVENTS_AT_ONCE 256 /* a flood of Xids does not make one endless batch */
#define NEVER          (INT64_MIN / 2)
#define BEAT_MIN_MS    900  /* ticks of our own are not more frequent than this, however short the tick */
#define PROCS_MIN_MS   1000 /* a new process list closes a batch that is at least this old */

struct filler {
    struct node_id id;
    uint64_t run, number;
    int64_t tick_ms;
    bool named;
    struct host *host;
    filler_out_fn *out;
    void *arg;

    struct node_fact facts; /* current: this host's, with the collector's devices and custom metrics */
    struct proc_list list;
    struct enclosure *facts_blob, *procs_blob;
    bool blind;    /* the collector's last facts could not be sent: its ticks name unknown devices */
    bool unlisted; /* the same for its last process list */
    struct counters *busy;

    struct gather *g;
    size_t n_events;
    int64_t begin_mono, last_ms;
    bool uses_due; /* the last uses are not in this batch yet */
    size_t n_uses, cap_uses;
    struct proc_use *uses;
    int64_t said_mono, tick_mono; /* last tick of the collector; of any kind */
};

static void filler_encode_facts(struct filler *f)
{
    AUTO_BUF frame = BUF_INIT(FRAME_MAX);
    uint64_t id = 0;

    if (wire_put_facts(&frame, &f->id, &f->facts, &id) < 0)
        return; /* caps of model/fact.h are far below FRAME_MAX: cannot be */
    enclosure_renew(&f->facts_blob, id, &frame);
}

struct filler *filler_new(const struct node_id *id, uint64_t run, const char *name, int64_t tick_ms, struct host *host,
                          filler_out_fn *out, void *arg)
{
    struct filler *f = NEW(struct filler, .id = *id, .run = run, .host = host, .out = out, .arg = arg,
                           .said_mono = NEVER, .tick_mono = NEVER);
    f->g = gather_new();
    f->busy = counters_new();
    filler_rename(f, name, tick_ms);
    return f;
}

void filler_free(struct filler *f)
{
    if (!f)
        return;
    node_fact_fini(&f->facts);
    proc_list_fini(&f->list);
    enclosure_unref(f->facts_blob);
    enclosure_unref(f->procs_blob);
    counters_free(f->busy);
    gather_free(f->g);
    free(f->uses);
    free(f);
}

void filler_rename(struct filler *f, const char *name, int64_t tick_ms)
{
    struct node_fact host = {0};

    filler_flush(f);
    f->tick_ms = tick_ms;
    host_fact(&host);
    if (name && *name)
        mem_copy_str(host.name, sizeof(host.name), name);
    if (!name_ok(str_of(host.name), NAME_MAX_LEN - 1))
        mem_copy_str(host.name, sizeof(host.name), "unnamed");
    mem_copy_str(host.agent, sizeof(host.agent), muster_agent_build);
    host.tick_ms = (int32_t)tick_ms;
    memcpy(host.driver, f->facts.driver, sizeof(host.driver)); /* the collector's part stays */
    memcpy(host.cuda, f->facts.cuda, sizeof(host.cuda));
    memcpy(host.collector, f->facts.collector, sizeof(host.collector));
    host.n_devices = f->facts.n_devices;
    host.devices = f->facts.devices;
    host.n_custom = f->facts.n_custom;
    host.custom = f->facts.custom;
    f->facts = host;
    filler_encode_facts(f);
}

void filler_restart(struct filler *f)
{
    counters_restart(f->busy);
    f->n_uses = 0; /* the processes on the devices are unknown until it sends them */
    f->uses_due = true;
}

const char *filler_name(const struct filler *f)
{
    return f->facts.name;
}

/* ---- the batch being filled ---- */

void filler_flush(struct filler *f)
{
    struct filled out = {.facts = f->facts_blob, .procs = f->procs_blob, .node = &f->facts, .list = &f->list};

    if (gather_ticks(f->g) == 0 && f->n_events == 0)
        return;
    gather_batch(f->g, &out.batch);
    out.batch.key = (struct batch_key){.node = f->id, .run = f->run, .number = ++f->number};
    out.batch.facts = f->facts_blob ? f->facts_blob->id : 0;
    out.batch.procs = f->procs_blob ? f->procs_blob->id : 0;
    out.at_ms = f->last_ms;
    f->out(f->arg, &out);
    gather_reset(f->g);
    f->n_events = 0;
    f->uses_due = true;
}

static void filler_begin_tick(struct filler *f, int64_t at_ms, int64_t mono_ms)
{
    size_t columns = (f->facts.n_devices + 1) * (M_COUNT + f->facts.n_custom); /* at most */

    if ((gather_ticks(f->g) + 1) * columns > WIRE_CELLS_MAX || !gather_tick(f->g, at_ms)) {
        filler_flush(f);
        gather_tick(f->g, at_ms);
    }
    if (gather_ticks(f->g) == 1)
        f->begin_mono = mono_ms;
    f->last_ms = at_ms;
    f->tick_mono = mono_ms;
}

static bool sample_empty(const struct sample *s)
{
    return !ANY(ARRAY_LEN(s->have.w), i, s->have.w[i]);
}

/* Node metrics into the current tick; the host itself sees to it that they are not read all too often. */
static void filler_add_host(struct filler *f)
{
    struct sample s = {0};

    if (!f->host)
        return;
    host_read(f->host, &s);
    if (!sample_empty(&s))
        gather_sample(f->g, 0, &s);
}

void filler_beat(struct filler *f, int64_t now_ms, int64_t mono_ms)
{
    int64_t due = MAX(f->tick_ms * 9 / 10, BEAT_MIN_MS); /* timers are not exact */

    if (!f->host || mono_ms - f->said_mono < f->tick_ms + f->tick_ms / 2 || mono_ms - f->tick_mono < due)
        return;
    filler_begin_tick(f, now_ms, mono_ms);
    filler_add_host(f);
}

static void filler_add_event(struct filler *f, const struct node_event *e)
{
    gather_event(f->g, e);
    f->n_events++;
    if (e->at_ms > f->last_ms)
        f->last_ms = e->at_ms;
    if (f->n_events >= EVENTS_AT_ONCE)
        filler_flush(f);
}

void filler_event(struct filler *f, enum event_kind kind, int64_t at_ms, int64_t code, const char *text)
{
    struct node_event e = {.at_ms = at_ms, .kind = (uint16_t)kind, .code = code};

    mem_copy_str(e.text, sizeof(e.text), text ? text : "");
    filler_add_event(f, &e);
}

/* ---- messages of the collector ---- */

static void filler_take_facts(struct filler *f, const struct node_fact *said)
{
    struct node_fact next = {0};
    AUTO_BUF frame = BUF_INIT(FRAME_MAX);
    uint64_t id = 0;

    node_fact_copy(&next, said); /* devices and custom metrics are its own; the rest is this host's */
    struct node_fact host = f->facts;
    memcpy(host.driver, said->driver, sizeof(host.driver));
    memcpy(host.cuda, said->cuda, sizeof(host.cuda));
    memcpy(host.collector, said->collector, sizeof(host.collector));
    host.n_devices = next.n_devices;
    host.devices = next.devices;
    host.n_custom = next.n_custom;
    host.custom = next.custom;
    int r = wire_put_facts(&frame, &f->id, &host, &id);
    f->blind = r < 0;
    if (f->blind)
        log_error("agent", "cannot encode the collector's devices: %s; they are omitted", strerror(-r));
    if (r < 0 || (f->facts_blob && f->facts_blob->id == id)) {
        node_fact_fini(&next);
        return;
    }
    filler_flush(f); /* F1 */
    free(f->facts.devices);
    free(f->facts.custom);
    f->facts = host;
    enclosure_renew(&f->facts_blob, id, &frame);
    f->n_uses = 0; /* slots may mean other devices now; the collector sends the uses with its next tick */
}

static void filler_take_procs(struct filler *f, const struct proc_list *said, int64_t mono_ms)
{
    AUTO_BUF frame = BUF_INIT(FRAME_MAX);
    uint64_t id = 0;

    int r = wire_put_procs(&frame, &f->id, said, &id);
    f->unlisted = r < 0;
    if (f->unlisted)
        log_error("agent", "cannot encode the collector's processes: %s; they are omitted", strerror(-r));
    if (r < 0 || (f->procs_blob && f->procs_blob->id == id))
        return;
    /*
     * A process that ended stays in the batch that closes here. If the list changes all the time, batches are not
     * closed at every tick: then the newer list is used for both.
     */
    if (gather_ticks(f->g) && mono_ms - f->begin_mono >= PROCS_MIN_MS)
        filler_flush(f);
    gather_uses(f->g, NULL, 0);
    f->n_uses = 0;
    proc_list_fini(&f->list);
    proc_list_copy(&f->list, said);
    enclosure_renew(&f->procs_blob, id, &frame);
}

static void filler_take_uses(struct filler *f, const struct child_tick *t)
{
    f->n_uses = 0;
    for (size_t i = 0; i < t->n_uses && !f->unlisted; i++) {
        if (t->uses[i].proc >= f->list.n || t->uses[i].slot > f->facts.n_devices)
            continue;
        VEC_ADD(f->uses, f->n_uses, f->cap_uses, t->uses[i]);
    }
    f->uses_due = true;
}

static void filler_take_tick(struct filler *f, const struct child_tick *t, int64_t mono_ms)
{
    filler_begin_tick(f, t->at_ms, mono_ms);
    f->said_mono = mono_ms;
    for (size_t i = 1; i < t->n_slots && i <= f->facts.n_devices; i++) {
        struct sample s = t->samples[i];
        if (sample_has(&s, M_busy))
            sample_set(&s, M_busy, counters_take(f->busy, f->facts.devices[i - 1].uuid, s.v[M_busy]));
        gather_sample(f->g, (uint16_t)i, &s);
    }
    if (t->n_slots && !sample_empty(&t->samples[0]))
        gather_sample(f->g, 0, &t->samples[0]); /* a replay has node metrics, too */
    else
        filler_add_host(f);
    for (size_t i = 0; i < t->n_custom; i++)
        if (t->custom[i].slot <= f->facts.n_devices && t->custom[i].metric >= METRIC_CUSTOM &&
            t->custom[i].metric < METRIC_CUSTOM + f->facts.n_custom)
            gather_value(f->g, t->custom[i].slot, t->custom[i].metric, t->custom[i].v);
    if (t->uses_changed)
        filler_take_uses(f, t);
    if (f->uses_due && f->procs_blob)
        gather_uses(f->g, f->uses, f->n_uses);
    f->uses_due = false;
}

void filler_msg(struct filler *f, const struct child_msg *m, int64_t mono_ms)
{
    switch (m->type) {
    case CHILD_FACTS:
        filler_take_facts(f, &m->facts);
        break;
    case CHILD_PROCS:
        if (m->procs_complete)
            filler_take_procs(f, &m->procs, mono_ms);
        break;
    case CHILD_TICK:
        if (!f->blind)
            filler_take_tick(f, &m->tick, mono_ms);
        break;
    case CHILD_EVENT:
        filler_add_event(f, &m->event);
        break;
    case CHILD_STATUS:
        break;
    }
}
