/*
 * chunk.c: writes chunks. A column is a block per lane. What is the same in nearly every chunk (a value at every tick,
 * the devices of the previous column, as many values in a bin as in its neighbours) needs a byte or none.
 */
#include "codec/chunk.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"
#include "codec/bin.h"
#include "codec/chunk_coding.h"
#include "codec/ints.h"
#include "codec/pack.h"
#include "codec/uuid.h"

struct loose_part { /* as chunk_part, but with separate bytes */
    uint16_t no;
    size_t name_off, name_len, devs_off, n_devs, len;
    bool as_before; /* same devices as the previous column */
    size_t leans;   /* distance to its reference column; 0: none */
    bool sums;
    size_t off; /* in body */
    uint32_t crc;
};

#define BASE_CELLS (1u << 18) /* of a column that is kept as reference for others: 2 MB */

struct cached_base {   /* a possible reference column */
    bool there, every; /* every: all devices have all ticks */
    size_t part, n_devs;
    int64_t *v; /* [device][tick] */
    uint64_t *have;
    size_t cap_v, cap_have;
};

struct chunk_writer {
    unsigned lanes;
    size_t n_ticks, n_devices;
    bool thorough;
    struct buf head, names, body; /* body: all columns so far */
    unsigned usual_mask;
    int64_t *usual[CHUNK_LANES_MAX];
    size_t cap_usual[CHUNK_LANES_MAX];
    struct loose_part *parts;
    size_t n_parts, cap_parts;
    uint16_t *devs;
    size_t n_devs, cap_devs;
    uint64_t *v; /* the present values of a lane, series after series, unless all values of the column are present */
    const uint64_t **series;
    size_t *n_of; /* values of each series */
    size_t cap_v, cap_n;
    struct block_writer *block;
    struct numbers *numbers;
    bool quick;
    int64_t *whole; /* of a tier's column: the maxima and the sums themselves, [device][tick] each */
    size_t cap_whole;
    struct cached_base bases[LEAN_BASES];
    struct ref_coding lean;
    uint64_t *under, *rest; /* of a column with a reference: the reference where the column has values; the remainder */
    const uint64_t **under_of;
    size_t cap_under, cap_rest, cap_under_of;
    /* of a split column: the values where the reference is not 0, the reference there, and the other values */
    struct apart {
        uint64_t *v, *under, *idle;
        const uint64_t **v_of, **under_of, **idle_of;
        size_t *n, *n_idle;
        size_t series, idle_series, cap_v, cap_under, cap_idle, cap[5];
    } apart;
};

bool chunk_key_eq(struct chunk_key a, struct chunk_key b)
{
    return a.no == b.no && (a.no || str_eq_str(a.name, b.name));
}

struct chunk_writer *chunk_writer_new(void)
{
    const struct buf room = BUF_INIT(CHUNK_BYTES_MAX);

    return NEW(struct chunk_writer, .head = room, .names = room, .body = room, .block = block_writer_new(),
               .numbers = numbers_new());
}

void chunk_writer_free(struct chunk_writer *w)
{
    if (!w)
        return;
    buf_fini(&w->head);
    buf_fini(&w->names);
    buf_fini(&w->body);
    for (size_t i = 0; i < CHUNK_LANES_MAX; i++)
        free(w->usual[i]);
    FREE_ALL(w->parts, w->devs, w->v, w->series, w->n_of, w->under, w->rest, w->under_of, w->whole);
    FREE_ALL(w->apart.v, w->apart.under, w->apart.idle, w->apart.v_of, w->apart.under_of, w->apart.idle_of, w->apart.n,
             w->apart.n_idle);
    for (size_t i = 0; i < LEAN_BASES; i++)
        FREE_ALL(w->bases[i].v, w->bases[i].have);
    ref_fini(&w->lean);
    block_writer_free(w->block);
    numbers_free(w->numbers);
    free(w);
}

void chunk_quick(struct chunk_writer *w, bool on)
{
    w->quick = on;
    block_quick(w->block, on);
}

void chunk_thorough(struct chunk_writer *w, bool on)
{
    w->thorough = on;
}

