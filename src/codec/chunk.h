/*
 * chunk.h: a node's samples over a span, column by column <-> bytes. docs/internals/store.md describes the bytes.
 *
 * K1 chunk_read(chunk_add(x)) == x, to the bit.
 * K2 A reader never reads past the bytes, refuses data beyond the caps below, and uses no more memory than they allow.
 * K3 Every column has a checksum: damage costs that column and those coded against it, or, in the head, the chunk.
 * K4 Only the requested columns are decoded.
 * K5 The first byte is the version.
 *
 * A column is one metric over some of the devices, at the chunk's ticks. A lane is one number of a cell: raw chunks
 * have one, tiers have several (count, sum, ...). Pure: no clock, no disk.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "codec/block.h"
#include "codec/ref_coding.h"

#define CHUNK_VERSION     4 /* versions 1 to 3 are still readable */
#define CHUNK_TICKS_MAX   (1u << 20)
#define CHUNK_DEVICES_MAX (1u << 12)
#define CHUNK_COLUMNS_MAX (1u << 13)
#define CHUNK_LANES_MAX   8u
#define CHUNK_CELLS_MAX   (1u << 24) /* of one column: devices * lanes * ticks */
#define CHUNK_NAME_MAX    160u
#define CHUNK_BYTES_MAX   (256u << 20)

/* Identifies a column: a number of metrics.def, or a name for metrics declared at run time. */
struct chunk_key {
    uint16_t no; /* 0: name is used */
    struct str name;
};
bool chunk_key_eq(struct chunk_key a, struct chunk_key b);

struct chunk_column {
    struct chunk_key key;
    size_t n_devs;
    const uint16_t *devs;        /* ascending indices into the chunk's devices */
    const uint64_t *const *have; /* per device, a bit per tick; NULL: all. Shared by its lanes */
    const int64_t *const *v;     /* per device, [lane][tick]; valid only where the have bit is set */
};

/* ---- writing ---- */
struct chunk_writer;
struct chunk_writer *chunk_writer_new(void);
void chunk_writer_free(struct chunk_writer *w);
/* Copies everything. ticks must not descend. Returns -E2BIG past a cap. */
int chunk_begin(struct chunk_writer *w, unsigned lanes, const int64_t *ticks, size_t n_ticks, const struct str *devices,
                size_t n_devices);
/* Call right after chunk_begin: the lane's usual value at each tick. Cells with that value cost nothing. */
int chunk_set_defaults(struct chunk_writer *w, unsigned lane, const int64_t *row);
void chunk_thorough(struct chunk_writer *w, bool on); /* from now on: a little smaller and slower */
void chunk_quick(struct chunk_writer *w, bool on);    /* from now on: fast to read, see block_quick() */
int chunk_add(struct chunk_writer *w, const struct chunk_column *c);
int chunk_end(struct chunk_writer *w, struct buf *out); /* appended to out */

/* ---- reading ---- */
struct chunk_part {
    struct chunk_key key; /* points into the bytes */
    const uint16_t *devs; /* may be shared with other columns */
    size_t n_devs;
    size_t off, len;
    uint32_t crc;
    uint16_t leans;  /* index + 1 of its reference column; 0: none */
    bool sums : 1;   /* coded with differences, or split: needs the whole reference column from the first tick */
    bool leant : 1;  /* it is a reference column */
    bool inside : 1; /* stored in the head, under its checksum: crc is unused */
};

struct chunk {
    unsigned version, lanes;
    size_t n_ticks, n_devices, n_columns;
    int64_t *ticks;
    struct str *devices; /* point into the bytes, or into text */
    struct chunk_part *columns;
    int64_t *usual[CHUNK_LANES_MAX]; /* rows of n_ticks, or NULL */
    struct str bytes;                /* borrowed: must outlive this */
    char *text;
    uint16_t **devs; /* storage of the columns' devs */
    size_t n_devs, cap_devs;
};

/* Length of a chunk's head, from its first CHUNK_LEAD bytes; 0: not a chunk. */
#define CHUNK_LEAD 10u
size_t chunk_head_len(const void *lead);
/* Returns 0, or -EBADMSG with a message in err. Call chunk_fini() in both cases. The head's bytes are enough. */
int chunk_open(struct chunk *ret, struct str bytes, struct err *err);
void chunk_fini(struct chunk *c);
void chunk_ticks(const struct chunk *c, int64_t *ret); /* decodes the ticks of an open chunk again: n_ticks of them */

