/*
 * ints.c: the smallest of a few codings, chosen from sizes that one pass over the values gives; nothing is encoded
 * twice. Differences are taken modulo 2^64, so that every int64_t comes back. docs/wire.md describes the bytes.
 */
#include "codec/ints.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

static inline uint64_t zigzag(uint64_t d)
{
    return d << 1 ^ (0 - (d >> 63));
}

static inline uint64_t unzigzag(uint64_t z)
{
    return z >> 1 ^ (0 - (z & 1));
}

static inline unsigned bits_of(uint64_t v)
{
    return v ? 64u - (unsigned)__builtin_clzll(v) : 0;
}

static inline size_t varint_size(uint64_t v)
{
    return (bits_of(v | 1) + 6) / 7;
}

/* ---- choosing ---- */

struct sizes {
    int64_t min, max;           /* of the values */
    int64_t step_min, step_max; /* of the differences behind the first value */
    size_t delta, runs;         /* bytes, without the byte that names the coding */
    bool same;
};

static struct sizes measure(const int64_t *v, size_t n)
{
    uint64_t prev = (uint64_t)v[0], first = zigzag(prev), step = first;
    struct sizes s = {v[0], v[0], INT64_MAX, INT64_MIN, varint_size(first), 0, true};
    size_t run = 1;

    for (size_t i = 1; i < n; i++) {
        uint64_t d = (uint64_t)v[i] - prev, z = zigzag(d);
        int64_t signed_d = (int64_t)d;
        prev = (uint64_t)v[i];
        s.delta += varint_size(z);
        s.min = v[i] < s.min ? v[i] : s.min;
        s.max = v[i] > s.max ? v[i] : s.max;
        s.step_min = signed_d < s.step_min ? signed_d : s.step_min;
        s.step_max = signed_d > s.step_max ? signed_d : s.step_max;
        if (d == 0) {
            run++;
            continue;
        }
        s.runs += varint_size(run) + varint_size(step);
        run = 1;
        step = z;
        s.same = false;
    }
    s.runs += varint_size(run) + varint_size(step);
    return s;
}

static inline size_t packed_size(size_t n, unsigned width)
{
    return (size_t)(((uint64_t)n * width + 7) / 8);
}

/* ---- writing ---- */

static inline uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

/* Bits go in from the lowest up; the last byte's spare bits are 0. */
struct packer {
    uint8_t *p;
    uint64_t acc;
    unsigned fill;
};

static inline void pack(struct packer *k, uint64_t v, unsigned width)
{
    k->acc |= v << k->fill;
    if (k->fill + width < 64) {
        k->fill += width;
        return;
    }
    uint64_t le = htole64(k->acc);
    memcpy(k->p, &le, 8);
    k->p += 8;
    k->acc = k->fill ? v >> (64 - k->fill) : 0;
    k->fill = k->fill + width - 64;
}

static uint8_t *pack_end(struct packer *k)
{
    for (unsigned bit = 0; bit < k->fill; bit += 8)
        *k->p++ = (uint8_t)(k->acc >> bit);
    return k->p;
}

static uint8_t *put_delta(uint8_t *p, const int64_t *v, size_t n)
{
    uint64_t prev = 0;

    for (size_t i = 0; i < n; i++) {
        p = put_varint(p, zigzag((uint64_t)v[i] - prev));
        prev = (uint64_t)v[i];
    }
    return p;
}

static uint8_t *put_runs(uint8_t *p, const int64_t *v, size_t n)
{
    uint64_t prev = 0;

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end] == v[i]; end++)
            ;
        p = put_varint(p, end - i);
        p = put_varint(p, zigzag((uint64_t)v[i] - prev));
        prev = (uint64_t)v[i];
    }
    return p;
}

static uint8_t *put_pack(uint8_t *p, const int64_t *v, size_t n, int64_t min, unsigned width)
{
    p = put_varint(p, zigzag((uint64_t)min));
    *p++ = (uint8_t)width;
    struct packer k = {.p = p};
    for (size_t i = 0; i < n; i++)
        pack(&k, (uint64_t)v[i] - (uint64_t)min, width);
    return pack_end(&k);
}

static uint8_t *put_pack_delta(uint8_t *p, const int64_t *v, size_t n, int64_t min, unsigned width)
{
    p = put_varint(p, zigzag((uint64_t)v[0]));
    p = put_varint(p, zigzag((uint64_t)min));
    *p++ = (uint8_t)width;
    struct packer k = {.p = p};
    for (size_t i = 1; i < n; i++)
        pack(&k, (uint64_t)v[i] - (uint64_t)v[i - 1] - (uint64_t)min, width);
    return pack_end(&k);
}

