/*
 * feature.h: the daily jobs for Weights & Biases. At the times of wandb.schedule the hub runs `muster wandb pull` (then
 * push, and check at its own time) as a separate process and forwards its events. Data of W&B is not parsed here.
 *
 * D1 One process at a time.
 * D2 A time missed while the hub was down is made up for once, from the day after the last completed pull.
 * D3 A failed command is retried a few times, and logged.
 * D4 The key is not an argument: it is in the environment, a file or netrc.
 */
#pragma once

#include "hub/feature.h"
#include "hub/hub.h"

struct hub_wandb;
void hub_wandb_json(const struct hub_wandb *d, struct buf *out); /* GET /api/v1/wandb */

struct zone;
/* Parses times of day like "00:15" to minutes. Returns -EINVAL with a message in err. */
int wandb_times(const struct opt_list *l, const char *what, int32_t *ret, size_t max, struct err *err);
/* The last of them at or before now, and the next after it, in a zone. INT64_MIN, INT64_MAX if none. */
void wandb_slots(const int32_t *minutes, size_t n, const struct zone *z, int64_t now_ms, int64_t *ret_last,
                 int64_t *ret_next);
