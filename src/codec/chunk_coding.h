/* chunk_coding.h: the constants of the chunk format, for chunk.c, which writes it, and chunk_read.c. */
#pragma once

#include <stdint.h>

enum { PRESENT_EVERY = 0, PRESENT_EACH = 1 }; /* all devices at all ticks; told for each device */
enum chunk_presence { PRESENT_ALL = 0, PRESENT_AS_BEFORE = 1, PRESENT_RUNS = 2 };

/* A device's name: its length and text, or this and the 16 bytes of a GPU's uuid. */
#define NAME_UUID      255u
#define CHUNK_UUID_LEN 16u

/* A column's devices: those of the column before; those and it leans on another column; n + this: n places follow. */
enum { PLACES_BEFORE = 0, PLACES_LEAN = 1 };
#define COLUMN_SMALL 128u /* bytes: one that is no larger lies in the head, and has no checksum of its own */

/* How a block's series are written that are not constant: block.c, block_read.c. */
enum block_coding {
    BLOCK_SAME = 0,   /* all are constant */
    BLOCK_VALUES = 1, /* (value - least of the series) / divisor */
    BLOCK_DELTA = 2,  /* (difference - least difference of the series) / divisor */
    BLOCK_ZIGZAG = 3, /* zigzag of difference / divisor */
    BLOCK_DOD = 4,    /* zigzag of difference of differences / divisor */
    BLOCK_COMMON = 5, /* (value - least of all series) / divisor */
    BLOCK_RUNS = 6,   /* lengths, and zigzag of difference / divisor */
    BLOCK_SIGNED = 7, /* zigzag of the value; the divisor is 1 */
    BLOCK_CODINGS
};
#define BLOCK_SOME_SAME 0x80 /* a bit beside: some series are constant */

/* Version 1, only read (chunk_v1.c): how the values of a column that are not constant over their series are written. */
enum chunk_coding {
    CODING_NONE = 0,   /* there are none */
    CODING_PLANES = 1, /* (value - least) / divisor, byte by byte: first all lowest bytes, then all second ones, ... */
    CODING_DELTA = 2,  /* (difference - least difference) / divisor in the same way */
    CODING_DOD = 3,    /* zigzag differences of differences in the same way */
    CODING_RUNS = 4,   /* varints: run length, zigzag difference */
    CODING_PACK = 5,   /* (value - least) / divisor in as many bits as the largest of the series needs */
    CODING_COUNT
};

/* A run of bytes: varint of length * 4 + one of these. In planes (numbers.c) the length is that of the frame, or 0. */
enum chunk_section {
    SECTION_PLAIN = 0,
    SECTION_ZSTD = 1 /* varint of the length when unpacked comes first */,
    SECTION_FILL = 2 /* one byte, repeated */
};

#define PLANES_MAX 8u /* version 1 */
