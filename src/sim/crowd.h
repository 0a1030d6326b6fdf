/*
 * crowd.h: simulates thousands of nodes in one process: a few (the actors) are really played, the others repeat their
 * values.
 */
#ifndef SIM_CROWD_H
#define SIM_CROWD_H

#include "sim/cmd_simulate.h"

struct replay;

/* As simulate_run, for conf->actors above 0. The hub is an IPv4 address. */
int crowd_run(const struct simulate_conf *conf, const struct replay *trace, const char *host, int port,
              const char *token, struct err *err);

#endif
