/*
 * gpus.h: the most GPUs each node ever had, over restarts of hub and agent, so that one that vanished while nobody
 * looked is missed. Kept as a note.
 */
#pragma once

#include "model/now.h"
#include "store/records.h"

struct gpus;
struct gpus *gpus_new(void);
void gpus_free(struct gpus *g);
int gpus_load(struct gpus *g, struct store *store, struct err *err); /* first; that is where it is kept */
void gpus_take(struct gpus *g, const struct note *n);                /* another hub kept it */
/* What nodes that are up have now. What is new is stored, once a minute at most. */
void gpus_learn(struct gpus *g, const struct view *v, int64_t now_ms);
int32_t gpus_had(void *gpus, const char *node); /* by its key; 0: not known */
