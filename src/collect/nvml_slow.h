/*
 * nvml_slow.h: the readings that take long (energy, PCIe, process utilisation, sample buffers, ECC, GPM), each on its
 * own slower schedule, in a thread of their own, so that a tick never waits for them. A tick takes what came since the
 * last.
 */
#pragma once

#include "collect/nvml_dev.h"

struct nvml_slow;

/* The library, the list and the devices must stay as they are until nvml_slow_free returned 0. Starts no thread. */
struct nvml_slow *nvml_slow_new(const struct nvml *lib, struct nvml_dev *const *devs, size_t n);
int nvml_slow_start(struct nvml_slow *s); /* 0 or -errno */
/* 0, or -ETIMEDOUT when a call to the driver does not return: s, the devices and the library then stay in use for ever.
 */
int nvml_slow_free(struct nvml_slow *s);

/* Do what is due. The thread's work; a test without a thread calls it itself. Returns when the next is due. */
int64_t nvml_slow_round(struct nvml_slow *s, int64_t now_ms);

/* For the tick, about device i of the list: */
void nvml_slow_take(struct nvml_slow *s, size_t i, struct sample *ret, int64_t *ret_new_ecc);
/* SM use of a process first seen at since_ms, in 0.01 %; -1 unknown. */
int32_t nvml_slow_sm(struct nvml_slow *s, size_t i, int32_t pid, int64_t since_ms);
void nvml_slow_procs(struct nvml_slow *s, size_t i, size_t n);   /* how many there are, those we cannot name too */
void nvml_slow_clock(struct nvml_slow *s, size_t i, int64_t hz); /* what its multiprocessors run at, each tick */
const char *nvml_slow_no_gpm(struct nvml_slow *s, size_t i);     /* why it tells no activity, in words; or NULL */
void nvml_slow_ecc_now(struct nvml_slow *s, size_t i);           /* the driver told of an error: look at once */

int nvml_slow_bad(struct nvml_slow *s);                          /* an NVML code bad for the whole driver, or 0 */
bool nvml_slow_mig_changed(struct nvml_slow *s);                 /* the list of MIG instances is not what it was */
int64_t nvml_slow_stuck_ms(struct nvml_slow *s, int64_t now_ms); /* how long the call in progress has taken; 0: none */
