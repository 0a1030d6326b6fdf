/*
 * crowd.h: simulates nodes in one process: each plays a part of its own, or, of thousands, a few (the actors) do and
 * the others repeat their values.
 */
#pragma once

#include <stdio.h>

#include "sim/cmd_simulate.h"

#define CROWD_HUBS_MAX 16

struct replay;

struct crowd_place {
    char *host;
    int port;
};

/* As simulate_run. conf->actors 0: one for each node; else hubs are IPv4 addresses. Nodes are spread over the hubs.
 * ledger: a line for each batch made, with a checksum of its values, so that another program can tell what must be in
 * the store; NULL: none. */
int crowd_run(const struct simulate_conf *conf, const struct replay *trace, const struct crowd_place *hubs, size_t n,
              const char *token, FILE *ledger, struct err *err);
