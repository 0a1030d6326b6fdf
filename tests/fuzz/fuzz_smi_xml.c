/* nvidia-smi's XML: any bytes give a reading in bounds, or one clear error. */
#include <stdlib.h>

#include "relay/smi_xml.h"

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

    int e = smi_xml(str_n(data, size), &r, &err);
    check(e == 0 || err.msg[0]);
    check(r.n_devices <= DEVICES_MAX);
    for (size_t i = 0; i < r.n_devices; i++) {
        const struct device_reading *d = &r.devices[i];
        check(str_utf8_ok(str_of(d->fact.uuid)) && str_utf8_ok(str_of(d->fact.name)));
        for (size_t k = 0; k < d->n_uses; k++)
            check(d->uses[k].pid > 0 && d->uses[k].mem >= -1);
    }
    reading_fini(&r);
    return 0;
}
