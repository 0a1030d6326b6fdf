/* chunk_coding.h: the numbers that chunk.c writes and chunk_read.c reads. */
#ifndef CODEC_CHUNK_CODING_H
#define CODEC_CHUNK_CODING_H

#include <stdint.h>

enum chunk_presence { PRESENT_ALL = 0, PRESENT_AS_BEFORE = 1, PRESENT_RUNS = 2 };

/* How the values of a column that are not constant over their series are written. */
enum chunk_coding {
    CODING_NONE = 0,   /* there are none */
    CODING_PLANES = 1, /* (value - least) / divisor, byte by byte: first all lowest bytes, then all second ones, ... */
    CODING_DELTA = 2,  /* (difference - least difference) / divisor in the same way */
    CODING_DOD = 3,    /* zigzag differences of differences in the same way */
    CODING_RUNS = 4,   /* varints: run length, zigzag difference */
    CODING_PACK = 5,   /* (value - least) / divisor in as many bits as the largest of the series needs */
    CODING_COUNT
};

/* A run of bytes: varint of length * 4 + one of these. */
enum chunk_section {
    SECTION_PLAIN = 0,
    SECTION_ZSTD = 1 /* varint of the length when unpacked comes first */,
    SECTION_FILL = 2 /* one byte, repeated */
};

#define PLANES_MAX 8u

static inline uint64_t chunk_zigzag(uint64_t d)
{
    return d << 1 ^ (0 - (d >> 63));
}
static inline uint64_t chunk_unzigzag(uint64_t z)
{
    return z >> 1 ^ (0 - (z & 1));
}

#endif
