/*
 * batch.c: a batch <-> its frame. Columns of one metric are adjacent and coded as one row of numbers, slot after slot.
 * The reader uses the same layout, so that most columns are decoded in place.
 */
#include <errno.h>

#include "codec/ints.h"
#include "wire/part.h"

#define BATCH_FIXED   (NODE_ID_LEN + 4 * 8) /* node, run, number, facts, procs */
#define KEEP_MAX      (1u << 20)            /* memory kept from one batch to the next */
#define USE_FIELDS    5
#define PROC_KINDS    (PROC_COMPUTE | PROC_GRAPHICS | PROC_MPS)
#define EVENT_MIN_LEN 5

/* A group's shape byte. */
enum presence { PRESENT_ALL = 0, PRESENT_COMMON = 1, PRESENT_EACH = 2 };
#define SHAPE_PRESENCE 3u
#define SHAPE_GAPS     4u
#define SHAPE_KNOWN    7u

/* ---- writing ---- */

struct wire_enc {
    ZSTD_CCtx *z;
    struct buf raw;
    int64_t *v; /* input of ints_put */
    size_t cap;
};

struct wire_enc *wire_enc_new(int level)
{
    return NEW(struct wire_enc, .z = packer_new(level), .raw = BUF_INIT(BATCH_RAW_MAX));
}

void wire_enc_free(struct wire_enc *e)
{
    if (!e)
        return;
    ZSTD_freeCCtx(e->z);
    buf_fini(&e->raw);
    free(e->v);
    free(e);
}

static int64_t *enc_room(struct wire_enc *e, size_t n)
{
    if (n > e->cap) {
        e->cap = MAX(n, 2 * e->cap);
        e->v = mem_grow(e->v, e->cap, sizeof(*e->v));
    }
    return e->v;
}

static size_t map_len(size_t n_ticks)
{
    return (n_ticks + 7) / 8;
}

/* Rejects what no reader would accept. */
static int batch_check(const struct batch *b)
{
    const struct column *c = b->columns;

    if (b->n_ticks > TICKS_MAX || b->n_columns > WIRE_COLUMNS_MAX || b->n_uses > WIRE_USES_MAX ||
        b->n_events > WIRE_EVENTS_MAX || b->n_ticks * b->n_columns > WIRE_CELLS_MAX)
        return -E2BIG;
    if (b->n_columns && b->n_ticks == 0)
        return -EINVAL;
    for (size_t i = 0; i < b->n_ticks; i++)
        if (b->at_ms[i] <= (i ? b->at_ms[i - 1] : 0) || b->at_ms[i] >= WIRE_TIME_END)
            return -EINVAL;
    for (size_t i = 0; i < b->n_columns; i++) {
        if (c[i].metric == 0 || c[i].metric >= METRIC_CUSTOM + CUSTOM_MAX || c[i].slot > DEVICES_MAX)
            return -EINVAL;
        if (i && (c[i].metric < c[i - 1].metric || (c[i].metric == c[i - 1].metric && c[i].slot <= c[i - 1].slot)))
            return -EINVAL;
    }
    for (size_t i = 0; i < b->n_uses; i++) {
        const struct proc_use *u = &b->uses[i];
        if (u->proc >= PROCS_MAX || u->slot == 0 || u->slot > DEVICES_MAX || u->kind & ~PROC_KINDS || u->mem < -1 ||
            u->sm < -1)
            return -EINVAL;
    }
    for (size_t i = 0; i < b->n_events; i++) {
        const struct node_event *e = &b->events[i];
        if (e->at_ms <= 0 || e->at_ms >= WIRE_TIME_END || e->kind == 0 || e->slot > DEVICES_MAX)
            return -EINVAL;
    }
    return 0;
}

static void put_ticks(struct wire_enc *e, const struct batch *b)
{
    buf_varint(&e->raw, b->n_ticks);
    if (b->n_ticks == 0)
        return;
    int64_t *v = enc_room(e, b->n_ticks);
    for (size_t i = 1; i < b->n_ticks; i++)
        v[i - 1] = b->at_ms[i] - b->at_ms[i - 1];
    buf_varint(&e->raw, (uint64_t)b->at_ms[0]);
    ints_put(&e->raw, v, b->n_ticks - 1);
}

