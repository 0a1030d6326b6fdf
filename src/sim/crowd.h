/*
 * crowd.h: simulates nodes in one process. Each node plays its own data; with thousands of nodes a few actors do, and
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

/* Like simulate_run. conf->actors 0: one per node; else hubs are IPv4 addresses. Nodes are distributed over the hubs.
 * ledger: a line per batch with a checksum of its values, so that another program can check the store; NULL: none. */
int crowd_run(const struct simulate_conf *conf, const struct replay *trace, const struct crowd_place *hubs, size_t n,
              const char *token, FILE *ledger, struct err *err);
