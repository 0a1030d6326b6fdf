/*
 * block.h: several series of 64-bit numbers that are of one kind (one metric of a node's devices) <-> bytes. The coding
 * is chosen from a sample: constant, as they are, differences, differences of differences, or runs.
 * docs/internals/store.md describes the bytes. Pure: no clock, no disk.
 *
 * B1 What was put is got again, for every v. B2 block_get_part never reads past r nor writes past ret.
 */
#pragma once

#include "codec/numbers.h"

struct cut;

struct block_writer; /* room, to be reused */
struct block_writer *block_writer_new(void);
void block_writer_free(struct block_writer *w);
/*
 * Series of n[k] > 0 values each. kind: blocks of one kind are mostly alike, so what was best for one
 * is taken for the next ones without looking; 0 for none. thorough: what is likely to be second best is tried as well,
 * and of what was best for one only the coding is taken for the next ones.
 */
void block_put(struct block_writer *w, struct buf *out, const uint64_t *const *v, const size_t *n, size_t n_series,
               uint32_t kind, bool thorough);

/* From now on: quick to read, also in parts, though larger. For what is kept for a short while only. */
void block_quick(struct block_writer *w, bool on);

struct block_reader { /* room; zeroed at first */
    struct numbers_room numbers;
    uint64_t *v;
    int64_t *rows[3];
    size_t cap, cap_rows;
};
/*
 * Series [first, last), each where all of them would put it; of each at least the values [from, to), to at most as many
 * as it has. What else is there then does not matter. No series: the block is passed over; ret is not used. shape,
 * unless NULL: a byte per series, zeroed before; a series that is constant, and with runs also one of few runs, is
 * given in short, and its shape says so. With cuts (bin.h), which begin at from and
 * end at to, those that are not constant are only added up.
 */
enum block_shape {
    SHAPE_EACH, /* every value */
    SHAPE_ONE,  /* the first, which all are */
    SHAPE_RUNS, /* of each run the number of the value behind it, and what it is: up to the series' end */
    SHAPE_SUMS  /* what the values of each cut add up to; it wraps */
};
struct block_part {
    size_t first, last, from, to;
    uint8_t *shape;
    bool runs;
    const struct cut *cuts; /* with shape alone; of series that are all as long as each other */
    size_t n_cuts;
};
bool block_get_part(struct block_reader *b, struct rd *r, uint64_t *ret, const size_t *n, size_t n_series,
                    const struct block_part *part);
void block_reader_fini(struct block_reader *b);
