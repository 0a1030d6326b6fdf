/* rand.h: random bits from the kernel, checksums and hashes of our own formats. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

void rand_bytes(void *p, size_t n); /* getrandom; aborts if the kernel cannot */
uint64_t rand_u64(void);
double rand_unit(void); /* 0 <= x < 1, for jitter */

uint32_t crc32c(uint32_t crc, const void *p, size_t n); /* start with 0; Castagnoli, as in iSCSI */
uint64_t fnv64(const void *p, size_t n);                /* FNV-1a: names facts by content on the wire */

/* Both halves of a product as one: what sums and hashes in memory are mixed with. */
static inline uint64_t fold64(uint64_t a, uint64_t b)
{
    unsigned __int128 p = (unsigned __int128)a * b;

    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* Hash of several names in order: start with 0, which no list of names results in. Lists with the same sum are the same
 * list, except with a chance of 2^-64. */
uint64_t names_sum(uint64_t before, struct str name);

const char *hex_text(const void *p, size_t n, char *out); /* lower case, 2 * n digits and the end */

/* For generated data that must come out the same each time. */
struct prng {
    uint64_t s;
};
uint64_t prng_next(struct prng *g);
double prng_unit(struct prng *g);
