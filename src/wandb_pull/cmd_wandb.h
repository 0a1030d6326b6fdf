/* cmd_wandb.h: the verbs of `muster wandb`, for its table. */
#pragma once

#include "cli/cmd.h"

int cmd_wandb_pull(struct cmd_call *c);
int cmd_wandb_push(struct cmd_call *c);
int cmd_wandb_check(struct cmd_call *c);
int cmd_wandb_explain(struct cmd_call *c);
int cmd_wandb_import(struct cmd_call *c);
int cmd_wandb_export(struct cmd_call *c);
int cmd_wandb_overlap(struct cmd_call *c);

extern const struct opt_cmd wandb_pull_help, wandb_push_help, wandb_check_help, wandb_explain_help, wandb_import_help,
    wandb_export_help, wandb_overlap_help;

/* After a pull: runs that share a host are events, said, and W&B's own alert where the config wants it. An exit code;
 * what failed is said. */
struct talk;
struct wandb_store;
int wandb_overlap_tell(const struct opt_cmd *help, struct talk *t, struct wandb_store *store, int32_t from, int32_t to);
