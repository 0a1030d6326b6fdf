/*
 * conn.h: a connection, as httpd.c (requests in, replies out) and httpd_late.c (replies that come later, streams) know
 * it. Others use httpd.h.
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
    CONN_LATE,   /* somebody will answer */
    CONN_REPLY,  /* the answer is on its way */
    CONN_STREAM,
    CONN_LINGER, /* answered and ended; forgetting what still comes */
};

/* One request being read or answered; behind it are ops.who_size bytes. Its own allocation: most connections are idle
 * most of the time. */
struct exchange {
    struct request rq;
    struct head head;
    size_t counted; /* of httpd.bodies */
    size_t max_body;
    struct chunks chunks;
    char *text; /* the head, and behind it what is decoded of it */
};

/* Behind it are ops.memo_size bytes. */
struct conn {
    struct conn *prev, *next;     /* in the order of what moved on last */
    struct conn *before, *behind; /* in the queue of those with more to do; NULL: not there */
    struct httpd *h;
    struct io *io;
    enum conn_state state;
    bool patient, tls, loopback, eof, dead, stepping, close_after;
    bool served;                   /* a request, since it began to move */
    bool gzip_ok, head_only, old;  /* what the answer needs of the request, which may be gone by then */
    size_t scanned;                /* of the head, for its end */
    int64_t since_ms, deadline_ms; /* in this state */
    size_t queued;                 /* stream: at the last tick */
    size_t sending;                /* of httpd.replies */
    struct exchange *x;
    struct late *late;
    struct chunked_reply *chunked;
    struct stream_conn *stream;
    char peer[64];
};

struct late {
    struct conn *c; /* NULL: the reader left, or is the hub itself: */
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
    size_t max_now; /* connections: fewer than configured after descriptors ran out, until there were enough again */
    struct httpd_ops ops;
    struct conn ring;   /* ring.next moved on last, ring.prev longest ago */
    int64_t soonest_ms; /* until then no deadline passes; 0: look */
    struct ssl_ctx_st *tls;
    struct ports *ports;
    struct io_group *group; /* of patient connections */
    struct conn queue[2];   /* .behind waits longest; patient ones are in the second */
    size_t n_queued;
    unsigned served_of;       /* the queue that had a turn last: they take turns */
    bool looked;              /* patient ones brought something, and some of it may be queued */
    struct event *again;      /* the next turn, for the queue */
    int64_t patient_since_ms; /* requests of patient connections wait since then; 0: none */
    int64_t spent_us[2];      /* on requests since the queues had their turn last: by the same two */
    struct conn_limit *per_address;
    size_t bodies, replies;
    struct exchange *spare;
    struct reply_date date;
    struct buf head; /* of the reply being made */
    struct httpd_stat stat;
};

/* In this state from now on, for so long at most. */
void conn_enter(struct conn *c, enum conn_state state, int64_t for_ms);
/* Its head is read: ask whether it may, then go on to its body, its answer, or CONN_LATE. */
void conn_admit(struct conn *c);
/* Send the whole reply; conn_move goes on when it has left. Empties rp. */
void conn_reply(struct conn *c, struct reply *rp);
/* As far as the bytes at hand allow; one request at most, none if full. c may be gone when this returns. */
void conn_move(struct conn *c, bool full);
void conn_end(struct conn *c);
void chunked_reply_sent(struct chunked_reply *r);          /* all its bytes so far have left */
void chunked_reply_leave(struct chunked_reply *r);         /* the connection ends */
void conn_unref_blob(const void *p, size_t n, void *blob); /* bytes of a blob have left */
