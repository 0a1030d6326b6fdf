/* cmd_wandb.h: the verbs of `muster wandb`, for its table. */
#pragma once

#include "cli/cmd.h"

#define WANDB_VERBS(X) X(pull) X(push) X(check) X(explain) X(overlap) X(import) X(export) X(download)
#define X(verb)                                                                                                        \
    int cmd_wandb_##verb(struct cmd_call *c);                                                                          \
    extern const struct opt_cmd wandb_##verb##_help;
WANDB_VERBS(X)
#undef X

/*
 * After a pull: logs runs that share a host as events, and sends W&B's own alert if the config enables it. Prints
 * failures. Returns an exit code.
 */
struct talk;
struct wandb_store;
int wandb_overlap_print(const struct opt_cmd *help, struct talk *t, struct wandb_store *store, int32_t from, int32_t to,
                        bool quiet);
