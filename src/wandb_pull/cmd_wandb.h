/* cmd_wandb.h: the verbs of `muster wandb`, for its table. */
#ifndef WANDB_PULL_CMD_WANDB_H
#define WANDB_PULL_CMD_WANDB_H

#include "base/opt.h"

int cmd_wandb_pull(int argc, char **argv);
int cmd_wandb_push(int argc, char **argv);
int cmd_wandb_check(int argc, char **argv);
int cmd_wandb_explain(int argc, char **argv);
int cmd_wandb_import(int argc, char **argv);
int cmd_wandb_export(int argc, char **argv);
int cmd_wandb_overlap(int argc, char **argv);

extern const struct opt_cmd wandb_pull_help, wandb_push_help, wandb_check_help, wandb_explain_help, wandb_import_help,
    wandb_export_help, wandb_overlap_help;

/* After a pull: runs that share a host are events, said, and W&B's own alert where the config wants it. An exit code;
 * what failed is said. */
struct talk;
struct wandb_store;
int wandb_overlap_tell(const struct opt_cmd *help, struct talk *t, struct wandb_store *store, int32_t from, int32_t to);

#endif