/* ---- the head ---- */

static void put_name(struct buf *out, struct str name)
{
    uint8_t uuid[UUID_BYTES];

    if (uuid_read(name, uuid)) {
        buf_varint(out, NAME_UUID);
        buf_add(out, uuid, sizeof(uuid));
    } else {
        buf_text(out, name);
    }
}

int chunk_begin(struct chunk_writer *w, unsigned lanes, const int64_t *ticks, size_t n_ticks, const struct str *devices,
                size_t n_devices)
{
    if (lanes < 1 || lanes > CHUNK_LANES_MAX || n_ticks < 1 || n_ticks > CHUNK_TICKS_MAX ||
        n_devices > CHUNK_DEVICES_MAX)
        return -E2BIG;
    buf_reset(&w->head);
    buf_reset(&w->names);
    buf_reset(&w->body);
    w->n_parts = w->n_devs = w->usual_mask = 0;
    for (size_t i = 0; i < LEAN_BASES; i++)
        w->bases[i].there = false;
    w->lanes = lanes;
    w->n_ticks = n_ticks;
    w->n_devices = n_devices;
    buf_varint(&w->head, n_ticks);
    ints_put(&w->head, ticks, n_ticks);
    buf_varint(&w->head, n_devices);
    for (size_t i = 0; i < n_devices; i++) {
        if (devices[i].len > CHUNK_NAME_MAX)
            return -E2BIG;
        put_name(&w->head, devices[i]);
    }
    return w->head.err;
}

int chunk_set_defaults(struct chunk_writer *w, unsigned lane, const int64_t *row)
{
    if (lane >= w->lanes || w->lanes < 2)
        return -E2BIG;
    VEC_LEAST(w->usual[lane], w->cap_usual[lane], w->n_ticks);
    memcpy(w->usual[lane], row, w->n_ticks * sizeof(*row));
    w->usual_mask |= 1u << lane;
    return 0;
}

/* ---- a column ---- */

static void put_runs(struct chunk_writer *w, const uint64_t *h, struct buf *out)
{
    size_t n = w->n_ticks, runs = 0;
    bool bit = false;

    for (size_t i = 0, run = 0; i <= n; i++, run++) { /* lengths in turn: absent, present, absent, ... */
        bool now = i < n && (h[i / 64] >> (i % 64) & 1);
        if (i == n || now != bit) {
            w->v[runs++] = run;
            bit = now;
            run = 0;
        }
    }
    buf_varint(out, runs);
    struct numbers_plan p = numbers_plan(w->numbers, w->v, runs, true);
    numbers_put(w->numbers, out, w->v, runs, &p);
}

static bool has_every(const struct chunk_column *c)
{
    return !c->have || !ANY(c->n_devs, k, c->have[k]);
}

static void put_presence(struct chunk_writer *w, const struct chunk_column *c, struct buf *out)
{
    size_t bytes = chunk_words(w->n_ticks) * sizeof(uint64_t);

    for (size_t k = 0; k < c->n_devs; k++) {
        const uint64_t *h = c->have[k], *before = k ? c->have[k - 1] : NULL;
        if (!h) {
            buf_varint(out, PRESENT_ALL);
        } else if (before && memcmp(h, before, bytes) == 0) {
            buf_varint(out, PRESENT_AS_BEFORE);
        } else {
            buf_varint(out, PRESENT_RUNS);
            put_runs(w, h, out);
        }
    }
}

/* Copies the present values of a series minus the usual ones. Returns their number. */
static size_t take_present(const int64_t *v, size_t n, const uint64_t *h, const int64_t *usual, uint64_t *ret)
{
    size_t at = 0;

    if (!h) {
        for (size_t i = 0; i < n; i++)
            ret[i] = (uint64_t)v[i] - (uint64_t)usual[i];
        return n;
    }
    for (size_t i = 0; i < n; i++)
        if (h[i / 64] >> (i % 64) & 1)
            ret[at++] = (uint64_t)v[i] - (usual ? (uint64_t)usual[i] : 0);
    return at;
}

