/*
 * sender.h: sends one node's packets to one hub. An agent's sender keeps on disk what the hub does not accept. A relay
 * has many senders (post.h), without a disk. A sender has two lanes. The live lane sends new packets, or a heartbeat if
 * the queue is empty. The catch-up lane sends packets from disk, oldest first, a few at a time, one request in flight,
 * and only while the live lane works.
 *
 * D1 A packet leaves memory only when the hub has confirmed its key as stored, or when it is in the spool. Without a
 *    disk it is also dropped if there are too many, or if the hub repeatedly neither stores nor refuses it.
 * D2 It goes to disk when a POST fails, when no reply came within ACK_MS, or always if so configured.
 * D3 It leaves the disk only when the hub has confirmed its key, when the spool's bounds require it, or when the hub
 *    keeps refusing it while accepting others. Dropped packets are counted and reported (EVENT_DROPPED).
 * D4 After a failure the next try comes after a random time up to 1 s, 2 s, 4 s … 60 s, and never before the hub's own
 *    `retry`.
 * D5 With redundant hubs, one is used at a time, as long as it responds. After a failure that may be that hub's alone
 *    the next one is tried. All of them accept the same tokens and store the same batches, so packets on disk go to any
 *    of them.
 */
#pragma once

#include "net/http.h"
#include "uplink/badge.h"
#include "wire/packet.h"

#define SENDER_MAX 64 /* packets in memory: five minutes of a relay's at one in 5 s */

/* Callbacks to the owner of many senders to the same hub. */
struct sender_peers {
    void (*turn)(void *arg); /* it wants to send: call sender_go when it may */
    void (*done)(void *arg); /* its request has ended */
    void (*taken)(void *arg);
    void (*failed)(void *arg, int status, const char *why); /* status 0: no reply */
};

struct sender_conf {
    const char *hub;                   /* http:// or https://, no trailing slash; redundant hubs are comma-separated */
    const char *origin;                /* the node it sends for, "ssh:gpu01"; NULL: the node it runs on */
    const char *ca_file, *pin, *proxy; /* pin: of all hubs, or a comma-separated list */
    struct badge_conf badge;
    const char *state_dir; /* tokens and the spool are below it; NULL: neither is kept on disk */
    const char *spool_dir; /* NULL: below state_dir */
    int64_t spool_max_bytes, spool_max_age_ms;
    bool spool_always;
    size_t most_bytes; /* in memory, without a disk */
    size_t at_once;    /* packets in one request */
    int64_t timeout_ms;
    const struct sender_peers *peers; /* NULL: it is the only one, sends at any time and logs itself */
    void *peers_arg;
};

struct hub_pace {
    int64_t interval_ms; /* 0: not set by this hub */
    int64_t phase_ms;    /* -1: not set */
    int64_t offset_ms;   /* hub's wall clock less ours */
};

struct sender_hooks {
    void (*hello)(void *arg, struct hello *ret);             /* all but backlog */
    void (*dropped)(void *arg, uint64_t n, const char *why); /* batches dropped; without a disk when the hub responds */
    void (*pace)(void *arg);                                 /* sender_pace has changed; may be NULL */
};

struct sender;
/* Opens the spool and reads the tokens; cannot fail without a disk and a token file. conf's text must outlive it. */
int sender_new(struct sender **ret, struct event_base *loop, struct http *http, const struct sender_conf *conf,
               const struct sender_hooks *hooks, void *arg, struct err *err);
void sender_free(struct sender *s); /* unacknowledged packets go to disk first */
/*
 * sender_check validates new settings for the same hub. sender_reload applies them: reads tokens again and reconnects;
 * spool and queue stay.
 */
int sender_check(const struct sender_conf *conf, struct err *err);
void sender_reload(struct sender *s, const struct sender_conf *conf);
bool sender_has_folder(const struct sender *s, struct str folder); /* with the folder name of hubs_folder */

void sender_push(struct sender *s, struct packet *p); /* takes its own reference */
void sender_beat(struct sender *s);                   /* send now, unless a pause after a failure is in progress */
bool sender_go(struct sender *s);                     /* send; false: no request was started */
bool sender_idle(const struct sender *s);             /* nothing is on its way that could still be acknowledged */
const struct hub_pace *sender_pace(const struct sender *s);
int64_t sender_spoke_ms(const struct sender *s);             /* when its last request began, monotonic; 0: never */
void sender_status(const struct sender *s, struct buf *out); /* a few lines for `muster-agent status` */

struct sender_stat {
    size_t packets, bytes; /* in memory */
    uint64_t gone;         /* dropped, and not reported yet */
};
void sender_stat(const struct sender *s, struct sender_stat *ret);

/* Pure: the pause after the n-th failure in a row (from 1), with u in [0, 1) as the dice. */
int64_t sender_backoff_ms(unsigned failures, double u);
