/*
 * log_chunks.c: pieces of logs by node, in a hash table, under one lock that is held only briefly; the file is written
 * and read without it.
 */
#include "store/log_chunks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rand.h"

#define SLOTS   256u
#define KEEP_MS 60000 /* pieces used within this time stay */
#define SPARE   4     /* no files unless the free disk space is this many times the maximum size of all files */

struct entry { /* a node in a log */
    char node[NODE_KEY_MAX];
    int64_t log, used_ms;
    size_t n;
    struct fresh_piece *v[FRESH_PIECES];
    struct entry *next;
};

struct fresh_file { /* space of one log's pieces is freed only when all of them are gone */
    int fd;
    int64_t log;
    size_t end;
    unsigned refs;
    struct fresh_file *next;
};

struct fresh {
    pthread_mutex_t lock;
    char *dir; /* NULL: no files */
    struct entry *slots[SLOTS];
    struct fresh_file *files;
    size_t bytes, max_bytes, file_bytes, max_file;
    int64_t oldest; /* no cached logs before this one */
};

struct fresh *fresh_new(const char *dir, size_t max_bytes, size_t max_file)
{
    struct fresh *f = NEW(struct fresh, .dir = mem_str(dir), .max_bytes = max_bytes, .max_file = max_file);

    pthread_mutex_init(&f->lock, NULL);
    return f;
}

/* ---- pieces ---- */

struct fresh_piece *fresh_piece_new(int64_t first_row, int64_t last_row)
{
    return NEW(struct fresh_piece, .first_row = first_row, .last_row = last_row, .bytes = sizeof(struct fresh_piece));
}

/* Memory of a decoded head. */
static size_t head_bytes(const struct fresh_chunk *c)
{
    return c->c.n_ticks * sizeof(*c->c.ticks) + c->c.n_columns * sizeof(*c->c.columns) +
           c->c.n_devices * (sizeof(*c->c.devices) + 48);
}

int fresh_piece_add(struct fresh_piece *p, int64_t from_ms, int64_t to_ms, struct str bytes)
{
    VEC_ROOM(p->v, p->n, p->cap);
    struct fresh_chunk *c = &p->v[p->n++];
    *c = (struct fresh_chunk){.from_ms = from_ms,
                              .to_ms = to_ms,
                              .bytes = mem_strn(bytes.p, bytes.len),
                              .len = bytes.len,
                              .head = bytes.len < CHUNK_LEAD ? 0 : chunk_head_len(bytes.p)};
    int r = chunk_open(&c->c, str_n(c->bytes, bytes.len), NULL);
    p->bytes += sizeof(*c) + bytes.len + head_bytes(c);
    return r;
}

static int read_file(const struct fresh_piece *p, int64_t off, size_t len, struct buf *room, struct str *ret)
{
    buf_reset(room);
    char *to = buf_room(room, len + 1);
    if (!to || !p->file || pread(p->file->fd, to, len, off) != (ssize_t)len)
        return -EBADMSG;
    *ret = str_n(to, len);
    return 0;
}

const struct chunk *fresh_piece_head(const struct fresh_piece *p, size_t i, struct chunk *room, struct buf *head)
{
    const struct fresh_chunk *c = &p->v[i];
    struct str bytes;

    if (c->bytes)
        return &c->c;
    if (read_file(p, c->off, c->head, head, &bytes) < 0)
        return NULL;
    chunk_fini(room);
    return chunk_open(room, bytes, NULL) < 0 ? NULL : room;
}

int fresh_piece_column(const struct fresh_piece *p, size_t i, const struct chunk_part *column, struct buf *room,
                       struct str *ret)
{
    return read_file(p, p->v[i].off + (int64_t)column->off, column->len, room, ret);
}

int fresh_piece_whole(const struct fresh_piece *p, size_t i, struct buf *room, struct str *ret)
{
    const struct fresh_chunk *c = &p->v[i];

    if (p->file)
        return read_file(p, c->off, c->len, room, ret);
    *ret = str_n(c->bytes, c->len);
    return 0;
}

/* ---- files; under the lock unless noted ---- */

static void file_unref(struct fresh *f, struct fresh_file *file)
{
    if (!file || --file->refs)
        return;
    f->file_bytes -= file->end;
    close(file->fd);
    free(file);
}

static int open_nameless(const char *dir)
{
    AUTO_FREE char *path = mem_fmt("%s/pieces-XXXXXX", dir);
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    fd = mkostemp(path, O_CLOEXEC); /* not every file system supports O_TMPFILE */
    if (fd >= 0)
        unlink(path);
    return fd;
}

