/* chunk_read.c: reads chunks: the head in one pass, columns on request. Any input is safe (K2). */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"
#include "codec/bin.h"
#include "codec/chunk_coding.h"
#include "codec/chunk_v1.h"
#include "codec/ints.h"
#include "codec/pack.h"
#include "codec/uuid.h"

#define HEAD_AT CHUNK_LEAD /* after version, lanes, length, checksum */

/* ---- the head ---- */

static bool head_ticks(struct chunk *c, struct rd *r)
{
    uint64_t n = rd_varint(r);

    if (r->bad || n < 1 || n > CHUNK_TICKS_MAX)
        return false;
    c->n_ticks = (size_t)n;
    c->ticks = mem_alloc(c->n_ticks * sizeof(*c->ticks));
    if (ints_get(r, c->ticks, c->n_ticks) < 0)
        return false;
    for (size_t i = 1; i < c->n_ticks; i++)
        if (c->ticks[i] < c->ticks[i - 1])
            return false;
    return true;
}

static bool head_devices(struct chunk *c, struct rd *r)
{
    uint64_t n = rd_varint(r);

    if (r->bad || n > CHUNK_DEVICES_MAX || n > rd_left(r))
        return false;
    c->devices = mem_zero((size_t)n, sizeof(*c->devices));
    c->n_devices = (size_t)n;
    if (c->version == 1) {
        for (size_t i = 0; i < c->n_devices; i++)
            c->devices[i] = rd_text(r, CHUNK_NAME_MAX);
        return !r->bad;
    }
    c->text = mem_alloc(c->n_devices * UUID_TEXT);
    for (size_t i = 0; i < c->n_devices; i++) {
        uint64_t len = rd_varint(r);
        const uint8_t *p = rd_bytes(r, len == NAME_UUID ? UUID_BYTES : len <= CHUNK_NAME_MAX ? (size_t)len : 0);
        if (!p || (len > CHUNK_NAME_MAX && len != NAME_UUID))
            return false;
        c->devices[i] = len == NAME_UUID ? uuid_write(p, c->text + i * UUID_TEXT) : str_n((const char *)p, (size_t)len);
    }
    return true;
}

static bool head_usual(struct chunk *c, struct rd *r)
{
    unsigned mask = c->version > 1 && c->lanes > 1 ? rd_u8(r) : 0;

    for (unsigned lane = 0; lane < c->lanes; lane++) {
        if (!(mask >> lane & 1))
            continue;
        c->usual[lane] = mem_alloc(c->n_ticks * sizeof(int64_t));
        if (ints_get(r, c->usual[lane], c->n_ticks) < 0)
            return false;
    }
    return !r->bad && mask >> c->lanes == 0;
}

/* A reference column is earlier, has no reference itself, and has the same devices. */
static bool head_leans(const struct chunk *c, struct rd *r, struct chunk_part *p)
{
    uint64_t word = rd_varint(r);
    size_t at = (size_t)(p - c->columns);

    if (r->bad || c->lanes != 1 || word >> 1 < 1 || word >> 1 > at)
        return false;
    struct chunk_part *on = p - (word >> 1);
    on->leant = true;
    p->leans = (uint16_t)(at - (size_t)(word >> 1) + 1);
    p->sums = word & 1;
    return !on->leans && on->devs == p->devs;
}

/* n devices' places; n 0 (not in version 1): those of the previous column, or all. */
static bool head_places(struct chunk *c, struct rd *r, struct chunk_part *p, uint64_t n)
{
    const struct chunk_part *before = p > c->columns ? p - 1 : NULL;
    uint64_t dev = 0;

    if (n == 0 && before) {
        p->devs = before->devs;
        p->n_devs = before->n_devs;
        return true;
    }
    p->n_devs = n ? (size_t)n : c->n_devices;
    if (p->n_devs < 1 || p->n_devs > c->n_devices)
        return false;
    uint16_t *devs = mem_alloc(p->n_devs * sizeof(*devs));
    VEC_ROOM(c->devs, c->n_devs, c->cap_devs);
    p->devs = c->devs[c->n_devs++] = devs;
    for (size_t k = 0; k < p->n_devs; k++) {
        uint64_t step = n ? rd_varint(r) : k > 0;
        if (step >= c->n_devices || (k && step == 0) || (dev += step) >= c->n_devices)
            return false;
        devs[k] = (uint16_t)dev;
    }
    return true;
}

