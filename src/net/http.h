/*
 * http.h: POSTs and GETs on the loop. One libcurl multi for the process; a call is a handle that is used again and
 * keeps its connection. Redirects are not followed, since a token goes with every request.
 */
#pragma once

#include <event2/event.h>

#include "base/err.h"
#include "base/str.h"

struct buf;

struct http_conf {
    const char *url;
    const char *ca_file; /* NULL: the system's */
    const char *pin;     /* sha256//BASE64 of the server's public key; then nothing else is asked of its certificate */
    const char *proxy;   /* NULL: as the environment says; "none": none */
};

struct http_result {
    int status;      /* 0: no answer, error says why */
    struct str body; /* at most HTTP_BODY_MAX, or what the request allows; more is an error */
    struct str head; /* not of http_post: the answer's header lines; at most HTTP_HEAD_MAX, the rest is passed over */
    char error[320];
    bool too_long;          /* the error: there was more than the request allows */
    bool untrusted;         /* the error: TLS failed, or the server's certificate or its key is refused */
    int64_t retry_after_ms; /* 0: not said; of seconds as of a date, at most an hour */
    int64_t took_ms;
};
#define HTTP_BODY_MAX (256u << 10)
#define HTTP_HEAD_MAX (16u << 10)

struct http;
int http_new(struct http **ret, struct event_base *base, struct err *err);
void http_free(struct http *h); /* after its calls */
/*
 * Answers of all calls together take at most this many bytes, and what one call more allows: beyond it all calls but
 * one stop reading until answers are done with. 0, as at first: no such limit.
 */
void http_hold(struct http *h, size_t bytes);
size_t http_held_peak(const struct http *h); /* the most there has been */

struct http_call;
typedef void http_done_fn(void *arg, const struct http_result *r);
struct http_call *http_call_new(struct http *h, const struct http_conf *conf, http_done_fn *done, void *arg);
void http_call_for(struct http_call *c, http_done_fn *done, void *arg); /* who is told from now on */
void http_call_free(struct http_call *c);                               /* done is not called any more */
bool http_busy(const struct http_call *c);
/* Takes body's memory until the call is done; its contents are sent as they are. token NULL: none. */
int http_post(struct http_call *c, const char *token, struct buf *body, int64_t timeout_ms, struct err *err);
/*
 * headers: whole lines, NULL-ended; NULL: none. url NULL: the call's own; another one must be of the same server, since
 * trust and headers are. body_max: what is taken of the answer.
 */
int http_get(struct http_call *c, const char *url, const char *const *headers, size_t body_max, int64_t timeout_ms,
             struct err *err);
/*
 * Any request. url as http_get has it. body: borrowed until done or cancelled; empty: none is sent with a GET, an empty
 * one else.
 */
struct http_request {
    const char *method; /* "GET", "POST", "PUT" */
    const char *url;
    const char *const *headers;
    struct str body;
    size_t body_max;
    int64_t timeout_ms;
    bool unpack; /* the answer may come compressed; body_max is what it unpacks to */
};
int http_send(struct http_call *c, const struct http_request *q, struct err *err);
/* A header of an answer, by name, trimmed. */
bool http_header(const struct http_result *r, const char *name, struct str *ret);
void http_cancel(struct http_call *c); /* done is not called */
