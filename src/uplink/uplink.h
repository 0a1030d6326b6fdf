/*
 * uplink.h: sends what was read of one node without an agent to the hub: its state in words, and its readings as
 * batches. T1 Each HELLO has a state and, unless it is ok, a reason. T2 While there is nothing to send, a HELLO goes
 * out every 10 s. T3 A change of state or words goes out at once.
 */
#pragma once

#include "collect/collect.h"
#include "uplink/post.h"

struct uplink;
/* key: "file:gpu01"; what follows the colon is its name. why: what is said until there is more to say. */
struct uplink *uplink_new(struct event_base *loop, struct post *post, const char *key, uint64_t run, const char *why);
void uplink_free(struct uplink *t);
void uplink_state(struct uplink *t, enum collect_state collect, const char *why);
enum collect_state uplink_collect(const struct uplink *t);
void uplink_labels(struct uplink *t, const char *labels); /* what sources say of it; NULL: nothing */
void uplink_ahead(struct uplink *t, int64_t ms); /* its batches and state are by a clock that is so far ahead of ours */

enum uplink_devices {
    UPLINK_READ,    /* as r has them */
    UPLINK_KNOWN,   /* as r has them, but not read this time: no samples */
    UPLINK_UNKNOWN, /* could not be read: they are not lost, just without values */
};
/* One round: r as it was read at r->at_ms; host: what is known of the machine itself (its devices are not looked at).
 * It is part of the batch that is sent next. */
void uplink_round(struct uplink *t, const struct reading *r, const struct node_fact *host, enum uplink_devices devices);
void uplink_send(struct uplink *t); /* now */
/* The same, once another round in every_ms would be later than the hub asks for. */
void uplink_send_due(struct uplink *t, int64_t every_ms);

/* The name of the next batch, and a batch that was made elsewhere under that name; takes the packet's reference. It
 * goes when it is due, as above. */
void uplink_next(const struct uplink *t, struct batch_key *ret);
void uplink_pass(struct uplink *t, struct packet *p, int64_t every_ms);
