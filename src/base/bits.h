/* bits.h: a small fixed set of numbers, as words; more than 64 fit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BITS_MAX 128
struct bits {
    uint64_t w[BITS_MAX / 64];
};

static inline void bits_set(struct bits *b, unsigned i)
{
    b->w[i / 64] |= 1ull << (i % 64);
}
static inline void bits_clear(struct bits *b, unsigned i)
{
    b->w[i / 64] &= ~(1ull << (i % 64));
}
static inline bool bits_has(const struct bits *b, unsigned i)
{
    return b->w[i / 64] >> (i % 64) & 1;
}
