/*
 * spool.c: the files of a spool in order, their bounds, and the file that is written to. Format and damage are handled
 * in segment.c. Memory: 24 bytes a record. Open files: the folder (as the lock), the newest segment, and the segment
 * last read.
 */
#include "uplink/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "uplink/segment.h"

#define SEQ_MAX       0xf0000000u /* more files than a spool ever has */
#define SEGMENT_SIZE  (1 << 20)   /* a file is closed once it has this much */
#define SEGMENT_LEAST (64 << 10)
#define SEGMENT_SHARE 16         /* of the spool's bound, where that is small: so much goes when it is full */
#define IDLE_KEEP     (64 << 10) /* the newest file is kept for the next record while no larger than this */
#define BODY_KEEP     (1 << 20)  /* memory kept from one read to the next */

struct spool {
    char *dir;
    int dir_fd; /* locked: one process at a time */
    int64_t max_bytes, max_age_ms, bytes;
    uint32_t segment_size, next_seq;
    size_t n, cap;
    struct segment *segs; /* oldest first */
    int fd;               /* of the last segment while that is written to, else -1 */
    bool dir_dirty, fd_dirty;
    int read_fd; /* of segment read_seq, or -1 */
    uint32_t read_seq;
    struct buf body;
    uint64_t dropped, damaged;
};

/* ---- files ---- */

static const char *segment_name(uint32_t seq, char out[16])
{
    snprintf(out, 16, "%08x.seg", seq);
    return out;
}

/* Its number, or 0 when the name is not one of ours. */
static uint32_t segment_seq(const char *name)
{
    char same[16];
    uint64_t seq;

    if (strlen(name) != 12 || !str_hex(str_n(name, 8), &seq) || seq == 0 || seq > SEQ_MAX)
        return 0;
    return strcmp(segment_name((uint32_t)seq, same), name) == 0 ? (uint32_t)seq : 0;
}

static int segment_open(const struct spool *s, uint32_t seq, int flags)
{
    char name[16];
    int fd = openat(s->dir_fd, segment_name(seq, name), flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);

    return fd < 0 ? -errno : fd;
}

static bool is_active(const struct spool *s, size_t i)
{
    return s->fd >= 0 && i == s->n - 1;
}

/* A descriptor for segment i, kept for the next time. */
static int reader(struct spool *s, size_t i)
{
    if (is_active(s, i))
        return s->fd;
    if (s->read_fd >= 0 && s->read_seq == s->segs[i].seq)
        return s->read_fd;
    int fd = segment_open(s, s->segs[i].seq, 0);
    if (fd < 0)
        return fd;
    if (s->read_fd >= 0)
        close(s->read_fd);
    s->read_fd = fd;
    s->read_seq = s->segs[i].seq;
    return fd;
}

static int active_close(struct spool *s)
{
    int rc = 0;

    if (s->fd >= 0) {
        if (s->fd_dirty && fdatasync(s->fd) < 0)
            rc = -errno;
        close(s->fd);
    }
    s->fd = -1;
    s->fd_dirty = false;
    return rc;
}

/* A segment goes, with all that is still in it. */
static void segment_drop(struct spool *s, size_t i)
{
    char name[16];

    if (is_active(s, i)) {
        s->fd_dirty = false;
        active_close(s);
    }
    if (s->read_fd >= 0 && s->read_seq == s->segs[i].seq) {
        close(s->read_fd);
        s->read_fd = -1;
    }
    unlinkat(s->dir_fd, segment_name(s->segs[i].seq, name), 0);
    s->bytes -= s->segs[i].size;
    segment_fini(&s->segs[i]);
    s->n--;
    memmove(&s->segs[i], &s->segs[i + 1], (s->n - i) * sizeof(*s->segs));
}

/* Removes a file whose records are all done. The current file stays while it is small, for the next record. */
static void segment_settle(struct spool *s, size_t i)
{
    if (s->segs[i].live == 0 && !(is_active(s, i) && s->segs[i].size <= IDLE_KEEP))
        segment_drop(s, i);
}

