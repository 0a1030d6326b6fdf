/* part.c: reads and writes the parts common to all frames, independent of their type. */
#include "wire/part.h"

#include <errno.h>

#include "base/rand.h"

/* ---- writing ---- */

size_t frame_begin(struct buf *out, enum frame_type type)
{
    size_t start = out->len;

    buf_u8(out, (uint8_t)type);
    buf_u64(out, 0); /* length and checksum, set in frame_end */
    return start;
}

static void put_u32_at(char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (char)(v >> 8 * i);
}

int frame_end(struct buf *out, size_t start, int rc)
{
    if (rc == 0)
        rc = out->err;
    if (rc == 0 && out->len - start > WIRE_BODY_MAX)
        rc = -E2BIG;
    if (rc < 0) {
        buf_cut(out, start);
        return rc;
    }
    char *head = out->p + start, *rest = head + FRAME_HEAD;
    size_t len = out->len - start - FRAME_HEAD;
    put_u32_at(head + 1, (uint32_t)len);
    put_u32_at(head + 5, crc32c(crc32c(0, head, 1), rest, len));
    return 0;
}

ZSTD_CCtx *packer_new(int level)
{
    ZSTD_CCtx *z = ZSTD_createCCtx();

    if (!z)
        abort(); /* as mem_alloc does */
    ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, ZSTD_WINDOW);
    return z;
}

int put_packed(struct buf *out, ZSTD_CCtx *z, struct str raw)
{
    size_t head = out->len, n;
    char *room;

    buf_u8(out, PACKED_NOT);
    buf_u32(out, (uint32_t)raw.len);
    if (raw.len >= ZSTD_WORTH && (room = buf_room(out, raw.len - 1))) {
        n = ZSTD_compress2(z, room, raw.len - 1, raw.p, raw.len);
        if (!ZSTD_isError(n)) { /* fails if the result would not be smaller */
            buf_appended(out, n);
            out->p[head] = PACKED_ZSTD;
            return 0;
        }
    }
    return buf_addstr(out, raw);
}

/* Appends s without bytes that a reader rejects: byte by byte, so that it never grows. */
static int put_clean(struct buf *out, const char *s, size_t size, const char *also)
{
    size_t len = strnlen(s, size);

    if (len && size && len == size)
        len--; /* not NUL-terminated: leave room for the terminator that a reader adds */
    buf_varint(out, len);
    while (len) {
        uint32_t c;
        size_t n = str_utf8(str_n(s, len), &c);
        bool odd = n == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0);
        if (odd || (c < 0x80 && also && strchr(also, (int)c)))
            buf_fill(out, odd ? '?' : '-', n ? n : 1);
        else
            buf_add(out, s, n);
        n = n ? n : 1;
        s += n;
        len -= n;
    }
    return out->err;
}

int put_text(struct buf *out, const char *s, size_t size)
{
    return put_clean(out, s, size, NULL);
}

int put_name(struct buf *out, const char *s, size_t size)
{
    return s[0] ? put_clean(out, s, size, "\"\\/") : -EINVAL;
}

/* ---- reading ---- */

void in_bad(struct in *in, const char *what, const char *why)
{
    if (!in->why) {
        in->what = what;
        in->why = why;
    }
    in->r.bad = true;
}

int in_end(struct in *in, const char *thing, struct err *err)
{
    if (in->why)
        return err_set(err, -EBADMSG, "%s: %s %s", thing, in->what, in->why);
    if (in->r.bad)
        return err_set(err, -EBADMSG, "%s: ends too early", thing);
    if (rd_left(&in->r))
        return err_set(err, -EBADMSG, "%s: %zu bytes too many", thing, rd_left(&in->r));
    return 0;
}

uint64_t in_count(struct in *in, uint64_t max, const char *what)
{
    uint64_t n = rd_varint(&in->r);

    if (n <= max)
        return n;
    in_bad(in, what, "are too many");
    return 0;
}

int64_t in_range(struct in *in, int64_t min, int64_t max, const char *what)
{
    int64_t v = rd_zigzag(&in->r);

    if (!in_ok(in))
        return 0;
    if (v >= min && v <= max)
        return v;
    in_bad(in, what, "is out of range");
    return 0;
}

int64_t in_time(struct in *in, const char *what)
{
    uint64_t t = rd_varint(&in->r);

    if (!in_ok(in))
        return 0;
    if (t > 0 && t < WIRE_TIME_END)
        return (int64_t)t;
    in_bad(in, what, "is not a time");
    return 0;
}

void in_text(struct in *in, char *ret, size_t size, const char *what)
{
    uint64_t len = rd_varint(&in->r);
    const uint8_t *p;

    ret[0] = 0;
    if (len > TEXT_MAX) {
        in_bad(in, what, "is too long");
        return;
    }
    if (!(p = rd_bytes(&in->r, (size_t)len)))
        return;
    struct str s = str_n(p, (size_t)len);
    if (!str_utf8_ok(s) || memchr(p, '\t', s.len)) {
        in_bad(in, what, "is not clean UTF-8 text");
        return;
    }
    size_t n = MIN(s.len, size - 1);
    while (n < s.len && n > 0 && (p[n] & 0xc0) == 0x80) /* cut between characters */
        n--;
    memcpy(ret, p, n);
    ret[n] = 0;
}

void in_name(struct in *in, char *ret, size_t size, const char *what)
{
    in_text(in, ret, size, what);
    if (in_ok(in) && !name_ok(str_of(ret), size - 1))
        in_bad(in, what, "is empty or has a character that names may not have");
}

int body_read(struct str payload, size_t skip, size_t raw_max, struct body *ret, struct err *err)
{
    struct rd r = rd_of(payload.p, payload.len);

    rd_bytes(&r, skip);
    uint8_t how = rd_u8(&r);
    uint32_t raw_len = rd_u32(&r);
    if (r.bad)
        return err_set(err, -EBADMSG, "the body is missing");
    if (how != PACKED_NOT && how != PACKED_ZSTD)
        return err_set(err, -EBADMSG, "the body is packed in a way (%u) that is not known here", how);
    if (raw_len > raw_max)
        return err_set(err, -EBADMSG, "the body has %u bytes, more than %zu", raw_len, raw_max);
    if (how == PACKED_NOT && raw_len != rd_left(&r))
        return err_set(err, -EBADMSG, "the body announces %u bytes and has %zu", raw_len, rd_left(&r));
    *ret = (struct body){.p = r.p, .len = rd_left(&r), .zstd = how == PACKED_ZSTD, .raw_len = raw_len};
    return 0;
}
