/*
 * nvml_lib.h: NVIDIA's management library as we use it: its structs, its entry points, loaded at run time, so that no
 * SDK is needed to build. Each symbol is paired with the struct of its own version; an unsuffixed name is the oldest.
 * Every call but the few marked NEED may be missing (NULL).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef unsigned long long nvml_u64;
typedef void *nvml_handle; /* a device */

struct nvml_memory_v1 {
    nvml_u64 total, free, used; /* used includes what the driver reserves */
};
struct nvml_memory_v2 {
    unsigned version;
    nvml_u64 total, reserved, free, used;
};
#define NVML_MEMORY_V2 0x02000028u
struct nvml_utilization {
    unsigned gpu, memory;
};
struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem; /* older versions of the struct agree up to here */
    char bus_id[32];
};
union nvml_value {
    double real;
    unsigned u32;
    nvml_u64 u64;
};
enum nvml_value_type { NVML_DOUBLE, NVML_U32, NVML_ULONG, NVML_U64 };
struct nvml_rows_left { /* memory banks, by how many spare rows they have */
    unsigned all, many, some, few, none;
};
struct nvml_sample {
    nvml_u64 at_us;
    union nvml_value value;
};
struct nvml_process_sample {
    unsigned pid;
    nvml_u64 at_us;
    unsigned sm, mem, enc, dec;
};
struct nvml_field {
    unsigned id, scope;
    int64_t at_us, latency_us;
    unsigned type;
    int rc;
    union nvml_value value;
};
struct nvml_event {
    nvml_handle device;
    nvml_u64 type, data;
    unsigned gi, ci; /* since _v2 */
};
struct nvml_gpm_support {
    unsigned version, supported;
};
struct nvml_gpm_metric {
    unsigned id;
    int rc;
    double value;
    const char *short_name, *long_name, *unit;
};
#define NVML_GPM_METRICS 16
struct nvml_gpm_get {
    unsigned version, count;
    void *first, *second;
    struct nvml_gpm_metric metric[NVML_GPM_METRICS]; /* the library touches only count of them */
};
struct nvml_attributes { /* of a MIG instance */
    unsigned sms, copy, dec, enc, jpeg, ofa, gi_slices, ci_slices;
    nvml_u64 memory_mib;
};
_Static_assert(sizeof(struct nvml_memory_v2) == 40 && sizeof(struct nvml_pci) == 68 && sizeof(struct nvml_sample) == 16,
               "NVML's ABI");
_Static_assert(sizeof(struct nvml_process_sample) == 32 && sizeof(struct nvml_field) == 40, "NVML's ABI");
_Static_assert(sizeof(struct nvml_event) == 32 && sizeof(struct nvml_gpm_metric) == 40, "NVML's ABI");
_Static_assert(sizeof(struct nvml_attributes) == 40, "NVML's ABI");

enum {
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEM = 2,
    NVML_SAMPLES_UTIL = 1,
    NVML_HOPPER = 9, /* architectures count up */
    NVML_FIELD_MEM_TEMP = 82,
    NVML_FIELD_NVLINK_TX = 138, /* KiB; scope: all links */
    NVML_FIELD_NVLINK_RX = 139,
    NVML_INIT_NO_GPUS = 1,
    NVML_EVENT_DOUBLE_BIT = 0x2,
    NVML_EVENT_XID = 0x8,
    NVML_EVENT_MIG = 0x100,
    NVML_LINKS = 18
};
#define NVML_ALL_LINKS 0xffffffffu
#define NVML_NO_MEMORY 0xffffffffffffffffull /* a process whose memory the driver does not report */

