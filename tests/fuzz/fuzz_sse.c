/* Server-sent events: any bytes, in pieces of any size, give the same events as in one piece. */
#include <assert.h>
#include <stdlib.h>

#include "stream/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int each(void *arg, struct str name, struct str data)
{
    struct buf *b = arg;

    buf_addf(b, "%zu:%zu ", name.len, data.len);
    buf_addstr(b, name);
    buf_addstr(b, data);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_BUF whole = BUF_INIT(1 << 24);
    AUTO_BUF parts = BUF_INIT(1 << 24);
    struct sse a = SSE_INIT, b = SSE_INIT;
    size_t step = size ? data[0] % 7 + 1u : 1;

    assert(sse_take(&a, str_n(data, size), each, &whole) == 0);
    for (size_t i = 0; i < size; i += step)
        assert(sse_take(&b, str_n(data + i, size - i < step ? size - i : step), each, &parts) == 0);
    assert(str_eq_str(buf_str(&whole), buf_str(&parts)));
    sse_fini(&a);
    sse_fini(&b);
    return 0;
}
