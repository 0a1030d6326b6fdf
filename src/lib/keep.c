/*
 * keep.c: blocks in memory and on disk. The file is
 *     "musterSP", version (4 bytes), 0 (4 bytes); then blocks: head (tape.h), bytes.
 * It has no name: the system removes it with the process. The version is for readers of a core dump or a disk image.
 */
#include "lib/keep.h"

#include <errno.h>
#include <fcntl.h>

#include "base/file.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/rand.h"

#define SPILL_VERSION 1
#define FILE_HEAD     16

int keep_init(struct keep *k, const char *dir, int64_t per_block, size_t block)
{
    const char *tmp = getenv("TMPDIR");

    *k = (struct keep){.fd = -1, .per_block = per_block, .every = 1};
    pthread_mutex_init(&k->disk, NULL);
    pthread_mutex_init(&k->lock, NULL);
    k->dir = mem_str(dir ? dir : tmp && tmp[0] ? tmp : "/tmp");
    k->grows.cap = k->full.cap = MIN(block, (size_t)TAPE_BLOCK_MAX);
    k->grows.p = malloc(k->grows.cap); /* the host program's memory: no reason to end it */
    k->full.p = malloc(k->full.cap);
    if (k->grows.p && k->full.p)
        return 0;
    keep_fini(k);
    return -ENOMEM;
}

void keep_fini(struct keep *k)
{
    if (!k || !k->dir)
        return;
    if (k->fd >= 0)
        close(k->fd);
    FREE_ALL(k->grows.p, k->full.p, k->dir);
    pthread_mutex_destroy(&k->disk);
    pthread_mutex_destroy(&k->lock);
    *k = (struct keep){.fd = -1};
}

int64_t keep_count(const struct keep *k)
{
    return k->taken - k->dropped;
}

bool keep_put(struct keep *k, struct tape_state *s, struct tape_state *last)
{
    struct tape_block *b = &k->grows;

    if (b->n && (b->cap - b->len <= tape_need(s, false) || (k->per_block && b->n >= k->per_block))) {
        struct tape_block was = k->grows; /* full is empty: the ticking thread has flushed since */
        k->grows = k->full;
        k->full = was;
        k->grows.len = 0;
        k->grows.n = 0;
    }
    if (!b->n)
        b->first = k->taken;
    tape_put(b, s, last);
    k->taken++;
    return k->full.len > 0;
}

/* ---- the file ---- */

static int make_file(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd < 0 ? -errno : fd;
    AUTO_FREE char *path = mem_fmt("%s/muster-spill-XXXXXX", dir); /* a file system that knows no files without names */
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    unlink(path);
    return fd;
}

static int open_file(struct keep *k)
{
    uint8_t head[FILE_HEAD] = "musterSP";

    if (k->fd >= 0)
        return 0;
    int fd = make_file(k->dir);
    if (fd < 0)
        return fd;
    head[8] = SPILL_VERSION;
    int r = file_write_at(fd, head, sizeof(head), 0);
    if (r < 0) {
        close(fd);
        return r;
    }
    k->fd = fd;
    k->end = FILE_HEAD;
    return 0;
}

/* Where a block is. When the table is full every second entry goes, and only every second block comes in from then. */
static void index_add(struct keep *k, int64_t first, int64_t offset)
{
    if (k->n_index && ++k->at < k->every)
        return;
    if (k->n_index == KEEP_INDEX) {
        k->n_index /= 2;
        for (size_t i = 0; i < k->n_index; i++)
            k->index[i] = k->index[2 * i];
        k->every *= 2;
    }
    k->index[k->n_index].first = first;
    k->index[k->n_index++].offset = offset;
    k->at = 0;
}

static int write_block(struct keep *k, const struct tape_block *b)
{
    AUTO_BUF head = BUF_INIT(TAPE_HEAD_BYTES);
    struct tape_head h = {.len = (uint32_t)b->len, .first = b->first, .n = b->n, .crc = crc32c(0, b->p, b->len)};
    int r = open_file(k);

    if (r < 0)
        return r;
    tape_head_put(&h, &head);
    r = file_write_at(k->fd, head.p, head.len, k->end);
    if (r == 0)
        r = file_write_at(k->fd, b->p, b->len, k->end + TAPE_HEAD_BYTES);
    if (r < 0) {
        UNUSED int cut = ftruncate(k->fd, k->end); /* bytes after the end are ignored anyway */
        return r;
    }
    index_add(k, b->first, k->end);
    k->end += TAPE_HEAD_BYTES + (int64_t)b->len;
    return 0;
}