static int active_open(struct spool *s, struct err *err)
{
    char name[16];

    if (s->fd >= 0)
        return 0;
    struct segment g = {.seq = s->next_seq};
    int fd = segment_open(s, g.seq, O_CREAT | O_EXCL);
    int rc = fd < 0 ? fd : segment_begin(&g, fd);
    if (rc < 0) {
        if (fd >= 0) {
            close(fd);
            unlinkat(s->dir_fd, segment_name(g.seq, name), 0);
        }
        return err_set(err, rc, "cannot make a file in '%s': %s", s->dir, strerror(-rc));
    }
    VEC_ADD(s->segs, s->n, s->cap, g);
    s->next_seq++;
    s->bytes += g.size;
    s->fd = fd;
    s->fd_dirty = s->dir_dirty = true;
    return 0;
}

/* ---- bounds (S3) ---- */

/* Dropped records are marked on disk as well, or the next run would find and count them again. */
static void drop_old(struct spool *s, int64_t now_ms)
{
    while (s->n) {
        struct segment *g = &s->segs[0];
        while (g->live && (int64_t)g->v[g->first].at_s * 1000 + 999 < now_ms - s->max_age_ms) {
            size_t at = g->first;
            int fd = reader(s, 0);
            if (fd < 0 || segment_done(g, fd, at) < 0)
                segment_forget(g, at);
            s->dropped++;
        }
        if (g->live || is_active(s, 0))
            return;
        segment_drop(s, 0);
    }
}

static int make_room(struct spool *s, size_t len, struct err *err)
{
    int64_t need = (int64_t)len + RECORD_HEAD + SEGMENT_HEAD;

    if (len > SEGMENT_RECORD_MAX || need > s->max_bytes)
        return err_set(err, -E2BIG, "cannot spool %zu bytes in '%s': more than fit", len, s->dir);
    while (s->n && s->bytes + need > s->max_bytes) {
        s->dropped += s->segs[0].live;
        segment_drop(s, 0);
    }
    return 0;
}

/* ---- opening ---- */

COMPARE(by_seq, struct segment, ORDER(x->seq, y->seq))

static int find_segments(struct spool *s)
{
    int fd = openat(s->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;

    if (!d) {
        int rc = -errno;
        if (fd >= 0)
            close(fd);
        return rc;
    }
    while ((e = readdir(d))) {
        uint32_t seq = segment_seq(e->d_name);
        if (seq == 0)
            continue;
        VEC_ADD(s->segs, s->n, s->cap, (struct segment){.seq = seq});
    }
    closedir(d);
    SORT(s->segs, s->n, by_seq);
    s->next_seq = s->n ? s->segs[s->n - 1].seq + 1 : 1;
    return 0;
}

/* Reads every file. Files that are unreadable or of another version stay unchanged (S4). */
static void scan_segments(struct spool *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n; i++) {
        struct segment g = {.seq = s->segs[i].seq};
        int fd = segment_open(s, g.seq, O_NONBLOCK);
        int rc = fd < 0 ? fd : segment_scan(&g, fd, &s->damaged);
        if (fd >= 0)
            close(fd);
        if (rc < 0) {
            s->damaged += rc != -EPROTO;
            segment_fini(&g);
            continue;
        }
        s->bytes += g.size;
        s->segs[kept++] = g;
    }
    s->n = kept;
}

