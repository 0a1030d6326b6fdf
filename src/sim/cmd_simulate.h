/* cmd_simulate.h: many invented nodes talking to a hub over real HTTP, as agents do: numbered batches, kept until
 * acknowledged. */
#pragma once

#include "base/err.h"
#include "base/opt.h"

struct simulate_conf {
    char *hub, *token, *token_file, *prefix, *ledger, *tokens, *data, *until;
    int64_t nodes, actors, connections, arrive, gpus, tick, interval, duration, seed, drain, people, backfill, every;
    bool demo, quiet, work;
};

/* The past instead, as fast as it goes: into a folder, or to a hub. 0 or -errno. */
int backfill_run(const struct simulate_conf *conf, struct err *err);