/* The column's key, and how many places follow; 0: those of the previous column. */
static bool head_key(const struct chunk *c, struct rd *r, struct chunk_part *p, uint64_t *ret_places, bool *ret_leans)
{
    uint64_t word = rd_varint(r), no = word, places = PLACES_BEFORE;

    if (c->version > 3) {
        no = (p > c->columns ? p[-1].key.no : 0u) + unzigzag(word >> PLACES_BITS);
        places = word & ((1u << PLACES_BITS) - 1);
    }
    if (no > UINT16_MAX || places > PLACES_OWN)
        return false;
    p->key.no = (uint16_t)no;
    if (no == 0)
        p->key.name = rd_text(r, CHUNK_NAME_MAX);
    if (c->version > 3) {
        *ret_leans = places == PLACES_LEAN;
        *ret_places = places == PLACES_OWN ? rd_varint(r) : 0;
        return places != PLACES_OWN || *ret_places;
    }
    uint64_t n = rd_varint(r);
    *ret_leans = c->version > 2 && n == PLACES_LEAN;
    *ret_places = c->version < 3 ? n : n > PLACES_LEAN ? n - PLACES_LEAN : 0;
    return n != 0 || c->version > 1;
}

static bool head_column(struct chunk *c, struct rd *r, struct chunk_part *p)
{
    uint64_t n = 0;
    bool leans = false;

    if (!head_key(c, r, p, &n, &leans) || r->bad || n > c->n_devices || !head_places(c, r, p, n) ||
        p->n_devs * c->lanes > CHUNK_CELLS_MAX / c->n_ticks || (leans && !head_leans(c, r, p)))
        return false;
    uint64_t len = rd_varint(r);
    p->len = (size_t)len;
    p->inside = c->version > 2 && len <= COLUMN_SMALL;
    if (p->inside) {
        const uint8_t *bytes = rd_bytes(r, p->len);
        p->off = bytes ? (size_t)((const char *)bytes - c->bytes.p) : 0;
    } else {
        p->crc = rd_u32(r);
    }
    return !r->bad && len <= CHUNK_BYTES_MAX;
}

static bool head_columns(struct chunk *c, struct rd *r, size_t at)
{
    uint64_t n = rd_varint(r);

    if (r->bad || n > CHUNK_COLUMNS_MAX || n > rd_left(r))
        return false;
    c->columns = mem_zero((size_t)n, sizeof(*c->columns));
    for (; c->n_columns < n; c->n_columns++) {
        struct chunk_part *p = &c->columns[c->n_columns];
        if (!head_column(c, r, p))
            return false;
        if (p->inside)
            continue;
        p->off = at;
        at += p->len; /* past the end: detected when the column is read, because others may be intact */
    }
    return true;
}

size_t chunk_head_len(const void *lead)
{
    struct rd r = rd_of(lead, CHUNK_LEAD);
    uint8_t version = rd_u8(&r), lanes = rd_u8(&r);
    uint32_t len = rd_u32(&r);

    return version == 0 || lanes == 0 || len > CHUNK_BYTES_MAX ? 0 : HEAD_AT + (size_t)len;
}

int chunk_open(struct chunk *ret, struct str bytes, struct err *err)
{
    *ret = (struct chunk){.bytes = bytes};
    struct rd r = rd_of(bytes.p, MIN(bytes.len, CHUNK_BYTES_MAX));
    ret->version = rd_u8(&r);
    ret->lanes = rd_u8(&r);
    uint32_t len = rd_u32(&r), crc = rd_u32(&r);
    const uint8_t *head = rd_bytes(&r, len);

    if (head && ret->version > CHUNK_VERSION)
        return err_set(err, -EBADMSG, "a chunk of a newer format (%u)", ret->version);
    if (!head || ret->version < 1 || ret->lanes < 1 || ret->lanes > CHUNK_LANES_MAX)
        return err_set(err, -EBADMSG, "not a chunk");
    if (crc32c(crc32c(0, bytes.p, 6), head, len) != crc)
        return err_set(err, -EBADMSG, "a chunk's head is damaged");
    r = rd_of(head, len);
    if (!head_ticks(ret, &r) || !head_devices(ret, &r) || !head_usual(ret, &r) ||
        !head_columns(ret, &r, (size_t)HEAD_AT + len))
        return err_set(err, -EBADMSG, "a chunk's head makes no sense");
    return 0;
}

