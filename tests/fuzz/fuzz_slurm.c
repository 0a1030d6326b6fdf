/* What squeue and scontrol print, and lists of hosts: any bytes. */
#include <stdlib.h>

#include "jobs/squeue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_SLURM j = {0};
    struct err err = {0};
    struct str text = str_n(data, size);

    if (size > 1 << 16)
        return 0;
    if (slurm_squeue(&j, text, "m", &err) < 0 && !err.msg[0])
        abort();
    slurm_scontrol(&j, text);
    for (size_t i = 0; i < j.n && i < 16; i++) {
        if (!str_utf8_ok(str_of(j.v[i].user)) || j.v[i].per_node < 0)
            abort();
        slurm_list_has(str_of(j.v[i].nodes), "dgx10.lab");
    }
    slurm_list_has(text, "gpu01");
    return 0;
}
