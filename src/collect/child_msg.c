/* child_msg.c: encodes and decodes the messages of the collector process. Pure; keeps C1 to C3 of the header. */
#include "collect/child_msg.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "model/state.h"

#define CHILD_MSG_VERSION 1
#define CHILD_PART_BYTES  (32u << 10) /* a part of a process list ends after this many bytes */

/* The largest messages, in bytes, when every number and text is at its longest: C2. */
#define FACTS_WORST                                                                                                    \
    (32 + sizeof(struct node_fact) + DEVICES_MAX * (sizeof(struct device_fact) + 32) +                                 \
     CUSTOM_MAX * (sizeof(struct custom_fact) + 16))
#define TICK_WORST                                                                                                     \
    (64 + (DEVICES_MAX + 1) * (20 + M_COUNT * 10) + CHILD_USES_MAX * (3 + 3 + 1 + 10 + 5) + CHILD_VALUES_MAX * 16)
_Static_assert(FACTS_WORST <= CHILD_MSG_MAX, "C2");
_Static_assert(TICK_WORST <= CHILD_MSG_MAX, "C2");
_Static_assert(CHILD_PART_BYTES + sizeof(struct proc_fact) + 64 <= CHILD_MSG_MAX, "C2");

/* ---- structs encoded field by field; record_int lists the signed numbers ---- */

#define NUMBER(strct, field) RECORD_FIELD(strct, 0, field, INT, NULL, NULL, 0)
#define TEXT(strct, field)   RECORD_FIELD(strct, 0, field, NAME, NULL, NULL, 0)
static const struct record_field device_fields[] = {TEXT(device_fact, uuid),    TEXT(device_fact, parent),
                                                    TEXT(device_fact, name),    TEXT(device_fact, serial),
                                                    TEXT(device_fact, pci),     NUMBER(device_fact, index),
                                                    NUMBER(device_fact, minor), NUMBER(device_fact, mig),
                                                    NUMBER(device_fact, vendor)};
static const struct record_field custom_fields[] = {TEXT(custom_fact, name), NUMBER(custom_fact, unit),
                                                    NUMBER(custom_fact, kind), NUMBER(custom_fact, per)};
static const struct record_field use_fields[] = {NUMBER(proc_use, proc), NUMBER(proc_use, slot), NUMBER(proc_use, kind),
                                                 NUMBER(proc_use, mem), NUMBER(proc_use, sm)};
static const struct record_field value_fields[] = {NUMBER(child_value, slot), NUMBER(child_value, metric),
                                                   NUMBER(child_value, v)};
static const struct record_field event_fields[] = {NUMBER(node_event, at_ms), NUMBER(node_event, kind),
                                                   NUMBER(node_event, slot), NUMBER(node_event, code),
                                                   TEXT(node_event, text)};

static bool has_sign(const struct record_field *f)
{
    return f->size >= sizeof(int32_t);
}

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

static void put_fields(struct buf *out, const struct record_field *fields, size_t n, const void *record)
{
    for (const struct record_field *f = fields; f < fields + n; f++)
        if (!record_is_number(f))
            put(out, record_array(f, record));
        else if (has_sign(f))
            buf_zigzag(out, record_int(f, record));
        else
            buf_varint(out, (uint64_t)record_int(f, record));
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
        put_fields(out, device_fields, ARRAY_LEN(device_fields), d);
        buf_u8(out, (uint8_t)(d->lost | d->asleep << 1));
        put(out, d->note);
    }
    buf_varint(out, f->n_custom);
    for (size_t i = 0; i < f->n_custom; i++)
        put_fields(out, custom_fields, ARRAY_LEN(custom_fields), &f->custom[i]);
    return out->err;
}

/* The end mark follows the processes of the last part: the reader learns there that the list is complete. */
int child_msg_procs(struct buf *out, const struct proc_list *l, size_t *at, uint64_t part)
{
    size_t i = *at;

    msg_begin(out, CHILD_PROCS);
    buf_varint(out, part);
    for (; i < l->n && out->len < CHILD_PART_BYTES; i++) {
        buf_u8(out, 1);
        put_fields(out, proc_wire.fields, proc_wire.n, &l->v[i]);
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
        for (size_t i = 0; i < t->n_uses; i++)
            put_fields(out, use_fields, ARRAY_LEN(use_fields), &t->uses[i]);
    }
    buf_varint(out, t->n_custom);
    for (size_t i = 0; i < t->n_custom; i++)
        put_fields(out, value_fields, ARRAY_LEN(value_fields), &t->custom[i]);
    return out->err;
}

