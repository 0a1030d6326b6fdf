/*
 * chunk_v1.c: columns of version 1 chunks, read-only. One coding for all series and lanes of a column, byte planes at
 * whole bytes. Any input is safe (K2).
 */
#include "codec/chunk_v1.h"

#include <zstd.h>

#include "base/mem.h"
#include "codec/chunk_coding.h"
#include "codec/pack.h"

/* A section's bytes, decompressed into room if needed. At most max bytes. NULL: invalid. */
static const uint8_t *get_section(struct rd *r, struct chunk_cells *c, struct buf *room, size_t max, size_t *ret_n)
{
    uint64_t word = rd_varint(r), n = word >> 2, raw = n;

    if (r->bad || n > CHUNK_BYTES_MAX)
        return NULL;
    if ((word & 3) == SECTION_ZSTD)
        raw = rd_varint(r);
    if (r->bad || raw > max)
        return NULL;
    *ret_n = (size_t)raw;
    if ((word & 3) == SECTION_PLAIN)
        return rd_bytes(r, (size_t)n);
    room->max = CHUNK_BYTES_MAX * 2ul;
    buf_reset(room);
    char *to = buf_room(room, (size_t)raw + 1);
    if (!to)
        return NULL;
    if ((word & 3) == SECTION_FILL) {
        memset(to, rd_u8(r), (size_t)raw);
        return r->bad ? NULL : (const uint8_t *)to;
    }
    const uint8_t *from = (word & 3) == SECTION_ZSTD ? rd_bytes(r, (size_t)n) : NULL;
    if (!from)
        return NULL;
    if (!c->zstd && !(c->zstd = ZSTD_createDCtx()))
        abort();
    size_t z = ZSTD_decompressDCtx(c->zstd, to, (size_t)raw, from, (size_t)n);
    return ZSTD_isError(z) || z != raw ? NULL : (const uint8_t *)to;
}

static bool get_runs(struct rd *r, struct chunk_cells *c, uint64_t *h)
{
    size_t n = c->n_ticks;
    bool bit = false;

    memset(h, 0, chunk_words(n) * sizeof(*h));
    for (size_t i = 0; i < n; bit = !bit) {
        uint64_t run = rd_varint(r);
        if (r->bad || run > n - i || (run == 0 && (i || bit)))
            return false;
        for (size_t end = i + (size_t)run; i < end; i++)
            h[i / 64] |= (uint64_t)bit << i % 64;
    }
    return true;
}

/*
 * Decodes series with values: first writes their n values to the front of each row, then spreads them over the ticks.
 */
struct undo {
    struct rd lead; /* per-series data of the coding */
    struct rd bits;
    const uint8_t *planes[PLANES_MAX];
    unsigned n_planes;
    size_t at, total; /* positions within the planes */
};

static inline uint64_t plane_value(struct undo *u)
{
    uint64_t v = 0;

    for (unsigned b = 0; b < u->n_planes; b++)
        v |= (uint64_t)u->planes[b][u->at] << 8 * b;
    u->at++;
    return v;
}

static bool undo_planes(struct undo *u, uint64_t *v, size_t n)
{
    uint64_t least = (uint64_t)rd_zigzag(&u->lead), by = rd_varint(&u->lead);

    if (n > u->total - u->at)
        return false;
    for (size_t i = 0; i < n; i++)
        v[i] = plane_value(u) * by + least;
    return true;
}

static bool undo_delta(struct undo *u, uint64_t *v, size_t n)
{
    uint64_t now = (uint64_t)rd_zigzag(&u->lead), least = (uint64_t)rd_zigzag(&u->lead), by = rd_varint(&u->lead);

    if (n - 1 > u->total - u->at)
        return false;
    v[0] = now;
    for (size_t i = 1; i < n; i++)
        v[i] = now += plane_value(u) * by + least;
    return true;
}

static bool undo_dod(struct undo *u, uint64_t *v, size_t n)
{
    uint64_t now = (uint64_t)rd_zigzag(&u->lead), step = 0;

    if (n - 1 > u->total - u->at)
        return false;
    v[0] = now;
    for (size_t i = 1; i < n; i++) {
        step += unzigzag(plane_value(u));
        v[i] = now += step;
    }
    return true;
}

static bool undo_runs(struct undo *u, uint64_t *v, size_t n)
{
    uint64_t now = 0;

    for (size_t i = 0; i < n;) {
        uint64_t run = rd_varint(&u->bits);
        now += (uint64_t)rd_zigzag(&u->bits);
        if (u->bits.bad || run == 0 || run > n - i)
            return false;
        for (size_t end = i + (size_t)run; i < end; i++)
            v[i] = now;
    }
    return true;
}

