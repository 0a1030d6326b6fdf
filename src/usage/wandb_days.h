/*
 * wandb_days.h: run-days out of what W&B said of runs (store/wandb.h), for the report, the comparison and push. Days
 * are those of the file's zone. Deleted runs are left out; runs with a tag that says they are not ours are marked.
 */
#ifndef USAGE_WANDB_DAYS_H
#define USAGE_WANDB_DAYS_H

#include "store/wandb.h"
#include "usage/runs.h"

struct wandb_days_ask {
    int32_t from, to; /* days, both counted */
    size_t n_ignore_tags;
    const char *const *ignore_tags; /* in any case of letters */
    bool (*stop)(void *arg);        /* asked now and then; NULL: never */
    void *arg;
};

#define WANDB_DAYS_MAX 16000000

/* By team, project, run, day. -E2BIG, -ECANCELED, what the store gave. ret is ended with runs_fini in any case. */
int wandb_days(struct wandb_store *s, const struct wandb_days_ask *ask, struct runs *ret, struct err *err);

/* Is one of these in a JSON list of tags? What is no such list has none. */
bool wandb_tagged(const char *tags, const char *const *wanted, size_t n);

#endif
