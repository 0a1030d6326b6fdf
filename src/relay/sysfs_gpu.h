/*
 * sysfs_gpu.h: GPUs that are not NVIDIA's, as a shell on their machine reads them: lines out of /sys (amdgpu, i915, xe,
 * and KFD for processes of ROCm), and the JSON of AMD's tools where there is some. Pure.
 *
 * Lines are "{", then "CARD FILE VALUE", "kfd GPUID DOMAIN LOCATION", "proc PID GPUID BYTES" in any order, then "}": a
 * round. A card that /sys shows is told of by /sys; the tools then only name it.
 */
#pragma once

#include "collect/collect.h"

struct sysfs_gpu;
struct sysfs_gpu *sysfs_gpu_new(void);
void sysfs_gpu_free(struct sysfs_gpu *c);
void sysfs_gpu_begin(struct sysfs_gpu *c); /* a new connection */

/* false: it makes no sense. */
bool sysfs_gpu_line(struct sysfs_gpu *c, struct str line, int64_t mono_ms);
void sysfs_gpu_json_begin(struct sysfs_gpu *c);
void sysfs_gpu_json_line(struct sysfs_gpu *c, struct str line);
/* false: the tool says something else; sysfs_gpu_words are its own. */
bool sysfs_gpu_json_end(struct sysfs_gpu *c);
const char *sysfs_gpu_words(const struct sysfs_gpu *c);

/* The GPUs of the last whole round and who is on them, values only when they were not read before. host: for GPUs that
 * have no number of their own. False: there are none. */
bool sysfs_gpu_read(struct sysfs_gpu *c, const char *host, struct reading *ret);
