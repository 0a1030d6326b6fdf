/* digits.h: decimal digits of whole numbers, eight at a time, for writers of many. Others have buf_addi. */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define DIGITS_MAX 20

extern const uint64_t digit_tens[];   /* 1 to 10^19 */
extern const uint64_t digit_shares[]; /* 2^64 of each of them, rounded up: from 10 on */

/*
 * The eight digits of v, which is less than 10^8, as numbers of a byte each, the first in the lowest. Without a branch:
 * for numbers of random lengths, mispredicted branches were most of the cost of writing.
 */
static inline uint64_t digits_of(uint32_t v)
{
    uint64_t w = v / 10000 | (uint64_t)(v % 10000) << 32;    /* two of four digits each */
    uint64_t high = w * 10486 >> 20 & 0x0000007f0000007full; /* a hundredth of each, exact below 10^4 */
    w = high | (w - high * 100) << 16;                       /* four of two */
    high = w * 103 >> 10 & 0x000f000f000f000full;            /* a tenth of each, exact below 10^2 */
    return high | (w - high * 10) << 8;
}

/* Digits as letters at at, which has room for eight, without the first few. */
static inline void digits_store(char *at, uint64_t digits, unsigned without)
{
    uint64_t text = htole64((digits | 0x3030303030303030ull) >> 8 * without);
    memcpy(at, &text, 8);
}

/* Writes v, which is less than 10^8, where there is room for eight letters. Returns its end. Not terminated. */
static inline char *digits_put_short(char *at, uint32_t v)
{
    uint64_t digits = digits_of(v);
    unsigned zeros = (unsigned)__builtin_ctzll(digits | 1ull << 56) / 8; /* before the first that counts */

    digits_store(at, digits, zeros);
    return at + 8 - zeros;
}

/* All of them, where there is room for DIGITS_MAX. */
static inline char *digits_put(char *at, uint64_t v)
{
    const uint32_t part = 100000000;

    if (v < 10) { /* half of the values: versions, widths, error counts of 0 */
        *at = (char)('0' + v);
        return at + 1;
    }
    if (v < part)
        return digits_put_short(at, (uint32_t)v);
    uint64_t high = v / part;
    if (high < part) {
        at = digits_put_short(at, (uint32_t)high);
    } else {
        at = digits_put_short(at, (uint32_t)(high / part));
        digits_store(at, digits_of((uint32_t)(high % part)), 0);
        at += 8;
    }
    digits_store(at, digits_of((uint32_t)(v % part)), 0);
    return at + 8;
}

/*
 * Writes left / 10^places (places at most 8) as the part after a whole number: a point and the digits without zeros at
 * the end; nothing for 0. at has room for nine letters.
 */
static inline char *digits_put_fraction(char *at, uint32_t left, unsigned places)
{
    if (!left)
        return at;
    uint64_t digits = digits_of(left * (uint32_t)digit_tens[8 - places]);
    *at = '.';
    digits_store(at + 1, digits, 0);
    return at + 9 - (unsigned)__builtin_clzll(digits) / 8;
}

/* u of 10^places: one multiplication instead of a division, of which a processor makes one where it makes ten of
 * those. It is exact while u * 10^places is below 2^64: what rounding up adds is less than one more of u makes. */
static inline uint64_t digits_share(uint64_t u, unsigned places)
{
    uint64_t share = digit_shares[places];

    return u < share - 1 ? (uint64_t)((unsigned __int128)u * share >> 64) : u / digit_tens[places];
}

/* v of 10^places, places at most 8, as an exact decimal without zeros at its end: 9876 of 10^4 is 0.9876. at has room
 * for DECIMAL_MAX. */
#define DECIMAL_MAX (1 + DIGITS_MAX + 9)
static inline char *decimal_put(char *at, int64_t v, unsigned places)
{
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    *at = '-';
    at += v < 0;
    if (!places)
        return digits_put(at, u);
    uint64_t whole = digits_share(u, places);
    return digits_put_fraction(digits_put(at, whole), (uint32_t)(u - whole * digit_tens[places]), places);
}
