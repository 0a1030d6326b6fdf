/* child_msg.c: messages of the collector process to bytes and back. Pure; C1 to C3 in the header are what holds. */
#include "collect/child_msg.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "model/state.h"

#define CHILD_MSG_VERSION 1
#define CHILD_PART_BYTES  (32u << 10) /* a part of a process list ends past this */

/* The largest messages, in bytes, when every number and text is at its longest: C2. */
#define FACTS_WORST                                                                                                    \
    (32 + sizeof(struct node_fact) + DEVICES_MAX * (sizeof(struct device_fact) + 32) +                                 \
     CUSTOM_MAX * (sizeof(struct custom_fact) + 16))
#define TICK_WORST                                                                                                     \
    (64 + (DEVICES_MAX + 1) * (20 + M_COUNT * 10) + CHILD_USES_MAX * (3 + 3 + 1 + 10 + 5) + CHILD_VALUES_MAX * 16)
_Static_assert(FACTS_WORST <= CHILD_MSG_MAX, "C2");
_Static_assert(TICK_WORST <= CHILD_MSG_MAX, "C2");
_Static_assert(CHILD_PART_BYTES + sizeof(struct proc_fact) + 64 <= CHILD_MSG_MAX, "C2");

/* ---- writing ---- */

static void msg_begin(struct buf *out, enum child_msg_type type)
{
    buf_reset(out);
    out->max = CHILD_MSG_MAX;
    buf_u8(out, CHILD_MSG_VERSION);
    buf_u8(out, (uint8_t)type);
}

static void put(struct buf *out, const char *text)
{
    buf_text(out, str_of(text));
}

int child_msg_facts(struct buf *out, const struct node_fact *f)
{
    msg_begin(out, CHILD_FACTS);
    put(out, f->driver);
    put(out, f->cuda);
    put(out, f->collector);
    buf_zigzag(out, f->tick_ms);
    buf_varint(out, f->n_devices);
    for (size_t i = 0; i < f->n_devices; i++) {
        const struct device_fact *d = &f->devices[i];
        put(out, d->uuid);
        put(out, d->parent);
        put(out, d->name);
        put(out, d->serial);
        put(out, d->pci);
        buf_zigzag(out, d->index);
        buf_zigzag(out, d->minor);
        buf_zigzag(out, d->mig);
        buf_u8(out, d->vendor);
        buf_u8(out, (uint8_t)(d->lost | d->asleep << 1));
        put(out, d->note);
    }
    buf_varint(out, f->n_custom);
    for (size_t i = 0; i < f->n_custom; i++) {
        const struct custom_fact *c = &f->custom[i];
        put(out, c->name);
        buf_u8(out, c->unit);
        buf_u8(out, c->kind);
        buf_zigzag(out, c->per);
    }
    return out->err;
}

static void put_proc(struct buf *out, const struct proc_fact *p)
{
    for (const struct record_field *f = proc_wire.fields; f < proc_wire.fields + proc_wire.n; f++)
        if (record_is_number(f))
            buf_zigzag(out, record_int(f, p));
        else
            put(out, record_array(f, p));
}

/* The last part says so behind its processes: only then is it known. */
int child_msg_procs(struct buf *out, const struct proc_list *l, size_t *at, uint64_t part)
{
    size_t i = *at;

    msg_begin(out, CHILD_PROCS);
    buf_varint(out, part);
    for (; i < l->n && out->len < CHILD_PART_BYTES; i++) {
        buf_u8(out, 1);
        put_proc(out, &l->v[i]);
    }
    buf_u8(out, 0);
    buf_u8(out, i == l->n);
    *at = i;
    return out->err;
}

