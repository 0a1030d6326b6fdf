/* What one hub tells another: any bytes are read or refused, and what was read is written and read again as it was. */
#include <assert.h>
#include <stdlib.h>

#include "nodes/share.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rd r = rd_of(data, size);
    struct err err = {0};
    static struct hub_share t, u;

    if (share_check_start(&r, &err) < 0)
        return 0;
    while (share_next(&r, &t, &err) == 1) {
        AUTO_BUF out = BUF_INIT(SHARE_MAX);
        if (share_put(&out, &t) < 0)
            continue;
        struct rd again = rd_of(out.p, out.len);
        assert(share_next(&again, &u, &err) == 1);
        assert(u.n == t.n && str_eq_str(u.key, t.key) && str_eq_str(u.address, t.address));
        for (size_t i = 0; i < t.n; i++)
            assert(u.v[i].facts == t.v[i].facts && u.v[i].shift_ms == t.v[i].shift_ms &&
                   str_eq_str(u.v[i].whole, t.v[i].whole));
        assert(share_next(&again, &u, &err) == 0);
    }
    return 0;
}
