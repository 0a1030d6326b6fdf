/*
 * work.h: the real activity of a GPU, from the activity of its parts: `work` (efficiency) and the estimate `flops`.
 * Pure. Neither uses utilisation or power: a kernel of one thread has 100 % utilisation, and full power hardly shows
 * what it is used for.
 */
#pragma once

#include "model/metric.h"

/* Activity in stored steps (0 to 10000) from which a GPU is mostly limited by its memory: docs/collect.md. */
enum { BOUND_DRAM = 6000, BOUND_TENSOR = 1000 };
/* The same for a GPU that is active but does almost nothing: a kernel that spins, or waits for another GPU. */
enum { SPIN_ACTIVE = 9000, SPIN_SM = 500 };
#define SPIN_WORDS "runs, but does almost nothing"

/* Why the efficiency of a GPU is unknown: its note, if there is nothing worse to report. */
#define NO_WORK_FOR(why) "efficiency is not measured: " why
#define NOT_WORK         "; utilisation is not efficiency"
#define NO_WORK(why)     NO_WORK_FOR(why) NOT_WORK
#define NO_WORK_RIGHTS   NO_WORK("the driver wants admin rights for it")
#define NO_WORK_MODEL    NO_WORK("GPUs before Hopper do not tell it")
#define NO_WORK_DRIVER   NO_WORK("this driver does not tell it")
#define NO_WORK_TRACE    NO_WORK("the recording does not have it")
#define NO_WORK_SMI      NO_WORK("nvidia-smi does not tell it")
bool note_of_work(const char *note); /* one of these, which explains no other missing value */

/* Operations of one GPU model per clock of one SM: peak.def. */
struct gpu_peak {
    const char *name; /* prefix of model names */
    int sms;
    int hmma, imma, dfma, fp64, fp32; /* operations per SM and clock */
};
const struct gpu_peak *gpu_peak_of(const char *model); /* NULL: unknown */

/* The highest activity of any part. False unless all parts are known: the missing one may be the busy one. */
bool work_of(const struct sample *s, int64_t *ret);
bool work_spins(const struct sample *s); /* false if unknown */
/*
 * Estimated operations, in stored steps of M_flops, of this many SMs at this clock. It is the largest value of the
 * pipes, not their sum, since one feeds the other. False if an input is missing or the memory is the limit.
 */
bool flops_of(const struct gpu_peak *peak, int sms, int64_t clock_hz, const struct sample *s, int64_t *ret);