/* The presence bits of ticks [word * 64, word * 64 + 64). */
static uint64_t have_word(const struct column *c, size_t word, size_t n_ticks)
{
    size_t left = n_ticks - word * 64;
    uint64_t mask = left >= 64 ? UINT64_MAX : (1ull << left) - 1;

    return c->have ? c->have[word] & mask : mask;
}

static enum presence presence_of(const struct column *c, size_t n, size_t n_ticks)
{
    bool all = true, common = true;

    for (size_t w = 0; w * 64 < n_ticks; w++) {
        uint64_t first = have_word(&c[0], w, n_ticks), full = have_word(&(struct column){0}, w, n_ticks);
        for (size_t i = 0; i < n; i++) {
            uint64_t have = have_word(&c[i], w, n_ticks);
            all &= have == full;
            common &= have == first;
        }
    }
    return all ? PRESENT_ALL : common ? PRESENT_COMMON : PRESENT_EACH;
}

static void put_map(struct buf *out, const struct column *c, size_t n_ticks)
{
    for (size_t i = 0; i < map_len(n_ticks); i++)
        buf_u8(out, (uint8_t)(have_word(c, i / 8, n_ticks) >> i % 8 * 8));
}

/* n columns of one metric. */
static void put_group(struct wire_enc *e, const struct column *c, size_t n, size_t n_ticks, uint16_t last_metric)
{
    enum presence presence = presence_of(c, n, n_ticks);
    bool gaps = (size_t)(c[n - 1].slot - c[0].slot) != n - 1;
    int64_t *v = enc_room(e, n * n_ticks);
    size_t n_v = 0;

    buf_varint(&e->raw, (uint64_t)(c[0].metric - last_metric));
    buf_u8(&e->raw, (uint8_t)(presence | (gaps ? SHAPE_GAPS : 0)));
    buf_varint(&e->raw, n);
    buf_varint(&e->raw, c[0].slot);
    for (size_t i = 1; gaps && i < n; i++)
        buf_varint(&e->raw, (uint64_t)(c[i].slot - c[i - 1].slot));
    for (size_t i = 0; presence != PRESENT_ALL && i < (presence == PRESENT_COMMON ? 1 : n); i++)
        put_map(&e->raw, &c[i], n_ticks);
    for (size_t i = 0; i < n; i++) {
        if (presence == PRESENT_ALL) {
            memcpy(v + i * n_ticks, c[i].v, n_ticks * sizeof(*v));
            continue;
        }
        for (size_t t = 0; t < n_ticks; t++)
            if (column_has(&c[i], t))
                v[n_v++] = c[i].v[t];
    }
    ints_put(&e->raw, v, presence == PRESENT_ALL ? n * n_ticks : n_v);
}

static void put_columns(struct wire_enc *e, const struct batch *b)
{
    uint16_t last = 0;

    buf_varint(&e->raw, b->n_columns);
    for (size_t i = 0, end; i < b->n_columns && !e->raw.err; i = end) {
        const struct column *c = &b->columns[i];
        for (end = i + 1; end < b->n_columns && b->columns[end].metric == c->metric; end++)
            ;
        put_group(e, c, end - i, b->n_ticks, last);
        last = c->metric;
    }
}

static int64_t use_field(const struct proc_use *u, int field)
{
    const int64_t v[USE_FIELDS] = {u->proc, u->slot, u->kind, u->mem, u->sm};

    return v[field];
}

static void put_uses(struct wire_enc *e, const struct batch *b)
{
    int64_t *v = enc_room(e, b->n_uses);

    buf_varint(&e->raw, b->n_uses);
    for (int field = 0; field < USE_FIELDS; field++) {
        for (size_t i = 0; i < b->n_uses; i++)
            v[i] = use_field(&b->uses[i], field);
        ints_put(&e->raw, v, b->n_uses);
    }
}

static void put_events(struct wire_enc *e, const struct batch *b)
{
    buf_varint(&e->raw, b->n_events);
    for (size_t i = 0; i < b->n_events; i++) {
        const struct node_event *ev = &b->events[i];
        buf_varint(&e->raw, (uint64_t)ev->at_ms);
        buf_varint(&e->raw, ev->kind);
        buf_varint(&e->raw, ev->slot);
        buf_zigzag(&e->raw, ev->code);
        put_text(&e->raw, ev->text, sizeof(ev->text));
    }
}

