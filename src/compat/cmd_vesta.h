/* cmd_vesta.h: the verbs of `muster vesta`, for its table. */
#pragma once

#include "cli/cmd.h"

int cmd_vesta_settings(struct cmd_call *c);
int cmd_vesta_history(struct cmd_call *c);
extern const struct opt_cmd vesta_settings_help, vesta_history_help;
