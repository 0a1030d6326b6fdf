/*
 * agent.h: the agent as a whole: one event loop around the collector process (collector_keeper.h), the batch being
 * filled (filler.h) and a sender for each hub (sender.h), until a signal ends it.
 */
#pragma once

#include "agent/conf.h"

/*
 * Runs until SIGTERM or SIGINT. Takes ownership of conf's contents. Keeps argv, to read the settings again at SIGHUP.
 * Returns 0 after a clean exit; -errno with a message in err if it could not start.
 */
int agent_run(struct agent_conf *conf, int argc, char **argv, struct err *err);
