/*
 * httpd.h: an HTTP/1.1 server on libevent's loop: connections, TLS, limits, late replies, streams. It does not depend
 * on routes: the caller passes callbacks (httpd_ops).
 *
 * D1 A body is read only after admit() accepted the request, and only as much as it allows.
 * D2 Every wait has a limit: head, body, handshake, reply, idle.
 * D3 Memory is bounded: connections, head, all bodies together, the queue of a stream.
 * D4 A connection has one request at a time, and one per event loop iteration; pipelined requests wait, in turn with
 *    those of other connections. Requests use a few milliseconds of an iteration at most (a longer one is the last).
 * D5 A handle for a late reply or a stream stays valid when the client has left; using it then has no effect.
 *
 * Not evhttp: libevent 2.1's reads a body of any route up to one limit before authorisation, accepts a repeated
 * Content-Length, lets a slow client stay forever, and sends errors as HTML.
 */
#pragma once

#include "http/reply.h"
#include "http/request.h"

struct event_base;
struct ports;
struct ssl_ctx_st;
struct work_job;

struct httpd_conf {
    size_t max_connections, max_per_address;
    size_t max_bodies;  /* bytes of all bodies being read, together; one address uses at most a quarter of it */
    size_t max_replies; /* bytes of all large replies being sent or compressed, together */
    int64_t head_ms, body_ms, idle_ms, write_ms, late_ms, group_ms;
};

struct httpd_ops {
    void *arg;
    size_t who_size, memo_size; /* of request.who and request.memo */
    bool (*admit)(void *arg, struct request *rq,
                  struct reply *rp);                         /* false: rp is the response, or see httpd_late_admit */
    size_t (*max_body)(void *arg, const struct request *rq); /* of an admitted request */
    enum reply_mode (*handle)(void *arg, struct request *rq, struct reply *rp); /* rq and its body are valid during the
                                                                                 * call */
    void (*problem)(struct reply *rp, int status, const char *why);             /* an error's body */
    /* Compresses a large blob on a worker thread and calls done(done_arg) on it, later, but before httpd_free. NULL, or
     * false: httpd compresses it immediately. */
    bool (*pack)(void *arg, struct blob *b, void (*done)(void *done_arg), void *done_arg);
    bool (*run)(void *arg, struct work_job *job); /* on the compressing worker; false, or NULL: it does not run */
    void (*looked)(void *arg);                    /* all pending input of patient connections is handled; may be NULL */
};

struct httpd_stat {
    size_t connections, max, waiting;     /* waiting: with a request that is queued */
    uint64_t requests, refused, timeouts; /* refused: no room */
    uint64_t turns;                       /* event loop iterations that served queued requests */
};

struct httpd;
struct httpd *httpd_new(struct event_base *loop, const struct httpd_conf *conf, const struct httpd_ops *ops);
void httpd_free(struct httpd *h);                            /* closes everything immediately */
struct ports *httpd_ports(struct httpd *h);                  /* to open and close addresses */
void httpd_set_tls(struct httpd *h, struct ssl_ctx_st *tls); /* for new connections; NULL: plain. Keeps a reference */
void httpd_set_max(struct httpd *h, size_t max_connections, size_t max_per_address);
/* Adds a connection that did not come through a port. Takes ownership of fd, which must not block. */
void httpd_accept(struct httpd *h, int fd, const char *peer);
void httpd_stat(const struct httpd *h, struct httpd_stat *ret);
size_t httpd_busy(const struct httpd *h); /* requests and replies in progress; without streams */
void httpd_tick(struct httpd *h);         /* to call once a second: ends connections past their deadline */

/* Marks this connection's requests as not urgent: they are read in groups, every group_ms. Call inside handle(). */
void httpd_patient(struct request *rq);
int64_t
httpd_patient_wait_ms(const struct httpd *h); /* for how long their oldest request has waited; 0: none, or h NULL */
void httpd_group_every(struct httpd *h, int64_t ms); /* changes group_ms */

/* ---- late replies: handle() returned REPLY_LATER ---- */
struct late;
struct late *httpd_late(struct request *rq);             /* call inside handle() */
void httpd_late_reply(struct late *l, struct reply *rp); /* frees l and empties rp. The client may have left */
/* For a late reply made inside admit(), which returned false: calls admit() again with the same request. Frees l. */
void httpd_late_admit(struct late *l);
/* Calls gone(arg) once if the client leaves (or sends no more) before the reply. */
void httpd_late_watch(struct late *l, void (*gone)(void *arg), void *arg);

/* ---- streams: handle() returned REPLY_STREAM ---- */
struct stream_conn;
/* Call inside handle(). Calls closed(arg) once when the client has left; s is then invalid. */
struct stream_conn *httpd_stream(struct request *rq, const char *type, void (*closed)(void *arg), void *arg);
size_t httpd_stream_queued(const struct stream_conn *s);
void httpd_stream_write(struct stream_conn *s, const void *p, size_t n); /* at most 64 KiB - 1 */
void httpd_stream_blob(struct stream_conn *s, struct blob *b);           /* by reference */
void httpd_stream_flush(struct stream_conn *s); /* sends writes and blobs since the last flush together */
void httpd_stream_end(struct stream_conn *s);   /* closed() is not called */
