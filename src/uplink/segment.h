/*
 * segment.h: one file of the spool: a sequence of records and the blobs they need, and an index of them in memory. The
 * caller opens and closes the file. The format is in docs/internals/spool.md.
 */
#pragma once

#include "uplink/spool.h"

#define SEGMENT_RECORD_MAX (17u << 20) /* one record; a whole POST body fits */
#define SEGMENT_FILE_MAX   (64u << 20) /* muster writes no larger file: bytes after this are not read */
#define SEGMENT_HEAD       8           /* bytes before the first record */
#define RECORD_HEAD        60

struct segment_entry { /* 24 bytes; there may be 100,000 of them */
    uint64_t run, number;
    uint32_t off; /* 0: done */
    uint32_t at_s;
};

struct segment {
    uint32_t seq; /* its name; increasing */
    uint32_t size;
    size_t n, cap, first, live; /* v[first] is the oldest live one; live: their number */
    struct segment_entry *v;
    size_t n_blobs, cap_blobs;
    struct {
        uint64_t id;
        uint32_t off;
    } * blobs;
};

void segment_fini(struct segment *g);
/* Starts an empty file. */
int segment_begin(struct segment *g, int fd);
/*
 * Indexes the records of a file. Counts each damaged stretch in *damaged, and truncates one at the end (fd must be
 * writable). Returns -EPROTO for a file of another version, which is not changed; or -errno.
 */
int segment_scan(struct segment *g, int fd, uint64_t *damaged);
/* On failure the file is unchanged. */
int segment_append(struct segment *g, int fd, const struct spool_rec *rec);
/* Reads the record at off; -EBADMSG if it is damaged. Clears body first; body then holds its bytes. */
int segment_read(int fd, uint32_t off, struct spool_rec *ret, struct buf *body);
/* Removes an entry, on disk and in memory. */
int segment_done(struct segment *g, int fd, size_t i);
void segment_forget(struct segment *g, size_t i); /* in memory only */

/* The blob's offset, or 0. */
uint32_t segment_blob(const struct segment *g, uint64_t id);
