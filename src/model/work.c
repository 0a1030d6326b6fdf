/* work.c: computes work and flops from the activity of a GPU's pipes and memory. */
#include "model/work.h"

#include "base/mem.h"
#include "base/order.h"

static const struct gpu_peak peaks[] = {
#define PEAK(...) {__VA_ARGS__},
#include "model/peak.def"
};

const struct gpu_peak *gpu_peak_of(const char *model)
{
    const struct gpu_peak *at = FIND(peaks, ARRAY_LEN(peaks), p, str_starts(str_of(model), p->name));
    return at && at->sms ? at : NULL;
}

#define OLD_NOTE "work is not measured: " /* of agents before it was called efficiency */
bool note_of_work(const char *note)
{
    return str_starts(str_of(note), NO_WORK_FOR("")) || str_starts(str_of(note), OLD_NOTE);
}

bool work_of(const struct sample *s, int64_t *ret)
{
    static const enum metric parts[] = {M_tensor_active, M_fp64_active, M_fp32_active,
                                        M_fp16_active,   M_int_active,  M_dram_active};
    int64_t most = 0;

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (!sample_has(s, parts[i]))
            return false;
        most = MAX(most, s->v[parts[i]]);
    }
    *ret = most;
    return true;
}

bool work_spins(const struct sample *s)
{
    return sample_has(s, M_active) && sample_has(s, M_sm_active) && s->v[M_active] >= SPIN_ACTIVE &&
           s->v[M_sm_active] < SPIN_SM;
}

bool flops_of(const struct gpu_peak *peak, int sms, int64_t clock_hz, const struct sample *s, int64_t *ret)
{
    if (!peak || sms <= 0 || clock_hz <= 0 || !sample_has(s, M_tensor_active) || !sample_has(s, M_dram_active))
        return false;
    if (s->v[M_dram_active] > BOUND_DRAM && s->v[M_tensor_active] < BOUND_TENSOR)
        return false;
    const struct {
        enum metric m;
        int per_clock;
    } pipes[] = {{M_hmma_active, peak->hmma},
                 {M_imma_active, peak->imma},
                 {M_dfma_active, peak->dfma},
                 {M_fp64_active, peak->fp64},
                 {M_fp32_active, peak->fp32}};
    double most = 0;
    for (size_t i = 0; i < ARRAY_LEN(pipes); i++) {
        if (!sample_has(s, pipes[i].m))
            return false;
        double share = (double)s->v[pipes[i].m] / (double)metrics[pipes[i].m].per;
        most = MAX(most, share * sms * pipes[i].per_clock * (double)clock_hz);
    }
    *ret = (int64_t)(most / 1e12 * (double)metrics[M_flops].per + 0.5);
    return true;
}
