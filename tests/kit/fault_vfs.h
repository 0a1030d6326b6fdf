/*
 * fault_vfs.h: a disk that fails on command, under SQLite: sits on the real one as the default VFS. The Nth write,
 * sync, truncate, delete or create fails: once, from then on (a full disk, a dead one), or as a loss of power, after
 * which only what was synced is sure to be there. Nothing is really synced, so that thousands of runs are quick.
 */
#ifndef TESTS_UNIT_FAULT_VFS_H
#define TESTS_UNIT_FAULT_VFS_H

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rand.h"

enum fault_mode {
    FAULT_NONE,
    FAULT_ONCE,
    FAULT_FULL,
    FAULT_DEAD,
    FAULT_POWER,
    FAULT_STALL, /* syncs wait */
    FAULT_BLIND, /* muster.db cannot be read; the rest can */
};

#define FAULT_SECTOR 512

struct fault_change { /* not synced yet */
    int64_t off;      /* -1: truncate to len */
    size_t len;
    char *bytes;
};

/* What a file would be after a loss of power: kept in FAULT_POWER only. */
struct fault_track {
    char *path;
    bool gone;       /* deleted, but the folder was not synced: it may come back */
    struct buf sure; /* as of the last sync */
    struct fault_change *v;
    size_t n, cap;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum fault_mode mode;
    long at, count;
    bool hit;
    sqlite3_vfs *real;
    struct fault_track *v;
    size_t n, cap;
} fault = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct fault_file {
    sqlite3_file base;
    sqlite3_file *real;
    char *path;
    bool new; /* made by this open: its first sync syncs the folder too, as SQLite's own VFS does it */
};

/* ---- when ---- */

/* The code this step fails with, or SQLITE_OK. */
static int fault_step(int full, int broken)
{
    int rc = SQLITE_OK;

    pthread_mutex_lock(&fault.lock);
    if (fault.mode != FAULT_NONE) {
        bool now = ++fault.count == fault.at;
        fault.hit |= now;
        if (fault.mode >= FAULT_STALL ? false : fault.mode == FAULT_ONCE ? now : fault.hit)
            rc = fault.mode == FAULT_FULL ? full : broken;
    }
    pthread_mutex_unlock(&fault.lock);
    if (rc != SQLITE_OK)
        errno = rc == full ? ENOSPC : EIO; /* SQLite asks for it */
    return rc;
}

/* A dead disk does not read either. */
static bool fault_dead(void)
{
    pthread_mutex_lock(&fault.lock);
    bool dead = fault.hit && (fault.mode == FAULT_DEAD || fault.mode == FAULT_POWER);
    pthread_mutex_unlock(&fault.lock);
    return dead;
}

static bool fault_blind(const char *path)
{
    pthread_mutex_lock(&fault.lock);
    bool blind = fault.mode == FAULT_BLIND && path && strstr(path, "/muster.db");
    fault.hit |= blind;
    pthread_mutex_unlock(&fault.lock);
    return blind;
}

/* ---- what survives a loss of power ---- */

static struct fault_track *fault_track(const char *path)
{
    for (size_t i = 0; i < fault.n; i++)
        if (strcmp(fault.v[i].path, path) == 0)
            return &fault.v[i];
    VEC_ROOM(fault.v, fault.n, fault.cap);
    struct fault_track *t = &fault.v[fault.n++];
    *t = (struct fault_track){.path = mem_str(path), .sure = BUF_INIT(64 << 20)};
    AUTO_BUF now = {0};
    if (file_read(path, 64 << 20, &now, NULL) == 0)
        buf_addstr(&t->sure, buf_str(&now));
    return t;
}

static void fault_forget(struct fault_track *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i].bytes);
    t->n = 0;
}

static void fault_note(const char *path, int64_t off, const void *bytes, size_t len)
{
    pthread_mutex_lock(&fault.lock);
    if (fault.mode == FAULT_POWER) {
        struct fault_track *t = fault_track(path);
        t->gone = false;
        VEC_ROOM(t->v, t->n, t->cap);
        t->v[t->n++] = (struct fault_change){off, len, off < 0 ? NULL : mem_strn(bytes, len)};
    }
    pthread_mutex_unlock(&fault.lock);
}

/* len: of a write that reached the disk only in part, the bytes that did. */
static void fault_apply(struct buf *b, const struct fault_change *c, size_t len)
{
    size_t end = c->off < 0 ? len : (size_t)c->off + len;

    if (c->off < 0 && end < b->len)
        buf_cut(b, end);
    if (end > b->len)
        buf_fill(b, 0, end - b->len);
    if (c->off >= 0 && len)
        memcpy(b->p + c->off, c->bytes, len);
}