static int spool_lock(struct spool *s, struct err *err)
{
    s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->dir_fd < 0)
        return err_set(err, -errno, "cannot open '%s': %s", s->dir, strerror(errno));
    if (flock(s->dir_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return err_set(err, -EBUSY, "cannot use '%s': another process has it", s->dir);
    return 0;
}

static int spool_load(struct spool *s, int64_t now_ms, struct err *err)
{
    int rc = file_mkdirs(s->dir, 0700, err);

    if (rc < 0 || (rc = spool_lock(s, err)) < 0)
        return rc;
    if ((rc = find_segments(s)) < 0)
        return err_set(err, rc, "cannot read '%s': %s", s->dir, strerror(-rc));
    scan_segments(s);
    for (size_t i = s->n; i-- > 0;)
        segment_settle(s, i);
    drop_old(s, now_ms);
    while (s->n && s->bytes > s->max_bytes) {
        s->dropped += s->segs[0].live;
        segment_drop(s, 0);
    }
    if (s->n && s->segs[s->n - 1].seq + 1 == s->next_seq && s->segs[s->n - 1].size < s->segment_size) {
        int fd = segment_open(s, s->segs[s->n - 1].seq, 0); /* continue the last run's file */
        s->fd = fd < 0 ? -1 : fd;
    }
    return 0;
}

int spool_open(struct spool **ret, const struct spool_conf *conf, int64_t now_ms, struct err *err)
{
    struct spool *s =
        NEW(struct spool, .dir = mem_str(conf->dir), .dir_fd = -1, .fd = -1, .read_fd = -1,
            .max_bytes = conf->max_bytes, .max_age_ms = conf->max_age_ms, .body = BUF_INIT(SEGMENT_RECORD_MAX));
    int64_t share = conf->max_bytes / SEGMENT_SHARE;
    s->segment_size = (uint32_t)MAX(SEGMENT_LEAST, MIN(share, SEGMENT_SIZE));
    int rc = spool_load(s, now_ms, err);
    if (rc < 0) {
        spool_close(s);
        return rc;
    }
    *ret = s;
    return 0;
}

void spool_close(struct spool *s)
{
    if (!s)
        return;
    if (s->fd >= 0 && s->segs[s->n - 1].live == 0)
        segment_drop(s, s->n - 1);
    active_close(s);
    if (s->read_fd >= 0)
        close(s->read_fd);
    for (size_t i = 0; i < s->n; i++)
        segment_fini(&s->segs[i]);
    if (s->dir_fd >= 0)
        close(s->dir_fd);
    free(s->segs);
    buf_fini(&s->body);
    free(s->dir);
    free(s);
}

/* ---- writing ---- */

static int append(struct spool *s, const struct spool_rec *rec, struct err *err)
{
    int rc = make_room(s, rec->bytes.len, err);

    if (s->fd >= 0 && s->segs[s->n - 1].size > SEGMENT_FILE_MAX / 2)
        active_close(s);
    if (rc < 0 || (rc = active_open(s, err)) < 0)
        return rc;
    struct segment *g = &s->segs[s->n - 1];
    rc = segment_append(g, s->fd, rec);
    if (rc < 0)
        return err_set(err, rc, "cannot write to '%s': %s", s->dir, strerror(-rc));
    s->bytes += RECORD_HEAD + (int64_t)rec->bytes.len;
    s->fd_dirty = true;
    return 0;
}

int spool_put_blob(struct spool *s, uint64_t id, struct str bytes, struct err *err)
{
    struct spool_rec rec = {.kind = RECORD_BLOB, .run = id, .bytes = bytes};

    if (id == 0 || (s->fd >= 0 && segment_blob(&s->segs[s->n - 1], id)))
        return 0;
    return append(s, &rec, err);
}

/* A file contains the blobs its records need, so that it can be sent alone: copies missing blobs from an older file. */
static int bring_blob(struct spool *s, uint64_t id, struct err *err)
{
    AUTO_BUF blob = BUF_INIT(SEGMENT_RECORD_MAX);

    if (id == 0 || (s->fd >= 0 && segment_blob(&s->segs[s->n - 1], id)))
        return 0;
    return spool_blob(s, id, &blob, err) == 1 ? spool_put_blob(s, id, buf_str(&blob), err) : 0;
}

int spool_put(struct spool *s, const struct spool_rec *rec, int64_t now_ms, struct err *err)
{
    struct spool_rec batch = *rec;
    int rc;

    batch.kind = RECORD_BATCH;
    drop_old(s, now_ms);
    if ((rc = bring_blob(s, rec->blobs[0], err)) < 0 || (rc = bring_blob(s, rec->blobs[1], err)) < 0 ||
        (rc = append(s, &batch, err)) < 0)
        return rc;
    if (s->segs[s->n - 1].size >= s->segment_size && (rc = active_close(s)) < 0)
        return err_set(err, rc, "cannot write to '%s': %s", s->dir, strerror(-rc));
    return 0;
}

int spool_sync(struct spool *s, struct err *err)
{
    if (s->fd >= 0 && s->fd_dirty && fdatasync(s->fd) < 0)
        return err_set(err, -errno, "cannot write to '%s': %s", s->dir, strerror(errno));
    s->fd_dirty = false;
    if (s->dir_dirty && fsync(s->dir_fd) < 0 && errno != EINVAL)
        return err_set(err, -errno, "cannot write to '%s': %s", s->dir, strerror(errno));
    s->dir_dirty = false;
    return 0;
}

int spool_done(struct spool *s, uint64_t run, uint64_t number, struct err *err)
{
    for (size_t i = 0; i < s->n; i++) {
        struct segment *g = &s->segs[i];
        for (size_t k = g->first; k < g->n; k++) {
            if (g->v[k].off == 0 || g->v[k].number != number || g->v[k].run != run)
                continue;
            int fd = reader(s, i);
            int rc = fd < 0 ? fd : segment_done(g, fd, k);
            segment_forget(g, k); /* also if the mark could not be written: it may come back, but not in this run */
            segment_settle(s, i);
            return rc < 0 ? err_set(err, rc, "cannot write to '%s': %s", s->dir, strerror(-rc)) : 0;
        }
    }
    return 0;
}

/* ---- reading ---- */

/* The i-th oldest not done: its segment and entry. */
static bool find_nth(const struct spool *s, size_t i, size_t *ret_seg, size_t *ret_entry)
{
    for (size_t k = 0; k < s->n; k++) {
        const struct segment *g = &s->segs[k];
        if (i >= g->live) {
            i -= g->live;
            continue;
        }
        for (size_t at = g->first; at < g->n; at++)
            if (g->v[at].off && i-- == 0) {
                *ret_seg = k;
                *ret_entry = at;
                return true;
            }
    }
    return false;
}

static int read_record(struct spool *s, size_t seg, uint32_t off, struct spool_rec *ret)
{
    int fd = reader(s, seg);

    if (fd < 0)
        return fd;
    if (s->body.cap > BODY_KEEP)
        buf_fini(&s->body);
    return segment_read(fd, off, ret, &s->body);
}

int spool_peek(struct spool *s, size_t i, struct spool_rec *ret, struct err *err)
{
    size_t seg, at;
    struct spool_rec rec;

    while (find_nth(s, i, &seg, &at)) {
        const struct segment_entry *e = &s->segs[seg].v[at];
        int rc = read_record(s, seg, e->off, &rec);
        if (rc == 0 && rec.kind == RECORD_BATCH && rec.run == e->run && rec.number == e->number) {
            *ret = rec;
            return 1;
        }
        if (rc < 0 && rc != -EBADMSG && rc != -ENOENT)
            return err_set(err, rc, "cannot read from '%s': %s", s->dir, strerror(-rc));
        s->damaged++;
        segment_forget(&s->segs[seg], at);
        segment_settle(s, seg);
    }
    return 0;
}

int spool_blob(struct spool *s, uint64_t id, struct buf *ret, struct err *err)
{
    for (size_t i = s->n; i-- > 0;) {
        uint32_t off = segment_blob(&s->segs[i], id);
        if (!off)
            continue;
        struct spool_rec rec;
        int rc = read_record(s, i, off, &rec);
        if (rc == 0 && rec.kind == RECORD_BLOB && rec.run == id) {
            rc = buf_addstr(ret, rec.bytes);
            return rc < 0 ? err_set(err, rc, "a blob in '%s' is larger than the limit", s->dir) : 1;
        }
        if (rc < 0 && rc != -EBADMSG && rc != -ENOENT)
            return err_set(err, rc, "cannot read from '%s': %s", s->dir, strerror(-rc));
    }
    return 0;
}

void spool_stat(const struct spool *s, struct spool_stat *ret)
{
    *ret = (struct spool_stat){.bytes = s->bytes, .dropped = s->dropped, .damaged = s->damaged};
    for (size_t i = 0; i < s->n; i++) {
        const struct segment *g = &s->segs[i];
        if (ret->records == 0 && g->live)
            ret->oldest_ms = (int64_t)g->v[g->first].at_s * 1000;
        ret->records += g->live;
    }
}
