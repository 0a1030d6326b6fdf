/* cmd_wandb.h: the verbs of `muster wandb`, for its table. */
#pragma once

#include "cli/cmd.h"

#define WANDB_VERBS(X) X(pull) X(push) X(check) X(explain) X(overlap) X(import) X(export) X(download)
#define X(verb)                                                                                                        \
    int cmd_wandb_##verb(struct cmd_call *c);                                                                          \
    extern const struct opt_cmd wandb_##verb##_help;
WANDB_VERBS(X)
#undef X

/* After a pull: runs that share a host are events, said, and W&B's own alert where the config wants it. An exit code;
 * what failed is said. */
struct talk;
struct wandb_store;
int wandb_overlap_tell(const struct opt_cmd *help, struct talk *t, struct wandb_store *store, int32_t from, int32_t to,
                       bool quiet);
