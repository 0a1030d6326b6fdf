/*
 * explain.h: explains how the GPUs of a run were counted: every rule, every value it read, and whether the run counts.
 */
#pragma once

#include "wandb_pull/rule.h"
#include "wandb_pull/run.h"

struct explain_params {
    const struct wandb_config *config;
    const struct run_path *path;
    struct run_node *run;
    /* result of the last pull; rule NULL: unknown */
    int32_t stored_gpus;
    const char *stored_rule;
    bool barred;      /* the run is on the blacklist */
    const char *page; /* its page at a hub; NULL if none */
};
/* The day that rules use: the day on which the run was created. */
int32_t explain_day(const struct wandb_config *c, const struct run_node *r);
/* Metadata that rules need must be loaded (see rules_apply). */
void explain_text(struct buf *out, const struct explain_params *ask);
void explain_json(struct buf *out, const struct explain_params *ask);
