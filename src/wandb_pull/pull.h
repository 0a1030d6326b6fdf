/*
 * pull.h: fetches a window of days from W&B into the store: projects of each team, runs of each project, metrics of
 * each run that counts. Sends many requests concurrently, and stores each page and each run as it arrives.
 *
 * U1 A pull that is killed at any time and started again resumes, and ends with the same rows.
 * U2 A project is complete after its last page. Any failure is stored with a message for that project: its rows stay
 *    unchanged, the other projects continue, and the pull stays open.
 * U3 Memory is bounded: pages of a few projects and the replies in flight, never all runs or their metrics.
 * U4 Metrics are never removed: if W&B no longer has them, the stored ones stay.
 * U5 A run's hours are stored even if its metrics could not be fetched; these are requested again.
 */
#pragma once

#include "wandb/store.h"
#include "wandb_pull/config.h"
#include "wandb_pull/web_api.h"

/* Progress; unknown values are 0. */
struct pull_state {
    uint64_t teams, teams_done;
    uint64_t projects, projects_done; /* done: also failed */
    uint64_t runs;                    /* that count, as far as pages came */
    uint64_t runs_done;
    uint64_t listed, listed_of; /* runs seen, and the total that projects report */
    uint64_t failed;            /* projects and teams */
    uint64_t runs_failed;       /* whose metrics could not be fetched */
    uint64_t unread;            /* runs that could not be read */
    bool listing;               /* more runs may come */
};

struct pull_params {
    const struct wandb_config *config;
    struct event_base *base;
    struct wandb *w;
    struct wandb_store *store; /* for writing */
    const char *base_url;      /* another server is another pull */
    int32_t from, to;
    int64_t now_ms;
    /* Called often. Nonzero stops the pull and keeps the rows stored so far. May be NULL. */
    int (*progress)(void *arg, const struct pull_state *now);
    void *arg;
};

struct pull_sum {
    struct pull_state state;
    struct wandb_pull pull; /* which it was */
    bool complete;          /* everything is stored, and wandb_pull_end was called */
    char empty[480];        /* teams that list no projects: "acme, beta"; "" */
    char first[480];        /* the first run whose metrics could not be fetched, and why; "" */
};

/*
 * Returns 0 also if projects failed: see complete. -ECANCELED if progress stopped it. Any other error stopped the pull:
 * the store failed, or W&B rejected the key (-EACCES).
 */
int wandb_pull(const struct pull_params *ask, struct pull_sum *ret, struct err *err);
