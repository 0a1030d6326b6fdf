/*
 * hub_event.h: lets a feature notify the features after it in the list, which it may not call (docs/ARCHITECTURE.md,
 * "The hub's features"). It publishes an event, and the hub passes it to every feature. A feature that needs a return
 * value registers a callback instead.
 *
 * N1 hub_publish returns after all features have handled the event, in the order of the list, the publisher included.
 * N2 An event is published before the put that caused it is queued: a put of a handler is durable no later.
 * N3 An event published inside a handler is delivered immediately, to all features. Features after the publisher see
 *    the inner event before the outer one.
 * N4 The event and its text are borrowed for the call.
 * N5 Features that are not open yet, or are being closed, receive no events.
 */
#pragma once

#include <stdint.h>

struct hub;
struct node_event;
struct peer_record;

enum hub_event_kind {
    HUB_EVENT_EVENT,   /* an event of a node or device: event */
    HUB_EVENT_DEVICES, /* node's devices changed, or the nodes it shares them with */
    HUB_EVENT_RENAMED, /* records of the key was now belong to node, and was no longer exists */
    HUB_EVENT_TIME,    /* samples in [from_ms, to_ms) changed: features count that time again */
    HUB_EVENT_PEOPLE,  /* the identity mapping changed */
    HUB_EVENT_RECORD,  /* another hub changed record (peer_hubs.h) */
    HUB_EVENT_END,     /* the hub ends: waiting clients are disconnected */
};

struct hub_event {
    enum hub_event_kind kind;
    int64_t now_ms;
    const char *node; /* its key; for an event "": no node; for a time NULL: every node */
    const char *was;
    const char *device; /* for an event: its uuid; NULL: the node's */
    const struct node_event *event;
    int64_t from_ms, to_ms;
    const struct peer_record *record;
};
void hub_publish(struct hub *h, const struct hub_event *n);

/* Publishes and stores an event. node "": no node; device NULL: the node's. */
void hub_event(struct hub *h, const char *node, const char *device, const struct node_event *e);
/* Publishes HUB_EVENT_TIME; node NULL: every node. */
void hub_time(struct hub *h, const char *node, int64_t from_ms, int64_t to_ms, int64_t now_ms);