void chunk_ticks(const struct chunk *c, int64_t *ret)
{
    struct rd r = rd_of(c->bytes.p + HEAD_AT, c->bytes.len - HEAD_AT);

    (void)rd_varint(&r); /* number of ticks */
    ints_get(&r, ret, c->n_ticks);
}

void chunk_fini(struct chunk *c)
{
    for (size_t i = 0; i < c->n_devs; i++)
        free(c->devs[i]);
    for (size_t i = 0; i < CHUNK_LANES_MAX; i++)
        free(c->usual[i]);
    FREE_ALL(c->devs, c->columns, c->devices, c->ticks, c->text);
    *c = (struct chunk){0};
}

/* ---- a column ---- */

static void have_all(uint64_t *h, size_t n)
{
    for (size_t i = 0; i < n / 64; i++)
        h[i] = UINT64_MAX;
    if (n % 64)
        h[n / 64] = (1ull << n % 64) - 1;
}

static bool get_runs(struct rd *r, struct chunk_cells *c, uint64_t *h)
{
    size_t n = c->n_ticks, at = 0;
    uint64_t runs = rd_varint(r);
    bool bit = false;

    if (r->bad || runs > n + 1 || !numbers_get(&c->block.numbers, r, c->flat, (size_t)runs))
        return false;
    memset(h, 0, chunk_words(n) * sizeof(*h));
    for (size_t i = 0; i < runs; i++, bit = !bit) {
        if (c->flat[i] > n - at)
            return false;
        for (size_t end = at + (size_t)c->flat[i]; at < end; at++)
            h[at / 64] |= (uint64_t)bit << at % 64;
    }
    return at == n;
}

bool chunk_get_presence(struct rd *r, struct chunk_cells *c, bool every,
                        bool (*get)(struct rd *r, struct chunk_cells *c, uint64_t *h))
{
    size_t words = chunk_words(c->n_ticks);

    for (size_t k = 0; k < c->n_devs && !r->bad; k++) {
        uint64_t *h = c->have + k * words, how = every ? PRESENT_ALL : rd_varint(r);
        if (how == PRESENT_ALL) {
            have_all(h, c->n_ticks);
            c->present[k] = c->n_ticks;
            continue;
        }
        if (how == PRESENT_AS_BEFORE && k)
            memcpy(h, h - words, words * sizeof(*h));
        else if (how != PRESENT_RUNS || !get(r, c, h))
            return false;
        c->present[k] = chunk_count(h, c->n_ticks);
    }
    return !r->bad;
}

void chunk_spread(int64_t *v, const int64_t *from, const uint64_t *h, size_t n_ticks, size_t n)
{
    if (n == n_ticks) {
        if (v != from)
            memmove(v, from, n * sizeof(*v));
        return;
    }
    for (size_t i = n_ticks; i-- > 0;)
        v[i] = (h[i / 64] >> (i % 64) & 1) ? from[--n] : 0;
}

/* Adds the usual values to ticks [i, end). Ticks without a value become undefined. */
static void add_usual(int64_t *v, const int64_t *usual, size_t i, size_t end)
{
    for (; i < end; i++)
        v[i] = (int64_t)((uint64_t)v[i] + (uint64_t)usual[i]);
}

static void no_values(int64_t *v, const uint64_t *h, size_t i, size_t end)
{
    for (; i < end; i++)
        v[i] = h[i / 64] >> (i % 64) & 1 ? v[i] : 0;
}

struct lane_mode {
    unsigned lane;
    bool zero, row;       /* zero: not stored; row: a number per series, and no block */
    const int64_t *usual; /* or NULL */
};