static struct fresh_file *file_of(struct fresh *f, int64_t log)
{
    for (struct fresh_file *file = f->files; file; file = file->next)
        if (file->log == log)
            return file;
    int fd = f->dir && log >= f->oldest ? open_nameless(f->dir) : -1;
    if (fd < 0)
        return NULL;
    return f->files = NEW(struct fresh_file, .fd = fd, .log = log, .refs = 1, .next = f->files);
}

static void drop_files(struct fresh *f, int64_t before)
{
    for (struct fresh_file **at = &f->files, *file; (file = *at);)
        if (file->log < before) {
            *at = file->next;
            file_unref(f, file);
        } else {
            at = &file->next;
        }
}

/* Reserves len bytes for the caller. */
static struct fresh_file *file_take(struct fresh *f, int64_t log, size_t len, int64_t *ret_off)
{
    LOCKED(&f->lock);
    struct fresh_file *file = f->file_bytes + len <= f->max_file ? file_of(f, log) : NULL;
    struct statvfs disk;
    if (!file || fstatvfs(file->fd, &disk) < 0 ||
        (uint64_t)disk.f_bavail * disk.f_frsize < (uint64_t)f->max_file * SPARE)
        return NULL;
    *ret_off = (int64_t)file->end;
    file->end += len;
    f->file_bytes += len;
    file->refs++;
    return file;
}

static void keep_head_alone(struct fresh_chunk *c)
{
    char *head = mem_strn(c->bytes, c->head);

    chunk_fini(&c->c);
    free(c->bytes);
    c->bytes = head;
    chunk_open(&c->c, str_n(head, c->head), NULL);
}

/*
 * Without the lock: p is not shared yet. Moves its columns to the file of its log, except for the heads. On failure it
 * stays in memory.
 */
static void spill(struct fresh *f, int64_t log, struct fresh_piece *p)
{
    size_t len = 0;
    int64_t off = 0;
    int r = 0;

    for (size_t i = 0; i < p->n; i++) {
        len += p->v[i].len;
        r |= p->v[i].head > p->v[i].len ? -1 : 0;
    }
    struct fresh_file *file = r || p->file || !len ? NULL : file_take(f, log, len, &off);
    if (!file)
        return;
    for (size_t i = 0; i < p->n && r == 0; i++) {
        p->v[i].off = off;
        r = file_write_at(file->fd, p->v[i].bytes, p->v[i].len, off);
        off += (int64_t)p->v[i].len;
    }
    if (r < 0) {
        LOCKED(&f->lock);
        file_unref(f, file);
        return;
    }
    p->file = file;
    for (size_t i = 0; i < p->n; i++) {
        p->bytes -= p->v[i].len - p->v[i].head;
        keep_head_alone(&p->v[i]);
    }
}

/* ---- cached pieces, under the lock ---- */

static void piece_end(struct fresh *f, struct fresh_piece *p)
{
    for (size_t i = 0; i < p->n; i++) {
        chunk_fini(&p->v[i].c);
        free(p->v[i].bytes);
    }
    file_unref(f, p->file);
    free(p->v);
    free(p);
}

void fresh_piece_free(struct fresh *f, struct fresh_piece *p)
{
    LOCKED(&f->lock);
    if (p)
        piece_end(f, p);
}

static void piece_unref(struct fresh *f, struct fresh_piece *p)
{
    if (--p->refs == 0)
        piece_end(f, p);
}

/* Frees the heads of a piece in the file that no caller holds. */
static void piece_behead(struct fresh_piece *p)
{
    for (size_t i = 0; i < p->n; i++) {
        struct fresh_chunk *c = &p->v[i];
        if (!c->bytes)
            continue;
        p->bytes -= c->head + head_bytes(c);
        chunk_fini(&c->c);
        free(c->bytes);
        c->bytes = NULL;
    }
}

/* Removes the entry at *at; *at becomes the next one. */
static void entry_drop(struct fresh *f, struct entry **at)
{
    struct entry *e = *at;

    for (size_t i = 0; i < e->n; i++) {
        f->bytes -= e->v[i]->bytes;
        piece_unref(f, e->v[i]);
    }
    *at = e->next;
    free(e);
}

