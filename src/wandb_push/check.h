/*
 * check.h: checks that the dashboard is as it must be on a day: the runs tagged as the newest, what they are of, and
 * what they say. The rules are the old tool's later ones (docs/wandb.md). What is found wrong is a line each, "title:
 * text".
 */
#pragma once

#include "base/buf.h"
#include "wandb/store.h"
#include "wandb_pull/config.h"
#include "wandb_pull/web_api.h"
#include "wandb_push/tagged.h"

#define CHECK_LOW 100 /* a utilisation rate of so many tenths of a percent is too low, and any below */

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

/* Which run shows which company, and what is wrong with the set of them. For wandb_check, and for tests. */
struct check_board {
    const struct wandb_config *config;
    int32_t day;
    const struct tagged *tagged;
};
void check_runs(const struct check_board *b, struct findings *ret);
/* A company's daily table as W&B has it (the file of the artifact); id: the run's. */
void check_table(const struct check_board *b, const struct company *co, const char *id, struct str json,
                 struct findings *ret);

struct check_ask {
    const struct wandb_config *config; /* with a dashboard */
    struct wandb *w;
    struct wandb_store *store; /* for deleted runs; NULL: what was pushed of them */
    int32_t day;               /* tables must be of it */
    int64_t now_ms;
    bool alert; /* tell W&B, too */
};

struct check_sum {
    struct findings findings; /* none: all is well */
    struct buf note;          /* what is no fault, a line each: deleted runs */
    struct buf text;          /* the text of the alert */
    char title[64];
    struct err alert; /* code: the alert could not be sent */
};
/* -EINVAL: no dashboard in the config. Else W&B could not be asked, and nothing is known. ret: check_fini, always. */
int wandb_check(const struct check_ask *ask, struct check_sum *ret, struct err *err);
void check_fini(struct check_sum *c);