int child_msg_tick(struct buf *out, const struct child_tick *t)
{
    msg_begin(out, CHILD_TICK);
    buf_zigzag(out, t->at_ms);
    buf_u8(out, M_COUNT);
    buf_varint(out, t->n_slots);
    for (size_t i = 0; i < t->n_slots; i++) {
        const struct sample *s = &t->samples[i];
        for (size_t w = 0; w < ARRAY_LEN(s->have.w); w++)
            buf_varint(out, s->have.w[w]);
        for (unsigned m = 0; m < M_COUNT; m++)
            if (bits_has(&s->have, m))
                buf_zigzag(out, s->v[m]);
    }
    buf_u8(out, t->uses_changed);
    if (t->uses_changed) {
        buf_varint(out, t->n_uses);
        for (size_t i = 0; i < t->n_uses; i++) {
            const struct proc_use *u = &t->uses[i];
            buf_varint(out, u->proc);
            buf_varint(out, u->slot);
            buf_u8(out, u->kind);
            buf_zigzag(out, u->mem);
            buf_zigzag(out, u->sm);
        }
    }
    buf_varint(out, t->n_custom);
    for (size_t i = 0; i < t->n_custom; i++) {
        buf_varint(out, t->custom[i].slot);
        buf_varint(out, t->custom[i].metric);
        buf_zigzag(out, t->custom[i].v);
    }
    return out->err;
}

int child_msg_event(struct buf *out, const struct node_event *e)
{
    msg_begin(out, CHILD_EVENT);
    buf_zigzag(out, e->at_ms);
    buf_varint(out, e->kind);
    buf_varint(out, e->slot);
    buf_zigzag(out, e->code);
    put(out, e->text);
    return out->err;
}

int child_msg_status(struct buf *out, uint8_t status, const char *why)
{
    msg_begin(out, CHILD_STATUS);
    buf_u8(out, status);
    put(out, why);
    return out->err;
}

/* ---- reading ---- */

/* Text that must be clean; what is behind it in dst is zeroed, so that structs can be compared whole. */
static void get(struct rd *r, char *dst, size_t size)
{
    struct str s = rd_text(r, size - 1);

    if (!str_utf8_ok(s))
        r->bad = true;
    memset(dst, 0, size);
    if (!r->bad)
        memcpy(dst, s.p, s.len);
}

static uint64_t get_max(struct rd *r, uint64_t max)
{
    uint64_t v = rd_varint(r);

    if (v > max)
        r->bad = true;
    return r->bad ? 0 : v;
}

static int64_t get_range(struct rd *r, int64_t min, int64_t max)
{
    int64_t v = rd_zigzag(r);

    if (v < min || v > max)
        r->bad = true;
    return r->bad ? 0 : v;
}

static int32_t get_i32(struct rd *r)
{
    return (int32_t)get_range(r, INT32_MIN, INT32_MAX);
}

/* A count, and no more than the bytes that are left can hold: memory follows what was sent, not what was claimed. */
static size_t get_count(struct rd *r, size_t max, size_t least_bytes)
{
    uint64_t n = get_max(r, max);

    if (n > rd_left(r) / least_bytes)
        r->bad = true;
    return r->bad ? 0 : (size_t)n;
}

static const char *read_facts(struct child_msg *msg, struct rd *r)
{
    struct node_fact f = {0};

    get(r, f.driver, sizeof(f.driver));
    get(r, f.cuda, sizeof(f.cuda));
    get(r, f.collector, sizeof(f.collector));
    f.tick_ms = get_i32(r);
    f.n_devices = get_count(r, DEVICES_MAX, 11);
    f.devices = mem_zero(f.n_devices, sizeof(*f.devices));
    for (size_t i = 0; i < f.n_devices; i++) {
        struct device_fact *d = &f.devices[i];
        get(r, d->uuid, sizeof(d->uuid));
        get(r, d->parent, sizeof(d->parent));
        get(r, d->name, sizeof(d->name));
        get(r, d->serial, sizeof(d->serial));
        get(r, d->pci, sizeof(d->pci));
        d->index = get_i32(r);
        d->minor = get_i32(r);
        d->mig = get_i32(r);
        d->vendor = (uint8_t)get_max(r, VENDOR_COUNT - 1);
        uint64_t flags = get_max(r, 3);
        d->lost = flags & 1;
        d->asleep = flags >> 1 & 1;
        get(r, d->note, sizeof(d->note));
        if (!d->uuid[0])
            r->bad = true;
    }
    f.n_custom = get_count(r, CUSTOM_MAX, 4);
    f.custom = mem_zero(f.n_custom, sizeof(*f.custom));
    for (size_t i = 0; i < f.n_custom; i++) {
        struct custom_fact *c = &f.custom[i];
        get(r, c->name, sizeof(c->name));
        c->unit = (uint8_t)get_max(r, UNIT_COUNT - 1);
        c->kind = (uint8_t)get_max(r, KIND_COUNTER);
        c->per = get_range(r, 1, INT64_MAX);
        if (!c->name[0])
            r->bad = true;
    }
    if (r->bad || rd_left(r)) {
        node_fact_fini(&f);
        return "facts";
    }
    node_fact_fini(&msg->facts);
    msg->facts = f;
    msg->tick.n_uses = 0; /* their slots meant the old list */
    return NULL;
}

