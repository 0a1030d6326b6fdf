/* cmd_vesta.h: the verbs of `muster vesta`, for its table. */
#ifndef COMPAT_CMD_VESTA_H
#define COMPAT_CMD_VESTA_H

#include "base/opt.h"

int cmd_vesta_settings(int argc, char **argv);
int cmd_vesta_history(int argc, char **argv);
extern const struct opt_cmd vesta_settings_help, vesta_history_help;

#endif
