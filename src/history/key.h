/* key.h: tells one question about history from another: 128 bits over everything it was resolved to. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

struct history_key {
    uint64_t v[2];
};

static inline uint64_t key_fold(uint64_t a, uint64_t b)
{
    unsigned __int128 p = (unsigned __int128)a * b;

    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* 16 bytes at a time, the length with the last. */
static inline void key_add(struct history_key *k, const void *p, size_t n)
{
    const char *at = p, *end = at + n;

    for (bool last = false; !last;) {
        uint64_t w[2] = {0};
        size_t some = MIN((size_t)(end - at), sizeof(w));
        last = some < sizeof(w);
        memcpy(w, at, some);
        if (last)
            w[1] ^= (uint64_t)(n + 1) << 56;
        k->v[0] = key_fold(k->v[0] ^ w[0], w[1] ^ 0x9e3779b97f4a7c15u);
        k->v[1] = key_fold(k->v[1] ^ w[1], w[0] ^ 0xc2b2ae3d27d4eb4fu);
        at += some;
    }
}