static bool get_block(struct rd *r, struct chunk_cells *c, const struct lane_mode *how, uint64_t *ret, const size_t *n,
                      size_t n_series, const struct block_part *part)
{
    return how->row ? ints_get(r, (int64_t *)ret, n_series) == 0 : block_get_part(&c->block, r, ret, n, n_series, part);
}

/* If every device has every tick, the usual case: decodes each value to its final position. */
static bool get_lane_full(struct rd *r, struct chunk_cells *c, const struct lane_mode *how,
                          const struct chunk_want *want)
{
    unsigned lane = how->lane;
    bool wanted = want->lanes >> lane & 1, zero = how->zero;
    size_t n = c->n_ticks, begin = want->to ? want->from : 0, end = want->to ? MIN(want->to, n) : n;
    struct block_part part = {.first = wanted ? want->first : 0,
                              .last = wanted ? want->last : 0,
                              .from = begin,
                              .to = end};
    const int64_t *usual = how->usual;
    int64_t *v = c->v + lane * chunk_lane_step(c);

    if (!zero && !get_block(r, c, how, (uint64_t *)v, c->present, c->n_devs, &part))
        return false;
    if (!wanted || (!zero && !usual))
        return true;
    v += part.first * n;
    if (n == 1) { /* common for hours: avoids a loop per device */
        for (size_t k = 0; k < part.last - part.first; k++)
            v[k] = (int64_t)((zero ? 0 : (uint64_t)v[k]) + (usual ? (uint64_t)usual[0] : 0));
        return true;
    }
    for (size_t k = part.first; k < part.last; k++, v += n)
        for (size_t i = begin; i < end; i++)
            v[i] = (int64_t)((zero ? 0 : (uint64_t)v[i]) + (usual ? (uint64_t)usual[i] : 0));
    return true;
}

/* Decodes devices [first, last) of a lane; none: skips it. */
static bool get_lane(struct rd *r, struct chunk_cells *c, const struct lane_mode *how, const struct chunk_want *want)
{
    bool wanted = want->lanes >> how->lane & 1;
    size_t first = wanted ? want->first : 0, last = wanted ? want->last : 0;
    size_t begin_tick = want->to ? want->from : 0, end_tick = want->to ? MIN(want->to, c->n_ticks) : c->n_ticks;
    size_t words = chunk_words(c->n_ticks), n = 0, at = 0, begin = 0, end = 0, *some = c->present + c->n_devs;
    uint64_t *flat = c->lanes == 1 ? (uint64_t *)c->v : c->flat;
    bool full = true;

    for (size_t k = 0; k < c->n_devs; k++) {
        if (k == first)
            begin = n;
        if (k < last)
            at += c->present[k];
        full &= c->present[k] == c->n_ticks;
        if (k >= first && k < last && c->present[k] < c->n_ticks) { /* then positions differ from ticks */
            begin_tick = 0;
            end_tick = c->n_ticks;
        }
        if (c->present[k])
            some[n++] = c->present[k];
        if (k < last)
            end = n;
    }
    bool brief = want->brief && c->lanes == 1;
    struct block_part part = {.first = first == last ? end : begin,
                              .last = end,
                              .from = begin_tick,
                              .to = end_tick,
                              .shape = brief ? c->shape + c->n_devs : NULL,
                              .runs = brief && want->runs && full,
                              .cuts = brief && full ? want->cuts : NULL,
                              .n_cuts = want->n_cuts};
    if (!how->zero && !get_block(r, c, how, flat, some, n, &part))
        return false;
    for (size_t k = last; k-- > first;) {
        int64_t *v = c->v + how->lane * chunk_lane_step(c) + k * c->n_ticks;
        const uint64_t *h = c->have + k * words;
        at -= c->present[k];
        end -= c->present[k] > 0;
        if (part.shape && c->present[k] && part.shape[end]) {
            c->shape[k] = part.shape[end];
            if (c->shape[k] == SHAPE_ONE)
                v[0] = (int64_t)flat[at];
            continue; /* runs and sums are in place: every device has every tick then */
        }
        if (how->zero)
            for (size_t i = begin_tick; i < end_tick; i++)
                v[i] = 0;
        else if (c->lanes > 1 && c->present[k] == c->n_ticks && begin_tick < end_tick)
            memcpy(v + begin_tick, flat + at + begin_tick, (end_tick - begin_tick) * sizeof(*v));
        else
            chunk_spread(v, (int64_t *)flat + at, h, c->n_ticks, c->present[k]);
        if (!how->usual)
            continue;
        add_usual(v, how->usual, begin_tick, end_tick);
        if (c->present[k] < c->n_ticks)
            no_values(v, h, begin_tick, end_tick);
    }
    return true;
}

