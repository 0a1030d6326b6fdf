/*
 * nvml_dev.h: a GPU or a MIG instance as NVML shows it: its identity, how it is queried, and which calls it does not
 * support.
 */
#pragma once

#include "collect/nvml_lib.h"
#include "model/fact.h"

enum {
    NVML_JOBS = 8,
    NVML_STOP_MS = 2000, /* a thread that has not ended after this time is stuck in the driver */
};

struct raw_use;

struct nvml_dev {
    struct device_fact fact;
    nvml_handle handle;  /* NULL: cannot be queried now, because it is lost or asleep */
    nvml_handle parent;  /* a MIG instance's GPU; NULL otherwise */
    unsigned gi;         /* a MIG instance's GPU instance */
    int sms;             /* multiprocessors of a MIG instance that has its GPU instance to itself; 0: unknown */
    size_t instances;    /* MIG instances that follow it in the list */
    bool seen;           /* while the list is made: found again */
    bool may_sleep;      /* the driver suspends it when no process holds it open */
    int64_t lost_ms;     /* monotonic: since when it is lost */
    uint8_t no_list;     /* enum proc_kind bits: process lists the driver does not have for it */
    struct bits absent;  /* metrics the driver does not have for it: not queried again until it is reopened */
    struct sample first; /* values read when it was opened, added to the next sample */
    size_t n_hidden;     /* processes on it in the last lists that have no number here: another container's */
    int64_t listed_ms;   /* monotonic: when the lists were read; 0: not yet */
    int64_t listed_mem;  /* memory in use then */
    size_t n_uses, cap_uses;
    struct raw_use *uses; /* entries of these lists */
    size_t n_pids, cap_pids;
    struct nvml_pid {
        int32_t pid;
        int64_t since_ms; /* monotonic: first seen */
    } * pids;
    /* The slow thread's own, while it runs. */
    struct nvml_dear {
        struct bits absent;
        bool no_rows, no_procs; /* the same for calls that are not one metric */
        int64_t due_ms[NVML_JOBS];
        uint64_t util_at_us; /* newest utilisation sample counted; 0: none */
        int64_t busy_us;
        int64_t busy_ms;      /* monotonic: busy_us counts up to here */
        uint64_t procs_at_us; /* newest process sample counted */
        bool procs_begun;     /* procs_at_us counts */
        int64_t procs_ms;     /* when they were last queried */
        int64_t ecc_unc;      /* uncorrected errors so far; -1: unknown */
        int64_t link_at_ms, link_tx_kib, link_rx_kib;
        int8_t links; /* NVLink: -1 unknown, 0 none, 1 some */
        int8_t gpm;   /* -1 unknown, 0 none, 1 yes */
        void *gpm_sample[2];
        bool gpm_begun;      /* gpm_sample[0] holds the last one */
        bool gpm_refused;    /* gpm is 0 because of missing permission */
        bool gpm_old;        /* gpm is 0 because the GPU is too old for it */
        bool gpm_busy;       /* the last reading has the GPU's active time */
        int64_t gpm_ms;      /* monotonic: when gpm_sample[0] was taken */
        struct sample fixed; /* constant values queried so far */
        int64_t clock_hz;    /* of the multiprocessors since the last round; 0: unknown */
    } dear;
};

struct nvml_dev *nvml_dev_new(void);
void nvml_dev_free(struct nvml_dev *d);
/* Sets the handle for all further calls and clears the results of an earlier one (absent and the like). */
void nvml_dev_open(struct nvml_dev *d, nvml_handle handle);

/*
 * Identifies a device by its handle. Returns NVML's code. Fills fact with the values the driver has, on success only.
 */
int nvml_identify(const struct nvml *lib, nvml_handle handle, struct device_fact *fact);
/* The same for MIG instance i of gpu; returns code 6 if not found. Also sets *ret_gi. */
int nvml_identify_mig(const struct nvml *lib, const struct nvml_dev *gpu, unsigned i, nvml_handle *ret_handle,
                      unsigned *ret_gi, struct device_fact *fact);
/* Maximum number of MIG instances; 0 with MIG off, -1 without MIG support. */
int nvml_mig_slots(const struct nvml *lib, nvml_handle gpu);

/* Number of multiprocessors of an instance; 0 if it shares them, or if the driver does not report it. */
int nvml_mig_sms(const struct nvml *lib, nvml_handle instance);

/* A round of calls to one device. After the device or the driver is lost, the remaining calls are skipped. */
struct nvml_query {
    const struct nvml *lib;
    nvml_handle handle;
    struct bits *absent;
    struct sample *sample;
    enum nvml_verdict worst; /* NVML_GOOD, or NVML_LOST and up */
    int rc;                  /* the code behind worst */
    bool good, unknown;      /* good: some call succeeded; unknown: some call returned NVML_UNKNOWN */
};
bool nvml_can_query(const struct nvml_query *a, enum metric m);
enum nvml_verdict nvml_note_result(struct nvml_query *a, int rc); /* remember it if it is bad for the whole device */
/* Handles the result of one call: sets the value, or marks the metric as absent for this device. */
void nvml_answer(struct nvml_query *a, enum metric m, int rc, int64_t v);
/* Reads one number into u: NVML_ASK(a, M_power, 1, power, &u). */
#define NVML_ASK(a, m, scale, call, ...)                                                                               \
    do {                                                                                                               \
        unsigned u = 0;                                                                                                \
        if ((a)->lib->call && nvml_can_query(a, m)) {                                                                  \
            int rc_ = (a)->lib->call((a)->handle, __VA_ARGS__);                                                        \
            nvml_answer(a, m, rc_, (int64_t)u *(scale));                                                               \
        }                                                                                                              \
    } while (0)

/* Reads values that rarely change (power limit, highest clocks, PCIe link) for the first sample of a device. */
void nvml_query_limits(struct nvml_query *a);
