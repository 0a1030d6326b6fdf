/* A column of integers: any bytes are read within bounds, and what was read is written and read back as the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/ints.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t n = (data[0] | (size_t)data[1] << 8) % 5000;
    AUTO_FREE int64_t *v = mem_alloc(n * sizeof(*v));
    AUTO_FREE int64_t *again = mem_alloc(n * sizeof(*v));
    AUTO_BUF out = BUF_INIT(1 << 20);
    struct rd r = rd_of(data + 2, size - 2);
    int rc = ints_get(&r, v, n);

    if (rc < 0) { /* then the bytes themselves are the values */
        if (rc != -EBADMSG)
            abort();
        n = MIN(n, size / sizeof(*v));
        memcpy(v, data, n * sizeof(*v));
    }
    if (n == 0)
        return 0;
    if (ints_put(&out, v, n) < 0)
        abort();
    r = rd_of(out.p, out.len);
    if (ints_get(&r, again, n) < 0 || rd_left(&r) || memcmp(v, again, n * sizeof(*v)) != 0)
        abort();
    return 0;
}
