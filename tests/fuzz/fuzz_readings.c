/* GPU Monitor's files: the first byte says which of them, a byte 0xff begins another; then what they say together. */
#include <stdlib.h>

#include "relay/readings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct readings *r = readings_new();
    struct reading got = {0};
    struct readings_zone z = {.automatic = true};
    struct str rest = str_n(data, size), file, host;
    enum readings_file which;
    struct err err = {0};

    while (str_cut(&rest, (char)0xff, &file)) {
        if (!file.len)
            continue;
        readings_take(r, (enum readings_file)((uint8_t)file.p[0] % READINGS_FILES), str_n(file.p + 1, file.len - 1),
                      1794732099000);
        reading_reset(&got);
        readings_read(r, &z, &got);
        check(got.n_devices <= DEVICES_MAX && readings_at(r, &z) >= 0 && readings_cpus(r) >= 0);
        for (size_t i = 0; i < got.n_devices; i++) {
            const struct device_reading *d = &got.devices[i];
            check(name_ok(str_of(d->fact.uuid), UUID_MAX) && str_utf8_ok(str_of(d->fact.name)));
            for (size_t k = 0; k < d->n_uses; k++)
                check(d->uses[k].pid > 0 && (!d->uses[k].known || str_utf8_ok(str_of(d->uses[k].known->user))));
        }
        for (size_t i = 0; i < got.n_custom; i++)
            check(name_ok(str_of(got.custom[i].name), 63) && got.custom[i].v >= 0 && got.custom[i].v <= 10000);
    }
    if (size < 64) {
        char text[65] = "";
        memcpy(text, data, size);
        if (readings_zone(text, &z, &err) == 0)
            check(z.offset_ms >= -15 * 3600000ll && z.offset_ms <= 15 * 3600000ll);
        if (readings_name(str_n(data, size), &host, &which))
            check(which < READINGS_FILES && host.len > 0 && host.len <= ORIGIN_NAME_MAX);
    }
    reading_fini(&got);
    readings_free(r);
    return 0;
}