/*
 * Collects the series of a lane, or of `instead`, [device][tick]. Series with all values and no usual ones are not
 * copied. Returns their number.
 */
static size_t take_lane(struct chunk_writer *w, const struct chunk_column *c, unsigned lane, const int64_t *instead)
{
    const int64_t *usual = w->usual_mask >> lane & 1 ? w->usual[lane] : NULL;
    size_t n = w->n_ticks, series = 0;
    uint64_t *room = w->v;

    for (size_t k = 0; k < c->n_devs; k++) {
        const uint64_t *h = c->have ? c->have[k] : NULL;
        const int64_t *v = instead ? instead + k * n : c->v[k] + lane * n;
        if (!h && !usual) {
            w->series[series] = (const uint64_t *)v;
            w->n_of[series++] = n;
            continue;
        }
        size_t present = take_present(v, n, h, usual, room);
        if (present == 0)
            continue;
        w->series[series] = room;
        w->n_of[series++] = present;
        room += present;
    }
    return series;
}

static bool all_zero(const struct chunk_writer *w, size_t series)
{
    for (size_t k = 0; k < series; k++) {
        uint64_t any = 0;
        for (size_t i = 0; i < w->n_of[k]; i++)
            any |= w->series[k][i];
        if (any)
            return false;
    }
    return true;
}

enum { /* kinds of blocks after those of lanes: remainders of samples, and lanes of tiers that are stored whole */
       BLOCK_REST = CHUNK_LANES_MAX - 1,
       BLOCK_BUSY = CHUNK_LANES_MAX - 2,
       BLOCK_IDLE = CHUNK_LANES_MAX - 3,
       BLOCK_WHOLE_SUM = CHUNK_LANES_MAX - 1,
       BLOCK_WHOLE_MAX = CHUNK_LANES_MAX - 2,
};
_Static_assert(BLOCK_IDLE > 0, "samples have one lane");
_Static_assert((int)BLOCK_WHOLE_MAX >= (int)LANES, "the two must differ");

/* Series of one lane. Kind: blocks of the same metric and kind are alike. */
static void put_block(struct chunk_writer *w, const struct chunk_column *c, struct buf *out, unsigned kind,
                      const uint64_t *const *v, const size_t *n, size_t series)
{
    uint32_t metric = (uint32_t)c->key.no * CHUNK_LANES_MAX; /* 0: a custom metric, of any kind */

    block_put(w->block, out, v, n, series, metric ? (metric + kind) * 2 + (w->lanes > 1) : 0, w->thorough);
}

/* ---- reference columns: see ref_coding.h ---- */

/* The devices are those of the previous column; of the first, all. */
static bool as_before(const struct chunk_writer *w, const struct chunk_column *c)
{
    const struct loose_part *before = w->n_parts ? &w->parts[w->n_parts - 1] : NULL;

    if (!before)
        return c->n_devs == w->n_devices;
    return before->n_devs == c->n_devs &&
           memcmp(w->devs + before->devs_off, c->devs, c->n_devs * sizeof(*c->devs)) == 0;
}

/* Keeps a column that was just added. */
static void keep_base(struct chunk_writer *w, const struct chunk_column *c)
{
    unsigned at = w->lanes == 1 && !w->quick ? ref_index(c->key.no) : LEAN_BASES;
    size_t words = chunk_words(w->n_ticks);

    if (at == LEAN_BASES || c->n_devs * w->n_ticks > BASE_CELLS)
        return;
    struct cached_base *b = &w->bases[at];
    VEC_LEAST(b->v, b->cap_v, c->n_devs * w->n_ticks);
    VEC_LEAST(b->have, b->cap_have, c->n_devs * words);
    b->there = b->every = true;
    b->part = w->n_parts - 1;
    b->n_devs = c->n_devs;
    for (size_t k = 0; k < c->n_devs; k++) {
        const uint64_t *h = c->have ? c->have[k] : NULL;
        memcpy(b->v + k * w->n_ticks, c->v[k], w->n_ticks * sizeof(*b->v));
        b->every &= !h;
        if (h)
            memcpy(b->have + k * words, h, words * sizeof(*h));
        else
            memset(b->have + k * words, 0, words * sizeof(*h));
    }
}

