/* rand.c: random bits from the kernel, and checksums. Nothing here is a cryptographic hash. */
#include "base/rand.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#ifdef __aarch64__
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#endif

void rand_bytes(void *p, size_t n)
{
    char *at = p;

    while (n) {
        ssize_t r = getrandom(at, n, 0);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            abort();
        at += r;
        n -= (size_t)r;
    }
}

uint64_t rand_u64(void)
{
    uint64_t v;

    rand_bytes(&v, sizeof(v));
    return v;
}

/* The top 53 bits, which a double holds exactly. */
static double rand_to_unit(uint64_t v)
{
    return (double)(v >> 11) * 0x1p-53;
}

double rand_unit(void)
{
    return rand_to_unit(rand_u64());
}

/* ---- CRC-32C: the processor's instruction if it has one, else eight tables ---- */

static uint32_t crc_table[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_fill(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
        crc_table[0][i] = c;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++)
            crc_table[t][i] = crc_table[t - 1][i] >> 8 ^ crc_table[0][crc_table[t - 1][i] & 255];
}

static uint32_t crc_soft(uint32_t c, const uint8_t *p, size_t n)
{
    pthread_once(&crc_once, crc_fill);
    for (; n >= 8; n -= 8, p += 8) {
        c ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        c = crc_table[7][c & 255] ^ crc_table[6][c >> 8 & 255] ^ crc_table[5][c >> 16 & 255] ^ crc_table[4][c >> 24] ^
            crc_table[3][p[4]] ^ crc_table[2][p[5]] ^ crc_table[1][p[6]] ^ crc_table[0][p[7]];
    }
    for (; n; n--, p++)
        c = c >> 8 ^ crc_table[0][(c ^ *p) & 255];
    return c;
}

#if defined(__x86_64__)
#define CRC_TARGET   __attribute__((target("sse4.2")))
#define crc_step8    __builtin_ia32_crc32di
#define crc_step1    __builtin_ia32_crc32qi
#define crc_has_hard __builtin_cpu_supports("sse4.2")
#elif defined(__aarch64__) && defined(__clang__)
#define CRC_TARGET   __attribute__((target("crc")))
#define crc_step8    __builtin_arm_crc32cd
#define crc_step1    __builtin_arm_crc32cb
#define crc_has_hard (getauxval(AT_HWCAP) & HWCAP_CRC32)
#elif defined(__aarch64__)
#define CRC_TARGET   __attribute__((target("+crc")))
#define crc_step8    __builtin_aarch64_crc32cx
#define crc_step1    __builtin_aarch64_crc32cb
#define crc_has_hard (getauxval(AT_HWCAP) & HWCAP_CRC32)
#endif

#ifdef CRC_TARGET
/* Bytes of each of three runs that are computed in parallel: a step waits for the one before it. */
#define CRC_LANE 256u

static uint32_t crc_on[4][256]; /* effect of CRC_LANE zero bytes on each byte of a crc */
static pthread_once_t crc_on_once = PTHREAD_ONCE_INIT;

CRC_TARGET static void crc_on_fill(void)
{
    for (uint32_t i = 0; i < 1024; i++) {
        uint64_t c = (i & 255) << 8 * (i >> 8);
        for (unsigned k = 0; k < CRC_LANE; k += 8)
            c = crc_step8((uint32_t)c, 0);
        crc_on[i >> 8][i & 255] = (uint32_t)c;
    }
}

static uint32_t crc_passed(uint32_t c)
{
    return crc_on[0][c & 255] ^ crc_on[1][c >> 8 & 255] ^ crc_on[2][c >> 16 & 255] ^ crc_on[3][c >> 24];
}

CRC_TARGET static uint32_t crc_three(uint32_t c, const uint8_t *p)
{
    uint32_t c1 = 0, c2 = 0;
    uint64_t w, w1, w2;

    for (const uint8_t *end = p + CRC_LANE; p < end; p += 8) {
        memcpy(&w, p, 8);
        memcpy(&w1, p + CRC_LANE, 8);
        memcpy(&w2, p + 2 * CRC_LANE, 8);
        c = (uint32_t)crc_step8(c, w);
        c1 = (uint32_t)crc_step8(c1, w1);
        c2 = (uint32_t)crc_step8(c2, w2);
    }
    return crc_passed(crc_passed(c) ^ c1) ^ c2;
}

CRC_TARGET static uint32_t crc_hard(uint32_t c, const uint8_t *p, size_t n)
{
    uint64_t w;

    if (n >= 3 * CRC_LANE)
        pthread_once(&crc_on_once, crc_on_fill);
    for (; n >= 3 * CRC_LANE; n -= 3 * CRC_LANE, p += 3 * CRC_LANE)
        c = crc_three(c, p);
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&w, p, 8);
        c = (uint32_t)crc_step8(c, w);
    }
    for (; n; n--, p++)
        c = crc_step1(c, *p);
    return c;
}
#endif

uint32_t crc32c(uint32_t crc, const void *p, size_t n)
{
#ifdef CRC_TARGET
    if (crc_has_hard)
        return ~crc_hard(~crc, p, n);
#endif
    return ~crc_soft(~crc, p, n);
}

uint64_t fnv64(const void *p, size_t n)
{
    const uint8_t *at = p;
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ at[i]) * 0x100000001b3u;
    return h;
}

uint64_t names_sum(uint64_t before, struct str name)
{
    uint64_t sum = (before ^ name.len) * 0x9e3779b97f4a7c15u ^ fnv64(name.p, name.len);

    return sum ? sum : 1;
}

/* SplitMix64. */
const char *hex_text(const void *p, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = p;

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[from[i] >> 4];
        out[2 * i + 1] = digits[from[i] & 15];
    }
    out[2 * n] = 0;
    return out;
}

uint64_t prng_next(struct prng *g)
{
    uint64_t z = g->s += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double prng_unit(struct prng *g)
{
    return rand_to_unit(prng_next(g));
}
