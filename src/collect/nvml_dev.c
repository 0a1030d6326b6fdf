/*
 * nvml_dev.c: reads what a device is (name, uuid, PCI address). Its values are read by nvml.c (every tick) and
 * nvml_slow.c (the slow ones).
 */
#include "collect/nvml_dev.h"

#include "collect/collect.h"

struct nvml_dev *nvml_dev_new(void)
{
    return NEW(struct nvml_dev, .fact = {.mig = -1, .minor = -1, .vendor = VENDOR_NVIDIA},
               .dear = {.ecc_unc = -1, .links = -1, .gpm = -1});
}

void nvml_dev_free(struct nvml_dev *d)
{
    if (d)
        FREE_ALL(d->pids, d->uses, d);
}

void nvml_dev_open(struct nvml_dev *d, nvml_handle handle)
{
    d->handle = handle;
    d->no_list = 0;
    d->listed_ms = 0;
    d->first.have = (struct bits){0};
    d->absent = d->dear.absent = (struct bits){0};
    d->dear.links = d->dear.gpm = -1;
    d->dear.gpm_refused = d->dear.gpm_old = d->dear.gpm_busy = false;
    d->dear.link_at_ms = 0;
    d->dear.fixed.have = (struct bits){0};
    d->dear.procs_begun = d->dear.no_rows = d->dear.no_procs = false;
    memset(d->dear.due_ms, 0, sizeof(d->dear.due_ms));
    d->fact.lost = d->fact.asleep = false;
    d->fact.note[0] = 0;
}

/* What a GPU and a MIG instance both have. */
static int identify(const struct nvml *lib, nvml_handle handle, struct device_fact *f)
{
    char uuid[96] = "", name[96] = "";
    int rc = lib->uuid(handle, uuid, sizeof(uuid));
    if (rc)
        return rc;
    uuid[sizeof(uuid) - 1] = 0;
    collect_text(f->uuid, sizeof(f->uuid), str_of(uuid));
    if (lib->name && lib->name(handle, name, sizeof(name) - 1) == 0)
        collect_text(f->name, sizeof(f->name), str_of(name));
    return 0;
}

int nvml_identify(const struct nvml *lib, nvml_handle handle, struct device_fact *fact)
{
    struct device_fact f = {.minor = -1, .mig = -1, .vendor = VENDOR_NVIDIA, .index = fact->index};
    char serial[64] = "";
    struct nvml_pci pci = {.domain = 0};
    unsigned u;
    int rc = identify(lib, handle, &f);
    if (rc)
        return rc;
    if (lib->serial && lib->serial(handle, serial, sizeof(serial) - 1) == 0)
        collect_text(f.serial, sizeof(f.serial), str_of(serial));
    if (lib->index && lib->index(handle, &u) == 0 && u < 4096)
        f.index = (int32_t)u;
    if (lib->minor && lib->minor(handle, &u) == 0 && u < 4096)
        f.minor = (int32_t)u;
    if (lib->pci && lib->pci(handle, &pci) == 0)
        /* NVML writes 00000000:0A:00.0, the kernel 0000:0a:00.0 */
        snprintf(f.pci, sizeof(f.pci), "%04x:%02x:%02x.0", pci.domain & 0xffffffffu, pci.bus & 0xff, pci.device & 0x1f);
    *fact = f;
    return 0;
}

int nvml_mig_slots(const struct nvml *lib, nvml_handle gpu)
{
    unsigned on = 0, pending, max = 0;
    if (!lib->mig_mode || !lib->mig_max || !lib->mig_handle || lib->mig_mode(gpu, &on, &pending) != 0)
        return -1;
    return on == 1 && lib->mig_max(gpu, &max) == 0 ? (int)MIN(max, 64u) : 0;
}

int nvml_identify_mig(const struct nvml *lib, const struct nvml_dev *gpu, unsigned i, nvml_handle *ret_handle,
                      unsigned *ret_gi, struct device_fact *fact)
{
    struct device_fact f = {.minor = -1, .mig = (int32_t)i, .vendor = VENDOR_NVIDIA, .index = gpu->fact.index};
    nvml_handle h;
    unsigned gi = 0;
    int rc = lib->mig_handle(gpu->handle, i, &h);
    if (rc == 0)
        rc = identify(lib, h, &f);
    if (rc)
        return rc;
    mem_copy_str(f.parent, sizeof(f.parent), gpu->fact.uuid);
    mem_copy_str(f.pci, sizeof(f.pci), gpu->fact.pci);
    if (lib->mig_gi)
        lib->mig_gi(h, &gi);
    *fact = f;
    *ret_handle = h;
    *ret_gi = gi;
    return 0;
}

int nvml_mig_sms(const struct nvml *lib, nvml_handle instance)
{
    struct nvml_attributes at = {0};
    if (!lib->attributes || lib->attributes(instance, &at) != 0 || at.gi_slices != at.ci_slices || at.sms > 4096)
        return 0;
    return (int)at.sms;
}

bool nvml_can_query(const struct nvml_query *a, enum metric m)
{
    return a->worst == NVML_GOOD && !bits_has(a->absent, m);
}

enum nvml_verdict nvml_note_result(struct nvml_query *a, int rc)
{
    enum nvml_verdict v = nvml_judge(rc);
    a->good |= rc == 0;
    a->unknown |= rc == NVML_UNKNOWN;
    if (v >= NVML_LOST && v > a->worst) {
        a->worst = v;
        a->rc = rc;
    }
    return v;
}

void nvml_answer(struct nvml_query *a, enum metric m, int rc, int64_t v)
{
    enum nvml_verdict verdict = nvml_note_result(a, rc);
    if (verdict == NVML_GOOD)
        sample_set(a->sample, m, v);
    else if (verdict == NVML_ABSENT)
        bits_set(a->absent, m);
}

void nvml_query_limits(struct nvml_query *a)
{
    NVML_ASK(a, M_power_limit, 1, power_limit, &u);
    NVML_ASK(a, M_power_default, 1, power_default, &u);
    NVML_ASK(a, M_clock_sm_max, 1000000, clock_max, NVML_CLOCK_SM, &u);
    NVML_ASK(a, M_clock_mem_max, 1000000, clock_max, NVML_CLOCK_MEM, &u);
    NVML_ASK(a, M_pcie_gen, 1, pcie_gen, &u);
    NVML_ASK(a, M_pcie_width, 1, pcie_width, &u);
}
