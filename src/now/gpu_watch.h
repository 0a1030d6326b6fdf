/*
 * gpu_watch.h: what each GPU is used for, by the rules of verdict/, as batches come. At most one reading is taken of a
 * batch, and words are made every GPU_WATCH_TELL_MS at most. A GPU that nobody holds, or that tells no activity, has
 * none.
 */
#pragma once

#include "model/now.h"
#include "verdict/straggler.h"

enum { GPU_WATCH_TELL_MS = 20000, GPU_WATCH_MAX = 4 };

struct gpu_watch;
void gpu_watch_free(struct gpu_watch *w); /* accepts NULL */
/* After a batch: what d tells now, if that is news. held: somebody is on it. *w is made, or freed, as it takes;
 * d->advice is what holds now, that which would give back most first. True when that is other advice than before. */
bool gpu_watch_take(struct gpu_watch **w, struct device_now *d, bool held);
/* It is out of sight: what it was used for says nothing of now. Its advice comes back with its readings. */
void gpu_watch_withhold(struct device_now *d);
/* How it does among the GPUs of its run; NULL: not known. */
const struct sibling *gpu_watch_sibling(const struct gpu_watch *w);
/* What is stored of its first minutes; w may be NULL. */
void gpu_watch_first(struct gpu_watch *w, const struct sibling *first);
/* It is apart from those; NULL: it is not. Told with the rest. w may be NULL. */
void gpu_watch_apart(struct gpu_watch *w, const struct advice *a, int64_t now_ms);
