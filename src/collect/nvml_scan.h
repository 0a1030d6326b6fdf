/*
 * nvml_scan.h: the list of devices: GPUs in the driver's order, each followed by its MIG instances. A GPU once seen
 * stays in the list: lost if the driver no longer has it, asleep if a call would wake it. When it comes back it is the
 * same device.
 */
#pragma once

#include "collect/nvml_dev.h"
#include "collect/nvml_pci.h"

struct nvml_list {
    struct nvml_dev **v;
    size_t n, cap;
    size_t nameless; /* GPUs asleep since before this process started: their identity is unknown, so they are not in the
                        list */
};

/*
 * Makes the list again. Returns 0, or the NVML code of a failure of the whole driver. No thread may be using the list.
 */
int nvml_scan(struct nvml_list *l, const struct nvml *lib, const char *root, int64_t now_ms);
/* The same if all GPUs sleep, without the driver. Returns false if one is awake, or the kernel lists none. */
bool nvml_scan_asleep(struct nvml_list *l, const char *root);
/* True if a lost GPU of the list responds again, or a GPU is missing in the list. Cheap; changes nothing. */
bool nvml_list_stale(const struct nvml_list *l, const struct nvml *lib);

/* Marks d as lost; note is the reason. Threads may still use its handle: a scan must follow. */
void nvml_list_lose(struct nvml_dev *d, const char *note, int64_t now_ms);
void nvml_list_close(struct nvml_list *l); /* the driver is closed: all handles become invalid */
void nvml_list_fini(struct nvml_list *l);
