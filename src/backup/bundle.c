/*
 * bundle.c: writes and reads the file of a backup: "MUSTBKUP", u32 version; then parts: u8 type (bit 7: packed), u32
 * length, u32 crc, the payload. The crc is CRC-32C of type, length and payload, and starts with the crc of the previous
 * part (the first: of the twelve bytes at the start), so that a missing, duplicated or moved part is detected. A packed
 * payload is u32 length and a zstd frame.
 */
#include "backup/bundle.h"

#include <errno.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rand.h"

#define MAGIC "MUSTBKUP"
enum { MAGIC_LEN = 8, HEAD_LEN = 9, PACKED = 0x80, PACK_FROM = 64, PACK_LEVEL = 1 };

/* ---- writing ---- */

static int put_bytes(struct bundle_writer *w, const void *p, size_t n, struct err *err)
{
    int r = file_put(w->fd, p, n);

    w->bytes += (int64_t)n;
    return r < 0 ? err_set(err, r, "cannot write the backup: %s", strerror(-r)) : 0;
}

int bundle_begin(struct bundle_writer *w, struct err *err)
{
    AUTO_BUF b = BUF_INIT(64);

    w->pack = BUF_INIT(BUNDLE_PART_MAX + (BUNDLE_PART_MAX >> 6) + 1024);
    buf_adds(&b, MAGIC);
    buf_u32(&b, BUNDLE_VERSION);
    w->crc = crc32c(0, b.p, b.len);
    return put_bytes(w, b.p, b.len, err);
}

static bool pack(struct bundle_writer *w, struct str payload)
{
    buf_reset(&w->pack);
    if (payload.len < PACK_FROM)
        return false;
    buf_u32(&w->pack, (uint32_t)payload.len);
    size_t room = ZSTD_compressBound(payload.len);
    char *p = buf_room(&w->pack, room);
    size_t n = p ? ZSTD_compress(p, room, payload.p, payload.len, PACK_LEVEL) : 0;
    if (!p || ZSTD_isError(n) || n + n / 16 > payload.len) /* with less gain decompression is not worth it */
        return false;
    buf_appended(&w->pack, n);
    return true;
}

int bundle_put(struct bundle_writer *w, enum part_type type, struct str payload, struct err *err)
{
    AUTO_BUF head = BUF_INIT(64);

    if (payload.len > BUNDLE_PART_MAX)
        return err_set(err, -E2BIG, "a record is too large for a backup");
    bool packed = pack(w, payload);
    struct str body = packed ? buf_str(&w->pack) : payload;
    buf_u8(&head, (uint8_t)(type | (packed ? PACKED : 0)));
    buf_u32(&head, (uint32_t)body.len);
    w->crc = crc32c(crc32c(w->crc, head.p, head.len), body.p, body.len);
    buf_u32(&head, w->crc);
    w->parts++;
    int r = put_bytes(w, head.p, head.len, err);
    return r == 0 ? put_bytes(w, body.p, body.len, err) : r;
}

int bundle_end(struct bundle_writer *w, struct err *err)
{
    AUTO_BUF b = BUF_INIT(16);

    buf_u64(&b, w->parts);
    return bundle_put(w, PART_END, buf_str(&b), err);
}

void bundle_writer_fini(struct bundle_writer *w)
{
    buf_fini(&w->pack);
}

/* ---- reading ---- */

/* Appends n bytes to to, fewer only at the end of the file. */
static int get_bytes(struct bundle_reader *r, size_t n, struct buf *to, struct err *err)
{
    while (n) {
        char *p = buf_room(to, MIN(n, 1u << 20)); /* allocate as data arrives: a false length costs nothing */
        ssize_t got = read(r->fd, p, MIN(n, 1u << 20));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, -errno, "cannot read '%s': %s", r->name, strerror(errno));
        if (got == 0)
            return 0;
        buf_appended(to, (size_t)got);
        n -= (size_t)got;
        r->bytes += got;
    }
    return 0;
}

static int cut_off(const struct bundle_reader *r, struct err *err)
{
    return err_set(err, -EBADMSG, "'%s' is cut off after %lld bytes: it was not finished, or not copied whole", r->name,
                   (long long)r->bytes);
}

