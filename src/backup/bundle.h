/*
 * bundle.h: the container of a backup: a file of numbered parts, each with a checksum over itself and all before it.
 * docs/internals/backup.md is the specification.
 *
 * B1 A truncated bundle, or one with any changed byte, is refused.
 * B2 A newer version is refused with a message in err.
 * B3 Reading needs the memory of one part, at most BUNDLE_PART_MAX, whatever size the file claims.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define BUNDLE_VERSION  1
#define BUNDLE_PART_MAX (96u << 20)

/* The values are stored in the file. */
enum part_type { PART_HEAD = 1, PART_DB, PART_TABLE, PART_ROWS, PART_DB_END, PART_FILE, PART_END };

/* ---- writing: zero-initialise, set fd ---- */
struct bundle_writer {
    int fd;
    uint32_t crc;
    uint64_t parts;
    int64_t bytes;   /* written so far */
    struct buf pack; /* scratch */
};
int bundle_begin(struct bundle_writer *w, struct err *err);
int bundle_put(struct bundle_writer *w, enum part_type type, struct str payload, struct err *err);
int bundle_end(struct bundle_writer *w, struct err *err); /* writes the last part; the caller syncs */
void bundle_writer_fini(struct bundle_writer *w);

/* ---- reading: zero-initialise, set fd and name ---- */
struct bundle_reader {
    int fd;
    const char *name; /* for error messages */
    uint32_t crc;
    uint64_t parts;
    int64_t bytes; /* read so far */
    struct buf raw, payload;
};
int bundle_open(struct bundle_reader *r, struct err *err);
/*
 * Returns 1 and the next part, whose payload is valid until the next call; 0 after the last one, if nothing follows it.
 */
int bundle_next(struct bundle_reader *r, enum part_type *ret_type, struct str *ret, struct err *err);
void bundle_reader_fini(struct bundle_reader *r);
