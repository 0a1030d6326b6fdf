/* chunk_read.c: reading chunks: the head at once, columns as they are asked for. Any bytes are survived (K2). */
#include <errno.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/rand.h"
#include "codec/chunk.h"
#include "codec/chunk_coding.h"
#include "codec/ints.h"

#define HEAD_AT 10 /* behind version, lanes, length, checksum */

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
    for (size_t i = 0; i < c->n_devices; i++)
        c->devices[i] = rd_text(r, CHUNK_NAME_MAX);
    return !r->bad;
}

static bool head_column(const struct chunk *c, struct rd *r, struct chunk_part *p)
{
    uint64_t no = rd_varint(r), dev = 0;

    if (no > UINT16_MAX)
        return false;
    p->key.no = (uint16_t)no;
    if (no == 0)
        p->key.name = rd_text(r, CHUNK_NAME_MAX);
    uint64_t n = rd_varint(r);
    if (r->bad || n < 1 || n > c->n_devices || n * c->lanes > CHUNK_CELLS_MAX / c->n_ticks)
        return false;
    p->n_devs = (size_t)n;
    p->devs = mem_alloc(p->n_devs * sizeof(*p->devs));
    for (size_t k = 0; k < p->n_devs; k++) {
        uint64_t step = rd_varint(r);
        if (step >= c->n_devices || (k && step == 0) || (dev += step) >= c->n_devices)
            return false;
        p->devs[k] = (uint16_t)dev;
    }
    uint64_t len = rd_varint(r);
    p->crc = rd_u32(r);
    p->len = (size_t)len;
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
        if (!head_column(c, r, p)) {
            c->n_columns++; /* so that its devices are freed */
            return false;
        }
        p->off = at;
        at += p->len; /* past the end: found when it is read, for the others may be whole */
    }
    return true;
}

int chunk_open(struct chunk *ret, struct str bytes, struct err *err)
{
    *ret = (struct chunk){.bytes = bytes};
    struct rd r = rd_of(bytes.p, MIN(bytes.len, CHUNK_BYTES_MAX));
    uint8_t version = rd_u8(&r);
    ret->lanes = rd_u8(&r);
    uint32_t len = rd_u32(&r), crc = rd_u32(&r);
    const uint8_t *head = rd_bytes(&r, len);

    if (head && version > CHUNK_VERSION)
        return err_set(err, -EBADMSG, "a chunk of a newer format (%u)", version);
    if (!head || version < 1 || ret->lanes < 1 || ret->lanes > CHUNK_LANES_MAX)
        return err_set(err, -EBADMSG, "not a chunk");
    if (crc32c(crc32c(0, bytes.p, 6), head, len) != crc)
        return err_set(err, -EBADMSG, "a chunk's head is damaged");
    r = rd_of(head, len);
    if (!head_ticks(ret, &r) || !head_devices(ret, &r) || !head_columns(ret, &r, (size_t)HEAD_AT + len))
        return err_set(err, -EBADMSG, "a chunk's head makes no sense");
    return 0;
}

void chunk_fini(struct chunk *c)
{
    for (size_t i = 0; i < c->n_columns; i++)
        free(c->columns[i].devs);
    free(c->columns);
    free(c->devices);
    free(c->ticks);
    *c = (struct chunk){0};
}

/* ---- a column ---- */

/* A section's bytes, unpacked into room if they must be. At most max bytes. NULL: bad. */
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

static bool get_presence(struct rd *r, struct chunk_cells *c)
{
    size_t words = chunk_words(c->n_ticks), n = c->n_ticks;

    memset(c->have, 0, c->n_devs * words * sizeof(*c->have));
    for (size_t k = 0; k < c->n_devs; k++) {
        uint64_t *h = c->have + k * words;
        uint64_t how = rd_varint(r);
        if (how == PRESENT_ALL) {
            for (size_t i = 0; i < words; i++)
                h[i] = UINT64_MAX;
            if (n % 64)
                h[words - 1] = (1ull << n % 64) - 1;
        } else if (how == PRESENT_AS_BEFORE && k) {
            memcpy(h, h - words, words * sizeof(*h));
        } else if (how == PRESENT_RUNS) {
            bool bit = false;
            for (size_t i = 0; i < n; bit = !bit) {
                uint64_t run = rd_varint(r);
                if (r->bad || run > n - i || (run == 0 && i))
                    return false;
                for (size_t end = i + (size_t)run; i < end; i++)
                    h[i / 64] |= (uint64_t)bit << i % 64;
                if (run == 0 && bit)
                    return false;
            }
        } else {
            return false;
        }
        if (r->bad)
            return false;
    }
    return true;
}

