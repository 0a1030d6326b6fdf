/*
 * replay_node.h: replays the stored history of one node minute by minute into a separate live state (now/live.h), so
 * that the rules see what they would have seen then: kept minutes of its devices, the facts of the time, its
 * processes, and driver hangs.
 *
 * A minute shows the newest values of its samples (for most metrics the mean: store/samples.h, H4), and work if any
 * sample showed work. Late data counts as if it had arrived in time. On any thread.
 */
#pragma once

#include "alert/rule.h"
#include "history/history.h"

/* The metrics that the rules may read, and the rule for states. */
struct alert_replay_node_params {
    const struct state_rule *rule;
    bool metrics[M_COUNT];
    const struct alert_rules *rules; /* for the names of custom metrics */
};
void alert_replay_node_params_init(struct alert_replay_node_params *k, const struct alert_rules *rules,
                                   const struct state_rule *rule);

struct alert_replay_node;
/* Copies name, labels and facts of the current node n. The facts are used if none are stored for the period. */
struct alert_replay_node *alert_replay_node_new(const struct node_now *n);
void alert_replay_node_free(struct alert_replay_node *r);
const char *alert_replay_node_key(const struct alert_replay_node *r);
size_t alert_replay_node_minute_bytes(const struct alert_replay_node *r,
                                      const struct alert_replay_node_params *k); /* about: per loaded minute */

/*
 * Reads the node's processes in [from, to] and the time of its last report before from. Call before the first load.
 * Returns the number of processes, -E2BIG if there are more than max, or -errno.
 */
int alert_replay_node_begin(struct alert_replay_node *r, const struct past_source *past, int64_t from_ms, int64_t to_ms,
                            size_t max, struct err *err);
/* Adds an event of the node. Call in order of time, before the first minute that ends at or after it is loaded. */
void alert_replay_node_event(struct alert_replay_node *r, const struct recent *e);
/* Loads the whole minutes in [from, to) and drops those loaded before. Returns 0 or -errno. */
int alert_replay_node_load(struct alert_replay_node *r, const struct alert_replay_node_params *k,
                           const struct past_source *past, int64_t from_ms, int64_t to_ms, struct err *err);
/* Replays the loaded minute that ends at at_ms. Call in order of time. */
void alert_replay_node_play(struct alert_replay_node *r, struct live *l, int64_t at_ms);
