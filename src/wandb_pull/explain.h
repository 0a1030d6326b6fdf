/* explain.h: how the GPUs of a run were counted: every rule, every value it looked at, and whether the run counts. */
#pragma once

#include "wandb_pull/rule.h"
#include "wandb_pull/run.h"

struct explain_ask {
    const struct wandb_config *config;
    const struct run_path *path;
    struct run_node *run;
    /* what the last pull made of it; rule NULL: nothing is known */
    int32_t stored_gpus;
    const char *stored_rule;
    bool barred;      /* the blacklist has it */
    const char *page; /* what a hub says it did on its host; NULL: nobody was asked, or it knows nothing of it */
};
/* The day rules go by: on which it was created. */
int32_t explain_day(const struct wandb_config *c, const struct run_node *r);
/* Metadata that rules look at must have been told (rules_apply says so). */
void explain_text(struct buf *out, const struct explain_ask *ask);
void explain_json(struct buf *out, const struct explain_ask *ask);