/* ---- reference columns ---- */

struct chunk_base {
    const struct chunk *of; /* NULL: empty */
    size_t column, first, last, from, to;
    struct chunk_cells cells;
};

/* The part of the reference column that is needed to read this part of a column. */
static struct chunk_want base_want(const struct chunk *c, size_t column, const struct chunk_want *want)
{
    return (struct chunk_want){.first = want->first,
                               .last = want->last,
                               .lanes = 1,
                               .from = want->to && !c->columns[column].sums ? want->from : 0,
                               .to = want->to ? MIN(want->to, c->n_ticks) : c->n_ticks};
}

static struct chunk_base *find_base(const struct chunk *c, size_t column, const struct chunk_want *want,
                                    const struct chunk_cells *of)
{
    struct chunk_want need = base_want(c, column, want);

    for (size_t i = 0; i < LEAN_BASES && of->base; i++) {
        struct chunk_base *b = &of->base[i];
        if (b->of == c && b->column + 1 == c->columns[column].leans && b->first <= need.first && b->last >= need.last &&
            b->from <= need.from && b->to >= need.to)
            return b;
    }
    return NULL;
}

bool chunk_has_base(const struct chunk *c, size_t column, const struct chunk_want *want, const struct chunk_cells *of)
{
    return find_base(c, column, want, of) != NULL;
}

void chunk_forget(struct chunk_cells *c)
{
    for (size_t i = 0; i < LEAN_BASES && c->base; i++)
        c->base[i].of = NULL;
}

static struct chunk_base *base_room(const struct chunk *c, size_t column, struct chunk_cells *of)
{
    if (!of->base)
        of->base = mem_zero(LEAN_BASES, sizeof(*of->base));
    size_t at = FIRST(LEAN_BASES, i, of->base[i].of == c && of->base[i].column == column);
    if (at == LEAN_BASES)
        at = of->next_base++ % LEAN_BASES;
    of->base[at].of = NULL;
    return &of->base[at];
}

static void base_is(struct chunk_base *b, const struct chunk *c, size_t column, const struct chunk_want *want)
{
    b->of = c;
    b->column = column;
    b->first = want->first;
    b->last = want->last;
    b->from = want->to ? want->from : 0;
    b->to = want->to ? want->to : c->n_ticks;
}

int chunk_read_base(const struct chunk *c, size_t column, struct str bytes, const struct chunk_want *want,
                    struct chunk_cells *ret, struct err *err)
{
    struct chunk_want need = base_want(c, column, want);
    size_t on = c->columns[column].leans - 1;
    struct chunk_base *b = base_room(c, on, ret);
    int r = chunk_read_part(c, on, bytes, &need, &b->cells, err);

    if (r == 0)
        base_is(b, c, on, &need);
    return r;
}

#define SWAP(a, b)                                                                                                     \
    do {                                                                                                               \
        __auto_type swap_ = (a);                                                                                       \
        (a) = (b);                                                                                                     \
        (b) = swap_;                                                                                                   \
    } while (0)

void chunk_keep(const struct chunk *c, size_t column, const struct chunk_want *want, struct chunk_cells *of)
{
    struct chunk_base *b = base_room(c, column, of);

    SWAP(of->v, b->cells.v);
    SWAP(of->cap_v, b->cells.cap_v);
    b->cells.n_devs = of->n_devs;
    b->cells.n_ticks = of->n_ticks;
    b->cells.lanes = of->lanes;
    base_is(b, c, column, want);
}