static size_t batch_begin(struct buf *out, const struct batch_key *key, uint64_t facts, uint64_t procs)
{
    size_t start = frame_begin(out, FRAME_BATCH);

    buf_add(out, key->node.b, NODE_ID_LEN);
    buf_u64(out, key->run);
    buf_u64(out, key->number);
    buf_u64(out, facts);
    buf_u64(out, procs);
    return start;
}

int wire_put_batch(struct wire_enc *e, struct buf *out, const struct batch *b)
{
    int rc = batch_check(b);

    if (rc < 0)
        return rc;
    buf_reset(&e->raw);
    put_ticks(e, b);
    put_columns(e, b);
    put_uses(e, b);
    put_events(e, b);
    if (e->raw.err)
        return -E2BIG;
    size_t start = batch_begin(out, &b->key, b->facts, b->procs);
    return frame_end(out, start, put_packed(out, e->z, buf_str(&e->raw)));
}

int wire_put_copy(struct buf *out, struct str frame, const struct batch_key *key, uint64_t facts, uint64_t procs)
{
    size_t skip = FRAME_HEAD + NODE_ID_LEN + 4 * sizeof(uint64_t);

    if (frame.len <= skip || frame.p[0] != FRAME_BATCH)
        return -EINVAL;
    size_t start = batch_begin(out, key, facts, procs);
    return frame_end(out, start, buf_add(out, frame.p + skip, frame.len - skip));
}

/* ---- reading ---- */

struct wire_dec {
    ZSTD_DCtx *z;
    struct arena arena;
};

struct wire_dec *wire_dec_new(void)
{
    struct wire_dec *d = NEW(struct wire_dec, .z = ZSTD_createDCtx());

    if (!d->z)
        abort(); /* as mem_alloc does */
    d->arena.max = WIRE_RAM_MAX;
    return d;
}

void wire_dec_free(struct wire_dec *d)
{
    if (!d)
        return;
    ZSTD_freeDCtx(d->z);
    arena_fini(&d->arena);
    free(d);
}

/* Space whose size passed the caps already; the arena's own limit is the second check (W2). */
static void *dec_room(struct wire_dec *d, struct in *in, size_t n, size_t size)
{
    void *p = arena_alloc(&d->arena, n, size);

    if (!p)
        in_bad(in, "the batch", "needs too much memory");
    return p;
}

static void in_ints(struct in *in, int64_t *ret, size_t n, const char *what)
{
    if (in_ok(in) && ints_get(&in->r, ret, n) < 0)
        in_bad(in, what, "do not decode");
}

static void in_ticks(struct wire_dec *d, struct in *in, struct batch *b)
{
    size_t n = (size_t)in_count(in, TICKS_MAX, "the ticks");

    if (n == 0)
        return;
    int64_t *at = dec_room(d, in, n, sizeof(*at));
    if (!at)
        return;
    at[0] = in_time(in, "the first tick");
    in_ints(in, at + 1, n - 1, "the ticks");
    for (size_t i = 1; i < n && in_ok(in); i++) {
        if (at[i] <= 0 || at[i] >= WIRE_TIME_END - at[i - 1])
            in_bad(in, "the ticks", "do not ascend or are no times");
        else
            at[i] += at[i - 1];
    }
    b->at_ms = at;
    b->n_ticks = n;
}

/* Reads one bitmap; ret has whole words. Returns the number of ticks it marks. */
static size_t in_map(struct in *in, uint64_t *ret, size_t n_ticks)
{
    const uint8_t *p = rd_bytes(&in->r, map_len(n_ticks));
    size_t n = 0;

    if (!p)
        return 0;
    if (n_ticks % 8 && p[n_ticks / 8] >> n_ticks % 8)
        in_bad(in, "a bitmap", "has bits behind the last tick");
    for (size_t i = 0; i < map_len(n_ticks); i++) {
        ret[i / 8] |= (uint64_t)p[i] << i % 8 * 8;
        n += (size_t)__builtin_popcount(p[i]);
    }
    return n;
}

