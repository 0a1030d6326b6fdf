/*
 * conf.h: the agent's settings: one table, filled from an env file, the environment and flags, of which the later ones
 * win. `muster agent`, `muster-agent` and whoever reads this machine without a hub (local.h) share it.
 */
#pragma once

#include "base/opt_def.h"
#include "collect/collect.h"

#define HUBS_MAX 8 /* that get everything, and that stand in for one of them */

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
 * Read everything and check it. *ret is made here and ended with conf_fini; untouched unless 0 is returned.
 * 0; 1 when --help was asked for; or a negative errno with a sentence. *ret_argi is the first operand;
 * operands are moved behind the flags in argv.
 */
int conf_load(struct agent_conf *ret, int argc, char **argv, int *ret_argi, struct err *err);
/* Defaults, then checks: for programs that have no agent flags of their own. */
int conf_default(struct agent_conf *ret, struct err *err);
void conf_fini(struct agent_conf *c);
