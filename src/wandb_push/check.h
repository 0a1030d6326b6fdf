/*
 * check.h: checks that the dashboard is correct on a day: the runs tagged as the newest, their subjects, and their
 * values. The rules are the old tool's later ones (docs/wandb.md). Each finding is a line "title: text".
 */
#pragma once

#include "base/buf.h"
#include "wandb/store.h"
#include "wandb_pull/config.h"
#include "wandb_pull/web_api.h"
#include "wandb_push/tagged.h"

#define CHECK_LOW 100 /* a utilisation rate of this many tenths of a percent or less is too low */

struct check_finding {
    enum wandb_event_kind kind; /* WANDB_EVENT_CHECK, or _LOW */
    const char *company;        /* of _LOW; borrowed from the config; "" */
    char *text;                 /* "Missing latest runs: Acme, Beta" */
};

struct findings {
    size_t n, cap;
    struct check_finding *v;
};
void findings_fini(struct findings *f);
void finding_add(struct findings *f, enum wandb_event_kind kind, const char *company, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The company of each run, and problems of the whole set. For wandb_check, and for tests. */
struct check_board {
    const struct wandb_config *config;
    int32_t day;
    const struct tagged *tagged;
};
void check_runs(const struct check_board *b, struct findings *ret);
/* A company's daily table as W&B has it (the file of the artifact); id: the run's. */
void check_table(const struct check_board *b, const struct company *co, const char *id, struct str json,
                 struct findings *ret);

struct check_params {
    const struct wandb_config *config; /* with a dashboard */
    struct wandb *w;
    struct wandb_store *store; /* for deleted runs; NULL: as pushed before */
    int32_t day;               /* tables must be of it */
    int64_t now_ms;
    bool alert; /* send an alert to W&B, too */
};

struct check_sum {
    struct findings findings; /* empty if all is well */
    struct buf note;          /* remarks, a line each: deleted runs */
    struct buf text;          /* the text of the alert */
    char title[64];
    struct err alert; /* code: the alert could not be sent */
};
/*
 * Returns -EINVAL if the config has no dashboard. Any other error: W&B could not be queried. Free ret with check_fini()
 * in all cases.
 */
int wandb_check(const struct check_params *ask, struct check_sum *ret, struct err *err);
void check_fini(struct check_sum *c);
