/*
 * fold.h: aggregates a run's system metrics, sample by sample, to means and maxima per day. Fed one `events` string at
 * a time, so that it only keeps sums; reused for run after run.
 *
 * F1 Exact: values are decimal text read to 1e-9 %, sums are integers, a mean is rounded once, half away from zero.
 * F2 Days are days of the zone, as for hours.
 * F3 Keys are system.gpu.<digits>.gpu and .memory, with or without a label of a node (/l:NAME) behind. All other keys
 *    are ignored, also system.gpu.process.*.
 * F4 All GPUs and nodes of a day are aggregated together, as in the old tool.
 * F5 A string that is not a JSON object is rejected as a whole.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/zone.h"
#include "wandb/store.h"

#define FOLD_DAYS_MAX    36600      /* of a window: a hundred years */
#define FOLD_EVENT_MAX   (1u << 20) /* bytes of one sample */
#define FOLD_PERCENT_MAX 1000000ll  /* a value beyond this many % is not one */

struct fold;
/* Days [from, to] are kept; samples of others only count as such. zone outlives it. from > to or more than
 * FOLD_DAYS_MAX: NULL. */
struct fold *fold_new(const struct zone *zone, int32_t from, int32_t to);
void fold_free(struct fold *f);
void fold_reset(struct fold *f); /* for the next run */

/* 0, or -EBADMSG, -EMSGSIZE: not a sample, and nothing of it counts. */
int fold_add(struct fold *f, struct str event);

/*
 * Sets the known values of a day and the flag `have`. Returns false if no value is known, e.g. if there was at most one
 * sample in total. The rest of ret stays unchanged.
 */
bool fold_get(const struct fold *f, int32_t day, struct wandb_day *ret);
bool fold_any(const struct fold *f); /* is there a value for any day? */
