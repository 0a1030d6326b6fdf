/*
 * nvml_scan.h: which devices there are: GPUs in the driver's order, each followed by its MIG instances. A GPU once seen
 * stays in the list: as lost when the driver no longer has it, as asleep when asking would wake it; it is the same
 * device when it comes back.
 */
#pragma once

#include "collect/nvml_dev.h"
#include "collect/nvml_pci.h"

struct nvml_list {
    struct nvml_dev **v;
    size_t n, cap;
    size_t nameless; /* GPUs asleep since before we came: nobody knows who they are, so they are not in the list */
};

/* Make the list anew. 0, or the NVML code that is bad for the whole driver. No thread may be using the list. */
int nvml_scan(struct nvml_list *l, const struct nvml *lib, const char *root, int64_t now_ms);
/* The same when all GPUs sleep, without the driver: false when one is awake, or none is known to the kernel. */
bool nvml_scan_asleep(struct nvml_list *l, const char *root);
/* A GPU of the list that was lost answers again, or one came that is not in it. Cheap; changes nothing. */
bool nvml_list_stale(const struct nvml_list *l, const struct nvml *lib);

/* Mark d as lost; note says why. Threads may still use its handle: a scan must follow. */
void nvml_list_lose(struct nvml_dev *d, const char *note, int64_t now_ms);
void nvml_list_close(struct nvml_list *l); /* the driver is let go: no handle counts any more */
void nvml_list_fini(struct nvml_list *l);