static void get_proc(struct rd *r, struct proc_fact *p)
{
    memset(p, 0, sizeof(*p));
    for (const struct record_field *f = proc_wire.fields; f < proc_wire.fields + proc_wire.n; f++)
        if (record_is_number(f))
            record_set_int(f, p, get_range(r, -record_int_max(f) - 1, record_int_max(f)));
        else
            get(r, record_array(f, p), f->size);
}

static const char *read_procs(struct child_msg *msg, struct rd *r)
{
    uint64_t part = rd_varint(r);

    msg->procs_complete = false;
    if (part == 0)
        proc_list_fini(&msg->coming);
    else if (part != msg->next_part)
        r->bad = true;
    while (!r->bad && get_max(r, 1) == 1) {
        if (msg->coming.n >= PROCS_MAX) {
            r->bad = true;
            break;
        }
        struct proc_list *l = &msg->coming;
        if ((l->n & (l->n - 1)) == 0) /* full at each power of two */
            l->v = mem_grow(l->v, l->n ? l->n * 2 : 1, sizeof(*l->v));
        get_proc(r, &l->v[l->n++]);
    }
    bool last = get_max(r, 1);
    if (r->bad || rd_left(r)) {
        proc_list_fini(&msg->coming);
        msg->next_part = 0;
        return "process list";
    }
    msg->next_part = part + 1;
    if (last) {
        proc_list_fini(&msg->procs);
        msg->procs = msg->coming;
        msg->coming = (struct proc_list){0};
        msg->next_part = 0;
        msg->procs_complete = true;
        msg->tick.n_uses = 0; /* they counted in the old list */
    }
    return NULL;
}

static void get_sample(struct rd *r, int64_t at_ms, struct sample *s)
{
    *s = (struct sample){.at_ms = at_ms};
    for (size_t w = 0; w < ARRAY_LEN(s->have.w); w++)
        s->have.w[w] = rd_varint(r);
    for (unsigned m = 0; m < BITS_MAX; m++) {
        if (!bits_has(&s->have, m))
            continue;
        if (m >= M_COUNT)
            r->bad = true;
        else
            s->v[m] = rd_zigzag(r);
    }
}

static void get_use(struct rd *r, const struct child_msg *msg, struct proc_use *u)
{
    *u = (struct proc_use){0};
    u->proc = (uint16_t)get_max(r, UINT16_MAX);
    u->slot = (uint16_t)get_max(r, msg->facts.n_devices);
    u->kind = (uint8_t)get_max(r, PROC_COMPUTE | PROC_GRAPHICS | PROC_MPS);
    u->mem = get_range(r, -1, INT64_MAX);
    u->sm = (int32_t)get_range(r, -1, INT32_MAX);
    if (u->proc >= msg->procs.n || u->slot == 0)
        r->bad = true;
}

static void get_value(struct rd *r, const struct child_msg *msg, struct child_value *v)
{
    v->slot = (uint16_t)get_max(r, msg->facts.n_devices);
    v->metric = (uint16_t)get_max(r, UINT16_MAX);
    v->v = rd_zigzag(r);
    if (v->metric < METRIC_CUSTOM || (size_t)(v->metric - METRIC_CUSTOM) >= msg->facts.n_custom)
        r->bad = true;
}

