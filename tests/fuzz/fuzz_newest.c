/* The newest values of a node, as one hub tells another: any bytes are read or refused, and what was read is written
 * and read again with the same values. */
#include <assert.h>
#include <stdlib.h>

#include "model/batch.h"
#include "nodes/newest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct batch b, c;
    struct err err = {0};
    AUTO_FREE void *mem = NULL, *again = NULL;
    AUTO_BUF out = BUF_INIT(1u << 24);

    if (newest_get(str_n((const char *)data, size), &b, &mem, &err) < 0 ||
        newest_put(&out, &b, &state_rule_default) < 0)
        return 0;
    assert(newest_get(buf_str(&out), &c, &again, &err) == 0);
    assert(c.key.run == b.key.run && c.key.number == b.key.number && c.n_uses == b.n_uses);
    assert(c.at_ms[c.n_ticks - 1] == b.at_ms[b.n_ticks - 1]);
    assert(c.n_columns == b.n_columns);
    return 0;
}