/*    need   field          symbol, and an older one of the same shape               arguments */
#define NVML_CALLS(X)                                                                                                  \
    X(NEED, init, "nvmlInit_v2", "nvmlInit", (void))                                                                   \
    X(MAYBE, init_flags, "nvmlInitWithFlags", NULL, (unsigned))                                                        \
    X(NEED, shutdown, "nvmlShutdown", NULL, (void))                                                                    \
    X(NEED, count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", (unsigned *))                                        \
    X(NEED, by_index, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", (unsigned, nvml_handle *))        \
    X(NEED, uuid, "nvmlDeviceGetUUID", NULL, (nvml_handle, char *, unsigned))                                          \
    X(MAYBE, by_pci, "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId",                              \
      (const char *, nvml_handle *))                                                                                   \
    X(MAYBE, driver_version, "nvmlSystemGetDriverVersion", NULL, (char *, unsigned))                                   \
    X(MAYBE, cuda_version, "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion", (int *))             \
    X(MAYBE, name, "nvmlDeviceGetName", NULL, (nvml_handle, char *, unsigned))                                         \
    X(MAYBE, serial, "nvmlDeviceGetSerial", NULL, (nvml_handle, char *, unsigned))                                     \
    X(MAYBE, architecture, "nvmlDeviceGetArchitecture", NULL, (nvml_handle, unsigned *))                               \
    X(MAYBE, index, "nvmlDeviceGetIndex", NULL, (nvml_handle, unsigned *))                                             \
    X(MAYBE, minor, "nvmlDeviceGetMinorNumber", NULL, (nvml_handle, unsigned *))                                       \
    X(MAYBE, pci, "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", (nvml_handle, struct nvml_pci *))              \
    X(MAYBE, utilization, "nvmlDeviceGetUtilizationRates", NULL, (nvml_handle, struct nvml_utilization *))             \
    X(MAYBE, memory_v2, "nvmlDeviceGetMemoryInfo_v2", NULL, (nvml_handle, struct nvml_memory_v2 *))                    \
    X(MAYBE, memory_v1, "nvmlDeviceGetMemoryInfo", NULL, (nvml_handle, struct nvml_memory_v1 *))                       \
    X(MAYBE, temperature, "nvmlDeviceGetTemperature", NULL, (nvml_handle, unsigned, unsigned *))                       \
    X(MAYBE, power, "nvmlDeviceGetPowerUsage", NULL, (nvml_handle, unsigned *))                                        \
    X(MAYBE, power_limit, "nvmlDeviceGetEnforcedPowerLimit", NULL, (nvml_handle, unsigned *))                          \
    X(MAYBE, power_default, "nvmlDeviceGetPowerManagementDefaultLimit", NULL, (nvml_handle, unsigned *))               \
    X(MAYBE, energy, "nvmlDeviceGetTotalEnergyConsumption", NULL, (nvml_handle, nvml_u64 *))                           \
    X(MAYBE, clock, "nvmlDeviceGetClockInfo", NULL, (nvml_handle, unsigned, unsigned *))                               \
    X(MAYBE, clock_max, "nvmlDeviceGetMaxClockInfo", NULL, (nvml_handle, unsigned, unsigned *))                        \
    X(MAYBE, reasons, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",           \
      (nvml_handle, nvml_u64 *))                                                                                       \
    X(MAYBE, pstate, "nvmlDeviceGetPerformanceState", NULL, (nvml_handle, unsigned *))                                 \
    X(MAYBE, fan, "nvmlDeviceGetFanSpeed", NULL, (nvml_handle, unsigned *))                                            \
    X(MAYBE, encoder, "nvmlDeviceGetEncoderUtilization", NULL, (nvml_handle, unsigned *, unsigned *))                  \
    X(MAYBE, decoder, "nvmlDeviceGetDecoderUtilization", NULL, (nvml_handle, unsigned *, unsigned *))                  \
    X(MAYBE, pcie_rate, "nvmlDeviceGetPcieThroughput", NULL, (nvml_handle, unsigned, unsigned *))                      \
    X(MAYBE, pcie_replay, "nvmlDeviceGetPcieReplayCounter", NULL, (nvml_handle, unsigned *))                           \
    X(MAYBE, pcie_gen, "nvmlDeviceGetCurrPcieLinkGeneration", NULL, (nvml_handle, unsigned *))                         \
    X(MAYBE, pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", NULL, (nvml_handle, unsigned *))                            \
    X(MAYBE, ecc, "nvmlDeviceGetTotalEccErrors", NULL, (nvml_handle, unsigned, unsigned, nvml_u64 *))                  \
    X(MAYBE, rows, "nvmlDeviceGetRemappedRows", NULL, (nvml_handle, unsigned *, unsigned *, unsigned *, unsigned *))   \
    X(MAYBE, rows_left, "nvmlDeviceGetRowRemapperHistogram", NULL, (nvml_handle, struct nvml_rows_left *))             \
    X(MAYBE, pages, "nvmlDeviceGetRetiredPages", NULL, (nvml_handle, unsigned, unsigned *, nvml_u64 *))                \
    X(MAYBE, pages_pending, "nvmlDeviceGetRetiredPagesPendingStatus", NULL, (nvml_handle, unsigned *))                 \
    X(MAYBE, link_state, "nvmlDeviceGetNvLinkState", NULL, (nvml_handle, unsigned, unsigned *))                        \
    X(MAYBE, fields, "nvmlDeviceGetFieldValues", NULL, (nvml_handle, int, struct nvml_field *))                        \
    X(MAYBE, samples, "nvmlDeviceGetSamples", NULL,                                                                    \
      (nvml_handle, unsigned, nvml_u64, unsigned *, unsigned *, struct nvml_sample *))                                 \
    X(MAYBE, process_util, "nvmlDeviceGetProcessUtilization", NULL,                                                    \
      (nvml_handle, struct nvml_process_sample *, unsigned *, nvml_u64))                                               \
    X(MAYBE, compute_v3, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",         \
      (nvml_handle, unsigned *, void *))                                                                               \
    X(MAYBE, compute_v1, "nvmlDeviceGetComputeRunningProcesses", NULL, (nvml_handle, unsigned *, void *))              \
    X(MAYBE, graphics_v3, "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2",      \
      (nvml_handle, unsigned *, void *))                                                                               \
    X(MAYBE, graphics_v1, "nvmlDeviceGetGraphicsRunningProcesses", NULL, (nvml_handle, unsigned *, void *))            \
    X(MAYBE, mps_v3, "nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2",       \
      (nvml_handle, unsigned *, void *))                                                                               \
    X(MAYBE, mps_v1, "nvmlDeviceGetMPSComputeRunningProcesses", NULL, (nvml_handle, unsigned *, void *))               \
    X(MAYBE, set_new, "nvmlEventSetCreate", NULL, (void **))                                                           \
    X(MAYBE, set_free, "nvmlEventSetFree", NULL, (void *))                                                             \
    X(MAYBE, set_wait, "nvmlEventSetWait_v2", "nvmlEventSetWait", (void *, struct nvml_event *, unsigned))             \
    X(MAYBE, event_types, "nvmlDeviceGetSupportedEventTypes", NULL, (nvml_handle, nvml_u64 *))                         \
    X(MAYBE, event_register, "nvmlDeviceRegisterEvents", NULL, (nvml_handle, nvml_u64, void *))                        \
    X(MAYBE, gpm_support, "nvmlGpmQueryDeviceSupport", NULL, (nvml_handle, struct nvml_gpm_support *))                 \
    X(MAYBE, gpm_new, "nvmlGpmSampleAlloc", NULL, (void **))                                                           \
    X(MAYBE, gpm_free, "nvmlGpmSampleFree", NULL, (void *))                                                            \
    X(MAYBE, gpm_sample, "nvmlGpmSampleGet", NULL, (nvml_handle, void *))                                              \
    X(MAYBE, gpm_mig_sample, "nvmlGpmMigSampleGet", NULL, (nvml_handle, unsigned, void *))                             \
    X(MAYBE, gpm_get, "nvmlGpmMetricsGet", NULL, (struct nvml_gpm_get *))                                              \
    X(MAYBE, mig_mode, "nvmlDeviceGetMigMode", NULL, (nvml_handle, unsigned *, unsigned *))                            \
    X(MAYBE, mig_max, "nvmlDeviceGetMaxMigDeviceCount", NULL, (nvml_handle, unsigned *))                               \
    X(MAYBE, mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex", NULL, (nvml_handle, unsigned, nvml_handle *))          \
    X(MAYBE, mig_gi, "nvmlDeviceGetGpuInstanceId", NULL, (nvml_handle, unsigned *))                                    \
    X(MAYBE, attributes, "nvmlDeviceGetAttributes_v2", NULL, (nvml_handle, struct nvml_attributes *))

