/*
 * A spool file: any bytes. What is found in it must be found again in the next run. Checksums of records whose spare
 * byte is 0 are put right first, or few records would ever be found.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"
#include "uplink/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64];

static void dir_gone(void)
{
    rmdir(dir);
}

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void put_le(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static void put_right(uint8_t *p, size_t n)
{
    for (size_t at = 0; n >= 60 && at <= n - 60; at++) {
        uint8_t *head = p + at;
        if (memcmp(head, "\xd5REC", 4) != 0 || head[6])
            continue;
        size_t len = head[8] | (size_t)head[9] << 8 | (size_t)head[10] << 16 | (size_t)head[11] << 24;
        if (len <= n - at - 60)
            put_le(head + 12, crc32c(0, head + 60, len));
        put_le(head + 56, crc32c(crc32c(0, head, 5), head + 6, 50));
    }
}

static struct spool *open_it(void)
{
    struct spool_conf conf = {dir, 1 << 20, INT64_MAX / 2};
    struct spool *s = NULL;
    struct err err = {0};

    must(spool_open(&s, &conf, 0, &err) == 0);
    return s;
}

static size_t read_all(struct spool *s)
{
    struct spool_rec rec;
    struct err err = {0};
    AUTO_BUF blob = BUF_INIT(32 << 20);
    size_t n = 0;

    for (; spool_peek(s, n, &rec, &err) == 1; n++) {
        uint64_t ids[2] = {rec.blobs[0], rec.blobs[1]};
        for (int i = 0; i < 2; i++)
            if (spool_blob(s, ids[i], &blob, &err) == 1)
                buf_reset(&blob);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spool_stat st;
    struct err err = {0};
    char path[96];

    if (!dir[0]) {
        snprintf(dir, sizeof(dir), "%s/muster-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        must(mkdtemp(dir) != NULL);
        atexit(dir_gone);
    }
    snprintf(path, sizeof(path), "%s/00000001.seg", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    AUTO_FREE uint8_t *copy = mem_alloc(size);
    if (size)
        memcpy(copy, data, size);
    put_right(copy, size);
    must(fd >= 0 && write(fd, copy, size) == (ssize_t)size);
    close(fd);

    struct spool *s = open_it();
    spool_stat(s, &st);
    size_t n = read_all(s);
    must(n == st.records);
    struct spool_rec rec = {.run = 1, .number = 2, .at_ms = 3, .blobs = {4, 5}, .bytes = STR("more")};
    must(spool_put(s, &rec, 3, &err) == 0);
    spool_stat(s, &st);
    must(read_all(s) == st.records && st.records + st.dropped == n + 1);
    spool_close(s);
    s = open_it();
    must(read_all(s) == st.records);
    while (spool_peek(s, 0, &rec, &err) == 1)
        must(spool_done(s, rec.run, rec.number, &err) == 0);
    spool_close(s);
    unlink(path); /* there still when it was of another version */
    return 0;
}
