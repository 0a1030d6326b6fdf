/*
 * numbers.c: see numbers.h. Sizes are estimated from the entropy of bytes in a sample; only short data is packed twice.
 */
#include "codec/numbers.h"

#include <math.h>
#define ZSTD_STATIC_LINKING_ONLY /* for ZSTD_c_literalCompressionMode */
#include <zstd.h>

#include "base/mem.h"
#include "codec/chunk_coding.h"
#include "codec/pack.h"

#define ZSTD_BYTES    (256u << 20)
#define REPEAT        7u    /* bytes: shorter repeats in noise are chance, and cost more than they save */
#define REPEATS       6u    /* bits: hash table size for earlier places in which to find a repeat */
#define SHORT         1024u /* bytes: below this a single repeat may cost too much */
#define SAMPLE        1024u
#define SAMPLE_RUN    64u                /* consecutive values sampled together */
#define TINY          24u                /* shorter planes are not compressed */
#define FRAME_MAGIC   "\x28\xb5\x2f\xfd" /* start of every zstd frame: not stored */
#define FRAME_MAGIC_N 4u

struct numbers {
    ZSTD_CCtx *zstd, *alone; /* alone: entropy coding only, without repeats */
    uint8_t *plane, *packed[2];
    size_t cap, cap_packed;
    uint64_t sample[SAMPLE];
    float x_log_x[SAMPLE + 1];
};

/* Parameters that this version of zstd does not support keep their defaults: the bytes are valid anyway. */
static ZSTD_CCtx *zstd_new(bool repeats)
{
    ZSTD_CCtx *z = ZSTD_createCCtx();

    if (!z)
        abort();
    ZSTD_CCtx_setParameter(z, ZSTD_c_strategy, ZSTD_fast);
    ZSTD_CCtx_setParameter(z, ZSTD_c_minMatch, REPEAT);
    ZSTD_CCtx_setParameter(z, ZSTD_c_hashLog, REPEATS);
    if (!repeats) { /* it checks so few places that it finds no repeats, and still entropy-codes the rest */
        ZSTD_CCtx_setParameter(z, ZSTD_c_targetLength, 4 * SHORT);
        ZSTD_CCtx_setParameter(z, ZSTD_c_literalCompressionMode,
                               1); /* compress literals; headers before 1.5.1 use another name */
    }
    return z;
}

struct numbers *numbers_new(void)
{
    struct numbers *x = NEW(struct numbers, .zstd = zstd_new(true), .alone = zstd_new(false));

    for (unsigned i = 2; i <= SAMPLE; i++)
        x->x_log_x[i] = (float)i * log2f((float)i);
    return x;
}

void numbers_free(struct numbers *x)
{
    if (!x)
        return;
    ZSTD_freeCCtx(x->zstd);
    ZSTD_freeCCtx(x->alone);
    FREE_ALL(x->plane, x->packed[0], x->packed[1]);
    free(x);
}

/*
 * ---- sizes ----
 * A value below 16 is its own size. Above, the size encodes the highest bit and the three bits after it; the remaining
 * bits follow.
 */
#define SIZES_EXACT 16u
#define SIZED       0x80u /* flag in the low bits */
#define SIZED_BITS  34u   /* maximum: of wider numbers some low bits are not in this */

static inline uint8_t size_of(uint64_t v, unsigned *ret_bits)
{
    if (v < SIZES_EXACT) {
        *ret_bits = 0;
        return (uint8_t)v;
    }
    unsigned top = bits_of(v) - 1;
    *ret_bits = top - 3;
    return (uint8_t)(SIZES_EXACT + (top - 4) * 8 + (v >> (top - 3) & 7));
}