/* Reads the slots of a group, ascending. */
static void in_slots(struct in *in, struct column *c, size_t n, bool gaps)
{
    uint64_t slot = 0;

    for (size_t i = 0; i < n && in_ok(in); i++) {
        uint64_t step = i == 0 || gaps ? rd_varint(&in->r) : 1;
        if (step > DEVICES_MAX - slot || (i && step == 0)) {
            in_bad(in, "a slot", "is out of range");
            return;
        }
        slot += step;
        c[i].slot = (uint16_t)slot;
    }
}

/* Moves the present values, packed at the start of v, to their ticks; from the end, so that none is overwritten. */
static void spread(struct column *c, size_t n, int64_t *v, size_t n_v, size_t n_ticks)
{
    for (size_t i = n; i-- > 0;)
        for (size_t t = n_ticks; t-- > 0;)
            v[i * n_ticks + t] = column_has(&c[i], t) ? v[--n_v] : 0;
}

/* Reads one metric's columns to c (at most max) and v. Returns their number; 0 if invalid. */
static size_t in_group(struct wire_dec *d, struct in *in, struct column *c, size_t max, int64_t *v, size_t n_ticks,
                       uint16_t last_metric)
{
    uint64_t step = rd_varint(&in->r);
    uint8_t shape = rd_u8(&in->r);
    uint64_t n = rd_varint(&in->r);
    size_t words = (n_ticks + 63) / 64, n_v = 0;

    if (!in_ok(in))
        return 0;
    if (step == 0 || step >= METRIC_CUSTOM + CUSTOM_MAX || last_metric + step >= METRIC_CUSTOM + CUSTOM_MAX)
        in_bad(in, "a metric's number", "is out of range");
    if (shape & ~SHAPE_KNOWN || (shape & SHAPE_PRESENCE) > PRESENT_EACH)
        in_bad(in, "a metric's shape", "is not known here");
    if (n == 0 || n > max)
        in_bad(in, "a metric's slots", "do not add up to the columns");
    if (!in_ok(in))
        return 0;
    in_slots(in, c, (size_t)n, shape & SHAPE_GAPS);
    enum presence presence = shape & SHAPE_PRESENCE;
    size_t n_maps = presence == PRESENT_ALL ? 0 : presence == PRESENT_COMMON ? 1 : (size_t)n;
    uint64_t *have = n_maps && in_ok(in) ? dec_room(d, in, n_maps * words, sizeof(*have)) : NULL;
    if (n_maps && !have)
        return 0;
    for (size_t i = 0; i < n && in_ok(in); i++) {
        c[i].metric = (uint16_t)(last_metric + step);
        c[i].v = v + i * n_ticks;
        c[i].have = n_maps == 0 ? NULL : n_maps == 1 ? have : have + i * words;
        if (i < n_maps)
            n_v += in_map(in, have + i * words, n_ticks);
    }
    if (presence == PRESENT_ALL)
        n_v = (size_t)n * n_ticks;
    else if (presence == PRESENT_COMMON)
        n_v *= (size_t)n;
    in_ints(in, v, n_v, "a metric's values");
    if (!in_ok(in))
        return 0;
    if (presence != PRESENT_ALL)
        spread(c, (size_t)n, v, n_v, n_ticks);
    return (size_t)n;
}

static void in_columns(struct wire_dec *d, struct in *in, struct batch *b)
{
    size_t n = (size_t)in_count(in, WIRE_COLUMNS_MAX, "the columns");

    if (n == 0)
        return;
    if (b->n_ticks == 0 || n * b->n_ticks > WIRE_CELLS_MAX) {
        in_bad(in, "the columns", "are too many for the ticks");
        return;
    }
    struct column *c = dec_room(d, in, n, sizeof(*c));
    int64_t *v = dec_room(d, in, n * b->n_ticks, sizeof(*v));
    uint16_t last = 0;
    for (size_t i = 0; i < n && in_ok(in);) {
        size_t more = in_group(d, in, c + i, n - i, v + i * b->n_ticks, b->n_ticks, last);
        last = c[i].metric;
        i += more;
    }
    b->columns = c;
    b->n_columns = n;
}

