/*
 * replay_node.h: the stored past of one node, played minute by minute into a live state of its own (now/live.h), so
 * that the rules see it as they would have seen it then: kept minutes of its devices, the facts that counted, who was
 * on them, and when its driver hung.
 *
 * A minute shows the newest values of its samples (of most metrics their mean: store/samples.h, H4), and work if any of
 * them did. What came late counts as if it had come in time. On any thread.
 */
#pragma once

#include "alert/rule.h"
#include "history/history.h"

/* What the rules may ask for, and by which rule states are judged. */
struct alert_replay_node_ask {
    const struct state_rule *rule;
    bool metrics[M_COUNT];
    const struct alert_rules *rules; /* for the names of custom metrics */
};
void alert_replay_node_ask_init(struct alert_replay_node_ask *k, const struct alert_rules *rules,
                                const struct state_rule *rule);

struct alert_replay_node;
/* Copies what it needs of n, the node as it is now: its name, its labels, and its facts, where none are known of then.
 */
struct alert_replay_node *alert_replay_node_new(const struct node_now *n);
void alert_replay_node_free(struct alert_replay_node *r);
const char *alert_replay_node_key(const struct alert_replay_node *r);
size_t alert_replay_node_minute_bytes(const struct alert_replay_node *r,
                                      const struct alert_replay_node_ask *k); /* about: of one minute, once loaded */

/*
 * Who was on it in [from, to], and when it was last heard of before; before anything is loaded. How many processes that
 * were; -E2BIG: more than max; -errno.
 */
int alert_replay_node_begin(struct alert_replay_node *r, const struct past_source *past, int64_t from_ms, int64_t to_ms,
                            size_t max, struct err *err);
/* Something happened to it; in the order of time, before the first minute that ends at or after it is loaded. */
void alert_replay_node_event(struct alert_replay_node *r, const struct recent *e);
/* The minutes in [from, to), whole ones; what was loaded before goes. 0 or -errno. */
int alert_replay_node_load(struct alert_replay_node *r, const struct alert_replay_node_ask *k,
                           const struct past_source *past, int64_t from_ms, int64_t to_ms, struct err *err);
/* The minute that ends at at_ms, one that is loaded; each later than the one before. */
void alert_replay_node_play(struct alert_replay_node *r, struct live *l, int64_t at_ms);
