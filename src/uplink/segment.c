/*
 * segment.c: reads and writes one file of the spool. A record is found again behind damage by its magic; a head that
 * checks out is trusted for its length, so that a scan is linear whatever the bytes.
 */
#include "uplink/segment.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rand.h"

#define SEGMENT_VERSION 1
#define MARK_LIVE       0x5a
#define MARK_DONE       0xa5 /* any other value means live: a record may come back, but never vanish */
#define MARK_AT         5

static const uint8_t segment_magic[6] = {'M', 'S', 'P', 'O', 'O', 'L'};
static const uint8_t record_magic[4] = {0xd5, 'R', 'E', 'C'};

void segment_fini(struct segment *g)
{
    if (!g)
        return;
    free(g->v);
    free(g->blobs);
    *g = (struct segment){.seq = g->seq};
}

/* ---- heads ---- */

/* Of all but the mark, which changes later. */
static uint32_t head_crc(const uint8_t *p)
{
    uint32_t crc = crc32c(0, p, MARK_AT);

    return crc32c(crc, p + MARK_AT + 1, RECORD_HEAD - 4 - MARK_AT - 1);
}

static void head_put(struct buf *out, const struct spool_rec *rec)
{
    buf_add(out, record_magic, sizeof(record_magic));
    buf_u8(out, (uint8_t)rec->kind);
    buf_u8(out, MARK_LIVE);
    buf_u16(out, 0);
    buf_u32(out, (uint32_t)rec->bytes.len);
    buf_u32(out, crc32c(0, rec->bytes.p, rec->bytes.len));
    buf_u64(out, rec->run);
    buf_u64(out, rec->number);
    buf_u64(out, (uint64_t)rec->at_ms);
    buf_u64(out, rec->blobs[0]);
    buf_u64(out, rec->blobs[1]);
    buf_u32(out, head_crc((const uint8_t *)out->p));
}

/* Returns false if these RECORD_HEAD bytes are not a head. Sets the length of ret->bytes, not the pointer. */
static bool head_get(const uint8_t *p, struct spool_rec *ret, uint32_t *ret_crc)
{
    struct rd r = rd_of(p, RECORD_HEAD);
    struct spool_rec rec;

    if (memcmp(rd_bytes(&r, sizeof(record_magic)), record_magic, sizeof(record_magic)) != 0)
        return false;
    rec.kind = rd_u8(&r);
    rec.done = rd_u8(&r) == MARK_DONE;
    rd_u16(&r);
    rec.bytes = str_n(NULL, rd_u32(&r));
    *ret_crc = rd_u32(&r);
    rec.run = rd_u64(&r);
    rec.number = rd_u64(&r);
    rec.at_ms = (int64_t)rd_u64(&r);
    rec.blobs[0] = rd_u64(&r);
    rec.blobs[1] = rd_u64(&r);
    if (rd_u32(&r) != head_crc(p) || (rec.kind != RECORD_BATCH && rec.kind != RECORD_BLOB) ||
        rec.bytes.len > SEGMENT_RECORD_MAX)
        return false;
    *ret = rec;
    return true;
}

/* ---- the index ---- */

static uint32_t seconds_of(int64_t ms)
{
    return ms <= 0 ? 0 : ms / 1000 >= UINT32_MAX ? UINT32_MAX : (uint32_t)(ms / 1000);
}

static void segment_note(struct segment *g, const struct spool_rec *rec, uint32_t off)
{
    if (rec->kind == RECORD_BLOB) {
        if (!segment_blob(g, rec->run)) {
            VEC_ROOM(g->blobs, g->n_blobs, g->cap_blobs);
            g->blobs[g->n_blobs].id = rec->run;
            g->blobs[g->n_blobs++].off = off;
        }
    } else if (!rec->done) {
        VEC_ADD(g->v, g->n, g->cap, (struct segment_entry){rec->run, rec->number, off, seconds_of(rec->at_ms)});
        g->live++;
    }
}

uint32_t segment_blob(const struct segment *g, uint64_t id)
{
    for (size_t i = g->n_blobs; i-- > 0;)
        if (g->blobs[i].id == id)
            return g->blobs[i].off;
    return 0;
}

void segment_forget(struct segment *g, size_t i)
{
    if (g->v[i].off == 0)
        return;
    g->v[i].off = 0;
    g->live--;
    while (g->first < g->n && g->v[g->first].off == 0)
        g->first++;
}

int segment_done(struct segment *g, int fd, size_t i)
{
    static const uint8_t mark = MARK_DONE;
    uint32_t off = g->v[i].off;

    segment_forget(g, i);
    return pwrite(fd, &mark, 1, (off_t)off + MARK_AT) == 1 ? 0 : -errno;
}

/* ---- reading ---- */