/* The reference column: the same devices, and a value wherever the column has one. */
static const struct cached_base *find_base(const struct chunk_writer *w, const struct chunk_column *c, bool *ret_sums)
{
    uint16_t on = w->lanes == 1 && !w->quick ? ref_metric(c->key.no, ret_sums) : 0;
    const struct cached_base *b = on ? &w->bases[ref_index(on)] : NULL;
    size_t words = chunk_words(w->n_ticks);

    if (!b || !b->there || !as_before(w, c) || b->n_devs != c->n_devs ||
        w->parts[b->part].devs_off != w->parts[w->n_parts - 1].devs_off)
        return NULL;
    for (size_t k = 0; k < c->n_devs && !b->every; k++)
        if (!c->have || !c->have[k] || memcmp(c->have[k], b->have + k * words, words * sizeof(uint64_t)) != 0)
            return NULL;
    return b;
}

/* Collects the reference's values where the column has some, like take_lane. */
static void take_under(struct chunk_writer *w, const struct chunk_column *c, const struct cached_base *b)
{
    size_t n = w->n_ticks, series = 0, at = 0;

    VEC_LEAST(w->under, w->cap_under, c->n_devs * n);
    VEC_LEAST(w->under_of, w->cap_under_of, c->n_devs);
    for (size_t k = 0; k < c->n_devs; k++) {
        const uint64_t *h = c->have ? c->have[k] : NULL;
        if (!h) {
            w->under_of[series++] = (const uint64_t *)(b->v + k * n);
            continue;
        }
        size_t present = take_present(b->v + k * n, n, h, NULL, w->under + at);
        if (present)
            w->under_of[series++] = w->under + at;
        at += present;
    }
}

/* Splits the collected lane in two: where the reference is not 0, and where it is. */
static void take_apart(struct chunk_writer *w, size_t series)
{
    struct apart *a = &w->apart;
    size_t values = 0, at = 0, idle = 0;

    for (size_t k = 0; k < series; k++)
        values += w->n_of[k];
    VEC_LEAST(a->v, a->cap_v, values + 1); /* uncounted values are written anyway */
    VEC_LEAST(a->under, a->cap_under, values + 1);
    VEC_LEAST(a->idle, a->cap_idle, values + 1);
    VEC_LEAST(a->v_of, a->cap[0], series);
    VEC_LEAST(a->under_of, a->cap[1], series);
    VEC_LEAST(a->idle_of, a->cap[2], series);
    VEC_LEAST(a->n, a->cap[3], series);
    VEC_LEAST(a->n_idle, a->cap[4], series);
    a->series = a->idle_series = 0;
    for (size_t k = 0; k < series; k++) {
        size_t from = at, idle_from = idle;
        for (size_t i = 0; i < w->n_of[k]; i++) { /* no branch: idle values are unpredictable */
            uint64_t v = w->series[k][i], under = w->under_of[k][i];
            a->idle[idle] = a->v[at] = v;
            a->under[at] = under;
            at += under != 0;
            idle += under == 0;
        }
        a->v_of[a->series] = a->v + from;
        a->under_of[a->series] = a->under + from;
        a->n[a->series] = at - from;
        a->series += at > from;
        a->idle_of[a->idle_series] = a->idle + idle_from;
        a->n_idle[a->idle_series] = idle - idle_from;
        a->idle_series += idle > idle_from;
    }
}

/* Writes both parts of a split column to out. */
static bool put_split(struct chunk_writer *w, const struct chunk_column *c, size_t series, struct buf *out)
{
    struct apart *a = &w->apart;
    size_t at = 0;

    if (!ref_can_split(w->under_of, w->n_of, series))
        return false;
    take_apart(w, series);
    if (!ref_encode(&w->lean, false, a->v_of, a->under_of, a->n, a->series, w->rest))
        return false;
    ref_split(&w->lean, w->under_of, w->n_of, series);
    ref_write(&w->lean, out, series);
    for (size_t k = 0; k < a->series; at += a->n[k++])
        a->v_of[k] = w->rest + at;
    put_block(w, c, out, BLOCK_BUSY, a->v_of, a->n, a->series);
    put_block(w, c, out, BLOCK_IDLE, a->idle_of, a->n_idle, a->idle_series);
    return true;
}