/* Per size: the minimum of its numbers, and the number of bits that follow. Eight sizes for each additional bit. */
static const struct size {
    uint64_t least;
    uint32_t mask;
    uint8_t bits;
} sizes[256] = {
#define ONE(top, more)                                                                                                 \
    {                                                                                                                  \
        (uint64_t)(top) << (more), (1u << (more)) - 1, more                                                            \
    }
#define EIGHT(top, more)                                                                                               \
    ONE(top, more), ONE(top + 1, more), ONE(top + 2, more), ONE(top + 3, more), ONE(top + 4, more),                    \
        ONE(top + 5, more), ONE(top + 6, more), ONE(top + 7, more)
    EIGHT(0, 0),  EIGHT(8, 0),  EIGHT(8, 1),  EIGHT(8, 2),  EIGHT(8, 3),  EIGHT(8, 4),  EIGHT(8, 5),  EIGHT(8, 6),
    EIGHT(8, 7),  EIGHT(8, 8),  EIGHT(8, 9),  EIGHT(8, 10), EIGHT(8, 11), EIGHT(8, 12), EIGHT(8, 13), EIGHT(8, 14),
    EIGHT(8, 15), EIGHT(8, 16), EIGHT(8, 17), EIGHT(8, 18), EIGHT(8, 19), EIGHT(8, 20), EIGHT(8, 21), EIGHT(8, 22),
    EIGHT(8, 23), EIGHT(8, 24), EIGHT(8, 25), EIGHT(8, 26), EIGHT(8, 27), EIGHT(8, 28), EIGHT(8, 29), EIGHT(8, 30),
#undef EIGHT
#undef ONE
};

/* Number of bits that follow these sizes. */
static uint64_t sizes_bits(const uint8_t *size, size_t n)
{
    uint64_t all = 0;

    while (n) {
        size_t some = MIN(n, 1024u);
        uint16_t bits = 0; /* narrow, for wide SIMD additions */
        for (size_t i = 0; i < some; i++)
            bits = (uint16_t)(bits + (uint8_t)(MAX(size[i], 8) - 8) / 8);
        all += bits;
        size += some;
        n -= some;
    }
    return all;
}

/* ---- planning ---- */

/* Estimated bytes of a plane of n bytes, from counts of a sample; values from `end` on do not occur. */
static double counted_bytes(const struct numbers *x, const uint16_t count[256], unsigned end, size_t n_sample, size_t n)
{
    unsigned kinds = 0;
    float sum = 0;

    for (unsigned i = 0; i < end; i++) {
        kinds += count[i] != 0;
        sum += x->x_log_x[count[i]];
    }
    if (kinds == 1)
        return 2;
    /* a sample has fewer rare values than the whole: hence the second term (Miller and Madow) */
    double bits = ((double)(x->x_log_x[n_sample] - sum) + 0.72 * (kinds - 1)) / (double)n_sample;
    if (bits < 1) /* below one bit per byte the data has repeats, and zstd does not find all of them */
        bits = MIN(2 * bits, 1);
    double bytes = bits * (double)n / 8 + 0.45 * kinds + 12; /* plus a table and a frame */
    return MIN(bytes, (double)n + 1);
}

static double plane_bytes(const struct numbers *x, size_t n_sample, size_t n, unsigned shift, unsigned width)
{
    uint16_t count[256] = {0};

    for (size_t i = 0; i < n_sample; i++)
        count[(uint8_t)(x->sample[i] >> shift)]++;
    return counted_bytes(x, count, 1u << MIN(width - shift, 8), n_sample, n);
}

static double sized_bytes(const struct numbers *x, size_t n_sample, size_t n, unsigned low)
{
    uint16_t count[256] = {0};
    uint64_t bits = (uint64_t)low * n_sample;
    unsigned more;

    for (size_t i = 0; i < n_sample; i++) {
        count[size_of(x->sample[i] >> low, &more)]++;
        bits += more;
    }
    return 3 + counted_bytes(x, count, ARRAY_LEN(count), n_sample, n) + (double)bits / 8 * (double)n / (double)n_sample;
}

static double split_bytes(const struct numbers *x, size_t n_sample, size_t n, unsigned low, unsigned width)
{
    double bytes = 2 + (double)n * low / 8;

    for (unsigned shift = low; shift < width; shift += 8)
        bytes += plane_bytes(x, n_sample, n, shift, width);
    return bytes;
}

