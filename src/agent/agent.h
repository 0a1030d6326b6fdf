/*
 * agent.h: the agent as a whole: one event loop around the collector process (collector_keeper.h), the batch being
 * filled (filler.h) and a sender for each hub (sender.h), until a signal ends it.
 */
#pragma once

#include "agent/conf.h"

/*
 * Runs until SIGTERM or SIGINT. Takes conf's contents. argv is kept, to read the settings again at SIGHUP.
 * 0 after an end in good order; -errno with a sentence when it could not start.
 */
int agent_run(struct agent_conf *conf, int argc, char **argv, struct err *err);
