/* A blacklist: any bytes. What is taken has three names each. */
#include <stdlib.h>
#include <string.h>

#include "wandb_pull/blacklist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct blacklist b;

    if (blacklist_read(str_n(data, size), &b, NULL) < 0)
        return 0;
    for (size_t i = 0; i < b.n; i++)
        if (!b.v[i].team[0] || !b.v[i].project[0] || !b.v[i].id[0] || strchr(b.v[i].id, '/'))
            abort();
    blacklist_fini(&b);
    return 0;
}
