/*
 * uplink.h: sends what was read of one node without an agent to the hub: its state in words, and its readings as
 * batches. T1 Each HELLO has a state and, unless it is ok, a reason. T2 While there is nothing to send, a HELLO goes
 * out every 10 s. T3 A change of state or words goes out at once.
 */
#ifndef UPLINK_UPLINK_H
#define UPLINK_UPLINK_H

#include "collect/collect.h"
#include "uplink/post.h"

struct uplink;
/* key: "file:gpu01"; what follows the colon is its name. why: what is said until there is more to say. */
struct uplink *uplink_new(struct event_base *loop, struct post *post, const char *key, uint64_t run, const char *why);
void uplink_free(struct uplink *t);
void uplink_state(struct uplink *t, enum collect_state collect, const char *why);
enum collect_state uplink_collect(const struct uplink *t);
void uplink_labels(struct uplink *t, const char *labels); /* what sources say of it; NULL: nothing */
/* One round: r as it was read at r->at_ms; host: what is known of the machine itself (its devices are not looked at).
 * devices false: only the machine was read this time, its devices are as they were. */
void uplink_round(struct uplink *t, const struct reading *r, const struct node_fact *host, bool devices);

#endif
