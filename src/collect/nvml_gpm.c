/* nvml_gpm.c: activity of the multiprocessors, tensor pipes and memory, PCIe and NVLink rates, from GPM. */
#include "collect/nvml_gpm.h"

#define MIB 1048576.0

static const struct {
    unsigned id;
    enum metric m;
    double scale;
    bool mig;  /* a MIG instance has it too */
    bool link; /* only where there is NVLink: the counter reads 0 without */
} gpm_metrics[] = {
    {2, M_sm_active, 100, true, false},     {3, M_sm_occupancy, 100, true, false},
    {5, M_tensor_active, 100, true, false}, {10, M_dram_active, 100, true, false},
    {20, M_pcie_tx, MIB, false, false},     {21, M_pcie_rx, MIB, false, false},
    {60, M_nvlink_rx, MIB, false, true},    {61, M_nvlink_tx, MIB, false, true},
};
_Static_assert(ARRAY_LEN(gpm_metrics) + 1 == NVML_GPM_METRICS, "room for each and one more");

static bool usable(const struct nvml *lib, struct nvml_dev *d)
{
    struct nvml_gpm_support support = {.version = 1};
    nvml_handle gpu = d->parent ? d->parent : d->handle;
    if (!lib->gpm_support || !lib->gpm_new || !lib->gpm_free || !lib->gpm_sample || !lib->gpm_get ||
        (d->parent && !lib->gpm_mig_sample) || lib->gpm_support(gpu, &support) != 0 || !support.supported)
        return false;
    for (int i = 0; i < 2; i++)
        if (!d->dear.gpm_sample[i] && lib->gpm_new(&d->dear.gpm_sample[i]) != 0) {
            d->dear.gpm_sample[i] = NULL;
            return false;
        }
    d->dear.gpm_begun = false;
    return true;
}

/* The metrics to ask for, into q; a MIG instance also gets its utilisation this way, the driver having no other. */
static void choose(const struct nvml_ask *a, const struct nvml_dev *d, struct nvml_gpm_get *q, enum metric *ms)
{
    for (size_t i = 0; i < ARRAY_LEN(gpm_metrics); i++) {
        if ((d->parent && !gpm_metrics[i].mig) || (gpm_metrics[i].link && d->dear.links != 1) ||
            bits_has(a->absent, gpm_metrics[i].m))
            continue;
        ms[q->count] = gpm_metrics[i].m;
        q->metric[q->count++].id = gpm_metrics[i].id;
    }
    if (d->parent) {
        ms[q->count] = M_util;
        q->metric[q->count++].id = 1;
    }
}

static int64_t scaled(enum metric m, double v)
{
    double scale = 100;
    for (size_t i = 0; i < ARRAY_LEN(gpm_metrics); i++)
        if (gpm_metrics[i].m == m)
            scale = gpm_metrics[i].scale;
    double most = scale == 100 ? 100 : 1e9; /* percent, or a rate nothing reaches */
    return (int64_t)((v >= 0 ? MIN(v, most) : 0) * scale + 0.5);
}

bool nvml_gpm_read(struct nvml_ask *a, struct nvml_dev *d)
{
    const struct nvml *lib = a->lib;
    struct nvml_dear *dear = &d->dear;
    if (dear->gpm < 0)
        dear->gpm = usable(lib, d);
    if (!dear->gpm)
        return false;
    int rc = d->parent ? lib->gpm_mig_sample(d->parent, d->gi, dear->gpm_sample[1])
                       : lib->gpm_sample(d->handle, dear->gpm_sample[1]);
    enum nvml_verdict v = nvml_heard(a, rc);
    if (v != NVML_GOOD) {
        dear->gpm_begun = false;
        if (v == NVML_ABSENT)
            dear->gpm = 0;
        return false;
    }
    struct nvml_gpm_get q = {.version = 1, .first = dear->gpm_sample[0], .second = dear->gpm_sample[1]};
    enum metric ms[NVML_GPM_METRICS];
    bool begun = dear->gpm_begun;
    choose(a, d, &q, ms);
    dear->gpm_sample[0] = q.second; /* the newer one is the next round's first */
    dear->gpm_sample[1] = q.first;
    dear->gpm_begun = true;
    if (!begun || !q.count || nvml_heard(a, lib->gpm_get(&q)) != NVML_GOOD)
        return false;
    for (unsigned i = 0; i < q.count; i++)
        nvml_answer(a, ms[i], q.metric[i].rc, q.metric[i].rc == 0 ? scaled(ms[i], q.metric[i].value) : 0);
    return true;
}

void nvml_gpm_close(const struct nvml *lib, struct nvml_dev *d)
{
    for (int i = 0; i < 2; i++)
        if (d->dear.gpm_sample[i])
            lib->gpm_free(d->dear.gpm_sample[i]);
    d->dear.gpm_sample[0] = d->dear.gpm_sample[1] = NULL;
    d->dear.gpm = -1;
    d->dear.gpm_begun = false;
}
