/*
 * httpd.h: an HTTP/1.1 server on libevent's loop: connections, TLS, limits, late replies, streams. It knows nothing of
 * routes: two functions are passed in.
 *
 * D1 A body is read only after admit() agreed, and only as much as it allows. D2 Every wait has an end: head, body,
 * handshake, reply, idle. D3 Memory is bounded: connections, head, all bodies together, what a stream may have queued.
 * D4 One request at a time per connection, and one in a turn of the loop; what is pipelined behind it waits, in turn
 * with those of others, and requests take some milliseconds of a turn at most (one that takes longer is the last). D5 A
 * handle for a late reply or a stream stays good when the reader has left; using it then does nothing.
 *
 * Not evhttp: libevent 2.1's reads a body of any route up to one limit before anybody is asked, takes a repeated
 * Content-Length, lets a reader that drips bytes stay for ever, and answers errors in HTML.
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
    size_t max_bodies;  /* bytes of all bodies being read, together; one address has at most a quarter of it */
    size_t max_replies; /* bytes of all large replies on their way or being compressed, together */
    int64_t head_ms, body_ms, idle_ms, write_ms, late_ms, group_ms;
};

struct httpd_ops {
    void *arg;
    size_t who_size, memo_size; /* of request.who and request.memo */
    bool (*admit)(void *arg, struct request *rq,
                  struct reply *rp);                         /* false: rp is the answer, or see httpd_late_admit */
    size_t (*max_body)(void *arg, const struct request *rq); /* of an admitted request */
    enum reply_how (*handle)(void *arg, struct request *rq, struct reply *rp); /* rq and its body end with the call */
    void (*problem)(struct reply *rp, int status, const char *why);            /* an error's body */
    /* Compress a large blob beside the loop and call done(done_arg) on it, later, but before httpd_free; NULL, or
     * false: here and now then. */
    bool (*pack)(void *arg, struct blob *b, void (*done)(void *done_arg), void *done_arg);
    bool (*run)(void *arg, struct work_job *job); /* on the worker that compresses; false, or NULL: it does not run */
    void (*looked)(void *arg); /* all that patient connections had brought is handled; NULL: nobody asks */
};

struct httpd_stat {
    size_t connections, max, waiting;     /* waiting: those with a request at hand whose turn comes */
    uint64_t requests, refused, timeouts; /* refused: for want of room */
    uint64_t turns;                       /* of the loop in which requests that had waited were answered */
};

struct httpd;
struct httpd *httpd_new(struct event_base *loop, const struct httpd_conf *conf, const struct httpd_ops *ops);
void httpd_free(struct httpd *h);           /* closes everything at once */
struct ports *httpd_ports(struct httpd *h); /* to open and close addresses */
void httpd_set_tls(struct httpd *h,
                   struct ssl_ctx_st *tls); /* for connections to come; NULL: plain. Keeps a reference */
void httpd_set_max(struct httpd *h, size_t max_connections, size_t max_per_address);
/* A connection that came by another way than a port: fd is ours from now on, and does not block. */
void httpd_accept(struct httpd *h, int fd, const char *peer);
void httpd_stat(const struct httpd *h, struct httpd_stat *ret);
size_t httpd_busy(const struct httpd *h); /* requests not answered yet, and replies not sent yet; streams aside */
void httpd_tick(struct httpd *h);         /* once a second: what took too long ends */

/* This connection's requests are not urgent: they are read in groups, every group_ms. Call inside handle(). */
void httpd_patient(struct request *rq);
int64_t
httpd_patient_wait_ms(const struct httpd *h); /* for how long some of them have waited; 0: none wait, or h NULL */
void httpd_group_every(struct httpd *h, int64_t ms); /* another group_ms from now on */

/* ---- late replies: handle() returned REPLY_LATER ---- */
struct late;
struct late *httpd_late(struct request *rq);             /* call inside handle() */
void httpd_late_reply(struct late *l, struct reply *rp); /* ends l; rp is emptied. The reader may be gone: fine */
/* Of one that was made inside admit(), which said no for now: it is asked again, of the same request. Ends l. */
void httpd_late_admit(struct late *l);
/* gone(arg) is called once if the reader leaves (or sends no more) before the reply: nobody waits for it any longer. */
void httpd_late_watch(struct late *l, void (*gone)(void *arg), void *arg);

/* ---- streams: handle() returned REPLY_STREAM ---- */
struct stream_conn;
/* Call inside handle(). closed(arg) is called once when the reader is gone; s is no longer valid then. */
struct stream_conn *httpd_stream(struct request *rq, const char *type, void (*closed)(void *arg), void *arg);
size_t httpd_stream_queued(const struct stream_conn *s);
void httpd_stream_write(struct stream_conn *s, const void *p, size_t n); /* at most 64 KiB - 1 */
void httpd_stream_blob(struct stream_conn *s, struct blob *b);           /* by reference */
void httpd_stream_flush(struct stream_conn *s); /* writes and blobs since the last go out together */
void httpd_stream_end(struct stream_conn *s);   /* closed() is not called */