/* Frees an entry's memory; data in the file stays. */
static void entry_shrink(struct fresh *f, struct entry **at)
{
    struct entry *e = *at;

    if (ANY(e->n, i, !e->v[i]->file)) {
        entry_drop(f, at);
        return;
    }
    for (size_t i = 0; i < e->n; i++)
        if (e->v[i]->refs == 1) {
            f->bytes -= e->v[i]->bytes;
            piece_behead(e->v[i]);
            f->bytes += e->v[i]->bytes;
        }
}

void fresh_free(struct fresh *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        while (f->slots[i])
            entry_drop(f, &f->slots[i]);
    drop_files(f, INT64_MAX);
    pthread_mutex_destroy(&f->lock);
    free(f->dir);
    free(f);
}

static struct entry **entry_at(struct fresh *f, const char *node, int64_t log)
{
    struct entry **at = &f->slots[crc32c((uint32_t)log, node, strlen(node)) % SLOTS];

    while (*at && ((*at)->log != log || strcmp((*at)->node, node) != 0))
        at = &(*at)->next;
    return at;
}

size_t fresh_get(struct fresh *f, const char *node, int64_t log, int64_t now_ms, struct fresh_piece *ret[FRESH_PIECES])
{
    LOCKED(&f->lock);
    struct entry *e = *entry_at(f, node, log);
    size_t n = e ? e->n : 0;
    if (e)
        e->used_ms = now_ms;
    for (size_t i = 0; i < n; i++) {
        ret[i] = e->v[i];
        ret[i]->refs++;
    }
    return n;
}

void fresh_done(struct fresh *f, struct fresh_piece *const *v, size_t n)
{
    LOCKED(&f->lock);
    for (size_t i = 0; i < n; i++)
        piece_unref(f, v[i]);
}

/* Under the lock. Evicts pieces that were not used recently. */
static bool make_room(struct fresh *f, size_t more, int64_t now_ms)
{
    for (size_t i = 0; i < SLOTS && f->bytes + more > f->max_bytes; i++)
        for (struct entry **at = &f->slots[i]; *at;) {
            struct entry *e = *at;
            if (e->used_ms < now_ms - KEEP_MS)
                entry_shrink(f, at);
            if (*at == e)
                at = &e->next;
        }
    return f->bytes + more <= f->max_bytes;
}

bool fresh_room(struct fresh *f, int64_t now_ms)
{
    LOCKED(&f->lock);
    return (f->files && f->file_bytes < f->max_file) || make_room(f, f->max_bytes / 64, now_ms);
}

/* Under the lock: whether the first n pieces of the entry are v. */
static bool entry_begins(const struct entry *e, struct fresh_piece *const *v, size_t n)
{
    return (e ? e->n : 0) >= n && !ANY(n, i, e->v[i] != v[i]);
}

bool fresh_put(struct fresh *f, const char *node, int64_t log, struct fresh_piece *const *instead, size_t n_instead,
               struct fresh_piece *p, int64_t now_ms)
{
    spill(f, log, p);
    LOCKED(&f->lock);
    bool room = make_room(f, p->bytes, now_ms);
    if (!room && p->file)
        piece_behead(p);
    if (log < f->oldest || (!room && f->bytes + p->bytes > 2 * f->max_bytes) || (!room && !p->file))
        return false;
    struct entry **at = entry_at(f, node, log), *e = *at;
    if (!entry_begins(e, instead, n_instead) ||
        (!n_instead && e && (e->n == FRESH_PIECES || e->v[e->n - 1]->last_row >= p->first_row)))
        return false;
    if (!e) {
        e = *at = mem_zero(1, sizeof(*e));
        mem_copy_str(e->node, sizeof(e->node), node);
        e->log = log;
    }
    for (size_t i = 0; i < n_instead; i++) {
        f->bytes -= e->v[i]->bytes;
        piece_unref(f, e->v[i]);
    }
    if (n_instead) {
        memmove(e->v + 1, e->v + n_instead, (e->n - n_instead) * sizeof(e->v[0]));
        e->n -= n_instead - 1;
    }
    e->v[n_instead ? 0 : e->n++] = p;
    p->refs = 1;
    e->used_ms = now_ms;
    f->bytes += p->bytes;
    return true;
}

void fresh_drop_before(struct fresh *f, int64_t log)
{
    LOCKED(&f->lock);
    for (size_t i = 0; i < SLOTS && log > f->oldest; i++)
        for (struct entry **at = &f->slots[i]; *at;)
            if ((*at)->log < log)
                entry_drop(f, at);
            else
                at = &(*at)->next;
    f->oldest = MAX(f->oldest, log);
    drop_files(f, f->oldest);
}
