/* JSON of AMD's tools: any bytes. What comes of them fits to travel. */
#include <stdlib.h>

#include "relay/amd_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading r = {0};
    struct err err = {0};
    int rc = amd_json(str_n(data, size), &r, &err);

    check(rc == 0 || err.msg[0]);
    check(rc == 0 || r.n_devices == 0);
    check(r.n_devices <= DEVICES_MAX);
    check(str_utf8_ok(str_of(r.driver)));
    for (size_t i = 0; i < r.n_devices; i++) {
        const struct device_fact *f = &r.devices[i].fact;
        check(str_utf8_ok(str_of(f->name)) && str_utf8_ok(str_of(f->serial)) && f->index >= 0);
        for (int m = 0; m < M_COUNT; m++)
            check(!sample_has(&r.devices[i].sample, (enum metric)m) || r.devices[i].sample.v[m] >= 0);
    }
    reading_fini(&r);
    return 0;
}
