/*
 * crowd.h: simulates nodes in one process: each plays a part of its own, or, of thousands, a few (the actors) do and
 * the others repeat their values.
 */
#pragma once

#include <stdio.h>

#include "sim/cmd_simulate.h"

struct replay;

/* As simulate_run. conf->actors 0: one for each node; else the hub is an IPv4 address. ledger: a line for each batch
 * made, with a checksum of its values, so that another program can tell what must be in the store; NULL: none. */
int crowd_run(const struct simulate_conf *conf, const struct replay *trace, const char *host, int port,
              const char *token, FILE *ledger, struct err *err);
