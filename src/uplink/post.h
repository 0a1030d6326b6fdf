/*
 * post.h: how a relay sends to the hub: one lane per node, each with its own requests, and a bound on how many are
 * under way at once.
 *
 * P1 A packet leaves its lane when the hub has named its key as stored, or when the lane is full: the oldest goes, and
 * is counted and told. There is no disk here. P2 One node's trouble (a batch that is refused) is its own. P3 After a
 * failure a lane waits a random time up to 1 s, 2 s, 4 s … 60 s, never less than the hub asks for.
 */
#ifndef UPLINK_POST_H
#define UPLINK_POST_H

#include "base/err.h"
#include "model/batch.h"
#include "wire/packet.h"

#define LANE_MAX   64         /* packets a node keeps while the hub is away: five minutes at one in 5 s */
#define LANE_BYTES (1u << 20) /* and what they may take, with their blobs */

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
bool post_quiet(const struct post *p);     /* nothing is under way */
struct wire_enc *post_enc(struct post *p); /* one for all: it is large */
struct wire_dec *post_dec(struct post *p); /* the same */

struct lane_hooks {
    void (*hello)(void *arg, struct hello *ret);             /* all but backlog */
    void (*dropped)(void *arg, uint64_t n, const char *why); /* packets given up, told when the hub listens again */
};

struct lane;
struct lane *lane_new(struct post *p, const char *key, const struct lane_hooks *hooks, void *arg);
void lane_free(struct lane *l);
void lane_push(struct lane *l, struct packet *p); /* takes a reference of its own */
/* What sources say of the node (model/labels.h); told once the hub has heard of the node, and when they change. */
void lane_labels(struct lane *l, const char *labels);
void lane_speak(struct lane *l); /* with a HELLO; now, unless a pause is due after a failure */
struct lane_stat {
    size_t packets, bytes;
    uint64_t gone; /* given up since the hub last listened */
};
void lane_stat(const struct lane *l, struct lane_stat *ret);
int64_t lane_interval_ms(const struct lane *l); /* as the hub asks; 0: it has not said */
int64_t lane_spoke_ms(const struct lane *l);    /* when the last request began, monotonic; 0: never */

#endif
