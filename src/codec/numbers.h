/*
 * numbers.h: noisy numbers without a sign <-> few bytes: the lowest bits, which are noise, are packed as they are; what
 * is above them is split into bytes, all lowest ones, all second ones, ..., and each of these planes is given to zstd
 * by itself. Where to split is found on a sample. docs/store.md describes the bytes. Pure: no clock, no disk.
 *
 * N1 numbers_get(numbers_put(v)) == v for every v. N2 numbers_get never reads past r nor writes past ret[n].
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

struct numbers_room { /* for reading: zeroed at first */
    struct buf frame, plane;
    size_t unpacked; /* bytes of plane that frame unpacked to; 0: plane is something else */
    void *zstd;
    struct buf *plain;   /* unless NULL: what is read goes here, from done on, with planes as they are unpacked */
    const uint8_t *done; /* up to here it did */
};
/* Of n numbers [from, to) goes to ret[from..to). None of them: they are passed over, and seldom unpacked. False: they
 * make no sense. */
bool numbers_get(struct numbers_room *room, struct rd *r, uint64_t *ret, size_t n, size_t from, size_t to);
/* The same in rows of `row` numbers from `from` on, [low, high) of each: at least these. */
struct numbers_rows {
    size_t from, to, row, low, high;
};
bool numbers_get_rows(struct numbers_room *room, struct rd *r, uint64_t *ret, size_t n, const struct numbers_rows *x);
void numbers_room_fini(struct numbers_room *room);