static bool undo_pack(struct undo *u, uint64_t *v, size_t n)
{
    uint64_t least = (uint64_t)rd_zigzag(&u->lead), by = rd_varint(&u->lead);
    unsigned width = rd_u8(&u->lead), fill = 0;
    unsigned __int128 acc = 0;

    if (width > 64)
        return false;
    const uint8_t *p = rd_bytes(&u->bits, (n * width + 7) / 8);
    if (!p)
        return false;
    uint64_t mask = width == 64 ? UINT64_MAX : (1ull << width) - 1;
    for (size_t i = 0; i < n; i++) {
        for (; fill < width; fill += 8)
            acc |= (unsigned __int128)*p++ << fill;
        v[i] = ((uint64_t)acc & mask) * by + least;
        acc >>= width;
        fill -= width;
    }
    return true;
}

typedef bool undo_fn(struct undo *u, uint64_t *v, size_t n);
static undo_fn *const undos[CODING_COUNT] = {
    [CODING_PLANES] = undo_planes, [CODING_DELTA] = undo_delta, [CODING_DOD] = undo_dod,
    [CODING_RUNS] = undo_runs,     [CODING_PACK] = undo_pack,
};

static bool get_values(struct undo *u, struct chunk_cells *c, unsigned coding, struct rd *same)
{
    size_t words = chunk_words(c->n_ticks);

    for (size_t k = 0; k < c->n_devs * c->lanes; k++) {
        size_t dev = k / c->lanes, n = c->present[dev];
        int64_t *v = c->v + k % c->lanes * chunk_lane_step(c) + dev * c->n_ticks;
        if (n && rd_u8(same)) {
            int64_t one = rd_zigzag(same);
            for (size_t i = 0; i < n; i++)
                v[i] = one;
        } else if (n && (!undos[coding] || !undos[coding](u, (uint64_t *)v, n))) {
            return false;
        }
        if (n < c->n_ticks)
            chunk_spread(v, v, c->have + dev * words, c->n_ticks, n);
    }
    return !same->bad && !u->lead.bad;
}

/* Finds the data of the codings: after the flags and constants of all series. */
static bool skip_same(struct rd *r, const struct chunk_cells *c)
{
    for (size_t k = 0; k < c->n_devs * c->lanes; k++)
        if (c->present[k / c->lanes] && rd_u8(r))
            rd_zigzag(r);
    return !r->bad;
}

static bool get_planes(struct rd *r, struct chunk_cells *c, struct undo *u, struct buf *rooms)
{
    size_t max = c->n_devs * c->lanes * c->n_ticks, n = 0;

    u->n_planes = rd_u8(r);
    if (r->bad || u->n_planes > PLANES_MAX)
        return false;
    u->total = u->n_planes ? SIZE_MAX : max;
    for (unsigned b = 0; b < u->n_planes; b++) {
        u->planes[b] = get_section(r, c, &rooms[b], max, &n);
        if (!u->planes[b])
            return false;
        u->total = MIN(u->total, n);
    }
    return true;
}

static bool get_column(struct rd *r, struct chunk_cells *c, struct buf *rooms)
{
    unsigned coding = rd_u8(r);
    size_t n;
    const uint8_t *lead = get_section(r, c, &c->room[0], CHUNK_BYTES_MAX, &n);

    if (r->bad || !lead || coding >= CODING_COUNT)
        return false;
    struct rd same = rd_of(lead, n);
    if (!chunk_get_presence(&same, c, false, get_runs))
        return false;
    struct undo u = {.lead = same};
    if (!skip_same(&u.lead, c))
        return false;
    if (coding == CODING_RUNS || coding == CODING_PACK) {
        const uint8_t *p = get_section(r, c, &c->room[1], CHUNK_BYTES_MAX, &n);
        if (!p)
            return false;
        u.bits = rd_of(p, n);
    } else if (coding != CODING_NONE && !get_planes(r, c, &u, rooms)) {
        return false;
    }
    return get_values(&u, c, coding, &same);
}

bool chunk_v1_column(struct rd *r, struct chunk_cells *c)
{
    struct buf rooms[PLANES_MAX] = {0};
    bool ok = get_column(r, c, rooms);

    for (size_t i = 0; i < ARRAY_LEN(rooms); i++)
        buf_fini(&rooms[i]);
    return ok;
}