struct nvml {
    void *so;
#define X(need, field, symbol, older, args) int(*field) args;
    NVML_CALLS(X)
#undef X
    const char *(*error_string)(int rc);
    size_t stride_v3; /* bytes of one record of the _v3 process lists: drivers 535.43 to 535.97 had longer ones */
};

/* Load the library; path NULL is the system's. -ENODEV when it is not there, -ENOSYS when it lacks what we cannot do
 * without. */
int nvml_load(struct nvml *lib, const char *path, struct err *err);
void nvml_unload(struct nvml *lib); /* accepts one that was never loaded */
const char *nvml_text(const struct nvml *lib, int rc);

/* What a return code means for us. */
enum nvml_verdict {
    NVML_GOOD,
    NVML_ABSENT,  /* this GPU has no such value: do not ask again */
    NVML_NOT_NOW, /* no result this time */
    NVML_LOST,    /* the GPU is gone, or needs a reset */
    NVML_STALE,   /* library and driver differ: this process must be replaced */
    NVML_DEAD,    /* the driver went away: shut down, unload, try later */
};
enum {
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_TOO_SMALL = 7,
    NVML_TIMEOUT = 10,
    NVML_UNKNOWN = 999, /* some calls on some boards; all calls where the GPU or the driver went away */
};
enum nvml_verdict nvml_judge(int rc);

/* A number of any type, as an integer. */
int64_t nvml_number(unsigned type, union nvml_value v);
