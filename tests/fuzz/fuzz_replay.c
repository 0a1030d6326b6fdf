/* A trace: read, then asked at moments near and far. */
#include <stdlib.h>

#include "base/mem.h"
#include "collect/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t moments[] = {0, 1, 999, 86400000, -1, INT64_MAX, INT64_MIN, 1794700000000};
    struct replay *r = NULL;
    struct err err = {0};

    if (replay_load(&r, str_n(data, size), "fuzz", &err) < 0) {
        if (r || !err.msg[0])
            abort();
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
        struct sample s;
        struct replay_use u[8];
        replay_at(r, moments[i], &s);
        size_t n = replay_uses(r, moments[i], u, ARRAY_LEN(u));
        for (size_t k = 0; k < n && k < ARRAY_LEN(u); k++)
            if (u[k].pid <= 0 || u[k].mem < -1)
                abort();
    }
    replay_free(r);
    return 0;
}
