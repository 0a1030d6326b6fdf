/*
 * conf.h: the agent's settings: one table, filled from an env file, the environment and flags, in increasing priority.
 * Shared by `muster agent`, `muster-agent` and programs that read this machine without a hub (local.h).
 */
#pragma once

#include "base/opt_def.h"
#include "collect/collect.h"

#define HUBS_MAX 8 /* maximum of hubs that get everything, and of redundant addresses of each */

enum spool_mode { SPOOL_AUTO, SPOOL_ALWAYS };

struct agent_conf {
#define SETTING OPT_MEMBER
#include "agent/settings.def"
#undef SETTING
};

extern const struct opt agent_opts[];

/* Read when there and readable, unless another is named; before it, but not for root, ~/.config/muster/agent.env. */
#define CONF_ENV_FILE "/etc/muster/agent.env"

/*
 * Reads and checks all settings. Sets *ret only if it returns 0; free it with conf_fini(). Returns 0; 1 if --help was
 * given; or a negative errno with a message in err. *ret_argi is the first operand; operands are moved after the flags
 * in argv.
 */
int conf_load(struct agent_conf *ret, int argc, char **argv, int *ret_argi, struct err *err);
/* Sets and checks the defaults: for programs without the agent's flags. */
int conf_default(struct agent_conf *ret, struct err *err);
void conf_fini(struct agent_conf *c);
