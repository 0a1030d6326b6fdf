/* A netrc: any bytes. */
#include <assert.h>
#include <errno.h>

#include "base/buf.h"
#include "wandb_pull/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf key = BUF_INIT(KEY_MAX);
    int r = netrc_find(str_n(data, size), STR("api.wandb.ai"), &key);
    assert(r == 0 || r == -ENOENT || r == -EBADMSG);
    assert(r < 0 || key.len <= size);
    key_wipe(&key);
    return 0;
}
