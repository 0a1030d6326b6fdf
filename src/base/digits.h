/* digits.h: decimal digits of whole numbers, two at a time, for writers of many. Others have buf_addi. */
#pragma once

#include <stdint.h>
#include <string.h>

#define DIGITS_MAX 20

extern const char digit_pairs[];    /* "00" to "99" */
extern const uint64_t digit_tens[]; /* 1 to 10^19 */

/* The last n digits of v at at, zeros before them; their end. Not terminated. */
static inline char *digits_put_last(char *at, uint64_t v, unsigned n)
{
    char *end = at + n, *p = end;

    for (; n >= 2; n -= 2, v /= 100) {
        p -= 2;
        memcpy(p, digit_pairs + v % 100 * 2, 2);
    }
    if (n)
        p[-1] = (char)('0' + v % 10);
    return end;
}

/* All of them, where there is room for DIGITS_MAX. */
static inline char *digits_put(char *at, uint64_t v)
{
    if (v < 10) {
        *at = (char)('0' + v);
        return at + 1;
    }
    unsigned n = (64 - (unsigned)__builtin_clzll(v)) * 1233 >> 12; /* bits times log10(2), at most one too few */
    return digits_put_last(at, v, n + (v >= digit_tens[n]));
}