/* Writes the collected lane as remainders of its reference, if that is smaller. */
static bool put_leaning(struct chunk_writer *w, const struct chunk_column *c, size_t series, struct buf *out,
                        struct loose_part *part)
{
    bool sums = false, split;
    const struct cached_base *b = find_base(w, c, &sums);

    if (!b || series == 0)
        return false;
    take_under(w, c, b);
    VEC_LEAST(w->rest, w->cap_rest, c->n_devs * w->n_ticks);
    split = !sums && c->key.no && put_split(w, c, series, out);
    if (!split && !(c->key.no ? ref_encode(&w->lean, sums, w->series, w->under_of, w->n_of, series, w->rest)
                              : ref_encode_const(&w->lean, w->series, w->under_of, w->n_of, series, w->rest)))
        return false;
    part->leans = w->n_parts - b->part;
    part->sums = sums || split;
    if (split)
        return true;
    for (size_t k = 0, at = 0; k < series; at += w->n_of[k++])
        w->series[k] = w->rest + at;
    ref_write(&w->lean, out, series);
    put_block(w, c, out, BLOCK_REST, w->series, w->n_of, series);
    return true;
}

static void put_lanes(struct chunk_writer *w, const struct chunk_column *c, struct buf *out, struct loose_part *part)
{
    unsigned zero_mask = 0;

    buf_u8(out, has_every(c) ? PRESENT_EVERY : PRESENT_EACH);
    if (!has_every(c))
        put_presence(w, c, out);
    size_t mask_at = out->len;
    if (w->lanes > 1)
        buf_u8(out, 0);
    for (unsigned lane = 0; lane < w->lanes && out->err == 0; lane++) {
        size_t series = take_lane(w, c, lane, NULL);
        if (put_leaning(w, c, series, out, part))
            continue;
        if (w->lanes > 1 && all_zero(w, series))
            zero_mask |= 1u << lane;
        else
            put_block(w, c, out, lane, w->series, w->n_of, series);
    }
    if (w->lanes > 1 && out->err == 0)
        out->p[mask_at] = (char)zero_mask;
}

/* ---- tiers: the meaning of their lanes is known ---- */

/* Estimated bits of the collected lane: as differences, or above its minimum. */
static uint64_t guess_bits(const struct chunk_writer *w, size_t series)
{
    int64_t least = INT64_MAX;
    uint64_t steps = 0, above = 0, before = series ? w->series[0][0] : 0;

    for (size_t k = 0; k < series; k++)
        for (size_t i = 0; i < w->n_of[k]; i++)
            least = MIN(least, (int64_t)w->series[k][i]);
    for (size_t k = 0; k < series; k++)
        for (size_t i = 0; i < w->n_of[k]; i++) {
            uint64_t v = w->series[k][i];
            steps += bits_of(zigzag(v - before));
            above += bits_of(v - (uint64_t)least);
            before = v;
        }
    return MIN(steps, above);
}

/*
 * Usually LANE_MAX is stored minus the minimum, and LANE_SUM minus the minimum times the count: both are small if the
 * values hardly change. If the minimum is an outlier, the maximum and the sum themselves are smaller. NULL: the usual
 * form.
 */
static const int64_t *find_whole(struct chunk_writer *w, const struct chunk_column *c, unsigned lane)
{
    size_t n = w->n_ticks;

    uint64_t bits = w->quick ? 0 : guess_bits(w, take_lane(w, c, lane, NULL));
    if (bits == 0)
        return NULL;
    VEC_LEAST(w->whole, w->cap_whole, 2 * c->n_devs * n);
    int64_t *whole = w->whole + (lane == LANE_SUM ? c->n_devs * n : 0);
    for (size_t k = 0; k < c->n_devs; k++)
        for (size_t i = 0; i < n; i++) {
            uint64_t least = (uint64_t)c->v[k][LANE_MIN * n + i], times = (uint64_t)c->v[k][LANE_COUNT * n + i];
            whole[k * n + i] = (int64_t)((uint64_t)c->v[k][lane * n + i] + least * (lane == LANE_SUM ? times : 1));
        }
    return guess_bits(w, take_lane(w, c, lane, whole)) < bits ? whole : NULL;
}

