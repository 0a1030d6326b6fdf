/* nvml_gpm.h: the GPU's performance counters (GPM, Hopper and later), as the difference of two samples. */
#pragma once

#include "collect/nvml_dev.h"

/*
 * Takes a sample of d and sets in a->sample the changes since the previous one. Returns false the first time, and
 * without GPM (nvml_dev.h: gpm is 0 then).
 */
bool nvml_gpm_read(struct nvml_query *a, struct nvml_dev *d);
void nvml_gpm_close(const struct nvml *lib, struct nvml_dev *d);
