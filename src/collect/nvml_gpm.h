/* nvml_gpm.h: what the GPU's own performance counters say (Hopper and later): two samples, and what lies between them.
 */
#pragma once

#include "collect/nvml_dev.h"

/*
 * Take a sample of d and set in a->sample what happened since the one before. False the first time, and where there is
 * no GPM (d->dear.gpm is 0 then).
 */
bool nvml_gpm_read(struct nvml_ask *a, struct nvml_dev *d);
void nvml_gpm_close(const struct nvml *lib, struct nvml_dev *d);
