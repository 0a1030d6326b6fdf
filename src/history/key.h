/* key.h: identifies a query of history: 128 bits over its resolved form. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/rand.h"

struct history_key {
    uint64_t v[2];
};

static inline void key_add_two(struct history_key *k, const uint64_t w[2])
{
    k->v[0] = fold64(k->v[0] ^ w[0], w[1] ^ 0x9e3779b97f4a7c15u);
    k->v[1] = fold64(k->v[1] ^ w[1], w[0] ^ 0xc2b2ae3d27d4eb4fu);
}

/* 16 bytes at a time, the length with the last. */
static inline void key_add(struct history_key *k, const void *p, size_t n)
{
    const char *at = p;
    size_t left = n;
    uint64_t w[2];

    for (; left >= sizeof(w); at += sizeof(w), left -= sizeof(w)) {
        memcpy(w, at, sizeof(w));
        key_add_two(k, w);
    }
    w[0] = w[1] = 0;
    memcpy(w, at, left);
    w[1] ^= (uint64_t)(n + 1) << 56;
    key_add_two(k, w);
}
