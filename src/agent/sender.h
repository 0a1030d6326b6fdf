/*
 * sender.h: brings packets to one hub, and keeps on disk what it does not take. Two lanes: the live one sends what was
 * just filled, and a heartbeat when there is nothing; the catch-up one sends what waits on disk, oldest first, a few at
 * a time, one request in flight, and only while the live one is well.
 *
 * D1 A packet leaves memory only when the hub has named its key as stored, or when it is in the spool. D2 It goes to
 * disk when a POST fails, when no answer came within ACK_MS, or always if so configured. D3 It leaves the disk only
 * when the hub has named its key, when the spool's bounds say so, or when the hub keeps refusing it alone while taking
 * others; the last two are counted and told (EVENT_DROPPED). D4 After a failure the next try comes after a random time
 * up to 1 s, 2 s, 4 s … 60 s, and never before the hub's own `retry`.
 */
#ifndef AGENT_SENDER_H
#define AGENT_SENDER_H

#include "agent/conf.h"
#include "net/http.h"
#include "wire/packet.h"

struct hub_pace {
    int64_t interval_ms; /* 0: this hub has not said */
    int64_t phase_ms;    /* -1: not said */
    int64_t offset_ms;   /* hub's wall clock less ours */
};

struct sender_hooks {
    void (*hello)(void *arg, struct hello *ret);             /* all but backlog and sent_ms */
    void (*pace)(void *arg);                                 /* sender_pace says something new */
    void (*dropped)(void *arg, uint64_t n, const char *why); /* batches given up */
};

struct sender;
/* Opens the spool and reads the tokens. conf must outlive it. */
int sender_new(struct sender **ret, struct event_base *base, struct http *http, const struct agent_conf *conf,
               const char *hub, const struct sender_hooks *hooks, void *arg, struct err *err);
void sender_free(struct sender *s); /* what is not acknowledged goes to disk first */
/* New settings for the same hub: would they do? Then: tokens are read again, connections made anew, spool and queue
 * stay. */
int sender_check(const struct agent_conf *conf, const char *hub, struct err *err);
void sender_reload(struct sender *s, const struct agent_conf *conf, const char *hub);
const char *sender_hub(const struct sender *s);

void sender_push(struct sender *s, struct packet *p); /* takes a reference of its own */
void sender_beat(struct sender *s);                   /* speak now, unless a pause is due after a failure */
bool sender_idle(const struct sender *s);             /* nothing is on its way that could still be acknowledged */
const struct hub_pace *sender_pace(const struct sender *s);
void sender_status(const struct sender *s, struct buf *out); /* a few lines for `muster-agent status` */

/* Pure: the pause after the n-th failure in a row (from 1), with u in [0, 1) as the dice. */
int64_t sender_backoff_ms(unsigned failures, double u);

#endif
