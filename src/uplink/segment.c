/*
 * segment.c: reads and writes one file of the spool. A record is found again behind damage by its magic; a head that
 * checks out is trusted for its length, so that a scan is linear whatever the bytes.
 */
#include "uplink/segment.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"

#define SEGMENT_VERSION 1
#define MARK_LIVE       0x5a
#define MARK_DONE       0xa5 /* anything else counts as live: a record may come back, never vanish */
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

static void put_le(uint8_t *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t get_le(const uint8_t *p, int n)
{
    uint64_t v = 0;

    for (int i = 0; i < n; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/* Of all but the mark, which changes later. */
static uint32_t head_crc(const uint8_t *p)
{
    uint32_t crc = crc32c(0, p, MARK_AT);

    return crc32c(crc, p + MARK_AT + 1, RECORD_HEAD - 4 - MARK_AT - 1);
}

static void head_put(uint8_t *p, const struct spool_record *rec, struct str bytes)
{
    memset(p, 0, RECORD_HEAD);
    memcpy(p, record_magic, sizeof(record_magic));
    p[4] = (uint8_t)rec->kind;
    p[MARK_AT] = MARK_LIVE;
    put_le(p + 8, bytes.len, 4);
    put_le(p + 12, crc32c(0, bytes.p, bytes.len), 4);
    put_le(p + 16, rec->run, 8);
    put_le(p + 24, rec->number, 8);
    put_le(p + 32, (uint64_t)rec->at_ms, 8);
    put_le(p + 40, rec->blobs[0], 8);
    put_le(p + 48, rec->blobs[1], 8);
    put_le(p + RECORD_HEAD - 4, head_crc(p), 4);
}

/* False when these RECORD_HEAD bytes are none. */
static bool head_get(const uint8_t *p, struct spool_record *ret, uint32_t *ret_crc)
{
    if (memcmp(p, record_magic, sizeof(record_magic)) != 0 || get_le(p + RECORD_HEAD - 4, 4) != head_crc(p))
        return false;
    if ((p[4] != RECORD_BATCH && p[4] != RECORD_BLOB) || get_le(p + 8, 4) > SEGMENT_RECORD_MAX)
        return false;
    *ret = (struct spool_record){.kind = (enum spool_kind)p[4],
                                 .done = p[MARK_AT] == MARK_DONE,
                                 .len = (uint32_t)get_le(p + 8, 4),
                                 .run = get_le(p + 16, 8),
                                 .number = get_le(p + 24, 8),
                                 .at_ms = (int64_t)get_le(p + 32, 8),
                                 .blobs = {get_le(p + 40, 8), get_le(p + 48, 8)}};
    *ret_crc = (uint32_t)get_le(p + 12, 4);
    return true;
}

/* ---- the index ---- */

static uint32_t seconds_of(int64_t ms)
{
    return ms <= 0 ? 0 : ms / 1000 >= UINT32_MAX ? UINT32_MAX : (uint32_t)(ms / 1000);
}

static void segment_note(struct segment *g, const struct spool_record *rec, uint32_t off)
{
    if (rec->kind == RECORD_BLOB) {
        if (!segment_blob(g, rec->run)) {
            VEC_ROOM(g->blobs, g->n_blobs, g->cap_blobs);
            g->blobs[g->n_blobs].id = rec->run;
            g->blobs[g->n_blobs++].off = off;
        }
    } else if (!rec->done) {
        VEC_ROOM(g->v, g->n, g->cap);
        g->v[g->n++] = (struct segment_entry){rec->run, rec->number, off, seconds_of(rec->at_ms)};
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

/* n bytes at off, or fewer at the end of the file: how many, or -errno. */
static ssize_t read_at(int fd, void *p, size_t n, off_t off)
{
    size_t done = 0;

    while (done < n) {
        ssize_t r = pread(fd, (char *)p + done, n - done, off + (off_t)done);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -errno;
        if (r == 0)
            break;
        done += (size_t)r;
    }
    return (ssize_t)done;
}

int segment_read(int fd, uint32_t off, struct spool_record *ret, struct buf *body)
{
    uint8_t head[RECORD_HEAD];
    struct spool_record rec;
    uint32_t crc;
    ssize_t r = read_at(fd, head, sizeof(head), off);

    if (r < 0)
        return (int)r;
    if (r < RECORD_HEAD || !head_get(head, &rec, &crc))
        return -EBADMSG;
    buf_reset(body);
    char *p = buf_room(body, rec.len);
    if (!p)
        return body->err;
    r = read_at(fd, p, rec.len, (off_t)off + RECORD_HEAD);
    if (r < 0)
        return (int)r;
    if ((size_t)r < rec.len || crc32c(0, p, rec.len) != crc)
        return -EBADMSG;
    buf_took(body, rec.len);
    if (ret)
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
        struct spool_record rec;
        uint32_t crc;
        if (len - off < RECORD_HEAD || !head_get(p + off, &rec, &crc)) {
            gap = true;
            off = find_magic(p, len, off + 1);
            continue;
        }
        if (rec.len > len - off - RECORD_HEAD) { /* torn off while it was written */
            gap = true;
            break;
        }
        *damaged += gap;
        gap = false;
        if (crc32c(0, p + off + RECORD_HEAD, rec.len) == crc)
            segment_note(g, &rec, (uint32_t)off);
        else
            (*damaged)++;
        off += RECORD_HEAD + rec.len;
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
    ssize_t r = read_at(fd, p, len, 0);
    if (r < 0)
        return (int)r;
    len = (size_t)r;
    if (len >= SEGMENT_HEAD && memcmp(p, segment_magic, sizeof(segment_magic)) == 0 && p[6] != SEGMENT_VERSION)
        return -EPROTO;
    g->size = (uint32_t)scan_bytes(g, p, len, damaged);
    if (g->size < SEGMENT_HEAD) /* nothing good in it: as if begun anew */
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
    ssize_t r = pwrite(fd, head, sizeof(head), 0);
    if (r != (ssize_t)sizeof(head))
        return r < 0 ? -errno : -ENOSPC;
    g->size = SEGMENT_HEAD;
    return 0;
}

/* All of it at off, or an error. */
static int write_at(int fd, struct iovec *v, int n, off_t off)
{
    while (n) {
        ssize_t r = pwritev(fd, v, n, off);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -errno;
        if (r == 0)
            return -ENOSPC;
        off += r;
        for (; n && (size_t)r >= v->iov_len; v++, n--)
            r -= (ssize_t)v->iov_len;
        if (n) {
            v->iov_base = (char *)v->iov_base + r;
            v->iov_len -= (size_t)r;
        }
    }
    return 0;
}

int segment_append(struct segment *g, int fd, const struct spool_record *rec, struct str bytes)
{
    uint8_t head[RECORD_HEAD];

    if (bytes.len > SEGMENT_RECORD_MAX || g->size > SEGMENT_FILE_MAX - SEGMENT_RECORD_MAX - RECORD_HEAD)
        return -E2BIG;
    head_put(head, rec, bytes);
    struct iovec v[2] = {{head, sizeof(head)}, {(void *)(uintptr_t)bytes.p, bytes.len}};
    int rc = write_at(fd, v, bytes.len ? 2 : 1, g->size);
    if (rc < 0) {
        if (ftruncate(fd, g->size) < 0) {
            /* the rest of it is damage that the next scan steps over */
        }
        return rc;
    }
    segment_note(g, rec, g->size);
    g->size += RECORD_HEAD + (uint32_t)bytes.len;
    return 0;
}
