/*
 * feature.h: Weights & Biases, every day: at the times of wandb.schedule the hub runs `muster wandb pull` (then push,
 * and check at its own time) as a process of its own, and passes on what these have to tell. Nothing W&B sends is read
 * here.
 *
 * D1 One at a time. D2 A time that passed while the hub was down is made up for once, from the day after the last pull
 * that came to its end. D3 What fails is tried again, a few times, and is said. D4 The key is no argument: it is in the
 * environment, a file or netrc.
 */
#pragma once

#include "hub/feature.h"
#include "hub/hub.h"

struct hub_wandb;
void hub_wandb_json(const struct hub_wandb *d, struct buf *out); /* GET /api/v1/wandb */

struct zone;
/* Times of day "00:15" as minutes. -EINVAL with a sentence. */
int wandb_times(const struct opt_list *l, const char *what, int32_t *ret, size_t max, struct err *err);
/* The last of them at or before now, and the next after it, in a zone. INT64_MIN, INT64_MAX: none. */
void wandb_slots(const int32_t *minutes, size_t n, const struct zone *z, int64_t now_ms, int64_t *ret_last,
                 int64_t *ret_next);
