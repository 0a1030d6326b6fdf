/* nvidia-smi's CSV: the same bytes as a table of GPUs and as one of processes on them. */
#include <stdlib.h>

#include "collect/smi_tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading r = {0};
    struct smi_tables t = {0};
    struct str text = str_n(data, size), rest = text, field, line;

    while (str_line(&rest, &line)) {
        smi_tables_gpu(&t, line);
        smi_tables_app(&t, line, 1);
    }
    smi_tables_read(&t, 1, 1, &r);
    check(r.n_devices <= DEVICES_MAX);
    for (size_t i = 0; i < r.n_devices; i++) {
        const struct device_reading *d = &r.devices[i];
        check(str_utf8_ok(str_of(d->fact.uuid)) && str_utf8_ok(str_of(d->fact.name)));
        check(d->fact.index >= 0 && strlen(d->fact.pci) < sizeof(d->fact.pci));
        for (size_t k = 0; k < d->n_uses; k++)
            check(d->uses[k].pid > 0 && d->uses[k].mem >= -1);
    }
    reading_fini(&r);
    smi_tables_fini(&t);
    while (str_line(&text, &line)) {
        smi_unknown_field(line, &field);
        smi_failure(line);
    }
    return 0;
}
