/*
 * numbers.h: noisy numbers without a sign <-> few bytes: the lowest bits, which are noise, are packed as they are; what
 * is above them is split into bytes, all lowest ones, all second ones, ..., and each of these planes is given to zstd
 * by itself. Where to split is found on a sample. docs/internals/store.md describes the bytes. Pure: no clock, no disk.
 *
 * N1 numbers_get(numbers_put(v)) == v for every v. N2 numbers_open never reads past r, and numbers_take
 * gives what was asked for whatever was read.
 */
#pragma once

#include "base/buf.h"

struct numbers; /* room for writing, to be reused */
struct numbers *numbers_new(void);
void numbers_free(struct numbers *x);

struct numbers_plan {
    unsigned width, low; /* bits of the largest; of which packed as they are */
    bool sized;          /* by size: low is what is left of the smallest sizes */
    size_t bytes;        /* about so many */
};
/* fine: try every place to split, else a few, which is enough to compare ways to write the same thing. */
struct numbers_plan numbers_plan(struct numbers *x, const uint64_t *v, size_t n, bool fine);
/* As numbers much like these were written: takes no sample. bytes is not told. */
struct numbers_plan numbers_plan_as(const struct numbers_plan *before, const uint64_t *v, size_t n);
void numbers_put(struct numbers *x, struct buf *out, const uint64_t *v, size_t n, const struct numbers_plan *p);

/* ---- reading ---- */
#define NUMBERS_PLANES 8u
struct numbers_room { /* zeroed at first */
    struct numbers_plane {
        struct buf frame, bytes;
        size_t unpacked; /* bytes that frame unpacked to; 0: bytes are something else */
    } plane[NUMBERS_PLANES];
    void *zstd;
    struct buf *plain;   /* unless NULL: what is read goes here, from done on, with planes as they are unpacked */
    const uint8_t *done; /* up to here it did */
};
struct numbers_in { /* n numbers that can be taken from the room, until others are opened in it */
    size_t n, len;
    const uint8_t *bits, *plane[NUMBERS_PLANES];
    unsigned width, low;
    bool sized;
    size_t at; /* of numbers by size: this one begins at */
    uint64_t bit;
};
/* ret NULL: they are passed over, and seldom unpacked. False: they make no sense. */
bool numbers_open(struct numbers_room *room, struct rd *r, size_t n, struct numbers_in *ret);
/* Numbers [i, end) to ret[0..end - i). Quickest in their order. */
void numbers_take(struct numbers_in *in, uint64_t *ret, size_t i, size_t end);
uint64_t numbers_sum(struct numbers_in *in, size_t i, size_t end);                  /* what they add up to; it wraps */
bool numbers_get(struct numbers_room *room, struct rd *r, uint64_t *ret, size_t n); /* both, of all */
void numbers_room_fini(struct numbers_room *room);
