/*
 * sysfs_gpu.h: GPUs that are not NVIDIA's, as a shell on their machine reads them: lines out of /sys (amdgpu, i915, xe, and
 * KFD for processes of ROCm), and the JSON of AMD's tools where there is some. Pure.
 *
 * Lines are "{", then "CARD FILE VALUE", "kfd GPUID DOMAIN LOCATION", "proc PID GPUID BYTES" in any order, then "}": a
 * round. A card that /sys shows is told of by /sys; the tools then only name it.
 */
#ifndef RELAY_SYSFS_GPU_H
#define RELAY_SYSFS_GPU_H

#include "collect/collect.h"

struct cards;
struct cards *cards_new(void);
void cards_free(struct cards *c);
void cards_begin(struct cards *c); /* a new connection */

/* false: it makes no sense. */
bool cards_line(struct cards *c, struct str line, int64_t mono_ms);
void cards_json_begin(struct cards *c);
void cards_json_line(struct cards *c, struct str line);
/* false: the tool says something else; cards_words are its own. */
bool cards_json_end(struct cards *c);
const char *cards_words(const struct cards *c);

/* The GPUs of the last whole round and who is on them, values only when they were not read before. host: for GPUs that
 * have no number of their own. False: there are none. */
bool cards_read(struct cards *c, const char *host, struct reading *ret);

#endif