static void fault_synced(const char *path, bool folder)
{
    pthread_mutex_lock(&fault.lock);
    for (size_t i = 0; i < fault.n && folder; i++)
        if (fault.v[i].gone)
            buf_reset(&fault.v[i].sure);
    if (fault.mode == FAULT_POWER) {
        struct fault_track *t = fault_track(path);
        for (size_t i = 0; i < t->n; i++)
            fault_apply(&t->sure, &t->v[i], t->v[i].len);
        fault_forget(t);
    }
    pthread_mutex_unlock(&fault.lock);
}

static void fault_deleted(const char *path, bool synced)
{
    pthread_mutex_lock(&fault.lock);
    if (fault.mode == FAULT_POWER) {
        struct fault_track *t = fault_track(path);
        t->gone = true;
        if (synced)
            buf_reset(&t->sure);
        fault_forget(t);
    }
    pthread_mutex_unlock(&fault.lock);
}

/*
 * Everything is closed: make the files what a random half of the unsynced changes leaves of them. A write may be torn:
 * then some of its sectors reached the disk and the rest did not.
 */
static inline void fault_power_returns(uint64_t seed)
{
    struct prng g = {seed};

    for (size_t i = 0; i < fault.n; i++) {
        struct fault_track *t = &fault.v[i];
        bool there = access(t->path, F_OK) == 0;
        if (!there && (t->sure.len == 0 || prng_next(&g) % 2))
            continue;
        int style = (int)(prng_next(&g) % 4); /* nothing, all or some of it reached the disk, or torn */
        for (size_t k = 0; k < t->n; k++) {
            size_t len = t->v[k].len;
            if (style == 0 || (style >= 2 && prng_next(&g) % 2))
                continue;
            if (style == 3 && t->v[k].off >= 0 && len > FAULT_SECTOR)
                len = prng_next(&g) % (len / FAULT_SECTOR) * FAULT_SECTOR;
            fault_apply(&t->sure, &t->v[k], len);
        }
        FILE *f = fopen(t->path, "we");
        assert_non_null(f);
        assert_int_equal(fwrite(t->sure.len ? t->sure.p : "", 1, t->sure.len, f), t->sure.len);
        fclose(f);
    }
}

static void fault_arm(enum fault_mode mode, long at)
{
    pthread_mutex_lock(&fault.lock);
    for (size_t i = 0; i < fault.n; i++) {
        fault_forget(&fault.v[i]);
        free(fault.v[i].v);
        free(fault.v[i].path);
        buf_fini(&fault.v[i].sure);
    }
    fault.n = 0;
    fault.mode = mode;
    fault.at = at;
    fault.count = 0;
    fault.hit = false;
    pthread_cond_broadcast(&fault.changed);
    pthread_mutex_unlock(&fault.lock);
}

static inline bool fault_was_hit(void)
{
    pthread_mutex_lock(&fault.lock);
    bool hit = fault.hit;
    pthread_mutex_unlock(&fault.lock);
    return hit;
}

/* ---- the VFS ---- */

#define REAL(f) (((struct fault_file *)(f))->real)
#define PATH(f) (((struct fault_file *)(f))->path)

static int fault_close(sqlite3_file *f)
{
    int rc = REAL(f)->pMethods ? REAL(f)->pMethods->xClose(REAL(f)) : SQLITE_OK;

    free(REAL(f));
    free(PATH(f));
    return rc;
}
static int fault_read(sqlite3_file *f, void *p, int n, sqlite3_int64 off)
{
    return fault_dead() || fault_blind(PATH(f)) ? SQLITE_IOERR_READ : REAL(f)->pMethods->xRead(REAL(f), p, n, off);
}
static int fault_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 off)
{
    int rc = fault_step(SQLITE_FULL, SQLITE_IOERR_WRITE);

    if (rc == SQLITE_OK)
        rc = REAL(f)->pMethods->xWrite(REAL(f), p, n, off);
    if (rc == SQLITE_OK && PATH(f))
        fault_note(PATH(f), off, p, (size_t)n);
    return rc;
}
static int fault_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    int rc = fault_step(SQLITE_OK, SQLITE_IOERR_TRUNCATE);

    if (rc == SQLITE_OK)
        rc = REAL(f)->pMethods->xTruncate(REAL(f), size);
    if (rc == SQLITE_OK && PATH(f))
        fault_note(PATH(f), -1, NULL, (size_t)size);
    return rc;
}
static int fault_sync(sqlite3_file *f, int flags)
{
    int rc = fault_step(SQLITE_OK, SQLITE_IOERR_FSYNC);

    (void)flags;
    pthread_mutex_lock(&fault.lock);
    while (fault.mode == FAULT_STALL)
        pthread_cond_wait(&fault.changed, &fault.lock);
    pthread_mutex_unlock(&fault.lock);
    if (rc == SQLITE_OK && PATH(f))
        fault_synced(PATH(f), ((struct fault_file *)f)->new);
    ((struct fault_file *)f)->new &= rc != SQLITE_OK;
    return rc;
}
static int fault_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return REAL(f)->pMethods->xFileSize(REAL(f), size);
}
static int fault_lock_file(sqlite3_file *f, int level)
{
    return REAL(f)->pMethods->xLock(REAL(f), level);
}
static int fault_unlock_file(sqlite3_file *f, int level)
{
    return REAL(f)->pMethods->xUnlock(REAL(f), level);
}
static int fault_check_lock(sqlite3_file *f, int *ret)
{
    return REAL(f)->pMethods->xCheckReservedLock(REAL(f), ret);
}
static int fault_control(sqlite3_file *f, int op, void *arg)
{
    return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}
