/*
 * block.h: several series of 64-bit numbers of one kind (one metric of a node's devices) <-> bytes. The coding is
 * chosen from a sample: constant, plain, differences, differences of differences, or runs. docs/internals/store.md
 * describes the bytes. Pure: no clock, no disk.
 *
 * B1 block_get_part(block_put(v)) == v, for every v.
 * B2 block_get_part never reads past r nor writes past ret.
 */
#pragma once

#include "codec/numbers.h"

struct cut;

struct block_writer; /* scratch space, to be reused */
struct block_writer *block_writer_new(void);
void block_writer_free(struct block_writer *w);
/*
 * Writes series of n[k] > 0 values each. kind: blocks of one kind are usually alike, so the best coding of one is
 * reused for the next ones without a new choice; 0: no kind. thorough: also tries the second-best coding, and reuses
 * only the coding.
 */
void block_put(struct block_writer *w, struct buf *out, const uint64_t *const *v, const size_t *n, size_t n_series,
               uint32_t kind, bool thorough);

/* From now on: fast to read, also in parts, but larger. For short-lived data. */
void block_quick(struct block_writer *w, bool on);

struct block_reader { /* scratch space; zero-initialise */
    struct numbers_room numbers;
    uint64_t *v;
    int64_t *rows[3];
    size_t cap, cap_rows;
};
/*
 * Series [first, last), each at the position it has in the full result; of each at least the values [from, to), at most
 * all. Other positions are undefined. No series: skips the block; ret is not used. shape, unless NULL: a byte per
 * series, zero-initialised by the caller. A constant series, and with runs also one of few runs, is returned in short
 * form, and its shape is set. With cuts (bin.h), which start at from and end at to, other series are only summed per
 * cut.
 */
enum block_shape {
    SHAPE_EACH, /* every value */
    SHAPE_ONE,  /* one value, which all are equal to */
    SHAPE_RUNS, /* for each run the index after its end, and its value; up to the end of the series */
    SHAPE_SUMS  /* the sum of the values of each cut; it wraps */
};
struct block_part {
    size_t first, last, from, to;
    uint8_t *shape;
    bool runs;
    const struct cut *cuts; /* requires shape; series must have equal length */
    size_t n_cuts;
};
bool block_get_part(struct block_reader *b, struct rd *r, uint64_t *ret, const size_t *n, size_t n_series,
                    const struct block_part *part);
void block_reader_fini(struct block_reader *b);
