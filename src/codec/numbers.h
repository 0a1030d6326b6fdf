/*
 * numbers.h: noisy unsigned numbers <-> few bytes. The lowest bits, which are noise, are bit-packed. The bits above are
 * split into bytes, all lowest ones, all second ones, ..., and each of these planes is compressed by zstd separately. A
 * sample determines where to split. docs/internals/store.md describes the bytes. Pure: no clock, no disk.
 *
 * N1 numbers_get(numbers_put(v)) == v for every v.
 * N2 numbers_open never reads past r, and numbers_take returns the requested numbers independent of earlier reads.
 */
#pragma once

#include "base/buf.h"

struct numbers; /* scratch space for writing, to be reused */
struct numbers *numbers_new(void);
void numbers_free(struct numbers *x);

struct numbers_plan {
    unsigned width, low; /* bits of the largest; of which bit-packed */
    bool sized;          /* coded by size: low is the rest of the smallest sizes */
    size_t bytes;        /* estimate */
};
/* fine: tries every split position, otherwise a few, which is enough to compare codings. */
struct numbers_plan numbers_plan(struct numbers *x, const uint64_t *v, size_t n, bool fine);
/* Reuses the plan of similar numbers: takes no sample. Does not set bytes. */
struct numbers_plan numbers_plan_as(const struct numbers_plan *before, const uint64_t *v, size_t n);
void numbers_put(struct numbers *x, struct buf *out, const uint64_t *v, size_t n, const struct numbers_plan *p);

/* ---- reading ---- */
#define NUMBERS_PLANES 8u
struct numbers_room { /* zero-initialise */
    struct numbers_plane {
        struct buf frame, bytes;
        size_t unpacked; /* bytes that frame was decompressed to; 0: bytes are something else */
    } plane[NUMBERS_PLANES];
    void *zstd;
    struct buf *plain;   /* unless NULL: gets a copy of the input from done on, with planes decompressed */
    const uint8_t *done; /* end of the input copied so far */
};
struct numbers_in { /* n numbers in the room, readable until others are opened in it */
    size_t n, len;
    const uint8_t *bits, *plane[NUMBERS_PLANES];
    unsigned width, low;
    bool sized;
    size_t at; /* of numbers by size: the next one */
    uint64_t bit;
};
/* ret NULL: skips them, and rarely decompresses. Returns false if invalid. */
bool numbers_open(struct numbers_room *room, struct rd *r, size_t n, struct numbers_in *ret);
/* Copies numbers [i, end) to ret[0..end - i). Fastest in order. */
void numbers_take(struct numbers_in *in, uint64_t *ret, size_t i, size_t end);
uint64_t numbers_sum(struct numbers_in *in, size_t i, size_t end); /* sum of [i, end); it wraps */
/* numbers_open and numbers_take of all */
bool numbers_get(struct numbers_room *room, struct rd *r, uint64_t *ret, size_t n);
void numbers_room_fini(struct numbers_room *room);
