/* pull_body.h: the structs of a pull, for the pull*.c files of this folder. */
#pragma once

#include "base/buf.h"
#include "wandb_pull/fold.h"
#include "wandb_pull/graphql.h"
#include "wandb_pull/pull.h"
#include "wandb_pull/run.h"

enum {
    PULL_LISTING = 12,         /* projects whose pages are requested concurrently */
    PULL_BATCH = 64,           /* runs read from the store in one batch */
    PULL_HEAVY = 250,          /* runs of the first page when their configs come along */
    PULL_PAGE_BYTES = 8 << 20, /* later pages aim at this */
    PULL_TICK_MS = 200,
};

struct pull;

struct pull_team {
    struct pull *p;
    const char *name;
    const struct company *co;
    char *cursor; /* of the next page; NULL: the first */
    bool busy, over;
    bool put; /* store the projects it lists */
};

struct pull_project {
    struct pull *p;
    const struct pull_team *team;
    char *name, *cursor;
    int per_page;
    bool busy, over;
    bool counted;           /* its runCount is in the state */
    struct pull_page *page; /* that waits for metadata */
};

/* A run of a page; metadata is requested when a rule reads it. */
struct page_run {
    struct run_node node;
    struct pull_page *page;
    enum { PAGE_RUN_OUT, PAGE_RUN_IN, PAGE_RUN_ASKS } state;
    int32_t gpus;
    const char *rule;
};

struct pull_page {
    struct pull_project *pr;
    json_t *data;                        /* holds everything below */
    char *cursor;                        /* of the next; NULL: it was the last */
    size_t n, n_asks, next_ask, waiting; /* waiting: metadata requests in flight */
    struct page_run *v;
    bool unread;    /* a run was unreadable: stored runs missing on the page may still exist */
    struct err err; /* metadata could not be fetched */
};

/* A run whose metrics are still to be fetched. */
struct pull_run {
    struct pull_run *next;
    struct pull *p;
    struct wandb_run *run; /* owned copy */
    int32_t samples;
    bool gone; /* W&B reported once that there is no such run */
};

struct pull {
    const struct pull_params *ask;
    const struct wandb_config *config;
    struct wandb *w;
    struct wandb_store *store;
    struct wandb_pull rec;
    struct pull_sum *sum;
    struct pull_state *st;
    struct err err;   /* of the current call */
    struct err fatal; /* code: it ends */
    bool over;
    unsigned fields;
    struct buf query; /* for runs */
    int64_t before_ms;
    struct fold *fold;
    struct buf sample;      /* room for one */
    struct wandb_day *days; /* room for one run's */
    struct pull_team *teams;
    size_t n_teams;
    struct pull_project **projects;
    size_t n_projects, cap_projects, first_project; /* projects before first_project are over */
    int listing;                                    /* projects that are busy or hold a page */
    struct pull_run *due, **due_end;                /* read from the store, not requested yet */
    int flying;                                     /* runs requested */
    int64_t after;                                  /* of wandb_due */
    bool pass_over;                                 /* no more behind after */
    bool fresh, again; /* pages arrived since the last refill, since the last pass started at 0 */
    struct timer *tick;
};

void pull_step(struct pull *p);  /* sends as many requests as fit */
void pull_fatal(struct pull *p); /* ends it, with p->err */
/* True if the reply ends the pull: W&B rejected the key. */
bool pull_is_fatal(struct pull *p, const struct wandb_answer *a);

/* pull_page.c */
void pull_page_take(struct pull_project *pr, const struct wandb_answer *a); /* stored, or waits for metadata */
bool pull_page_request(struct pull_page *page); /* requests metadata of one more run; false if none is due */
void pull_page_free(struct pull_page *page);
void pull_project_fail(struct pull_project *pr, const char *sentence);
void pull_project_next(struct pull_project *pr, char *cursor); /* takes ownership of cursor; NULL: complete */

/* pull_run.c */
bool pull_run_next(struct pull *p); /* one due run stored or requested; false: none now */
void pull_run_free(struct pull_run *r);
