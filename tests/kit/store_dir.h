/* store_dir.h: what the store's tests share: a folder of their own, batches made from a number, and counting them. */
#ifndef TESTS_UNIT_STORE_DIR_H
#define TESTS_UNIT_STORE_DIR_H

#include <fcntl.h>
#include <sys/stat.h>

#include "base/rand.h"
#include "temp_store.h"

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
