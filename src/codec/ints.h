/*
 * ints.h: a column of integers <-> few bytes. Pure: no memory beyond out, no clock, no errors but "does not decode".
 * C1 ints_get(ints_put(v)) == v for every v, to the bit. C2 ints_get never reads past r, never writes past ret[n].
 * C3 The first byte names the coding, so that later versions can add one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Whether all of v[0..n) are equal; n is at least 1. Compares v with itself shifted by one, many at a time. */
static inline bool is_constant(const void *v, size_t n)
{
    const char *p = v;

    return memcmp(p, p + 8, (n - 1) * 8) == 0;
}

struct buf;
struct rd;

enum ints_coding {
    INTS_CONST = 0,      /* every value the same */
    INTS_DELTA = 1,      /* zigzag varints of differences */
    INTS_RUNS = 2,       /* (run length, zigzag difference) pairs */
    INTS_PACK = 3,       /* minimum, width, then (value - minimum) in width bits each */
    INTS_PACK_DELTA = 4, /* first value, then differences as INTS_PACK */
    INTS_SCALED = 0x10,  /* flag: a factor follows by which the values were divided */
};

/* Appends the smallest coding of v[0..n). No values need no bytes. */
int ints_put(struct buf *out, const int64_t *v, size_t n);
/* Reads exactly n values, or returns -EBADMSG; then ret[0..n) is undefined. The caller limits n. */
int ints_get(struct rd *r, int64_t *ret, size_t n);
/* Greatest common divisor of v[0..n); 0: all are 0. */
uint64_t ints_divisor(const int64_t *v, size_t n);
