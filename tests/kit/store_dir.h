/* store_dir.h: what the store's tests share: a folder of their own, batches made from a number, and counting them. */
#ifndef TESTS_UNIT_STORE_DIR_H
#define TESTS_UNIT_STORE_DIR_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rand.h"
#include "store/store.h"

static inline char *dir_new(void)
{
    const char *tmp = getenv("TMPDIR");
    char *path = mem_fmt("%s/muster-store-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

/* In memory where there is a place for it: for tests that make hundreds of them and bring their own disk. */
static inline char *dir_new_quick(void)
{
    char *path = mem_str("/dev/shm/muster-store-XXXXXX");

    if (mkdtemp(path))
        return path;
    free(path);
    return dir_new();
}

/* Calls each with every name in the folder. */
static inline void dir_each(const char *dir, void (*each)(void *arg, const char *path, const char *name), void *arg)
{
    DIR *d = opendir(dir);

    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        AUTO_FREE char *path = mem_fmt("%s/%s", dir, e->d_name);
        each(arg, path, e->d_name);
    }
    closedir(d);
}

static inline void dir_unlink_one(void *arg, const char *path, const char *name)
{
    (void)arg;
    (void)name;
    unlink(path);
}

static inline void dir_empty(const char *dir)
{
    dir_each(dir, dir_unlink_one, NULL);
}

static inline void dir_free(char *dir)
{
    dir_empty(dir);
    rmdir(dir);
    free(dir);
}

static inline void dir_copy_one(void *arg, const char *path, const char *name)
{
    AUTO_FREE char *to = mem_fmt("%s/%s", (const char *)arg, name);
    AUTO_CLOSE int in = open(path, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    char bytes[65536];
    ssize_t n;

    assert_true(in >= 0 && out >= 0);
    while ((n = read(in, bytes, sizeof(bytes))) > 0)
        assert_int_equal(write(out, bytes, (size_t)n), n);
}

static inline void dir_add_size(void *arg, const char *path, const char *name)
{
    struct stat st;

    (void)name;
    *(int64_t *)arg += stat(path, &st) == 0 ? st.st_size : 0;
}

static inline int64_t dir_bytes(const char *dir)
{
    int64_t sum = 0;

    dir_each(dir, dir_add_size, &sum);
    return sum;
}

static inline bool dir_has(const char *dir, const char *name)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", dir, name);

    return access(path, F_OK) == 0;
}

/* Batch `number` of a run: the same bytes each time it is made, so that a reader can tell whether it is whole. */
static inline struct store_batch batch_make(const char *node, uint64_t run, uint64_t number, char *bytes, size_t len)
{
    struct prng g = {run * 31 + number};

    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)prng_next(&g);
    return (struct store_batch){.node = node,
                                .run = run,
                                .number = number,
                                .at_ms = 1700000000000 + (int64_t)number * 1000,
                                .shift_ms = -7,
                                .bytes = {bytes, len}};
}

static inline bool batch_whole(const struct store_batch *b)
{
    struct prng g = {b->run * 31 + b->number};

    for (size_t i = 0; i < b->bytes.len; i++)
        if (b->bytes.p[i] != (char)prng_next(&g))
            return false;
    return b->at_ms == 1700000000000 + (int64_t)b->number * 1000 && b->shift_ms == -7;
}

#endif
