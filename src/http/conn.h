/*
 * conn.h: a connection, shared by httpd.c (requests in, replies out) and httpd_late.c (late replies, streams). Others
 * use httpd.h.
 */
#pragma once

#include "http/chunks.h"
#include "http/head.h"
#include "http/httpd.h"
#include "http/io.h"
#include "http/reply_head.h"

struct event;
struct conn_limit;

enum conn_state {
    CONN_HEAD,   /* waiting for a request's head */
    CONN_BODY,   /* and its body */
    CONN_CHUNKS, /* the same, chunked */
    CONN_LATE,   /* waiting for a late reply */
    CONN_REPLY,  /* the response is being sent */
    CONN_STREAM,
    CONN_LINGER, /* response sent and ended; discarding further input */
};

/* One request being read or handled; ops.who_size bytes follow it. A separate allocation: most connections are idle
 * most of the time. */
struct exchange {
    struct request rq;
    struct head head;
    size_t counted; /* of httpd.bodies */
    size_t max_body;
    struct chunks chunks;
    char *text; /* the head, followed by its decoded parts */
};

/* ops.memo_size bytes follow it. */
struct conn {
    struct conn *prev, *next;     /* in order of the last progress */
    struct conn *before, *behind; /* in the queue of connections with pending input; NULL: not queued */
    struct httpd *h;
    struct io *io;
    enum conn_state state;
    bool patient, tls, loopback, eof, dead, stepping, close_after;
    bool served;                   /* served a request in this conn_move() */
    bool gzip_ok, head_only, old;  /* properties of the request that its response needs, when the request is freed */
    size_t scanned;                /* of the head, for its end */
    int64_t since_ms, deadline_ms; /* start and end of this state */
    size_t queued;                 /* stream: at the last tick */
    size_t sending;                /* of httpd.replies */
    struct exchange *x;
    struct late *late;
    struct chunked_reply *chunked;
    struct stream_conn *stream;
    char peer[64];
};

struct late {
    struct conn *c; /* NULL: the client left, or it is an internal request: */
    void (*take)(void *arg, struct reply *rp);
    void *take_arg;
    void (*gone)(void *arg);
    void *arg;
    struct trail *trail; /* of the request; NULL: none */
};

struct stream_conn {
    struct conn *c;
    bool gz;
    void (*closed)(void *arg);
    void *arg;
};

struct httpd {
    struct event_base *loop;
    struct httpd_conf conf;
    size_t max_now; /* maximum connections: below the configured number while descriptors are short */
    struct httpd_ops ops;
    struct conn ring;   /* ring.next: latest progress, ring.prev: oldest */
    int64_t soonest_ms; /* no deadline passes before this; 0: check */
    struct ssl_ctx_st *tls;
    struct ports *ports;
    struct io_group *group; /* of patient connections */
    struct conn queue[2];   /* .behind waits longest; patient connections are in the second */
    size_t n_queued;
    unsigned served_of;       /* the queue of the last turn: they alternate */
    bool looked;              /* patient connections had input, and some of it may be queued */
    struct event *again;      /* the next event loop iteration, for the queue */
    int64_t patient_since_ms; /* since when requests of patient connections wait; 0: none */
    int64_t spent_us[2];      /* time for requests since the queues had their last turn, per queue */
    struct conn_limit *per_address;
    size_t bodies, replies;
    struct exchange *spare;
    struct reply_date date;
    struct buf head; /* of the current reply */
    struct httpd_stat stat;
};

/* Enters a state, for at most for_ms. */
void conn_enter(struct conn *c, enum conn_state state, int64_t for_ms);
/* Its head is read: authorises it, then continues with its body, its response, or CONN_LATE. */
void conn_admit(struct conn *c);
/* Sends the whole reply; conn_move() continues when it was sent. Empties rp. */
void conn_reply(struct conn *c, struct reply *rp);
/* Advances the connection as far as the received bytes allow; one request at most, none if full. c may be freed when
 * this returns. */
void conn_move(struct conn *c, bool full);
void conn_end(struct conn *c);
void chunked_reply_sent(struct chunked_reply *r);          /* all its bytes so far were sent */
void chunked_reply_leave(struct chunked_reply *r);         /* the connection ends */
void conn_unref_blob(const void *p, size_t n, void *blob); /* bytes of a blob were sent */
