/*
 * nvml_slow.h: slow readings (energy, PCIe, process utilisation, sample buffers, ECC, GPM), each at its own interval. A
 * separate thread does them, so that a tick never waits. A tick takes the values read since the last one.
 */
#pragma once

#include "collect/nvml_dev.h"

struct nvml_slow;

/* The library, the list and the devices must stay as they are until nvml_slow_free returned 0. Starts no thread. */
struct nvml_slow *nvml_slow_new(const struct nvml *lib, struct nvml_dev *const *devs, size_t n);
int nvml_slow_start(struct nvml_slow *s); /* 0 or -errno */
/* 0, or -ETIMEDOUT if a driver call does not return: s, the devices and the library then stay in use forever. */
int nvml_slow_free(struct nvml_slow *s);

/*
 * Does the readings that are due and returns when the next one is due. Run by the thread, or by a test without a
 * thread.
 */
int64_t nvml_slow_round(struct nvml_slow *s, int64_t now_ms);

/* For the tick, about device i of the list: */
void nvml_slow_take(struct nvml_slow *s, size_t i, struct sample *ret, int64_t *ret_new_ecc);
/* SM use of a process first seen at since_ms, in 0.01 %; -1 unknown. */
int32_t nvml_slow_sm(struct nvml_slow *s, size_t i, int32_t pid, int64_t since_ms);
void nvml_slow_procs(struct nvml_slow *s, size_t i, size_t n); /* number of processes, including those without a name */
void nvml_slow_clock(struct nvml_slow *s, size_t i, int64_t hz); /* its SM clock, at each tick */
const char *nvml_slow_no_gpm(struct nvml_slow *s, size_t i);     /* why it has no activity, as text; NULL if it has */
void nvml_slow_ecc_now(struct nvml_slow *s, size_t i); /* the driver reported an error: read ECC immediately */

int nvml_slow_bad(struct nvml_slow *s);                          /* an NVML code bad for the whole driver, or 0 */
bool nvml_slow_mig_changed(struct nvml_slow *s);                 /* the list of MIG instances has changed */
int64_t nvml_slow_stuck_ms(struct nvml_slow *s, int64_t now_ms); /* of the call in progress; 0 if none */