static int damaged(const struct bundle_reader *r, const char *how, struct err *err)
{
    return err_set(err, -EBADMSG, "'%s' is damaged before byte %lld: %s", r->name, (long long)r->bytes, how);
}

int bundle_open(struct bundle_reader *r, struct err *err)
{
    r->raw = BUF_INIT(BUNDLE_PART_MAX * 2ull);
    r->payload = BUF_INIT(BUNDLE_PART_MAX);
    int code = get_bytes(r, MAGIC_LEN + 4, &r->raw, err);
    if (code < 0)
        return code;
    if (r->raw.len < MAGIC_LEN || memcmp(r->raw.p, MAGIC, MAGIC_LEN) != 0)
        return err_set(err, -EINVAL, "'%s' is not a backup made by muster", r->name);
    if (r->raw.len < MAGIC_LEN + 4)
        return cut_off(r, err);
    struct rd rd = rd_of(r->raw.p + MAGIC_LEN, 4);
    uint32_t version = rd_u32(&rd);
    if (version > BUNDLE_VERSION)
        return err_set(err, -ENOTSUP,
                       "'%s' was made by a newer muster (format %u, this one knows up to %d): install that version",
                       r->name, version, BUNDLE_VERSION);
    if (version < 1)
        return damaged(r, "it has no version", err);
    r->crc = crc32c(0, r->raw.p, r->raw.len);
    return 0;
}

static int unpack(struct bundle_reader *r, struct str *ret, struct err *err)
{
    struct rd rd = rd_of(r->raw.p + HEAD_LEN, r->raw.len - HEAD_LEN);
    uint32_t n = rd_u32(&rd);

    buf_reset(&r->payload);
    char *p = rd.bad || n > BUNDLE_PART_MAX ? NULL : buf_room(&r->payload, MAX(n, 1u));
    size_t got = p ? ZSTD_decompress(p, n, rd.p, rd_left(&rd)) : 0;
    if (!p || ZSTD_isError(got) || got != n)
        return damaged(r, "a part cannot be unpacked", err);
    buf_appended(&r->payload, n);
    *ret = buf_str(&r->payload);
    return 0;
}

static int check_end(struct bundle_reader *r, struct str payload, struct err *err)
{
    struct rd rd = rd_of(payload.p, payload.len);
    uint64_t parts = rd_u64(&rd);

    if (rd.bad || rd_left(&rd) || parts != r->parts - 1)
        return damaged(r, "the number of its parts is wrong", err);
    buf_reset(&r->raw);
    int code = get_bytes(r, 1, &r->raw, err);
    if (code < 0)
        return code;
    return r->raw.len ? damaged(r, "something follows its end", err) : 0;
}

int bundle_next(struct bundle_reader *r, enum part_type *ret_type, struct str *ret, struct err *err)
{
    buf_reset(&r->raw);
    int code = get_bytes(r, HEAD_LEN, &r->raw, err);
    if (code < 0)
        return code;
    if (r->raw.len < HEAD_LEN)
        return cut_off(r, err);
    struct rd rd = rd_of(r->raw.p, HEAD_LEN);
    uint8_t type = rd_u8(&rd);
    uint32_t len = rd_u32(&rd), crc = rd_u32(&rd);
    if (len > BUNDLE_PART_MAX + (BUNDLE_PART_MAX >> 6) + 1024)
        return damaged(r, "a part is larger than any can be", err);
    code = get_bytes(r, len, &r->raw, err);
    if (code < 0)
        return code;
    if (r->raw.len < HEAD_LEN + (size_t)len)
        return cut_off(r, err);
    r->crc = crc32c(crc32c(r->crc, r->raw.p, HEAD_LEN - 4), r->raw.p + HEAD_LEN, len);
    if (r->crc != crc)
        return damaged(r, "a checksum is wrong", err);
    r->parts++;
    struct str payload = str_n(r->raw.p + HEAD_LEN, len);
    if (type & PACKED)
        code = unpack(r, &payload, err);
    if (code < 0)
        return code;
    *ret_type = (enum part_type)(type & ~PACKED);
    if (*ret_type == PART_END)
        return check_end(r, payload, err);
    *ret = payload;
    return 1;
}

void bundle_reader_fini(struct bundle_reader *r)
{
    buf_fini(&r->raw);
    buf_fini(&r->payload);
}