static const char *read_tick(struct child_msg *msg, struct rd *r)
{
    struct child_tick t = {0};

    t.at_ms = rd_zigzag(r);
    if (rd_u8(r) != M_COUNT)
        r->bad = true;
    t.n_slots = get_count(r, DEVICES_MAX + 1, ARRAY_LEN(((struct sample *)0)->have.w));
    if (t.n_slots != msg->facts.n_devices + 1)
        r->bad = true;
    if (r->bad)
        return "tick";
    t.samples = mem_alloc(t.n_slots * sizeof(*t.samples));
    for (size_t i = 0; i < t.n_slots; i++)
        get_sample(r, t.at_ms, &t.samples[i]);
    t.uses_changed = get_max(r, 1);
    if (t.uses_changed) {
        t.n_uses = get_count(r, CHILD_USES_MAX, 5);
        t.uses = mem_alloc(t.n_uses * sizeof(*t.uses));
        for (size_t i = 0; i < t.n_uses; i++)
            get_use(r, msg, &t.uses[i]);
    }
    t.n_custom = get_count(r, CHILD_VALUES_MAX, 3);
    t.custom = mem_alloc(t.n_custom * sizeof(*t.custom));
    for (size_t i = 0; i < t.n_custom; i++)
        get_value(r, msg, &t.custom[i]);
    if (r->bad || rd_left(r)) {
        FREE_ALL(t.samples, t.uses, t.custom);
        return "tick";
    }
    if (!t.uses_changed) { /* those of the last tick hold on */
        t.uses = msg->tick.uses;
        t.n_uses = msg->tick.n_uses;
        msg->tick.uses = NULL;
    }
    FREE_ALL(msg->tick.samples, msg->tick.uses, msg->tick.custom);
    msg->tick = t;
    return NULL;
}

static const char *read_event(struct child_msg *msg, struct rd *r)
{
    struct node_event e = {0};

    e.at_ms = rd_zigzag(r);
    e.kind = (uint16_t)get_max(r, EVENT_KINDS - 1);
    e.slot = (uint16_t)get_max(r, msg->facts.n_devices);
    e.code = rd_zigzag(r);
    get(r, e.text, sizeof(e.text));
    if (r->bad || rd_left(r) || e.kind == 0)
        return "event";
    msg->event = e;
    return NULL;
}

static const char *read_status(struct child_msg *msg, struct rd *r)
{
    char why[sizeof(msg->why)];
    uint8_t status = (uint8_t)get_max(r, COLLECT_STATES - 1);

    get(r, why, sizeof(why));
    if (r->bad || rd_left(r))
        return "status";
    msg->status = status;
    memcpy(msg->why, why, sizeof(why));
    return NULL;
}

int child_msg_read(struct child_msg *msg, const void *p, size_t n, struct err *err)
{
    static const char *(*const readers[])(struct child_msg *, struct rd *) = {
        [CHILD_FACTS] = read_facts, [CHILD_PROCS] = read_procs,   [CHILD_TICK] = read_tick,
        [CHILD_EVENT] = read_event, [CHILD_STATUS] = read_status,
    };
    struct rd r = rd_of(p, n);
    uint8_t version = rd_u8(&r), type = rd_u8(&r);

    if (n > CHILD_MSG_MAX)
        return err_set(err, -EBADMSG, "collector message of %zu bytes is too long", n);
    if (r.bad || version != CHILD_MSG_VERSION || type >= ARRAY_LEN(readers) || !readers[type])
        return err_set(err, -EBADMSG, "collector message of unknown kind %u (%zu bytes)", type, n);
    msg->type = type;
    const char *what = readers[type](msg, &r);
    if (what)
        return err_set(err, -EBADMSG, "collector sent a malformed %s (%zu bytes)", what, n);
    return 0;
}

void child_msg_fini(struct child_msg *msg)
{
    if (!msg)
        return;
    node_fact_fini(&msg->facts);
    proc_list_fini(&msg->procs);
    proc_list_fini(&msg->coming);
    FREE_ALL(msg->tick.samples, msg->tick.uses, msg->tick.custom);
    *msg = (struct child_msg){0};
}
