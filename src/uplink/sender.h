/*
 * sender.h: brings one node's packets to one hub: an agent's, which keeps on disk what the hub does not take, or one of
 * a relay's many (post.h), which has no disk. Two lanes: the live one sends what was just filled, and a heartbeat when
 * there is nothing; the catch-up one sends what waits on disk, oldest first, a few at a time, one request in flight,
 * and only while the live one is well.
 *
 * D1 A packet leaves memory only when the hub has named its key as stored, or when it is in the spool; without a disk,
 * when there are too many, or the hub neither stores nor refuses it again and again. D2 It goes to disk when a POST
 * fails, when no answer came within ACK_MS, or always if so configured. D3 It leaves the disk only when the hub has
 * named its key, when the spool's bounds say so, or when the hub keeps refusing it alone while taking others; whatever
 * is given up is counted and told (EVENT_DROPPED). D4 After a failure the next try comes after a random time up to 1 s,
 * 2 s, 4 s … 60 s, and never before the hub's own `retry`. D5 Where several hubs stand in for each other, one is spoken
 * to at a time, for as long as it answers; after a failure that may be its alone the next one is tried. They know the
 * same tokens and keep the same batches: what waits on disk goes to whichever answers.
 */
#pragma once

#include "net/http.h"
#include "uplink/badge.h"
#include "wire/packet.h"

#define SENDER_MAX 64 /* packets in memory: five minutes of a relay's at one in 5 s */

/* One of many senders to the same hub: what whoever looks after all of them is asked and told. */
struct sender_peers {
    void (*turn)(void *arg); /* it would send: sender_go when it is its turn */
    void (*done)(void *arg); /* its request is not under way any more */
    void (*taken)(void *arg);
    void (*failed)(void *arg, int status, const char *why); /* status 0: no answer */
};

struct sender_conf {
    const char *hub; /* http:// or https://, no slash at the end; commas between those that stand in for each other */
    const char *origin;                /* the node it speaks for, "ssh:gpu01"; NULL: the node it runs on */
    const char *ca_file, *pin, *proxy; /* pin: of all hubs, or one each with commas between */
    struct badge_conf badge;
    const char *state_dir; /* tokens and the spool are below it; NULL: neither is kept on disk */
    const char *spool_dir; /* NULL: below state_dir */
    int64_t spool_max_bytes, spool_max_age_ms;
    bool spool_always;
    size_t most_bytes; /* in memory, without a disk */
    size_t at_once;    /* packets in one request */
    int64_t timeout_ms;
    const struct sender_peers *peers; /* NULL: it is alone, sends when it likes and logs by itself */
    void *peers_arg;
};

struct hub_pace {
    int64_t interval_ms; /* 0: this hub has not said */
    int64_t phase_ms;    /* -1: not said */
    int64_t offset_ms;   /* hub's wall clock less ours */
};

struct sender_hooks {
    void (*hello)(void *arg, struct hello *ret);             /* all but backlog */
    void (*dropped)(void *arg, uint64_t n, const char *why); /* batches given up; without a disk: once the hub hears */
    void (*pace)(void *arg);                                 /* sender_pace says something new; NULL: nobody asks */
};

struct sender;
/* Opens the spool and reads the tokens; cannot fail without a disk and a token file. conf's text must outlive it. */
int sender_new(struct sender **ret, struct event_base *loop, struct http *http, const struct sender_conf *conf,
               const struct sender_hooks *hooks, void *arg, struct err *err);
void sender_free(struct sender *s); /* what is not acknowledged goes to disk first */
/* New settings for the same hub: would they do? Then: tokens are read again, connections made anew, spool and queue
 * stay. */
int sender_check(const struct sender_conf *conf, struct err *err);
void sender_reload(struct sender *s, const struct sender_conf *conf);
bool sender_has_folder(const struct sender *s, struct str folder); /* as hubs_folder names it */

void sender_push(struct sender *s, struct packet *p); /* takes a reference of its own */
void sender_beat(struct sender *s);                   /* speak now, unless a pause is due after a failure */
bool sender_go(struct sender *s);                     /* send; false: no request is under way after all */
bool sender_idle(const struct sender *s);             /* nothing is on its way that could still be acknowledged */
const struct hub_pace *sender_pace(const struct sender *s);
int64_t sender_spoke_ms(const struct sender *s);             /* when its last request began, monotonic; 0: never */
void sender_status(const struct sender *s, struct buf *out); /* a few lines for `muster-agent status` */

struct sender_stat {
    size_t packets, bytes; /* in memory */
    uint64_t gone;         /* given up, and not told yet */
};
void sender_stat(const struct sender *s, struct sender_stat *ret);

/* Pure: the pause after the n-th failure in a row (from 1), with u in [0, 1) as the dice. */
int64_t sender_backoff_ms(unsigned failures, double u);