/* Decodes the values where the reference is not 0, or the others, to ret; only as many per series as needed. */
static bool get_half(struct rd *r, struct chunk_cells *c, bool idle, const struct chunk_want *need, uint64_t *ret,
                     size_t *ret_values)
{
    size_t *n = c->present + c->n_devs, series = 0, some = 0;
    struct block_part part = {0};

    *ret_values = 0;
    for (size_t k = 0; k < c->n_devs; k++) {
        if (k == need->first)
            part.first = some;
        if (c->present[k]) {
            uint64_t busy = (uint64_t)c->lean.busy[series++];
            if (busy > c->present[k])
                return false;
            n[some] = idle ? c->present[k] - (size_t)busy : (size_t)busy;
            *ret_values += n[some];
            some += n[some] > 0;
        }
        if (k < need->last)
            part.last = some;
    }
    return !some || block_get_part(&c->block, r, ret, n, some, &part);
}

/* Decodes a split column in place. */
static bool get_split(struct rd *r, struct chunk_cells *c, const struct chunk_cells *base,
                      const struct chunk_want *need)
{
    size_t busy, idle, words = chunk_words(c->n_ticks), series = 0, slope = 0;

    VEC_LEAST(c->flat, c->cap_flat, c->n_devs * c->n_ticks);
    if (!get_half(r, c, false, need, c->flat, &busy) || !get_half(r, c, true, need, c->flat + busy, &idle))
        return false;
    struct ref_parts at = {.busy = c->flat, .idle = c->flat + busy};
    for (size_t k = 0; k < need->last; k++) {
        if (!c->present[k]) {
            memset(c->v + k * c->n_ticks, 0, c->n_ticks * sizeof(*c->v));
            continue;
        }
        at.n_busy = (size_t)c->lean.busy[series++];
        at.n_idle = c->present[k] - at.n_busy;
        if (k >= need->first &&
            !ref_merge(&c->lean, slope, &at, c->v + k * c->n_ticks, chunk_lane(base, k, 0),
                       c->present[k] < c->n_ticks ? c->have + k * words : NULL, need->to, need->to == c->n_ticks))
            return false;
        slope += at.n_busy > 0;
        at.busy += at.n_busy;
        at.idle += at.n_idle;
    }
    return true;
}

/* Decodes the only lane of a column with a reference. */
static bool get_leaning(struct rd *r, const struct chunk *from, struct chunk_cells *c, size_t column,
                        const struct chunk_want *want)
{
    const struct chunk_base *base = find_base(from, column, want, c);
    struct chunk_want need = base_want(from, column, want);
    size_t words = chunk_words(c->n_ticks), series = 0;

    for (size_t k = 0; k < c->n_devs; k++)
        series += c->present[k] > 0;
    if (!base || !ref_read(&c->lean, r, from->columns[column].sums, series))
        return false;
    if (c->lean.split)
        return get_split(r, c, &base->cells, &need);
    if (!get_lane(r, c, &(struct lane_mode){0}, &need))
        return false;
    for (size_t k = series = 0; k < need.last; k++) {
        if (k >= need.first && c->present[k])
            ref_decode(&c->lean, series, c->v + k * c->n_ticks, chunk_lane(&base->cells, k, 0),
                       c->present[k] < c->n_ticks ? c->have + k * words : NULL, need.from, need.to);
        series += c->present[k] > 0;
    }
    return true;
}

/* ---- tiers ---- */

struct tier_head {
    unsigned marks, zero; /* zero: a bit for each lane that is not stored */
    bool last_is_most;
};

static bool get_marks(struct rd *r, struct tier_head *ret)
{
    unsigned marks = rd_u8(r), last = marks / MARK_LAST, next = NEXT_NO_COUNT | NEXT_NO_POS;

    if (last == LAST_NEXT) {
        next = rd_u8(r);
        last = next & LAST_NEXT;
    }
    *ret = (struct tier_head){
        .marks = marks,
        .zero = (marks & MARK_NO_MIN ? 1u << LANE_MIN : 0) | (marks & MARK_NO_MAX ? 1u << LANE_MAX : 0) |
                (marks & MARK_NO_SUM ? 1u << LANE_SUM : 0) | (last != LAST_BLOCK ? 1u << LANE_LAST : 0) |
                (next & NEXT_NO_COUNT ? 1u << LANE_COUNT : 0) | (next & NEXT_NO_POS ? 1u << LANE_POS : 0),
        .last_is_most = last == LAST_MOST,
    };
    return !r->bad && last != LAST_NEXT && next >> 4 == 0;
}

