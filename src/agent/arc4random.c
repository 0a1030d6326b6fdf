/*
 * arc4random.c: Debian's libevent_core.a wants arc4random, which glibc has from 2.36 on; with these, one file runs on
 * 2.34, too. libevent uses them for its own secrets alone (the order of DNS ids, hash seeds).
 */
#include <stddef.h>
#include <stdint.h>

#include "base/rand.h"

uint32_t arc4random(void);
void arc4random_buf(void *p, size_t n);

uint32_t arc4random(void)
{
    uint32_t v;

    rand_bytes(&v, sizeof(v));
    return v;
}

void arc4random_buf(void *p, size_t n)
{
    rand_bytes(p, n);
}
