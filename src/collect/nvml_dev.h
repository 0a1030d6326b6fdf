/* nvml_dev.h: a GPU or a MIG instance as NVML shows it: what it is, how it is asked, and what it does not answer. */
#pragma once

#include "collect/nvml_lib.h"
#include "model/fact.h"

enum {
    NVML_JOBS = 8,
    NVML_STOP_MS = 2000, /* a thread that has not ended after this is stuck in the driver */
};

struct raw_use;

struct nvml_dev {
    struct device_fact fact;
    nvml_handle handle;  /* NULL: cannot be asked now, being lost or asleep */
    nvml_handle parent;  /* a MIG instance's GPU; NULL otherwise */
    unsigned gi;         /* a MIG instance's GPU instance */
    int sms;             /* multiprocessors of a MIG instance that has its GPU instance to itself; 0: not known */
    size_t instances;    /* MIG instances that follow it in the list */
    bool seen;           /* while the list is made: found again */
    bool may_sleep;      /* the driver lets it suspend when nobody holds it open */
    int64_t lost_ms;     /* monotonic: since when it is lost */
    uint8_t no_list;     /* enum proc_kind bits: process lists the driver does not have for it */
    struct bits absent;  /* what the driver does not have for it: not asked again until it is opened anew */
    struct sample first; /* what was read when it was opened, due with the next sample */
    size_t n_hidden;     /* processes on it in the last lists that have no number here: another container's */
    int64_t listed_ms;   /* monotonic: when the lists were read; 0: not yet */
    int64_t listed_mem;  /* memory in use then */
    size_t n_uses, cap_uses;
    struct raw_use *uses; /* who was in them */
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
        uint64_t util_at_us; /* newest utilisation sample counted; 0: none yet */
        int64_t busy_us;
        int64_t busy_ms;      /* monotonic: busy_us counts up to here */
        uint64_t procs_at_us; /* newest process sample taken */
        bool procs_begun;     /* procs_at_us counts */
        int64_t procs_ms;     /* when they were last asked for */
        int64_t ecc_unc;      /* uncorrected errors so far; -1: not known */
        int64_t link_at_ms, link_tx_kib, link_rx_kib;
        int8_t links; /* NVLink: -1 not known, 0 none, 1 some */
        int8_t gpm;   /* -1 not known, 0 none, 1 yes */
        void *gpm_sample[2];
        bool gpm_begun;      /* gpm_sample[0] holds the last one */
        bool gpm_refused;    /* gpm is 0 for want of rights */
        bool gpm_old;        /* gpm is 0 since the GPU is older than it */
        bool gpm_busy;       /* the last reading told how long the GPU was active */
        int64_t gpm_ms;      /* monotonic: when gpm_sample[0] was taken */
        struct sample fixed; /* what never changes, as far as it was asked for */
        int64_t clock_hz;    /* of the multiprocessors since the last round; 0: not known */
    } dear;
};

struct nvml_dev *nvml_dev_new(void);
void nvml_dev_free(struct nvml_dev *d);
/* The device is asked through this handle from now on: forget what an earlier one would not tell. */
void nvml_dev_open(struct nvml_dev *d, nvml_handle handle);

/* Who a handle is. NVML's code; fact is filled as far as the driver tells and touched only on success. */
int nvml_identify(const struct nvml *lib, nvml_handle handle, struct device_fact *fact);
/* The same for MIG instance i of gpu; code 6: there is none. gi is filled too. */
int nvml_identify_mig(const struct nvml *lib, const struct nvml_dev *gpu, unsigned i, nvml_handle *ret_handle,
                      unsigned *ret_gi, struct device_fact *fact);
/* How many MIG instances there may be; 0 with MIG off, -1 where there is no MIG. */
int nvml_mig_slots(const struct nvml *lib, nvml_handle gpu);

/* How many multiprocessors an instance has; 0 where it shares them, or the driver does not tell. */
int nvml_mig_sms(const struct nvml *lib, nvml_handle instance);

/* A round of questions to one device. Once it is lost, or the driver is, the rest is not asked. */
struct nvml_ask {
    const struct nvml *lib;
    nvml_handle handle;
    struct bits *absent;
    struct sample *sample;
    enum nvml_verdict worst; /* NVML_GOOD, or NVML_LOST and up */
    int rc;                  /* the code that said so */
    bool good, unknown;      /* some answer was good; some was NVML_UNKNOWN */
};
bool nvml_may_ask(const struct nvml_ask *a, enum metric m);
enum nvml_verdict nvml_heard(struct nvml_ask *a, int rc); /* remember it if it is bad for the whole device */
/* The answer to one question: set the value, or remember that the device has none. */
void nvml_answer(struct nvml_ask *a, enum metric m, int rc, int64_t v);
/* Ask for one number; u is the answer: NVML_ASK(a, M_power, 1, power, &u). */
#define NVML_ASK(a, m, scale, call, ...)                                                                               \
    do {                                                                                                               \
        unsigned u = 0;                                                                                                \
        if ((a)->lib->call && nvml_may_ask(a, m)) {                                                                    \
            int rc_ = (a)->lib->call((a)->handle, __VA_ARGS__);                                                        \
            nvml_answer(a, m, rc_, (int64_t)u *(scale));                                                               \
        }                                                                                                              \
    } while (0)

/* Power limit, highest clocks, PCIe link: what changes seldom, for the first sample of a device. */
void nvml_ask_limits(struct nvml_ask *a);
