/* nvml_pci.c: small files of /proc and /sys about NVIDIA's GPUs. Never touches the driver's devices. */
#include "collect/nvml_pci.h"

#include <dirent.h>

#include "base/file.h"
#include "base/order.h"
#include "base/str.h"
#include "collect/collect.h"

COMPARE(by_text, char, strcmp(x, y))

void nvml_pci_list(const char *root, struct nvml_pci_list *ret)
{
    char path[512];
    ret->n = 0;
    snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus", root);
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *e; (e = readdir(dir)) && ret->n < NVML_PCI_MAX;)
        if (e->d_name[0] != '.' && strlen(e->d_name) < sizeof(ret->id[0]))
            mem_copy_str(ret->id[ret->n++], sizeof(ret->id[0]), e->d_name);
    closedir(dir);
    SORT(ret->id, ret->n, by_text);
}

bool nvml_pci_asleep(const char *root, const char *pci)
{
    char path[512], text[32];
    if (!pci[0])
        return false;
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/power/runtime_status", root, pci);
    return str_eq(str_trim(file_small(path, text, sizeof(text))), "suspended");
}

/* The value of "Key:   value" in text; empty when it is not there. */
static struct str value_of(struct str text, const char *key)
{
    for (struct str line; str_line(&text, &line);) {
        struct str name;
        if (str_cut(&line, ':', &name) && str_eq(str_trim(name), key))
            return str_trim(line);
    }
    return STR("");
}

bool nvml_pci_can_sleep(const char *root, const char *pci)
{
    char path[512], text[1024];
    snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/%s/power", root, pci);
    return str_starts(value_of(file_small(path, text, sizeof(text)), "Runtime D3 status"), "Enabled");
}

bool nvml_pci_fact(const char *root, const char *pci, struct device_fact *ret)
{
    char path[512], text[2048];
    int64_t minor;
    mem_copy_str(ret->pci, sizeof(ret->pci), pci);
    ret->vendor = VENDOR_NVIDIA;
    ret->minor = ret->mig = -1;
    snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/%s/information", root, pci);
    struct str all = file_small(path, text, sizeof(text));
    struct str name = value_of(all, "Model"), uuid = value_of(all, "GPU UUID");
    collect_text(ret->name, sizeof(ret->name), name);
    collect_text(ret->uuid, sizeof(ret->uuid), uuid);
    if (str_int(value_of(all, "Device Minor"), &minor) && minor >= 0 && minor < 4096)
        ret->minor = (int32_t)minor;
    return str_starts(uuid, "GPU-") && str_find(uuid, "?") < 0;
}