static size_t take_sample(struct numbers *x, const uint64_t *v, size_t n)
{
    if (n <= SAMPLE) {
        memcpy(x->sample, v, n * sizeof(*v));
        return n;
    }
    size_t runs = SAMPLE / SAMPLE_RUN, step = (n - SAMPLE_RUN) / (runs - 1);
    for (size_t i = 0; i < runs; i++)
        memcpy(x->sample + i * SAMPLE_RUN, v + i * step, SAMPLE_RUN * sizeof(*v));
    return SAMPLE;
}

/* Bits needed by all except the largest tenth: the few larger values must not decide. */
static unsigned usual_width(const struct numbers *x, size_t n)
{
    uint16_t count[65] = {0};
    size_t above = 0;
    unsigned width = 64;

    for (size_t i = 0; i < n; i++)
        count[bits_of(x->sample[i])]++;
    while (width && (above += count[width]) <= n / 10)
        width--;
    return width;
}

static unsigned width_of(const uint64_t *v, size_t n)
{
    uint64_t all = 0;

    for (size_t i = 0; i < n; i++)
        all |= v[i];
    return bits_of(all);
}

static unsigned sized_low(unsigned width)
{
    return width > SIZED_BITS ? width - SIZED_BITS : 0;
}

struct numbers_plan numbers_plan_as(const struct numbers_plan *before, const uint64_t *v, size_t n)
{
    unsigned width = width_of(v, n);

    return (struct numbers_plan){.width = width,
                                 .low = before->sized ? sized_low(width) : MIN(before->low, width),
                                 .sized = before->sized};
}

struct numbers_plan numbers_plan(struct numbers *x, const uint64_t *v, size_t n, bool fine)
{
    struct numbers_plan p = {.width = width_of(v, n)};

    if (!p.width) {
        p.bytes = 2;
        return p;
    }
    size_t n_sample = take_sample(x, v, n);
    double best = 2 + (double)n * p.width / 8;
    unsigned usual = usual_width(x, n_sample), from = usual > 11 ? usual - 11 : 0, to = usual > 3 ? usual - 3 : 1;
    p.low = p.width;
    for (unsigned low = from; low < to; low += fine ? 1 : 3) {
        double bytes = split_bytes(x, n_sample, n, low, p.width);
        if (bytes < best) {
            best = bytes;
            p.low = low;
        }
    }
    if (p.width > 8) {
        unsigned low = sized_low(p.width);
        double bytes = sized_bytes(x, n_sample, n, low) * 1.01; /* the estimate is too low for a table of many sizes */
        if (bytes < best) {
            best = bytes;
            p.low = low;
            p.sized = true;
        }
    }
    p.bytes = (size_t)best;
    return p;
}

/* ---- writing ---- */

/* The smallest frame of these bytes, with its magic number; empty if no frame is smaller than the bytes. */
static struct str pack_plane(struct numbers *x, const uint8_t *p, size_t n)
{
    struct str least = {0};
    size_t bound = ZSTD_compressBound(n);

    if (bound > x->cap_packed) {
        x->cap_packed = bound;
        for (unsigned k = 0; k < ARRAY_LEN(x->packed); k++)
            x->packed[k] = mem_grow(x->packed[k], bound, 1);
    }
    for (unsigned k = 0; k < (n < SHORT ? 2u : 1u); k++) {
        size_t z = ZSTD_compress2(k ? x->alone : x->zstd, x->packed[k], bound, p, n);
        if (!ZSTD_isError(z) && z < (least.len ? least.len : n))
            least = str_n((const char *)x->packed[k], z);
    }
    return least;
}