int segment_read(int fd, uint32_t off, struct spool_rec *ret, struct buf *body)
{
    uint8_t head[RECORD_HEAD];
    struct spool_rec rec;
    uint32_t crc;
    ssize_t r = file_read_at(fd, head, sizeof(head), off);

    if (r < 0)
        return (int)r;
    if (r < RECORD_HEAD || !head_get(head, &rec, &crc))
        return -EBADMSG;
    buf_reset(body);
    char *p = buf_room(body, rec.bytes.len);
    if (!p)
        return body->err;
    r = file_read_at(fd, p, rec.bytes.len, (off_t)off + RECORD_HEAD);
    if (r < 0)
        return (int)r;
    if ((size_t)r < rec.bytes.len || crc32c(0, p, rec.bytes.len) != crc)
        return -EBADMSG;
    buf_appended(body, rec.bytes.len);
    rec.bytes = buf_str(body);
    *ret = rec;
    return 0;
}

/* Where the next record may start, from off on. */
static size_t find_magic(const uint8_t *p, size_t len, size_t off)
{
    const uint8_t *at = off < len ? memmem(p + off, len - off, record_magic, sizeof(record_magic)) : NULL;

    return at ? (size_t)(at - p) : len;
}

/* Index the records in p: where the last good one ends. */
static size_t scan_bytes(struct segment *g, const uint8_t *p, size_t len, uint64_t *damaged)
{
    bool headed = len >= SEGMENT_HEAD && memcmp(p, segment_magic, sizeof(segment_magic)) == 0;
    size_t off = headed ? SEGMENT_HEAD : find_magic(p, len, 1), end = headed ? SEGMENT_HEAD : 0;
    bool gap = !headed && len; /* one stretch of damage counts once */

    while (off < len) {
        struct spool_rec rec;
        uint32_t crc;
        if (len - off < RECORD_HEAD || !head_get(p + off, &rec, &crc)) {
            gap = true;
            off = find_magic(p, len, off + 1);
            continue;
        }
        if (rec.bytes.len > len - off - RECORD_HEAD) { /* torn off while it was written */
            gap = true;
            break;
        }
        *damaged += gap;
        gap = false;
        if (crc32c(0, p + off + RECORD_HEAD, rec.bytes.len) == crc)
            segment_note(g, &rec, (uint32_t)off);
        else
            (*damaged)++;
        off += RECORD_HEAD + rec.bytes.len;
        end = off;
    }
    *damaged += gap;
    return end;
}

int segment_scan(struct segment *g, int fd, uint64_t *damaged)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    size_t len = (size_t)(st.st_size < 0 ? 0 : MIN(st.st_size, (off_t)SEGMENT_FILE_MAX));
    AUTO_FREE uint8_t *p = mem_alloc(len);
    ssize_t r = file_read_at(fd, p, len, 0);
    if (r < 0)
        return (int)r;
    len = (size_t)r;
    if (len >= SEGMENT_HEAD && memcmp(p, segment_magic, sizeof(segment_magic)) == 0 && p[6] != SEGMENT_VERSION)
        return -EPROTO;
    g->size = (uint32_t)scan_bytes(g, p, len, damaged);
    if (g->size < SEGMENT_HEAD) /* no valid record: start it again */
        return segment_begin(g, fd);
    return (off_t)g->size < st.st_size && ftruncate(fd, g->size) < 0 ? -errno : 0;
}

/* ---- writing ---- */

int segment_begin(struct segment *g, int fd)
{
    uint8_t head[SEGMENT_HEAD] = {0};

    memcpy(head, segment_magic, sizeof(segment_magic));
    head[6] = SEGMENT_VERSION;
    if (ftruncate(fd, 0) < 0)
        return -errno;
    int rc = file_write_at(fd, head, sizeof(head), 0);
    g->size = rc == 0 ? SEGMENT_HEAD : g->size;
    return rc;
}

int segment_append(struct segment *g, int fd, const struct spool_rec *rec)
{
    AUTO_BUF whole = BUF_INIT(RECORD_HEAD + SEGMENT_RECORD_MAX);

    if (rec->bytes.len > SEGMENT_RECORD_MAX || g->size > SEGMENT_FILE_MAX - SEGMENT_RECORD_MAX - RECORD_HEAD)
        return -E2BIG;
    head_put(&whole, rec);
    buf_addstr(&whole, rec->bytes);
    int rc = file_write_at(fd, whole.p, whole.len, g->size);
    if (rc < 0) {
        if (ftruncate(fd, g->size) < 0) {
            /* the rest of it is damage that the next scan steps over */
        }
        return rc;
    }
    segment_note(g, rec, g->size);
    g->size += (uint32_t)whole.len;
    return 0;
}
