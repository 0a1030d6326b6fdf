/* chunk_coding.h: the constants of the chunk format, for chunk.c (writer) and chunk_read.c. */
#pragma once

#include <stdint.h>

enum { PRESENT_EVERY = 0, PRESENT_EACH = 1 }; /* all devices at all ticks; stored for each device */
enum chunk_presence { PRESENT_ALL = 0, PRESENT_AS_BEFORE = 1, PRESENT_RUNS = 2 };

/* A device's name: its length and text, or this byte and the 16 bytes of a GPU's uuid. */
#define NAME_UUID 255u

/*
 * A column's devices: same as the previous column; same, and it has a reference column; or n places follow (version 3
 * stores n + 1 here). Since version 4 this is in the lowest bits of the increment of the metric's number.
 */
enum { PLACES_BEFORE = 0, PLACES_LEAN = 1, PLACES_OWN = 2 };
#define PLACES_BITS  2u
#define COLUMN_SMALL 128u /* bytes: a column up to this size is stored in the head, without its own checksum */

/*
 * First byte of a tier's column, since version 4. Lanes that are not named here are 0, unless MARK_LAST is LAST_NEXT.
 */
enum tier_mark {
    MARK_EACH = 1, /* presence is stored for each device */
    MARK_MOST = 2, /* LANE_MAX is the maximum itself */
    MARK_SUM = 4,  /* LANE_SUM is the sum itself */
    MARK_NO_MIN = 8,
    MARK_NO_MAX = 16,
    MARK_NO_SUM = 32, /* these lanes are 0 */
    MARK_LAST = 64    /* multiplied by one of: */
};
enum tier_last {
    LAST_BLOCK = 0, /* stored */
    LAST_USUAL = 1, /* the usual value, or 0 */
    LAST_MOST = 2,  /* LAST_IS_MOST everywhere */
    LAST_NEXT = 3   /* another byte: one of the above, and which of these two are 0 */
};
#define NEXT_NO_COUNT 4u
#define NEXT_NO_POS   8u

/* Coding of a block's series that are not constant: block.c, block_read.c. */
enum block_coding {
    BLOCK_SAME = 0,   /* all are constant */
    BLOCK_VALUES = 1, /* (value - minimum of the series) / divisor */
    BLOCK_DELTA = 2,  /* (difference - minimum difference of the series) / divisor */
    BLOCK_ZIGZAG = 3, /* zigzag of difference / divisor */
    BLOCK_DOD = 4,    /* zigzag of difference of differences / divisor */
    BLOCK_COMMON = 5, /* (value - minimum of all series) / divisor */
    BLOCK_RUNS = 6,   /* lengths, and zigzag of difference / divisor */
    BLOCK_SIGNED = 7, /* zigzag of the value; the divisor is 1 */
    BLOCK_CODINGS
};
#define BLOCK_SOME_SAME 0x80 /* flag: some series are constant */

/* Version 1, read-only (chunk_v1.c): coding of a column's values that are not constant over their series. */
enum chunk_coding {
    CODING_NONE = 0,   /* no such values */
    CODING_PLANES = 1, /* (value - minimum) / divisor, by planes: all lowest bytes, all second ones, ... */
    CODING_DELTA = 2,  /* (difference - minimum difference) / divisor in the same way */
    CODING_DOD = 3,    /* zigzag differences of differences in the same way */
    CODING_RUNS = 4,   /* varints: run length, zigzag difference */
    CODING_PACK = 5,   /* (value - minimum) / divisor in as many bits as the largest of the series needs */
    CODING_COUNT
};

/* A run of bytes: varint of length * 4 + one of these. In planes (numbers.c) the length is that of the frame, or 0. */
enum chunk_section {
    SECTION_PLAIN = 0,
    SECTION_ZSTD = 1 /* preceded by the varint of the decompressed length */,
    SECTION_FILL = 2 /* one byte, repeated */
};

#define PLANES_MAX 8u /* version 1 */