static size_t count_have(const struct chunk_cells *c, size_t dev)
{
    size_t words = chunk_words(c->n_ticks), n = 0;

    for (size_t i = 0; i < words; i++)
        n += (size_t)__builtin_popcountll(c->have[dev * words + i]);
    return n;
}

/* Series whose values follow: their n values are put at the front of their row first, and spread over the ticks last.
 */
struct undo {
    struct rd lead; /* what each coding left for each series */
    struct rd bits;
    const uint8_t *planes[PLANES_MAX];
    unsigned n_planes;
    size_t at, total; /* within the planes */
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
        step += chunk_unzigzag(plane_value(u));
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

/* n values at the front of the row go to where have says, from the end so that none is overwritten before it moved. */
static void spread(int64_t *v, const uint64_t *h, size_t n_ticks, size_t n)
{
    for (size_t i = n_ticks; i-- > 0;)
        v[i] = (h[i / 64] >> (i % 64) & 1) ? v[--n] : 0;
}

static bool get_values(struct undo *u, struct chunk_cells *c, unsigned coding, struct rd *same)
{
    size_t words = chunk_words(c->n_ticks);

    for (size_t k = 0; k < c->n_devs * c->lanes; k++) {
        int64_t *v = c->v + k * c->n_ticks;
        size_t dev = k / c->lanes, n = count_have(c, dev);
        if (n && rd_u8(same)) {
            int64_t one = rd_zigzag(same);
            for (size_t i = 0; i < n; i++)
                v[i] = one;
        } else if (n && (!undos[coding] || !undos[coding](u, (uint64_t *)v, n))) {
            return false;
        }
        if (n < c->n_ticks)
            spread(v, c->have + dev * words, c->n_ticks, n);
    }
    return !same->bad && !u->lead.bad;
}

/* Where what the codings left begins: behind the flags and constants of all series. */
static bool skip_same(struct rd *r, const struct chunk_cells *c)
{
    for (size_t k = 0; k < c->n_devs * c->lanes; k++)
        if (count_have(c, k / c->lanes) && rd_u8(r))
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
    if (!get_presence(&same, c))
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

int chunk_read(const struct chunk *c, size_t column, struct chunk_cells *ret, struct err *err)
{
    const struct chunk_part *p = &c->columns[column];
    size_t words = chunk_words(c->n_ticks), cells = p->n_devs * c->lanes * c->n_ticks;
    struct buf rooms[PLANES_MAX] = {0};

    if (p->off > c->bytes.len || p->len > c->bytes.len - p->off)
        return err_set(err, -EBADMSG, "a column is cut off");
    if (crc32c(0, c->bytes.p + p->off, p->len) != p->crc)
        return err_set(err, -EBADMSG, "a column is damaged");
    if (cells > ret->cap_v) {
        ret->cap_v = cells;
        ret->v = mem_grow(ret->v, cells, sizeof(*ret->v));
    }
    if (p->n_devs * words > ret->cap_have) {
        ret->cap_have = p->n_devs * words;
        ret->have = mem_grow(ret->have, ret->cap_have, sizeof(*ret->have));
    }
    ret->n_devs = p->n_devs;
    ret->n_ticks = c->n_ticks;
    ret->lanes = c->lanes;
    struct rd r = rd_of(c->bytes.p + p->off, p->len);
    bool ok = get_column(&r, ret, rooms);
    for (size_t i = 0; i < ARRAY_LEN(rooms); i++)
        buf_fini(&rooms[i]);
    return ok && rd_left(&r) == 0 ? 0 : err_set(err, -EBADMSG, "a column makes no sense");
}

void chunk_cells_fini(struct chunk_cells *c)
{
    free(c->v);
    free(c->have);
    buf_fini(&c->room[0]);
    buf_fini(&c->room[1]);
    ZSTD_freeDCtx(c->zstd);
    *c = (struct chunk_cells){0};
}
