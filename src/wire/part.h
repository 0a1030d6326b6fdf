/*
 * part.h: what the files of wire/ share and nobody else sees: frames being written, packed bodies, and a reader that
 * keeps its first error.
 */
#pragma once

#include <zstd.h>

#include "base/buf.h"
#include "wire/wire.h"

#define FRAME_HEAD 9 /* type, length, checksum */

/* How a body travels: one byte, u32 its length when unpacked, then the bytes. */
enum packing { PACKED_NOT = 0, PACKED_ZSTD = 1 };
#define BLOB_RAW_MAX  (2u << 20) /* facts, procs: unpacked */
#define BATCH_RAW_MAX (8u << 20)
#define TEXT_MAX      4096u /* one text on the wire; longer than its field is cut, longer than this is refused */
#define ZSTD_WINDOW   17    /* log2; bounds what an agent's compressor holds */
#define ZSTD_WORTH    64    /* bytes below which nothing is gained */

/* ---- writing ---- */

/* Start a frame: where it starts, to be handed to frame_end, which seals it or takes it all back. */
size_t frame_begin(struct buf *out, enum frame_type type);
int frame_end(struct buf *out, size_t start, int rc);

ZSTD_CCtx *packer_new(int level);
/* Append raw, packed when that is smaller. */
int put_packed(struct buf *out, ZSTD_CCtx *z, struct str raw);

int put_text(struct buf *out, const char *s, size_t size); /* s[size], ended by 0 or not; cleaned */
int put_name(struct buf *out, const char *s, size_t size); /* also without '"', '\\', '/'; -EINVAL when empty */

/* ---- reading: the first thing wrong is kept, what follows reads as 0, and the caller asks once ---- */

struct in {
    struct rd r;
    const char *why;  /* NULL: all is well */
    const char *what; /* which thing it was */
};

void in_bad(struct in *in, const char *what, const char *why);
static inline bool in_ok(const struct in *in)
{
    return !in->r.bad;
}
int in_end(struct in *in, const char *thing, struct err *err); /* 0, or -EBADMSG: also when bytes are left */

uint64_t in_count(struct in *in, uint64_t max, const char *what);
int64_t in_range(struct in *in, int64_t min, int64_t max, const char *what); /* a zigzag varint */
int64_t in_time(struct in *in, const char *what);                            /* a varint, above 0 */
void in_text(struct in *in, char *ret, size_t size, const char *what);
void in_name(struct in *in, char *ret, size_t size, const char *what);

/* The body at the end of a payload: where it is, or why not. ret->p is NULL when it is packed, and room must be made.
 */
struct body {
    const uint8_t *p;
    size_t len;
    bool zstd;
    uint32_t raw_len;
};
int body_read(struct str payload, size_t skip, size_t raw_max, struct body *ret, struct err *err);
