/*
 * gpus.h: the maximum number of GPUs of each node, kept in a note across restarts of hub and agent. A GPU that
 * vanishes while neither observes it is still reported as missing.
 */
#pragma once

#include "model/now.h"
#include "store/records.h"

struct gpus;
struct gpus *gpus_new(void);
void gpus_free(struct gpus *g);
int gpus_load(struct gpus *g, struct store *store, struct err *err); /* call first; sets the store for later writes */
void gpus_take(struct gpus *g, const struct note *n);                /* another hub stored it */
/* Adds the current numbers of nodes that are up. Stores changes at most once a minute. */
void gpus_learn(struct gpus *g, const struct view *v, int64_t now_ms);
int32_t gpus_had(void *gpus, const char *node); /* by node key; 0: unknown */
