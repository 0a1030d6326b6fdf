/* fuzz_bundle.c: any bytes as a backup: read to their end or refused with a sentence, in bounded memory. */
#include <stdlib.h>
#include <sys/mman.h>

#include "backup/backup.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rand.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* Checksums stop a fuzzer at the door, so each input is tried as it is and with its checksums made right. */
static void make_right(struct buf *b)
{
    if (b->len < 12)
        return;
    uint32_t crc = crc32c(0, b->p, 12);
    for (size_t at = 12; at + 9 <= b->len;) {
        struct rd rd = rd_of(b->p + at + 1, 8);
        size_t len = rd_u32(&rd);
        if (len > b->len - at - 9)
            return;
        crc = crc32c(crc32c(crc, b->p + at, 5), b->p + at + 9, len);
        for (int i = 0; i < 4; i++)
            b->p[at + 5 + (size_t)i] = (char)(crc >> 8 * i);
        at += 9 + len;
    }
}

static int check_bytes(struct str bytes, struct backup_sum *ret, struct err *err)
{
    AUTO_CLOSE int fd = memfd_create("backup", MFD_CLOEXEC);
    char path[40];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (file_put(fd, bytes.p, bytes.len) < 0)
        abort();
    return backup_check(path, NULL, ret, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct backup_sum sum;
    struct err err = {0};
    AUTO_BUF b = BUF_INIT(16u << 20);

    buf_add(&b, p, n);
    for (int i = 0; i < 2; i++) {
        if (check_bytes(buf_str(&b), &sum, &err) < 0 && !err.msg[0])
            abort();
        make_right(&b);
    }
    return 0;
}