static void in_uses(struct wire_dec *d, struct in *in, struct batch *b)
{
    size_t n = (size_t)in_count(in, WIRE_USES_MAX, "the processes in use");

    if (n == 0)
        return;
    struct proc_use *u = dec_room(d, in, n, sizeof(*u));
    int64_t *v = dec_room(d, in, n * USE_FIELDS, sizeof(*v));
    for (size_t field = 0; field < USE_FIELDS; field++)
        in_ints(in, v + field * n, n, "the processes in use");
    for (size_t i = 0; i < n && in_ok(in); i++) {
        int64_t proc = v[i], slot = v[n + i], kind = v[2 * n + i], mem = v[3 * n + i], sm = v[4 * n + i];
        if (proc < 0 || proc >= PROCS_MAX || slot < 1 || slot > DEVICES_MAX || kind & ~(int64_t)PROC_KINDS ||
            mem < -1 || sm < -1 || sm > INT32_MAX)
            in_bad(in, "a process in use", "is out of range");
        u[i] = (struct proc_use){(uint16_t)proc, (uint16_t)slot, (uint8_t)kind, mem, (int32_t)sm};
    }
    b->uses = u;
    b->n_uses = n;
}

static void in_events(struct wire_dec *d, struct in *in, struct batch *b)
{
    size_t n = (size_t)in_count(in, WIRE_EVENTS_MAX, "the events"), kept = 0;

    if (n == 0)
        return;
    if (n * EVENT_MIN_LEN > rd_left(&in->r)) {
        in_bad(in, "the events", "end too early");
        return;
    }
    struct node_event *e = dec_room(d, in, n, sizeof(*e));
    for (size_t i = 0; i < n && in_ok(in); i++) {
        struct node_event *at = &e[kept];
        at->at_ms = in_time(in, "an event's time");
        uint64_t kind = in_count(in, UINT16_MAX, "an event's kinds");
        at->kind = (uint16_t)kind;
        at->slot = (uint16_t)in_count(in, DEVICES_MAX, "an event's slots");
        at->code = rd_zigzag(&in->r);
        in_text(in, at->text, sizeof(at->text), "an event's text");
        if (kind == 0)
            in_bad(in, "an event's kind", "is out of range");
        kept += kind < EVENT_KINDS; /* skip kinds of newer agents */
    }
    b->events = e;
    b->n_events = kept;
}

/* The decompressed body: in place, or in the arena. */
static int dec_body(struct wire_dec *d, const struct frame *f, struct str *ret, struct err *err)
{
    struct body body;
    int rc = body_read(f->payload, BATCH_FIXED, BATCH_RAW_MAX, &body, err);

    if (rc < 0)
        return rc;
    if (!body.zstd) {
        *ret = str_n(body.p, body.len);
        return 0;
    }
    void *raw = arena_alloc(&d->arena, body.raw_len, 1);
    size_t n = raw ? ZSTD_decompressDCtx(d->z, raw, body.raw_len, body.p, body.len) : 0;
    if (!raw || ZSTD_isError(n) || n != body.raw_len)
        return err_set(err, -EBADMSG, "a batch does not unpack");
    *ret = str_n(raw, n);
    return 0;
}

int wire_batch(struct wire_dec *d, const struct frame *f, struct batch *ret, struct err *err)
{
    struct str raw = STR("");

    if (f->type != FRAME_BATCH)
        return err_set(err, -EINVAL, "a frame of type %u is no batch", f->type);
    if (d->arena.used > KEEP_MAX)
        arena_fini(&d->arena); /* one large batch must not keep its memory allocated forever */
    else
        arena_reset(&d->arena);
    int rc = dec_body(d, f, &raw, err);
    if (rc < 0)
        return rc;
    struct in in = {.r = rd_of(raw.p, raw.len)};
    struct batch b = {.key = f->key, .facts = f->facts, .procs = f->procs};
    in_ticks(d, &in, &b);
    in_columns(d, &in, &b);
    in_uses(d, &in, &b);
    in_events(d, &in, &b);
    rc = in_end(&in, "batch", err);
    if (rc == 0)
        *ret = b;
    return rc;
}
