/* cmd_simulate.h: many simulated nodes that send to a hub over real HTTP like agents: numbered batches, kept until
 * acknowledged. */
#pragma once

#include "base/err.h"
#include "base/opt.h"

struct simulate_conf {
    char *hub, *token, *token_file, *prefix, *ledger, *tokens, *data, *until;
    int64_t nodes, actors, connections, arrive, gpus, tick, interval, duration, seed, drain, people, backfill, every;
    bool demo, quiet, work;
};

/* Generates history as fast as possible, to a folder or a hub. Returns 0 or -errno. */
int backfill_run(const struct simulate_conf *conf, struct err *err);