/* Converts LANE_MAX and LANE_SUM to values minus the minimum, as readers expect. */
static void less_least(struct chunk_cells *c, unsigned lane, const struct chunk_want *want)
{
    size_t step = chunk_lane_step(c), n = c->n_ticks, begin = want->to ? want->from : 0;
    size_t end = want->to ? MIN(want->to, n) : n;

    for (size_t k = want->first; k < want->last; k++) {
        int64_t *v = c->v + lane * step + k * n;
        const int64_t *least = c->v + LANE_MIN * step + k * n, *count = c->v + LANE_COUNT * step + k * n;
        for (size_t i = begin; i < end && lane == LANE_SUM; i++)
            v[i] = (int64_t)((uint64_t)v[i] - (uint64_t)least[i] * (uint64_t)count[i]);
        for (size_t i = begin; i < end && lane != LANE_SUM; i++)
            v[i] = (int64_t)((uint64_t)v[i] - (uint64_t)least[i]);
    }
}

static void last_is_most(struct chunk_cells *c, const struct chunk_want *want)
{
    size_t n = c->n_ticks;

    for (size_t k = want->first; k < want->last; k++) {
        int64_t *v = c->v + LANE_LAST * chunk_lane_step(c) + k * n;
        for (size_t i = 0; i < n; i++)
            v[i] = chunk_has(c, k, i) ? LAST_IS_MOST : 0;
    }
}

static bool get_tier(struct rd *r, const struct chunk *from, struct chunk_cells *c, const struct chunk_want *want)
{
    struct chunk_want need = *want;
    struct tier_head t;

    if (!get_marks(r, &t) || !chunk_get_presence(r, c, !(t.marks & MARK_EACH), get_runs))
        return false;
    bool full = !ANY(c->n_devs, k, c->present[k] < c->n_ticks);
    bool most = t.marks & MARK_MOST && want->lanes >> LANE_MAX & 1;
    bool sum = t.marks & MARK_SUM && want->lanes >> LANE_SUM & 1;
    need.lanes |= (most || sum ? 1u << LANE_MIN : 0) | (sum ? 1u << LANE_COUNT : 0);
    for (unsigned lane = 0; lane < LANES && need.lanes >> lane; lane++) {
        struct lane_mode how = {lane, t.zero >> lane & 1, c->n_ticks == 1, from->usual[lane]};
        if (lane == LANE_LAST && t.last_is_most)
            continue;
        if (!(full ? get_lane_full : get_lane)(r, c, &how, &need))
            return false;
    }
    if (t.last_is_most && want->lanes >> LANE_LAST & 1)
        last_is_most(c, want);
    if (most)
        less_least(c, LANE_MAX, want);
    if (sum)
        less_least(c, LANE_SUM, want);
    c->full = full;
    return true;
}

static bool get_column(struct rd *r, const struct chunk *from, struct chunk_cells *c, size_t column,
                       const struct chunk_want *want)
{
    if (from->version > 3 && c->lanes == LANES)
        return get_tier(r, from, c, want);
    if (!chunk_get_presence(r, c, rd_u8(r) == PRESENT_EVERY, get_runs))
        return false;
    if (from->columns[column].leans)
        return get_leaning(r, from, c, column, want);
    unsigned zero = c->lanes > 1 ? rd_u8(r) : 0;
    bool full = !ANY(c->n_devs, k, c->present[k] < c->n_ticks);
    for (unsigned lane = 0; lane < c->lanes && want->lanes >> lane; lane++) {
        struct lane_mode how = {lane, zero >> lane & 1, false, from->usual[lane]};
        if (!(full && c->lanes > 1 ? get_lane_full : get_lane)(r, c, &how, want))
            return false;
    }
    c->full = full;
    return true;
}

