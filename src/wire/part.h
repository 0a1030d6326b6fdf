/*
 * part.h: shared by the files of wire/ only: frames being written, compressed bodies, and a reader that keeps its first
 * error.
 */
#pragma once

#include <zstd.h>

#include "base/buf.h"
#include "wire/wire.h"

#define FRAME_HEAD 9 /* type, length, checksum */

/* Encoding of a body: this byte, u32 decompressed length, then the bytes. */
enum packing { PACKED_NOT = 0, PACKED_ZSTD = 1 };
#define BLOB_RAW_MAX  (2u << 20) /* facts, procs: decompressed */
#define BATCH_RAW_MAX (8u << 20)
/* maximum of one text; readers truncate a text to its field and refuse one longer than this */
#define TEXT_MAX    4096u
#define ZSTD_WINDOW 17 /* log2; bounds the memory of an agent's compressor */
#define ZSTD_WORTH  64 /* minimum bytes: compressing less gains nothing */

/* ---- writing ---- */

/* Starts a frame. Returns its position for frame_end, which completes it, or removes it on failure. */
size_t frame_begin(struct buf *out, enum frame_type type);
int frame_end(struct buf *out, size_t start, int rc);

ZSTD_CCtx *packer_new(int level);
/* Appends raw, compressed if that is smaller. */
int put_packed(struct buf *out, ZSTD_CCtx *z, struct str raw);

int put_text(struct buf *out, const char *s, size_t size); /* s[size], NUL-terminated or not; cleaned */
int put_name(struct buf *out, const char *s, size_t size); /* also without '"', '\\', '/'; -EINVAL if empty */

/* ---- reading: keeps the first error; later reads return 0, and the caller checks once ---- */

struct in {
    struct rd r;
    const char *why;  /* NULL: no error */
    const char *what; /* the field with the error */
};

void in_bad(struct in *in, const char *what, const char *why);
static inline bool in_ok(const struct in *in)
{
    return !in->r.bad;
}
int in_end(struct in *in, const char *thing, struct err *err); /* 0, or -EBADMSG, also if bytes remain */

uint64_t in_count(struct in *in, uint64_t max, const char *what);
int64_t in_range(struct in *in, int64_t min, int64_t max, const char *what); /* a zigzag varint */
int64_t in_time(struct in *in, const char *what);                            /* a varint, above 0 */
void in_text(struct in *in, char *ret, size_t size, const char *what);
void in_name(struct in *in, char *ret, size_t size, const char *what);

/*
 * The body at the end of a payload, or the reason why it is invalid. ret->p is NULL if it is compressed; the caller
 * provides memory.
 */
struct body {
    const uint8_t *p;
    size_t len;
    bool zstd;
    uint32_t raw_len;
};
int body_read(struct str payload, size_t skip, size_t raw_max, struct body *ret, struct err *err);