static enum tier_last find_last(const struct chunk_writer *w, const struct chunk_column *c, bool zero)
{
    size_t n = w->n_ticks;

    if (zero)
        return LAST_USUAL;
    for (size_t k = 0; k < c->n_devs; k++) {
        const uint64_t *h = c->have ? c->have[k] : NULL;
        for (size_t i = 0; i < n; i++)
            if (c->v[k][LANE_LAST * n + i] != LAST_IS_MOST && (!h || h[i / 64] >> i % 64 & 1))
                return LAST_BLOCK;
    }
    return LAST_MOST;
}

static void put_marks(struct buf *out, unsigned marks, enum tier_last last, unsigned zero)
{
    bool count = zero >> LANE_COUNT & 1, pos = zero >> LANE_POS & 1;

    marks |= (zero >> LANE_MIN & 1 ? MARK_NO_MIN : 0u) | (zero >> LANE_MAX & 1 ? MARK_NO_MAX : 0u) |
             (zero >> LANE_SUM & 1 ? MARK_NO_SUM : 0u);
    buf_u8(out, (uint8_t)(marks | MARK_LAST * (count && pos ? last : LAST_NEXT)));
    if (!count || !pos)
        buf_u8(out, (uint8_t)(last | (count ? NEXT_NO_COUNT : 0u) | (pos ? NEXT_NO_POS : 0u)));
}

static void put_tier_lane(struct chunk_writer *w, const struct chunk_column *c, struct buf *out, unsigned lane,
                          const int64_t *whole)
{
    size_t series = take_lane(w, c, lane, whole);

    if (w->n_ticks > 1) {
        put_block(w, c, out,
                  !whole             ? lane
                  : lane == LANE_SUM ? BLOCK_WHOLE_SUM
                                     : BLOCK_WHOLE_MAX,
                  w->series, w->n_of, series);
        return;
    }
    VEC_LEAST(w->rest, w->cap_rest, series);
    for (size_t k = 0; k < series; k++)
        w->rest[k] = w->series[k][0];
    ints_put(out, (const int64_t *)w->rest, series);
}

static void put_tier(struct chunk_writer *w, const struct chunk_column *c, struct buf *out)
{
    const int64_t *whole[LANES] = {0};
    unsigned zero = 0;

    for (unsigned lane = 0; lane < LANES; lane++)
        zero |= (unsigned)all_zero(w, take_lane(w, c, lane, NULL)) << lane;
    for (unsigned lane = LANE_MAX; lane <= LANE_SUM; lane += LANE_SUM - LANE_MAX)
        whole[lane] = zero >> lane & 1 ? NULL : find_whole(w, c, lane);
    enum tier_last last = find_last(w, c, zero >> LANE_LAST & 1);
    put_marks(out,
              (has_every(c) ? 0u : MARK_EACH) | (whole[LANE_MAX] ? MARK_MOST : 0u) | (whole[LANE_SUM] ? MARK_SUM : 0u),
              last, zero);
    if (!has_every(c))
        put_presence(w, c, out);
    zero |= (unsigned)(last != LAST_BLOCK) << LANE_LAST;
    for (unsigned lane = 0; lane < LANES && out->err == 0; lane++)
        if (!(zero >> lane & 1))
            put_tier_lane(w, c, out, lane, whole[lane]);
}

