/*
 * post.h: how a relay sends to the hub: one lane per node, each with its own sender (sender.h, without a disk), and a
 * limit of concurrent requests. Failures of one node's sender do not affect others. An unreachable hub is logged once.
 */
#pragma once

#include "base/err.h"
#include "uplink/sender.h"

#define LANE_BYTES (1u << 20) /* what a node keeps while the hub is unreachable, with its blobs */

struct event_base;

struct post_conf {
    const char *hub, *token, *ca_file, *pin, *proxy; /* read by post_open; the last three may be NULL */
};

struct post;
int post_open(struct post **ret, struct event_base *loop, const struct post_conf *conf, struct err *err);
void post_close(struct post *p);                          /* after its lanes */
void post_send_sources(struct post *p, struct buf *json); /* takes ownership of json; cancels the request in flight */
/* Sends the labels of lanes that the hub does not have yet, as many as fit one request. Call it once a second. */
void post_send_labels(struct post *p);
struct wire_enc *post_enc(struct post *p); /* one for all: it is large */
struct wire_dec *post_dec(struct post *p); /* the same */

struct post_lane;
struct post_lane *lane_new(struct post *p, const char *key, const struct sender_hooks *hooks, void *arg);
void lane_free(struct post_lane *l);
struct sender *lane_sender(struct post_lane *l);
/* Labels of the node from its sources (model/labels.h); sent after the node's first packet, and when they change. */
void lane_labels(struct post_lane *l, const char *labels);