/* A decoded column. Zero-initialise; each read reuses it; free with chunk_cells_fini(). */
struct chunk_cells {
    size_t n_devs, n_ticks;
    unsigned lanes;
    int64_t *v;     /* [lane][device][tick]; 0 where absent */
    uint64_t *have; /* [device][word]: (n_ticks + 63) / 64 words each */
    size_t cap_v, cap_have;
    bool full; /* every device is present at every tick. False: check have */
    /* scratch space */
    struct block_reader block;
    uint64_t *flat;
    size_t *present;
    uint8_t *shape; /* per device, if chunk_want.brief is set: enum block_shape */
    size_t cap_flat, cap_present, cap_shape;
    struct buf room[2];
    void *zstd;
    struct ref_coding lean;
    struct chunk_base *base; /* LEAN_BASES reference columns; NULL: not needed so far */
    unsigned next_base;
};
int chunk_read(const struct chunk *c, size_t column, struct chunk_cells *ret, struct err *err); /* 0 or -EBADMSG */
/*
 * A part of a column: its devices [first, last), the lanes whose bits are set, and ticks [from, to); to 0: all. The
 * rest of ret->v is undefined. bytes.p NULL: use the chunk's bytes. The checksum covers the whole column; skipped parts
 * are not validated further. brief: constant devices, and with runs those that rarely change, may be returned in short
 * form, see cells.shape; one lane only. With cuts, which start at from, the others are returned as sums if every device
 * has every tick.
 */
struct chunk_want {
    size_t first, last;
    unsigned lanes;
    size_t from, to;
    bool brief, runs;
    const struct cut *cuts; /* requires brief; NULL: every value is needed */
    size_t n_cuts;
    bool plain; /* bytes are in the encoding of chunk_plain() */
};
int chunk_read_part(const struct chunk *c, size_t column, struct str bytes, const struct chunk_want *want,
                    struct chunk_cells *ret, struct err *err);
/*
 * Call before reading part of a column with a reference column, if its bytes are passed in: reads the reference
 * (p->leans - 1) for the same want. ret caches it until chunk_forget; chunk_has_base: whether it is cached.
 */
int chunk_read_base(const struct chunk *c, size_t column, struct str bytes, const struct chunk_want *want,
                    struct chunk_cells *ret, struct err *err);
bool chunk_has_base(const struct chunk *c, size_t column, const struct chunk_want *want, const struct chunk_cells *of);
/* Caches the last read column, if not brief, as reference of others. Its cells are gone then. */
void chunk_keep(const struct chunk *c, size_t column, const struct chunk_want *want, struct chunk_cells *of);
void chunk_forget(struct chunk_cells *c); /* call before reading columns of another chunk */
/*
 * Appends a column's bytes without zstd to out, for callers that read them often; room: any cells. Checks them; later
 * reads do not. Returns 0, -EBADMSG, or -ENOTSUP: only columns of tiers have this encoding.
 */
int chunk_plain(const struct chunk *c, size_t column, struct str bytes, struct chunk_cells *room, struct buf *out);
void chunk_cells_fini(struct chunk_cells *c);

static inline size_t chunk_words(size_t n_ticks)
{
    return (n_ticks + 63) / 64;
}
static inline size_t chunk_count(const uint64_t *have, size_t n_ticks) /* number of ticks that are present */
{
    size_t n = 0;

    for (size_t i = 0; i < chunk_words(n_ticks); i++)
        n += (size_t)__builtin_popcountll(have[i]);
    return n;
}
/* Length of the run of present (there) or absent ticks from tick i, at most up to end. */
static inline size_t chunk_run(const uint64_t *have, size_t i, size_t end, bool there)
{
    for (size_t at = i; at < end; at = (at / 64 + 1) * 64) {
        uint64_t word = (there ? ~have[at / 64] : have[at / 64]) >> at % 64;
        if (word)
            return MIN(at + (size_t)__builtin_ctzll(word), end) - i;
    }
    return end - i;
}
static inline bool chunk_has(const struct chunk_cells *c, size_t dev, size_t tick)
{
    return c->have[dev * chunk_words(c->n_ticks) + tick / 64] >> (tick % 64) & 1;
}
static inline const int64_t *chunk_lane(const struct chunk_cells *c, size_t dev, unsigned lane)
{
    return c->v + (lane * c->n_devs + dev) * c->n_ticks;
}
static inline int64_t chunk_value(const struct chunk_cells *c, size_t dev, size_t tick) /* of cells read with brief */
{
    const int64_t *v = chunk_lane(c, dev, 0);

    if (c->shape[dev] == SHAPE_EACH)
        return v[tick];
    if (c->shape[dev] == SHAPE_ONE)
        return v[0];
    while ((size_t)v[0] <= tick)
        v += 2;
    return v[1];
}
static inline size_t
chunk_lane_step(const struct chunk_cells *c) /* distance from a cell's number in a lane to that in the next */
{
    return c->n_devs * c->n_ticks;
}
