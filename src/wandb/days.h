/*
 * days.h: makes run-days of W&B runs (wandb/store.h), for the report, the comparison and push. Days are in the file's
 * zone. Deleted runs are left out; runs with an ignored tag are marked.
 */
#pragma once

#include "report/source.h"
#include "wandb/store.h"

#define WANDB_DAYS_MAX 16000000

/*
 * Sorted by team, project, run, day. Returns -E2BIG, -ECANCELED, or an error of the store. Free ret with runs_fini() in
 * all cases.
 */
int wandb_days(struct wandb_store *s, const struct runs_available_query *ask, struct runs *ret, struct err *err);

/* Describes the runs in a data folder, and wandb_days of them. Without a file there are no days. */
int wandb_source(const char *dir, struct runs_available *ret, struct err *err);
int wandb_days_in(const char *dir, const struct runs_available_query *ask, struct runs *ret, struct err *err);
extern const struct runs_source wandb_runs; /* these two, registered with report */

/* True if a JSON list of tags has one of these. False for text that is not such a list. */
bool wandb_tagged(const char *tags, const char *const *wanted, size_t n);
