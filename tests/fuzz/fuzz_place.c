/* The address of a shared store: any text. What is taken keeps what stood in it, and holds no password. */
#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *url = mem_strn((const char *)data, size);
    struct err err = {0};
    int r = place_check(url, &err);
    AUTO_FREE char *place = place_of(url, NULL, &err);

    assert(r == 0 || (!place && err.msg[0]));
    assert(place || err.msg[0]);
    assert(!place || str_starts(str_of(place), url));
    assert(!place || !strstr(place, "password="));
    return 0;
}
