/*
 * post.h: how a relay sends to the hub: one lane per node, each with a sender of its own (sender.h, without a disk),
 * and a bound on how many requests are under way at once. What one node's sender fails at is its own; that the hub as a
 * whole is away is said once.
 */
#pragma once

#include "base/err.h"
#include "uplink/sender.h"

#define LANE_BYTES (1u << 20) /* what a node keeps while the hub is away, with its blobs */

struct event_base;

struct post_conf {
    const char *hub, *token, *ca_file, *pin, *proxy; /* read by post_open; the last three may be NULL */
};

struct post;
int post_open(struct post **ret, struct event_base *loop, const struct post_conf *conf, struct err *err);
void post_close(struct post *p);                          /* after its lanes */
void post_tell_sources(struct post *p, struct buf *json); /* takes its memory; what is under way is given up for it */
/* The labels of lanes that the hub does not know yet, as many as fit one request; once a second is often enough. */
void post_tell_labels(struct post *p);
struct wire_enc *post_enc(struct post *p); /* one for all: it is large */
struct wire_dec *post_dec(struct post *p); /* the same */

struct post_lane;
struct post_lane *lane_new(struct post *p, const char *key, const struct sender_hooks *hooks, void *arg);
void lane_free(struct post_lane *l);
struct sender *lane_sender(struct post_lane *l);
/* What sources say of the node (model/labels.h); told once the hub has heard of the node, and when they change. */
void lane_labels(struct post_lane *l, const char *labels);
