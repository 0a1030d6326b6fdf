/*
 * nvml_pci.h: reads facts about NVIDIA GPUs from the kernel without waking them: /proc/driver/nvidia/gpus and the PCI
 * power state in /sys. `root` is a prefix of both paths: "" except in tests.
 */
#pragma once

#include <stdbool.h>

#include "model/fact.h"

#define NVML_PCI_MAX 64

struct nvml_pci_list {
    size_t n;
    char id[NVML_PCI_MAX][20]; /* 0000:05:00.0, ascending */
};

/* GPUs bound to NVIDIA's driver; empty if /proc does not list them (WSL, some containers). */
void nvml_pci_list(const char *root, struct nvml_pci_list *ret);
/* Runtime suspended: any call to the driver would wake it. */
bool nvml_pci_asleep(const char *root, const char *pci);
/*
 * True if the driver suspends it when no process holds it open. False on servers: closing the driver gains nothing
 * there.
 */
bool nvml_pci_can_sleep(const char *root, const char *pci);
/* Fills name, uuid, minor, pci and vendor. Returns false if the driver has not read the uuid yet. */
bool nvml_pci_fact(const char *root, const char *pci, struct device_fact *ret);
