/*
 * nvml_pci.h: what the kernel tells of NVIDIA's GPUs without waking or asking them: /proc/driver/nvidia/gpus and the
 * PCI power state in /sys. `root` goes before both paths: "" but in tests.
 */
#pragma once

#include <stdbool.h>

#include "model/fact.h"

#define NVML_PCI_MAX 64

struct nvml_pci_list {
    size_t n;
    char id[NVML_PCI_MAX][20]; /* 0000:05:00.0, ascending */
};

/* GPUs bound to NVIDIA's driver; none where /proc does not tell (WSL, some containers). */
void nvml_pci_list(const char *root, struct nvml_pci_list *ret);
/* Runtime suspended: any call to the driver would wake it. */
bool nvml_pci_asleep(const char *root, const char *pci);
/* The driver lets it suspend when nobody holds it open. False on servers: there nothing is gained by letting go. */
bool nvml_pci_may_sleep(const char *root, const char *pci);
/* Fill name, uuid, minor, pci and vendor. False when the driver has not read the uuid yet. */
bool nvml_pci_fact(const char *root, const char *pci, struct device_fact *ret);
