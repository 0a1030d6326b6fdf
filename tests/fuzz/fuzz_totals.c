/* Counters of persons and teams as the store keeps them: any bytes are read or refused; what is read can be written and
 * read again. */
#include <stdlib.h>

#include "base/buf.h"
#include "usage/totals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct totals t = {0}, back = {0};
    AUTO_BUF a = BUF_INIT(8u << 20), b = BUF_INIT(8u << 20);

    if (totals_read(str_n(data, size), &t) < 0)
        return 0;
    totals_write(&t, &a);
    check(totals_read(buf_str(&a), &back) == 0 && back.n == t.n);
    totals_write(&back, &b);
    check(a.len == b.len && memcmp(a.p, b.p, a.len) == 0);
    totals_prom(&t, &b, true);
    totals_fini(&t);
    totals_fini(&back);
    return 0;
}