int ints_put(struct buf *out, const int64_t *v, size_t n)
{
    if (n == 0)
        return out->err;
    struct sizes s = measure(v, n);
    unsigned width = bits_of((uint64_t)s.max - (uint64_t)s.min);
    unsigned step_width = n > 1 ? bits_of((uint64_t)s.step_max - (uint64_t)s.step_min) : 0;
    size_t size[] = {
        [INTS_CONST] = s.same ? varint_size(zigzag((uint64_t)v[0])) : SIZE_MAX,
        [INTS_DELTA] = s.delta,
        [INTS_RUNS] = s.runs,
        [INTS_PACK] = varint_size(zigzag((uint64_t)s.min)) + 1 + packed_size(n, width),
        [INTS_PACK_DELTA] = n > 1 ? varint_size(zigzag((uint64_t)v[0])) + varint_size(zigzag((uint64_t)s.step_min)) +
                                        1 + packed_size(n - 1, step_width)
                                  : SIZE_MAX,
    };
    unsigned best = 0;
    for (unsigned c = 1; c < sizeof(size) / sizeof(size[0]); c++)
        if (size[c] < size[best])
            best = c;

    uint8_t *p = (uint8_t *)buf_room(out, 1 + size[best]);
    if (!p)
        return out->err;
    *p++ = (uint8_t)best;
    switch ((enum ints_coding)best) {
    case INTS_CONST:
        put_varint(p, zigzag((uint64_t)v[0]));
        break;
    case INTS_DELTA:
        put_delta(p, v, n);
        break;
    case INTS_RUNS:
        put_runs(p, v, n);
        break;
    case INTS_PACK:
        put_pack(p, v, n, s.min, width);
        break;
    case INTS_PACK_DELTA:
        put_pack_delta(p, v, n, s.step_min, step_width);
        break;
    }
    buf_took(out, 1 + size[best]);
    return 0;
}

/* ---- reading ---- */

/* rd_varint, inline: most varints are one byte, and there are very many of them. */
static inline uint64_t get_varint(struct rd *r)
{
    if (r->p < r->end && *r->p < 0x80 && !r->bad)
        return *r->p++;
    return rd_varint(r);
}

static int get_delta(struct rd *r, int64_t *ret, size_t n)
{
    uint64_t at = 0;

    for (size_t i = 0; i < n; i++) {
        at += unzigzag(get_varint(r));
        ret[i] = (int64_t)at;
    }
    return r->bad ? -EBADMSG : 0;
}

static int get_runs(struct rd *r, int64_t *ret, size_t n)
{
    uint64_t at = 0;

    for (size_t i = 0; i < n;) {
        uint64_t run = get_varint(r);
        at += unzigzag(get_varint(r));
        if (r->bad || run == 0 || run > n - i)
            return -EBADMSG;
        for (size_t end = i + (size_t)run; i < end; i++)
            ret[i] = (int64_t)at;
    }
    return 0;
}

/* n numbers of width bits at p, which has len bytes. Whole words are read while there are 9 bytes to read from. */
static void unpack(const uint8_t *p, size_t len, int64_t *ret, size_t n, unsigned width, uint64_t add)
{
    uint64_t mask = width == 64 ? UINT64_MAX : (1ull << width) - 1, bit = 0;

    for (size_t i = 0; i < n; i++, bit += width) {
        size_t at = (size_t)(bit / 8);
        unsigned shift = (unsigned)(bit % 8);
        uint64_t v = 0, high = 0;
        if (len - at >= 9) {
            memcpy(&v, p + at, 8);
            v = le64toh(v);
            high = p[at + 8];
        } else {
            for (size_t b = 0; b < 8 && at + b < len; b++)
                v |= (uint64_t)p[at + b] << 8 * b;
        }
        v >>= shift;
        if (shift + width > 64)
            v |= high << (64 - shift);
        ret[i] = (int64_t)((v & mask) + add);
    }
}

static int get_pack(struct rd *r, int64_t *ret, size_t n)
{
    uint64_t min = unzigzag(rd_varint(r));
    unsigned width = rd_u8(r);

    if (r->bad || width > 64)
        return -EBADMSG;
    size_t len = packed_size(n, width);
    const uint8_t *p = rd_bytes(r, len);
    if (!p)
        return -EBADMSG;
    unpack(p, len, ret, n, width, min);
    return 0;
}

static int get_pack_delta(struct rd *r, int64_t *ret, size_t n)
{
    uint64_t at = unzigzag(rd_varint(r));

    if (get_pack(r, ret + 1, n - 1) < 0)
        return -EBADMSG;
    ret[0] = (int64_t)at;
    for (size_t i = 1; i < n; i++) {
        at += (uint64_t)ret[i];
        ret[i] = (int64_t)at;
    }
    return 0;
}

int ints_get(struct rd *r, int64_t *ret, size_t n)
{
    if (r->bad)
        return -EBADMSG;
    if (n == 0)
        return 0;
    if (n > SIZE_MAX / 128)
        return -EBADMSG;
    switch (rd_u8(r)) {
    case INTS_CONST: {
        int64_t v = rd_zigzag(r);
        if (r->bad)
            return -EBADMSG;
        for (size_t i = 0; i < n; i++)
            ret[i] = v;
        return 0;
    }
    case INTS_DELTA:
        return get_delta(r, ret, n);
    case INTS_RUNS:
        return get_runs(r, ret, n);
    case INTS_PACK:
        return get_pack(r, ret, n);
    case INTS_PACK_DELTA:
        return get_pack_delta(r, ret, n);
    default:
        return -EBADMSG;
    }
}