static void cells_room(struct chunk_cells *c, size_t n_devs, size_t n_ticks, unsigned lanes)
{
    size_t words = chunk_words(n_ticks), cells = n_devs * lanes * n_ticks;
    size_t flat = MAX(lanes > 1 ? n_devs * n_ticks : 0, n_ticks + 1);

    VEC_LEAST(c->v, c->cap_v, cells);
    VEC_LEAST(c->have, c->cap_have, n_devs * words);
    VEC_LEAST(c->flat, c->cap_flat, flat);
    VEC_LEAST(c->present, c->cap_present, 2 * n_devs);
    VEC_LEAST(c->shape, c->cap_shape, 2 * n_devs); /* those of the devices, then those of the series */
    c->n_devs = n_devs;
    c->n_ticks = n_ticks;
    c->lanes = lanes;
}

int chunk_read_part(const struct chunk *c, size_t column, struct str bytes, const struct chunk_want *want,
                    struct chunk_cells *ret, struct err *err)
{
    const struct chunk_part *p = &c->columns[column];
    bool own = !bytes.p, all_lanes = want->lanes >> (c->lanes - 1) & 1;

    assert(want->first < want->last && want->last <= p->n_devs);
    if (!bytes.p && (p->off > c->bytes.len || p->len > c->bytes.len - p->off))
        return err_set(err, -EBADMSG, "a column is cut off");
    if (!bytes.p)
        bytes = str_n(c->bytes.p + p->off, p->len);
    if (!want->plain && bytes.len != p->len)
        return err_set(err, -EBADMSG, "a column is cut off");
    if (!want->plain && !p->inside && crc32c(0, bytes.p, p->len) != p->crc)
        return err_set(err, -EBADMSG, "a column is damaged");
    if (p->leans && own) {
        int b = chunk_read_base(c, column, (struct str){0}, want, ret, err);
        if (b < 0)
            return b;
    }
    cells_room(ret, p->n_devs, c->n_ticks, c->lanes);
    memset(ret->shape, SHAPE_EACH, 2 * p->n_devs); /* those of the previous column are invalid */
    ret->full = false;
    struct rd r = rd_of(bytes.p, bytes.len);
    bool ok = c->version == 1 ? chunk_v1_column(&r, ret) : get_column(&r, c, ret, column, want);
    ok = ok && (!all_lanes || rd_left(&r) == 0);
    return ok ? 0 : err_set(err, -EBADMSG, "a column makes no sense");
}

int chunk_plain(const struct chunk *c, size_t column, struct str bytes, struct chunk_cells *room, struct buf *out)
{
    struct chunk_want all = {.last = c->columns[column].n_devs, .lanes = UINT_MAX};
    struct numbers_room *n = &room->block.numbers;

    if (c->version == 1 || c->lanes == 1)
        return -ENOTSUP;
    n->plain = out;
    n->done = (const uint8_t *)bytes.p;
    int r = chunk_read_part(c, column, bytes, &all, room, NULL);
    if (r == 0)
        r = buf_add(out, n->done, bytes.len - (size_t)(n->done - (const uint8_t *)bytes.p));
    n->plain = NULL;
    return r;
}

int chunk_read(const struct chunk *c, size_t column, struct chunk_cells *ret, struct err *err)
{
    struct chunk_want all = {.last = c->columns[column].n_devs, .lanes = UINT_MAX};

    return chunk_read_part(c, column, (struct str){0}, &all, ret, err);
}

void chunk_cells_fini(struct chunk_cells *c)
{
    if (!c->cap_v && !c->base) /* never used */
        return;
    for (size_t i = 0; i < LEAN_BASES && c->base; i++)
        chunk_cells_fini(&c->base[i].cells);
    FREE_ALL(c->v, c->have, c->flat, c->present, c->shape, c->base);
    ref_fini(&c->lean);
    block_reader_fini(&c->block);
    buf_fini(&c->room[0]);
    buf_fini(&c->room[1]);
    ZSTD_freeDCtx(c->zstd);
    *c = (struct chunk_cells){0};
}