static int fault_sector(sqlite3_file *f)
{
    return REAL(f)->pMethods->xSectorSize(REAL(f));
}
static int fault_traits(sqlite3_file *f)
{
    return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}
static int fault_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
    int rc = extend ? fault_step(SQLITE_FULL, SQLITE_IOERR_SHMSIZE) : SQLITE_OK;

    return rc == SQLITE_OK ? REAL(f)->pMethods->xShmMap(REAL(f), page, size, extend, ret) : rc;
}
static int fault_shm_lock(sqlite3_file *f, int off, int n, int flags)
{
    return REAL(f)->pMethods->xShmLock(REAL(f), off, n, flags);
}
static void fault_shm_barrier(sqlite3_file *f)
{
    REAL(f)->pMethods->xShmBarrier(REAL(f));
}
static int fault_shm_unmap(sqlite3_file *f, int del)
{
    return REAL(f)->pMethods->xShmUnmap(REAL(f), del);
}

static int fault_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out)
{
    static const sqlite3_io_methods methods = {
        .iVersion = 2,
        .xClose = fault_close,
        .xRead = fault_read,
        .xWrite = fault_write,
        .xTruncate = fault_truncate,
        .xSync = fault_sync,
        .xFileSize = fault_size,
        .xLock = fault_lock_file,
        .xUnlock = fault_unlock_file,
        .xCheckReservedLock = fault_check_lock,
        .xFileControl = fault_control,
        .xSectorSize = fault_sector,
        .xDeviceCharacteristics = fault_traits,
        .xShmMap = fault_shm_map,
        .xShmLock = fault_shm_lock,
        .xShmBarrier = fault_shm_barrier,
        .xShmUnmap = fault_shm_unmap,
    };
    struct fault_file *f = (struct fault_file *)file;
    int rc = flags & SQLITE_OPEN_CREATE ? fault_step(SQLITE_CANTOPEN, SQLITE_CANTOPEN) : SQLITE_OK;

    (void)vfs;
    f->base.pMethods = NULL;
    if (rc != SQLITE_OK)
        return rc;
    f->new = path &&flags &SQLITE_OPEN_CREATE &&access(path, F_OK) < 0;
    if (f->new)
        fault_deleted(path, true); /* nothing of an old file of that name comes back */
    f->real = mem_zero(1, (size_t)fault.real->szOsFile);
    rc = fault.real->xOpen(fault.real, path, f->real, flags, out);
    if (rc != SQLITE_OK) {
        free(f->real);
        return rc;
    }
    f->path = path ? mem_str(path) : NULL; /* NULL: a temporary file */
    f->base.pMethods = &methods;
    return SQLITE_OK;
}

static int fault_delete(sqlite3_vfs *vfs, const char *path, int sync_dir)
{
    int rc = fault_step(SQLITE_OK, SQLITE_IOERR_DELETE);

    (void)vfs;
    if (rc == SQLITE_OK)
        rc = fault.real->xDelete(fault.real, path, 0);
    if (rc == SQLITE_OK)
        fault_deleted(path, sync_dir);
    return rc;
}

static void fault_install(void)
{
    static sqlite3_vfs vfs;

    if (fault.real)
        return;
    fault.real = sqlite3_vfs_find(NULL);
    vfs = *fault.real; /* what is not replaced goes straight through */
    vfs.zName = "fault";
    vfs.szOsFile = sizeof(struct fault_file);
    vfs.xOpen = fault_open;
    vfs.xDelete = fault_delete;
    vfs.pNext = NULL;
    sqlite3_vfs_register(&vfs, 1);
}

#endif