static void note_part(struct chunk_writer *w, const struct chunk_column *c, struct loose_part p)
{
    const struct loose_part *before = w->n_parts ? &w->parts[w->n_parts - 1] : NULL;

    p.no = c->key.no;
    p.name_off = w->names.len;
    p.name_len = c->key.no ? 0 : c->key.name.len;
    p.devs_off = w->n_devs;
    p.n_devs = c->n_devs;
    p.len = w->body.len - p.off;
    p.crc = crc32c(0, w->body.p + p.off, p.len);
    p.as_before = as_before(w, c);
    if (before && p.as_before)
        p.devs_off = before->devs_off;
    for (size_t i = 0; i < c->n_devs && !(before && p.as_before); i++)
        VEC_ADD(w->devs, w->n_devs, w->cap_devs, c->devs[i]);
    if (!c->key.no)
        buf_addstr(&w->names, c->key.name);
    VEC_ADD(w->parts, w->n_parts, w->cap_parts, p);
}

int chunk_add(struct chunk_writer *w, const struct chunk_column *c)
{
    if (c->n_devs == 0 || c->n_devs > w->n_devices || w->n_parts >= CHUNK_COLUMNS_MAX ||
        (!c->key.no && c->key.name.len > CHUNK_NAME_MAX) || c->n_devs * w->lanes > CHUNK_CELLS_MAX / w->n_ticks)
        return -E2BIG;
    size_t cells = MAX(c->n_devs * w->n_ticks, w->n_ticks + 1);
    struct loose_part part = {.off = w->body.len};
    VEC_LEAST(w->v, w->cap_v, cells);
    if (c->n_devs > w->cap_n) {
        w->cap_n = c->n_devs;
        w->n_of = mem_grow(w->n_of, w->cap_n, sizeof(*w->n_of));
        w->series = mem_grow(w->series, w->cap_n, sizeof(*w->series));
    }
    if (w->lanes == LANES)
        put_tier(w, c, &w->body);
    else
        put_lanes(w, c, &w->body, &part);
    if (w->body.err)
        return -E2BIG;
    note_part(w, c, part);
    if (!part.leans)
        keep_base(w, c);
    return w->names.err ? -E2BIG : 0;
}

static void put_part(struct chunk_writer *w, const struct loose_part *p, uint16_t before)
{
    const uint16_t *devs = w->devs + p->devs_off;
    unsigned places = p->leans ? PLACES_LEAN : p->as_before ? PLACES_BEFORE : PLACES_OWN;

    buf_varint(&w->head, zigzag((uint64_t)p->no - before) << PLACES_BITS | places);
    if (!p->no)
        buf_text(&w->head, str_n(w->names.p + p->name_off, p->name_len));
    if (p->leans)
        buf_varint(&w->head, p->leans << 1 | p->sums);
    if (places == PLACES_OWN)
        buf_varint(&w->head, p->n_devs);
    for (size_t k = 0; k < p->n_devs && !p->as_before; k++)
        buf_varint(&w->head, k ? (uint64_t)(devs[k] - devs[k - 1]) : devs[0]);
    buf_varint(&w->head, p->len);
    if (p->len <= COLUMN_SMALL)
        buf_add(&w->head, w->body.p + p->off, p->len);
    else
        buf_u32(&w->head, p->crc);
}

/* version, lanes, u32 length of the head, u32 checksum of the head, head, columns */
int chunk_end(struct chunk_writer *w, struct buf *out)
{
    if (w->lanes > 1)
        buf_u8(&w->head, (uint8_t)w->usual_mask);
    for (unsigned lane = 0; lane < w->lanes; lane++)
        if (w->usual_mask >> lane & 1)
            ints_put(&w->head, w->usual[lane], w->n_ticks);
    buf_varint(&w->head, w->n_parts);
    for (size_t i = 0; i < w->n_parts; i++)
        put_part(w, &w->parts[i], i ? w->parts[i - 1].no : 0);
    if (w->head.err || w->body.err)
        return -E2BIG;
    buf_u8(out, CHUNK_VERSION);
    buf_u8(out, (uint8_t)w->lanes);
    buf_u32(out, (uint32_t)w->head.len);
    buf_u32(out, crc32c(crc32c(0, out->p + out->len - 6, 6), w->head.p, w->head.len));
    buf_addstr(out, buf_str(&w->head));
    for (size_t i = 0; i < w->n_parts; i++)
        if (w->parts[i].len > COLUMN_SMALL)
            buf_add(out, w->body.p + w->parts[i].off, w->parts[i].len);
    return out->err;
}