static void put_plane(struct numbers *x, struct buf *out, const uint8_t *p, size_t n)
{
    size_t same = 1;

    while (same < n && p[same] == p[0])
        same++;
    if (same == n) {
        buf_u8(out, SECTION_FILL);
        buf_u8(out, p[0]);
        return;
    }
    if (n > TINY) {
        struct str frame = pack_plane(x, p, n);
        if (frame.len) {
            buf_varint(out, (uint64_t)(frame.len - FRAME_MAGIC_N) << 2 | SECTION_ZSTD);
            buf_add(out, frame.p + FRAME_MAGIC_N, frame.len - FRAME_MAGIC_N);
            return;
        }
    }
    buf_u8(out, SECTION_PLAIN);
    buf_add(out, p, n);
}

static void put_sized(struct numbers *x, struct buf *out, const uint64_t *v, size_t n, unsigned low)
{
    uint64_t bits = (uint64_t)low * n;
    unsigned more;

    for (size_t i = 0; i < n; i++) {
        x->plane[i] = size_of(v[i] >> low, &more);
        bits += more;
    }
    put_plane(x, out, x->plane, n);
    size_t len = (size_t)((bits + 7) / 8);
    uint8_t *to = (uint8_t *)buf_room(out, len);
    if (!to)
        return;
    struct packer k = {.p = to};
    for (size_t i = 0; i < n; i++) {
        unsigned width = low + sizes[x->plane[i]].bits;
        if (width)
            pack(&k, v[i] & (width == 64 ? UINT64_MAX : (1ull << width) - 1), width);
    }
    pack_end(&k);
    buf_appended(out, len);
}

void numbers_put(struct numbers *x, struct buf *out, const uint64_t *v, size_t n, const struct numbers_plan *p)
{
    if (n == 0)
        return;
    buf_u8(out, (uint8_t)p->width);
    buf_u8(out, (uint8_t)(p->low | (p->sized ? SIZED : 0)));
    VEC_LEAST(x->plane, x->cap, n);
    if (p->sized) {
        put_sized(x, out, v, n, p->low);
        return;
    }
    if (p->low) {
        size_t len = packed_size(n, p->low);
        uint64_t mask = p->low == 64 ? UINT64_MAX : (1ull << p->low) - 1;
        uint8_t *to = (uint8_t *)buf_room(out, len);
        if (!to)
            return;
        struct packer k = {.p = to};
        for (size_t i = 0; i < n; i++)
            pack(&k, v[i] & mask, p->low);
        pack_end(&k);
        buf_appended(out, len);
    }
    for (unsigned shift = p->low; shift < p->width; shift += 8) {
        for (size_t i = 0; i < n; i++)
            x->plane[i] = (uint8_t)(v[i] >> shift);
        put_plane(x, out, x->plane, n);
    }
}

/* ---- reading ---- */

/* Reads the k-th plane. skip: it is only skipped; do not use the result. */
static const uint8_t *get_plane(struct numbers_room *room, unsigned k, struct rd *r, size_t n, bool skip)
{
    struct numbers_plane *plane = &room->plane[k];
    const uint8_t *begin = r->p;
    uint64_t word = rd_varint(r);
    size_t len = (size_t)(word >> 2);

    if (r->bad || word >> 2 > ZSTD_BYTES)
        return NULL;
    if (word == SECTION_PLAIN)
        return rd_bytes(r, n);
    if (skip && !room->plain)
        return (word & 3) == SECTION_ZSTD ? rd_bytes(r, len) : word == SECTION_FILL ? rd_bytes(r, 1) : NULL;
    const uint8_t *from = (word & 3) == SECTION_ZSTD ? rd_bytes(r, len) : NULL;
    if (from && len > n) /* no writer produces such a frame */
        return NULL;
    if (from && !room->plain && plane->unpacked == n && plane->frame.len == FRAME_MAGIC_N + len &&
        memcmp(plane->frame.p + FRAME_MAGIC_N, from, len) == 0)
        return (const uint8_t *)plane->bytes.p; /* a node's next device, or the same one for another caller */
    plane->unpacked = 0;
    buf_reset(&plane->bytes);
    plane->bytes.max = ZSTD_BYTES;
    char *to = buf_room(&plane->bytes, n);
    if (!to)
        return NULL;
    if (word == SECTION_FILL) {
        memset(to, rd_u8(r), n);
        return r->bad ? NULL : (const uint8_t *)to;
    }
    if (!from)
        return NULL;
    buf_reset(&plane->frame);
    plane->frame.max = 2ul * ZSTD_BYTES;
    buf_add(&plane->frame, FRAME_MAGIC, FRAME_MAGIC_N);
    buf_add(&plane->frame, from, len);
    if (!room->zstd && !(room->zstd = ZSTD_createDCtx()))
        abort();
    size_t z = ZSTD_decompressDCtx(room->zstd, to, n, plane->frame.p, plane->frame.len);
    if (ZSTD_isError(z) || z != n)
        return NULL;
    plane->unpacked = n;
    if (room->plain) {
        buf_add(room->plain, room->done, (size_t)(begin - room->done));
        buf_u8(room->plain, SECTION_PLAIN);
        buf_add(room->plain, to, n);
        room->done = r->p;
    }
    return (const uint8_t *)to;
}

