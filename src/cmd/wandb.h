/* wandb.h: the verbs of `muster wandb`, for its table. */
#ifndef CMD_WANDB_H
#define CMD_WANDB_H

#include "base/opt.h"

int cmd_wandb_pull(int argc, char **argv);
int cmd_wandb_push(int argc, char **argv);
int cmd_wandb_check(int argc, char **argv);
int cmd_wandb_explain(int argc, char **argv);
int cmd_wandb_import(int argc, char **argv);
int cmd_wandb_export(int argc, char **argv);

extern const struct opt_cmd wandb_pull_face, wandb_push_face, wandb_check_face, wandb_explain_face, wandb_import_face,
    wandb_export_face;

#endif
