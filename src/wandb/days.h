/*
 * days.h: run-days out of what W&B said of runs (wandb/store.h), for the report, the comparison and push. Days
 * are those of the file's zone. Deleted runs are left out; runs with a tag that says they are not ours are marked.
 */
#pragma once

#include "report/source.h"
#include "wandb/store.h"

#define WANDB_DAYS_MAX 16000000

/* By team, project, run, day. -E2BIG, -ECANCELED, what the store gave. ret is ended with runs_fini in any case. */
int wandb_days(struct wandb_store *s, const struct runs_told_ask *ask, struct runs *ret, struct err *err);

/* What is in a data folder, and wandb_days of it; no file is no days. */
int wandb_told(const char *dir, struct runs_told *ret, struct err *err);
int wandb_days_in(const char *dir, const struct runs_told_ask *ask, struct runs *ret, struct err *err);
extern const struct runs_source wandb_runs; /* these two, registered with report */

/* Is one of these in a JSON list of tags? What is no such list has none. */
bool wandb_tagged(const char *tags, const char *const *wanted, size_t n);