int keep_flush(struct keep *k, struct err *err)
{
    LOCKED(&k->disk);
    pthread_mutex_lock(&k->lock);
    bool any = k->full.len > 0;
    pthread_mutex_unlock(&k->lock);
    int r = any ? write_block(k, &k->full) : 0; /* full does not change while disk is held */
    if (any) {
        pthread_mutex_lock(&k->lock);
        *(r < 0 ? &k->dropped : &k->spilled) += k->full.n;
        if (r < 0)
            err_set(err, r, "cannot keep samples in '%s': %s; %lld are lost", k->dir, strerror(-r),
                    (long long)k->dropped);
        k->spilled_bytes += r < 0 ? 0 : (int64_t)k->full.len + TAPE_HEAD_BYTES;
        k->full.len = 0;
        k->full.n = 0;
        pthread_mutex_unlock(&k->lock);
    }
    return r;
}

void keep_clear(struct keep *k)
{
    LOCKED(&k->disk);
    pthread_mutex_lock(&k->lock);
    k->grows.len = k->full.len = 0;
    k->grows.n = k->full.n = 0;
    k->taken = k->dropped = k->spilled = k->spilled_bytes = 0;
    k->clears++;
    pthread_mutex_unlock(&k->lock);
    if (k->fd >= 0)
        close(k->fd); /* and with it the file */
    k->fd = -1;
    k->end = 0;
    k->n_index = 0;
    k->every = 1;
}

/* ---- reading ---- */

static int take(struct keep_copy *c, const struct tape_block *b)
{
    bool same = c->first == b->first;

    if (same && c->bytes.len >= b->len)
        return 0;
    if (!same)
        buf_reset(&c->bytes);
    c->first = b->first;
    buf_add(&c->bytes, b->p + c->bytes.len, b->len - c->bytes.len);
    return same ? 2 : 1;
}

/*
 * Searches the memory. Returns 0 or more as keep_fetch, or -ENOENT: search the disk. *ret_oldest is the first sample in
 * memory.
 */
static int fetch_memory(struct keep *k, int64_t number, struct keep_copy *c, int64_t *ret_oldest)
{
    const struct tape_block *blocks[] = {&k->full, &k->grows};
    int r = -ENOENT;

    LOCKED(&k->lock);
    *ret_oldest = k->full.n ? k->full.first : k->grows.n ? k->grows.first : k->taken;
    if (c->clears != k->clears)
        r = -ESTALE;
    else if (number >= k->taken)
        r = 0;
    for (size_t i = 0; i < ARRAY_LEN(blocks) && r == -ENOENT; i++)
        if (blocks[i]->n && number >= blocks[i]->first && number < blocks[i]->first + blocks[i]->n)
            r = take(c, blocks[i]);
    return r;
}

static int read_block(struct keep *k, int64_t offset, const struct tape_head *h, struct keep_copy *c)
{
    bool same = c->first == h->first;
    size_t had = same ? c->bytes.len : 0;

    buf_reset(&c->bytes);
    c->first = -1;
    char *p = buf_room(&c->bytes, h->len);
    if (p && file_read_at(k->fd, p, h->len, offset + TAPE_HEAD_BYTES) != (ssize_t)h->len)
        return -EIO;
    if (!p || crc32c(0, p, h->len) != h->crc)
        return -EBADMSG;
    buf_appended(&c->bytes, h->len);
    c->first = h->first;
    return !same ? 1 : had < h->len ? 2 : 0;
}

static int fetch_disk(struct keep *k, int64_t number, struct keep_copy *c)
{
    uint8_t head[TAPE_HEAD_BYTES];
    struct tape_head h = {0};
    size_t i = k->n_index;

    while (i > 0 && k->index[i - 1].first > number)
        i--;
    int64_t at = i ? k->index[i - 1].offset : FILE_HEAD;
    for (; k->fd >= 0 && at < k->end; at += TAPE_HEAD_BYTES + (int64_t)h.len) {
        bool there = file_read_at(k->fd, head, sizeof(head), at) == sizeof(head);
        int r = there ? tape_head_get(head, &h) : -EIO;
        if (r < 0)
            return r;
        if (number < h.first + h.n)
            return read_block(k, at, &h, c);
    }
    return -ENOENT;
}

int keep_fetch(struct keep *k, int64_t number, struct keep_copy *c)
{
    int64_t oldest;
    int r = fetch_memory(k, number, c, &oldest);

    if (r != -ENOENT)
        return r;
    LOCKED(&k->disk);
    r = c->clears == k->clears ? fetch_disk(k, number, c) : -ESTALE;
    if (r == -ENOENT) { /* dropped: continue with the oldest in memory, which cannot be flushed meanwhile */
        r = fetch_memory(k, number, c, &oldest);
        if (r == -ENOENT)
            r = fetch_memory(k, oldest, c, &oldest);
    }
    return r;
}
