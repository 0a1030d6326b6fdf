/*
 * segment.h: one file of the spool: records and the blobs they name, one after the other, and an index of them in
 * memory. The caller opens and closes the file. docs/internals/spool.md has the bytes.
 */
#pragma once

#include "uplink/spool.h"

#define SEGMENT_RECORD_MAX (17u << 20) /* one record; a whole POST body fits */
#define SEGMENT_FILE_MAX   (64u << 20) /* no file of ours is larger: what is behind is not read */
#define SEGMENT_HEAD       8           /* bytes before the first record */
#define RECORD_HEAD        60

struct segment_entry { /* 24 bytes: there may be 100,000 of them */
    uint64_t run, number;
    uint32_t off; /* 0: done */
    uint32_t at_s;
};

struct segment {
    uint32_t seq; /* its name; they only grow */
    uint32_t size;
    size_t n, cap, first, live; /* v[first] is the oldest not done; live of them are not */
    struct segment_entry *v;
    size_t n_blobs, cap_blobs;
    struct {
        uint64_t id;
        uint32_t off;
    } * blobs;
};

void segment_fini(struct segment *g);
/* Begin an empty file. */
int segment_begin(struct segment *g, int fd);
/*
 * Index what is there; each stretch that is not a record is counted in *damaged, and one at the end is cut off the file
 * (fd must be writable). -EPROTO for a file of another version, which is left alone; or -errno.
 */
int segment_scan(struct segment *g, int fd, uint64_t *damaged);
/* The file is as before when it fails. */
int segment_append(struct segment *g, int fd, const struct spool_rec *rec);
/* The record at off; -EBADMSG when it is damaged. body, which has its bytes then, is emptied first. */
int segment_read(int fd, uint32_t off, struct spool_rec *ret, struct buf *body);
/* Forget an entry, on disk and here. */
int segment_done(struct segment *g, int fd, size_t i);
void segment_forget(struct segment *g, size_t i); /* here alone */

/* The blob's offset, or 0. */
uint32_t segment_blob(const struct segment *g, uint64_t id);