static bool open_sized(struct numbers_room *room, struct rd *r, struct numbers_in *in)
{
    in->plane[0] = get_plane(room, 0, r, in->n, false);
    if (!in->plane[0] || in->low > 64 - SIZED_BITS)
        return false;
    in->len = (size_t)(((uint64_t)in->low * in->n + sizes_bits(in->plane[0], in->n) + 7) / 8);
    in->bits = rd_bytes(r, in->len);
    return in->bits != NULL;
}

bool numbers_open(struct numbers_room *room, struct rd *r, size_t n, struct numbers_in *ret)
{
    struct numbers_in passed, *in = ret ? ret : &passed;

    in->n = n; /* planes are not cleared: this runs for every few numbers of a tier */
    in->at = in->bit = 0;
    in->width = n ? rd_u8(r) : 0;
    in->low = n ? rd_u8(r) : 0;
    in->sized = in->low & SIZED;
    in->low &= ~SIZED;
    if (n == 0)
        return true;
    if (r->bad || in->width > 64)
        return false;
    if (in->sized)
        return open_sized(room, r, in);
    if (in->low > in->width)
        return false;
    if (in->low) {
        in->len = packed_size(n, in->low);
        in->bits = rd_bytes(r, in->len);
        if (!in->bits)
            return false;
    }
    for (unsigned k = 0; in->low + 8 * k < in->width; k++) {
        in->plane[k] = get_plane(room, k, r, n, !ret);
        if (!in->plane[k])
            return false;
    }
    return true;
}

/* Decodes a number by its size, from this bit on; near: 8 bytes are readable there. */
static inline __attribute__((always_inline)) uint64_t unpack_size(const uint8_t *p, uint64_t *bit, uint8_t size,
                                                                  unsigned low, bool near)
{
    const struct size *s = &sizes[size];
    unsigned width = low + s->bits;
    uint64_t v = 0;

    if (near && width <= 56)
        v = unpack_one(p, *bit, ((s->mask + 1ull) << low) - 1);
    else
        for (unsigned b = 0; b < width; b++)
            v |= (uint64_t)(p[(*bit + b) / 8] >> (*bit + b) % 8 & 1) << b;
    *bit += width;
    return v + (s->least << low);
}

/* Decodes n numbers from this bit on, of len bytes. Returns the next bit. */
static inline __attribute__((always_inline)) uint64_t
unpack_sized(const uint8_t *p, size_t len, uint64_t bit, const uint8_t *size, uint64_t *ret, size_t n, unsigned low)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t word;
        memcpy(&word, size + i, 8);
        bool exact = low == 0 && !(word & 0xf0f0f0f0f0f0f0f0u); /* all below SIZES_EXACT */
        bool near = len - bit / 8 >= 8 * 8 + 8;
        for (unsigned k = 0; k < 8 && exact; k++)
            ret[i + k] = size[i + k];
        for (unsigned k = 0; k < 8 && !exact; k++)
            ret[i + k] = unpack_size(p, &bit, size[i + k], low, near || len - bit / 8 >= 8);
    }
    for (; i < n; i++)
        ret[i] = unpack_size(p, &bit, size[i], low, len - bit / 8 >= 8);
    return bit;
}

