/*
 * sysfs_gpu.h: GPUs of other vendors than NVIDIA, as read by a shell on their machine: lines from /sys (amdgpu, i915,
 * xe, and KFD for processes of ROCm), and the JSON of AMD's tools if there are any. Pure.
 *
 * A round of lines is "{", then "CARD FILE VALUE", "kfd GPUID DOMAIN LOCATION", "proc PID GPUID BYTES" in any order,
 * then "}". For a card in /sys the values come from /sys; the tools then only provide its name.
 */
#pragma once

#include "collect/collect.h"

struct sysfs_gpu;
struct sysfs_gpu *sysfs_gpu_new(void);
void sysfs_gpu_free(struct sysfs_gpu *c);
void sysfs_gpu_begin(struct sysfs_gpu *c); /* a new connection */

/* false: malformed. */
bool sysfs_gpu_line(struct sysfs_gpu *c, struct str line, int64_t mono_ms);
void sysfs_gpu_json_begin(struct sysfs_gpu *c);
void sysfs_gpu_json_line(struct sysfs_gpu *c, struct str line);
/* Returns false if the tool printed something else; sysfs_gpu_words then returns that text. */
bool sysfs_gpu_json_end(struct sysfs_gpu *c);
const char *sysfs_gpu_words(const struct sysfs_gpu *c);

/*
 * The GPUs of the last complete round and their processes; values only if they were not read before. host: for GPUs
 * without their own id. Returns false if none.
 */
bool sysfs_gpu_read(struct sysfs_gpu *c, const char *host, struct reading *ret);
