/*
 * uplink.h: sends the readings of one node without an agent to the hub: its state with a message, and batches.
 *
 * T1 Each HELLO has a state and, unless it is ok, a reason.
 * T2 While there is nothing to send, a HELLO is sent every 10 s.
 * T3 A change of state or message is sent immediately.
 */
#pragma once

#include "collect/collect.h"
#include "uplink/post.h"

struct uplink;
/* key: "file:gpu01"; the part after the colon is its name. why: initial message. */
struct uplink *uplink_new(struct event_base *loop, struct post *post, const char *key, uint64_t run, const char *why);
void uplink_free(struct uplink *t);
void uplink_state(struct uplink *t, enum collect_state collect, const char *why);
enum collect_state uplink_collect(const struct uplink *t);
void uplink_labels(struct uplink *t, const char *labels); /* labels from its sources; NULL if none */
void uplink_ahead(struct uplink *t, int64_t ms); /* its clock, used in batches and state, is this far ahead of ours */

enum uplink_devices {
    UPLINK_READ,    /* devices of r */
    UPLINK_KNOWN,   /* devices of r, but not read this time: no samples */
    UPLINK_UNKNOWN, /* could not be read: they are not lost, but have no values */
};
/*
 * One round: r as read at r->at_ms; host: facts of the machine itself (its devices are ignored). It becomes part of the
 * next batch.
 */
void uplink_round(struct uplink *t, const struct reading *r, const struct node_fact *host, enum uplink_devices devices);
void uplink_send(struct uplink *t); /* now */
/* The same, if waiting for another round in every_ms would exceed the hub's interval. */
void uplink_send_due(struct uplink *t, int64_t every_ms);

/*
 * The key of the next batch, and a batch that was made elsewhere with that key. uplink_pass takes the packet's
 * reference and sends it when due, as above.
 */
void uplink_next(const struct uplink *t, struct batch_key *ret);
void uplink_pass(struct uplink *t, struct packet *p, int64_t every_ms);