static void take_sized(struct numbers_in *in, uint64_t *ret, size_t i, size_t end)
{
    const uint8_t *size = in->plane[0];

    if (i < in->at)
        in->at = in->bit = 0;
    in->bit += (uint64_t)in->low * (i - in->at) + sizes_bits(size + in->at, i - in->at);
    if (in->low == 0) /* the usual case */
        in->bit = unpack_sized(in->bits, in->len, in->bit, size + i, ret, end - i, 0);
    else
        in->bit = unpack_sized(in->bits, in->len, in->bit, size + i, ret, end - i, in->low);
    in->at = end;
}

static void add_plane(uint64_t *ret, const uint8_t *p, size_t n, unsigned shift)
{
    if (shift == 0)
        for (size_t i = 0; i < n; i++)
            ret[i] = p[i];
    else
        for (size_t i = 0; i < n; i++)
            ret[i] |= (uint64_t)p[i] << shift;
}

void numbers_take(struct numbers_in *in, uint64_t *ret, size_t i, size_t end)
{
    size_t n = end - i;

    if (n == 0)
        return;
    if (in->sized) {
        take_sized(in, ret, i, end);
        return;
    }
    unsigned k = 0;
    if (in->low && in->low <= UNPACK_KNOWN && in->width > in->low) {
        unpack_topped(in->bits, in->len, in->plane[0] + i, (int64_t *)ret, i, n, in->low, 0);
        k = 1;
    } else if (in->low || !in->width) {
        unpack(in->bits, in->len, (int64_t *)ret, i, n, in->low, 0);
    }
    for (unsigned shift = in->low + 8 * k; shift < in->width; k++, shift += 8)
        add_plane(ret, in->plane[k] + i, n, shift);
}

/* Eight at a time: four 16-bit sums in one word, each with room for 128 times two bytes. */
static uint64_t sum_bytes(const uint8_t *p, size_t n)
{
    const uint64_t even = 0x00ff00ff00ff00ffu, low = 0x0000ffff0000ffffu;
    uint64_t sum = 0, word;

    while (n >= 8) {
        uint64_t four = 0;
        for (size_t words = MIN(n / 8, 128u); words; words--, p += 8, n -= 8) {
            memcpy(&word, p, 8);
            four += (word & even) + (word >> 8 & even);
        }
        four = (four & low) + (four >> 16 & low);
        sum += (four & UINT32_MAX) + (four >> 32);
    }
    for (; n; n--)
        sum += *p++;
    return sum;
}

uint64_t numbers_sum(struct numbers_in *in, size_t i, size_t end)
{
    struct numbers_in rest = *in; /* the part that is not in planes */
    uint64_t sum = 0, room[128];

    if (!in->sized) {
        rest.width = in->low;
        for (unsigned k = 0, shift = in->low; shift < in->width && i < end; k++, shift += 8)
            sum += sum_bytes(in->plane[k] + i, end - i) << shift;
    }
    for (size_t to; i < end && (in->sized || in->low); i = to) {
        to = MIN(end, i + ARRAY_LEN(room));
        numbers_take(&rest, room, i, to);
        for (size_t k = 0; k < to - i; k++)
            sum += room[k];
    }
    in->at = rest.at;
    in->bit = rest.bit;
    return sum;
}

bool numbers_get(struct numbers_room *room, struct rd *r, uint64_t *ret, size_t n)
{
    struct numbers_in in;

    if (!numbers_open(room, r, n, &in))
        return false;
    numbers_take(&in, ret, 0, n);
    return true;
}

void numbers_room_fini(struct numbers_room *room)
{
    for (unsigned k = 0; k < NUMBERS_PLANES; k++) {
        buf_fini(&room->plane[k].frame);
        buf_fini(&room->plane[k].bytes);
    }
    ZSTD_freeDCtx(room->zstd);
    *room = (struct numbers_room){0};
}
