/* simulate.h: many invented nodes talking to a hub over real HTTP, as agents do: numbered batches, kept until
 * acknowledged. */
#ifndef CMD_SIMULATE_H
#define CMD_SIMULATE_H

#include "base/err.h"
#include "base/opt.h"

struct simulate_conf {
    char *hub, *token, *token_file, *prefix, *ledger;
    int64_t nodes, gpus, tick, interval, duration, seed, drain;
    bool demo, quiet;
};

/* Runs until the duration is over and everything is acknowledged, or SIGTERM. 0, -ETIMEDOUT when something stayed
 * unacknowledged, or -errno. */
int simulate_run(const struct simulate_conf *conf, struct err *err);

#endif