int child_msg_event(struct buf *out, const struct node_event *e)
{
    msg_begin(out, CHILD_EVENT);
    put_fields(out, event_fields, ARRAY_LEN(event_fields), e);
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

/* Reads text that must be clean UTF-8. Zeroes the rest of dst, so that structs can be compared as bytes. */
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

/*
 * Reads a count. Rejects counts that the remaining bytes cannot hold: memory depends on the bytes received, not on the
 * count.
 */
static size_t get_count(struct rd *r, size_t max, size_t least_bytes)
{
    uint64_t n = get_max(r, max);

    if (n > rd_left(r) / least_bytes)
        r->bad = true;
    return r->bad ? 0 : (size_t)n;
}

static void get_fields(struct rd *r, const struct record_field *fields, size_t n, void *record)
{
    for (const struct record_field *f = fields; f < fields + n; f++)
        if (!record_is_number(f))
            get(r, record_array(f, record), f->size);
        else if (has_sign(f))
            record_set_int(f, record, get_range(r, -record_int_max(f) - 1, record_int_max(f)));
        else
            record_set_int(f, record, (int64_t)get_max(r, (1u << 8 * f->size) - 1));
}

static const char *read_facts(struct child_msg *msg, struct rd *r)
{
    struct node_fact f = {0};

    get(r, f.driver, sizeof(f.driver));
    get(r, f.cuda, sizeof(f.cuda));
    get(r, f.collector, sizeof(f.collector));
    f.tick_ms = (int32_t)get_range(r, INT32_MIN, INT32_MAX);
    f.n_devices = get_count(r, DEVICES_MAX, 11);
    f.devices = mem_zero(f.n_devices, sizeof(*f.devices));
    for (size_t i = 0; i < f.n_devices; i++) {
        struct device_fact *d = &f.devices[i];
        get_fields(r, device_fields, ARRAY_LEN(device_fields), d);
        uint64_t flags = get_max(r, 3);
        d->lost = flags & 1;
        d->asleep = flags >> 1 & 1;
        get(r, d->note, sizeof(d->note));
        r->bad |= !d->uuid[0] || d->vendor >= VENDOR_COUNT;
    }
    f.n_custom = get_count(r, CUSTOM_MAX, 4);
    f.custom = mem_zero(f.n_custom, sizeof(*f.custom));
    for (size_t i = 0; i < f.n_custom; i++) {
        struct custom_fact *c = &f.custom[i];
        get_fields(r, custom_fields, ARRAY_LEN(custom_fields), c);
        r->bad |= !c->name[0] || c->unit >= UNIT_COUNT || c->kind > KIND_COUNTER || c->per < 1;
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
        struct proc_fact *p = &l->v[l->n++];
        memset(p, 0, sizeof(*p));
        get_fields(r, proc_wire.fields, proc_wire.n, p);
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
    get_fields(r, use_fields, ARRAY_LEN(use_fields), u);
    r->bad |= u->proc >= msg->procs.n || u->slot == 0 || u->slot > msg->facts.n_devices ||
              u->kind > (PROC_COMPUTE | PROC_GRAPHICS | PROC_MPS) || u->mem < -1 || u->sm < -1;
}

static void get_value(struct rd *r, const struct child_msg *msg, struct child_value *v)
{
    get_fields(r, value_fields, ARRAY_LEN(value_fields), v);
    r->bad |= v->slot > msg->facts.n_devices || v->metric < METRIC_CUSTOM ||
              (size_t)(v->metric - METRIC_CUSTOM) >= msg->facts.n_custom;
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
    if (!t.uses_changed) { /* the uses of the last tick still apply */
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

    get_fields(r, event_fields, ARRAY_LEN(event_fields), &e);
    if (r->bad || rd_left(r) || e.kind == 0 || e.kind >= EVENT_KINDS || e.slot > msg->facts.n_devices)
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
