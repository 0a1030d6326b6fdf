/*
 * gpu_watch.h: evaluates the rules of verdict/ for each GPU as batches arrive. At most one reading per batch is used,
 * and texts are made at most every GPU_WATCH_TELL_MS. An unused GPU, or one without activity values, has no watch.
 */
#pragma once

#include "model/now.h"
#include "verdict/straggler.h"

enum { GPU_WATCH_TELL_MS = 20000, GPU_WATCH_MAX = 4 };

struct gpu_watch;
void gpu_watch_free(struct gpu_watch *w); /* accepts NULL */
/* After a batch: evaluates the values of d if they are new. held: d has processes. Creates or frees *w as needed. Sets
 * d->advice, the most useful first. Returns true if the advice changed. */
bool gpu_watch_take(struct gpu_watch **w, struct device_now *d, bool held);
/* The GPU is out of sight: hides its advice until its readings return. */
void gpu_watch_withhold(struct device_now *d);
/* Its values compared with the GPUs of its run; NULL: unknown. */
const struct sibling *gpu_watch_sibling(const struct gpu_watch *w);
/* Sets its stored first minutes; w may be NULL. */
void gpu_watch_first(struct gpu_watch *w, const struct sibling *first);
/* Sets the advice that it deviates from the GPUs of its run; NULL: it does not. w may be NULL. */
void gpu_watch_apart(struct gpu_watch *w, const struct advice *a, int64_t now_ms);
