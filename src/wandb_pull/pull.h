/*
 * pull.h: fetches everything a window of days needs from W&B into the store: projects of each team, runs of each
 * project, metrics of each run that counts. Many requests under way, each page and each run stored as it comes.
 *
 * U1 Killed at any moment and begun again it goes on, and ends with the same rows. U2 A project is complete when its
 * last page said so; anything else that happens is that project's failure: it is kept with a sentence, its rows stay as
 * they were, the others go on, and the pull stays open. U3 What is held is bounded: pages of a few projects and the
 * answers under way, never all runs or their metrics. U4 Metrics never become fewer: where W&B has none any more, those
 * that are stored stay. U5 A run's hours are kept also when its metrics could not be had; they are asked for again.
 */
#pragma once

#include "wandb/store.h"
#include "wandb_pull/config.h"
#include "wandb_pull/web_api.h"

/* How far it is; what is not known yet is 0. */
struct pull_state {
    uint64_t teams, teams_done;
    uint64_t projects, projects_done; /* done: also failed */
    uint64_t runs;                    /* that count, as far as pages came */
    uint64_t runs_done;
    uint64_t listed, listed_of; /* runs seen, and how many there are by what projects said */
    uint64_t failed;            /* projects and teams */
    uint64_t runs_failed;       /* whose metrics could not be had */
    uint64_t unread;            /* runs that could not be read */
    bool listing;               /* more runs may come */
};

struct pull_ask {
    const struct wandb_config *config;
    struct event_base *base;
    struct wandb *w;
    struct wandb_store *store; /* for writing */
    const char *base_url;      /* part of which pull it is: another server is another one */
    int32_t from, to;
    int64_t now_ms;
    /* Called often; other than 0 stops it, and what is there is kept. May be NULL. */
    int (*progress)(void *arg, const struct pull_state *now);
    void *arg;
};

struct pull_sum {
    struct pull_state state;
    struct wandb_pull pull; /* which it was */
    bool complete;          /* all there is, and wandb_pull_end was called */
    char empty[480];        /* teams that list no projects: "acme, beta"; "" */
    char first[480];        /* the first run whose metrics could not be had, and why; "" */
};

/* 0 also when projects failed: complete says so. -ECANCELED: progress stopped it. Else nothing could go on: the store,
 * or a key that W&B does not take (-EACCES). */
int wandb_pull(const struct pull_ask *ask, struct pull_sum *ret, struct err *err);
