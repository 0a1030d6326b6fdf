/* nvml_gpm.c: activity of the multiprocessors, their pipes and the memory, PCIe and NVLink rates, from GPM. */
#include "collect/nvml_gpm.h"

#include "model/work.h"

#define MIB 1048576.0

static const struct {
    unsigned id;
    enum metric m;
    double scale;
    bool mig;  /* a MIG instance has it too */
    bool link; /* only with NVLink: without it the counter reads 0 */
} gpm_metrics[] = {
    {1, M_active, 100, true, false},        {2, M_sm_active, 100, true, false},
    {3, M_sm_occupancy, 100, true, false},  {4, M_int_active, 100, true, false},
    {5, M_tensor_active, 100, true, false}, {6, M_dfma_active, 100, true, false},
    {7, M_hmma_active, 100, true, false},   {9, M_imma_active, 100, true, false},
    {10, M_dram_active, 100, true, false},  {11, M_fp64_active, 100, true, false},
    {12, M_fp32_active, 100, true, false},  {13, M_fp16_active, 100, true, false},
    {20, M_pcie_tx, MIB, false, false},     {21, M_pcie_rx, MIB, false, false},
    {60, M_nvlink_rx, MIB, false, true},    {61, M_nvlink_tx, MIB, false, true},
};
_Static_assert(ARRAY_LEN(gpm_metrics) == NVML_GPM_METRICS, "room for each");

/* Does the device support GPM? A driver without permission for it may return that from any of its calls. */
static bool usable(const struct nvml *lib, struct nvml_dev *d)
{
    struct nvml_gpm_support support = {.version = 1};
    nvml_handle gpu = d->parent ? d->parent : d->handle;
    if (!lib->gpm_support || !lib->gpm_new || !lib->gpm_free || !lib->gpm_sample || !lib->gpm_get ||
        (d->parent && !lib->gpm_mig_sample))
        return false;
    int rc = lib->gpm_support(gpu, &support);
    d->dear.gpm_refused = rc == NVML_NO_PERMISSION;
    if (rc != 0 || !support.supported)
        return false;
    for (int i = 0; i < 2; i++)
        if (!d->dear.gpm_sample[i] && lib->gpm_new(&d->dear.gpm_sample[i]) != 0) {
            d->dear.gpm_sample[i] = NULL;
            return false;
        }
    d->dear.gpm_begun = false;
    return true;
}

/* Older than GPM. False if unknown. */
static bool is_old(const struct nvml *lib, const struct nvml_dev *d)
{
    unsigned architecture;
    return lib->architecture && lib->architecture(d->parent ? d->parent : d->handle, &architecture) == 0 &&
           architecture < NVML_HOPPER;
}

/* Selects the metrics to query into q, and their rows of the table into rows. */
static void choose(const struct nvml_query *a, const struct nvml_dev *d, struct nvml_gpm_get *q, size_t *rows)
{
    for (size_t i = 0; i < ARRAY_LEN(gpm_metrics); i++) {
        bool util = d->parent && gpm_metrics[i].m == M_active; /* requested below */
        if ((d->parent && !gpm_metrics[i].mig) || (gpm_metrics[i].link && d->dear.links != 1) ||
            (bits_has(a->absent, gpm_metrics[i].m) && !util))
            continue;
        rows[q->count] = i;
        q->metric[q->count++].id = gpm_metrics[i].id;
    }
}

static int64_t scaled(double v, double scale)
{
    double most = scale == 100 ? 100 : 1e9; /* percent, or a rate nothing reaches */
    return (int64_t)((v >= 0 ? MIN(v, most) : 0) * scale + 0.5);
}

/* Sets the requested values in the sample. A MIG instance gets its utilisation here: the driver has no other source. */
static void take_values(struct nvml_query *a, struct nvml_dev *d, const struct nvml_gpm_get *q, const size_t *rows)
{
    bool any = false, refused = false;
    for (unsigned i = 0; i < q->count; i++) {
        enum metric m = gpm_metrics[rows[i]].m;
        int rc = q->metric[i].rc;
        int64_t v = rc == 0 ? scaled(q->metric[i].value, gpm_metrics[rows[i]].scale) : 0;
        any |= rc == 0;
        refused |= rc == NVML_NO_PERMISSION;
        if (d->parent && m == M_active)
            nvml_answer(a, M_util, rc, v);
        if (!bits_has(a->absent, m))
            nvml_answer(a, m, rc, v);
    }
    d->dear.gpm_refused = refused && !any;
}

/* Sets the values computed from them. */
static void take_work(struct nvml_query *a, const struct nvml_dev *d)
{
    const struct gpu_peak *peak = gpu_peak_of(d->fact.name);
    int64_t v;
    if (!bits_has(a->absent, M_work) && work_of(a->sample, &v))
        sample_set(a->sample, M_work, v);
    if (!bits_has(a->absent, M_flops) && peak &&
        flops_of(peak, d->parent ? d->sms : peak->sms, d->dear.clock_hz, a->sample, &v))
        sample_set(a->sample, M_flops, v);
}

bool nvml_gpm_read(struct nvml_query *a, struct nvml_dev *d)
{
    const struct nvml *lib = a->lib;
    struct nvml_dear *dear = &d->dear;
    if (dear->gpm < 0) {
        dear->gpm = usable(lib, d);
        dear->gpm_old = !dear->gpm && is_old(lib, d);
    }
    if (!dear->gpm)
        return false;
    int rc = d->parent ? lib->gpm_mig_sample(d->parent, d->gi, dear->gpm_sample[1])
                       : lib->gpm_sample(d->handle, dear->gpm_sample[1]);
    enum nvml_verdict v = nvml_note_result(a, rc);
    if (v != NVML_GOOD) {
        dear->gpm_begun = false;
        dear->gpm_refused = rc == NVML_NO_PERMISSION;
        if (v == NVML_ABSENT)
            dear->gpm = 0;
        return false;
    }
    struct nvml_gpm_get q = {.version = 1, .first = dear->gpm_sample[0], .second = dear->gpm_sample[1]};
    size_t rows[NVML_GPM_METRICS];
    bool begun = dear->gpm_begun;
    choose(a, d, &q, rows);
    dear->gpm_sample[0] = q.second; /* the newer one is the next round's first */
    dear->gpm_sample[1] = q.first;
    dear->gpm_begun = true;
    if (!q.count) /* nothing is wanted, or nothing is given */
        dear->gpm = 0;
    if (!begun || !q.count)
        return false;
    rc = lib->gpm_get(&q);
    dear->gpm_refused = rc == NVML_NO_PERMISSION;
    if (nvml_note_result(a, rc) != NVML_GOOD)
        return false;
    take_values(a, d, &q, rows);
    take_work(a, d);
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
