/* pack.h: numbers of a few bits each, packed lowest bit first; the last byte's unused bits are 0. */
#pragma once

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

static inline unsigned bits_of(uint64_t v)
{
    return v ? 64u - (unsigned)__builtin_clzll(v) : 0;
}

static inline size_t packed_size(size_t n, unsigned width)
{
    return (size_t)(((uint64_t)n * width + 7) / 8);
}

/* ---- writing: p has room for packed_size ---- */
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

static inline uint8_t *pack_end(struct packer *k)
{
    for (unsigned bit = 0; bit < k->fill; bit += 8)
        *k->p++ = (uint8_t)(k->acc >> bit);
    return k->p;
}

/* ---- reading: n numbers from number `from` on, of those at p, which has len bytes ---- */

/* Width up to 56 bits: one word holds a number at any position. 8 bytes must be readable at p + bit / 8. */
static inline uint64_t unpack_one(const uint8_t *p, uint64_t bit, uint64_t mask)
{
    uint64_t word;

    memcpy(&word, p + bit / 8, 8);
    return le64toh(word) >> bit % 8 & mask;
}

static inline void unpack_wide(const uint8_t *p, size_t len, int64_t *ret, size_t from, size_t n, unsigned width,
                               uint64_t mask, uint64_t add)
{
    uint64_t bit = (uint64_t)from * width;

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

/*
 * Eight at a time, starting at a whole byte. 8 bytes must be readable after the last of them. If the compiler knows the
 * width, each needs a load, a shift and a mask. top, unless NULL: a byte for each, above its bits.
 */
static inline __attribute__((always_inline)) void unpack_eights(const uint8_t *p, const uint8_t *top, int64_t *ret,
                                                                size_t eights, unsigned width, uint64_t add)
{
    for (; eights; eights--, ret += 8, p += width, top = top ? top + 8 : NULL)
        for (unsigned k = 0; k < 8; k++)
            ret[k] = (int64_t)((unpack_one(p, (uint64_t)k * width, (1ull << width) - 1) |
                                (top ? (uint64_t)top[k] << width : 0)) +
                               add);
}

#define UNPACK_KNOWN 16u /* bits: wider packed numbers are rare */

static inline __attribute__((always_inline)) void unpack_known(const uint8_t *p, const uint8_t *top, int64_t *ret,
                                                               size_t eights, unsigned width, uint64_t add)
{
    switch (width) {
#define WIDTH(w)                                                                                                       \
    case w:                                                                                                            \
        unpack_eights(p, top, ret, eights, w, add);                                                                    \
        break
        WIDTH(1);
        WIDTH(2);
        WIDTH(3);
        WIDTH(4);
        WIDTH(5);
        WIDTH(6);
        WIDTH(7);
        WIDTH(8);
        WIDTH(9);
        WIDTH(10);
        WIDTH(11);
        WIDTH(12);
        WIDTH(13);
        WIDTH(14);
        WIDTH(15);
        WIDTH(16);
#undef WIDTH
    }
}

/* Width 1 to 56 bits; top as above. */
static inline __attribute__((always_inline)) void unpack_topped(const uint8_t *p, size_t len, const uint8_t *top,
                                                                int64_t *ret, size_t from, size_t n, unsigned width,
                                                                uint64_t add)
{
    uint64_t mask = (1ull << width) - 1, bit = (uint64_t)from * width;
    uint8_t last[24] = {0}; /* copy of the last bytes, padded so that 8 are readable */
    size_t i = 0;

#define TOP(i) (top ? (uint64_t)top[i] << width : 0)
    size_t near = len >= 8 ? (len - 8) * 8 / width : 0; /* numbers before this index have 8 readable bytes */
    size_t end = near > from ? MIN(n, near - from) : 0;
    if (width <= UNPACK_KNOWN && end >= 16) {
        for (; (from + i) % 8; i++, bit += width)
            ret[i] = (int64_t)((unpack_one(p, bit, mask) | TOP(i)) + add);
        size_t eights = (end - i) / 8;
        unpack_known(p + bit / 8, top ? top + i : NULL, ret + i, eights, width, add);
        i += 8 * eights;
        bit += 8ull * eights * width;
    }
    for (; i < end; i++, bit += width)
        ret[i] = (int64_t)((unpack_one(p, bit, mask) | TOP(i)) + add);
    if (i >= n)
        return;
    p += bit / 8;
    memcpy(last, p, MIN(len - bit / 8, sizeof(last) - 8));
    for (bit %= 8; i < n; i++, bit += width)
        ret[i] = (int64_t)((unpack_one(last, bit, mask) | TOP(i)) + add);
#undef TOP
}

static inline void unpack(const uint8_t *p, size_t len, int64_t *ret, size_t from, size_t n, unsigned width,
                          uint64_t add)
{
    if (width == 0)
        for (size_t i = 0; i < n; i++)
            ret[i] = (int64_t)add;
    else if (width > 56)
        unpack_wide(p, len, ret, from, n, width, width == 64 ? UINT64_MAX : (1ull << width) - 1, add);
    else
        unpack_topped(p, len, NULL, ret, from, n, width, add);
}

/* ---- dividing by an exact divisor: shift its powers of two out, multiply by the inverse of the odd rest ---- */
struct divisor {
    uint64_t by, inverse;
    uint64_t most; /* maximum quotient in 64 bits */
    unsigned shift;
};

#define DIVISOR_OF_ZERO ((struct divisor){.inverse = 1}) /* only 0 is a multiple of it */

static inline struct divisor divisor_of(uint64_t by)
{
    struct divisor d = {.by = by, .most = UINT64_MAX / by, .shift = (unsigned)__builtin_ctzll(by)};
    uint64_t odd = by >> d.shift;

    d.inverse = odd; /* correct to 3 bits; each step doubles them */
    for (int i = 0; i < 5; i++)
        d.inverse *= 2 - odd * d.inverse;
    return d;
}

/* A multiple yields its quotient, any other value something larger than every quotient. */
static inline bool divides(struct divisor d, uint64_t v)
{
    uint64_t times = v * d.inverse;

    return (times >> d.shift | times << (-d.shift & 63)) <= d.most;
}

/* Updates d to the greatest common divisor that also divides v. */
static inline void divisor_take(struct divisor *d, uint64_t v)
{
    uint64_t a = v, b = d->by;

    if (divides(*d, v))
        return;
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    *d = divisor_of(a);
}

static inline uint64_t divided(int64_t v, struct divisor d)
{
    return (uint64_t)(v >> d.shift) * d.inverse;
}

static inline uint64_t zigzag(uint64_t d)
{
    return d << 1 ^ (0 - (d >> 63));
}

static inline uint64_t unzigzag(uint64_t z)
{
    return z >> 1 ^ (0 - (z & 1));
}

/* rd_varint, inlined because it is so frequent; up to 8 bytes without a loop. */
static inline uint64_t quick_varint(struct rd *r)
{
    uint64_t w;

    if (r->bad || r->end - r->p < 8)
        return rd_varint(r);
    if (*r->p < 0x80)
        return *r->p++;
    memcpy(&w, r->p, 8);
    w = le64toh(w);
    uint64_t ends = ~w & 0x8080808080808080u;
    if (!ends)
        return rd_varint(r);
    r->p += __builtin_ctzll(ends) / 8 + 1;
    w &= ends ^ (ends - 1); /* up to the first byte that ends a varint */
    w = (w & 0x007f007f007f007fu) | (w & 0x7f007f007f007f00u) >> 1;
    w = (w & 0x00003fff00003fffu) | (w & 0x3fff00003fff0000u) >> 2;
    return (w & 0x0fffffffu) | (w & 0x0fffffff00000000u) >> 4;
}
