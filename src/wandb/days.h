/*
 * days.h: run-days out of what W&B said of runs (store/wandb.h), for the report, the comparison and push. Days
 * are those of the file's zone. Deleted runs are left out; runs with a tag that says they are not ours are marked.
 */
#ifndef WANDB_DAYS_H
#define WANDB_DAYS_H

#include "report/runs.h"
#include "store/wandb.h"

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

/* What is in a data folder. */
struct wandb_told {
    bool any;                 /* days of runs; false: there is no file, or nothing in it */
    char zone[ZONE_NAME_MAX]; /* theirs */
    int64_t pulled_ms;        /* when the newest pull that came to its end began; 0: none did */
};
int wandb_told(const char *dir, struct wandb_told *ret, struct err *err);
/* wandb_days of it; no file is no days. */
int wandb_days_in(const char *dir, const struct wandb_days_ask *ask, struct runs *ret, struct err *err);

/* Is one of these in a JSON list of tags? What is no such list has none. */
bool wandb_tagged(const char *tags, const char *const *wanted, size_t n);

#endif
