/*
 * http.h: POSTs on the loop. One libcurl multi for the process; a call is a handle that is used again and keeps its
 * connection. Redirects are not followed, since a token goes with every request.
 */
#ifndef LINK_HTTP_H
#define LINK_HTTP_H

#include <event2/event.h>

#include "base/buf.h"
#include "base/err.h"

struct http_conf {
    const char *url;
    const char *ca_file; /* NULL: the system's */
    const char *pin;     /* sha256//BASE64 of the server's public key; then nothing else is asked of its certificate */
    const char *proxy;   /* NULL: as the environment says; "none": none */
};

struct http_result {
    int status;      /* 0: no answer, error says why */
    struct str body; /* at most HTTP_BODY_MAX; more is an error */
    char error[320];
    int64_t retry_after_ms; /* 0: not said */
    int64_t took_ms;
};
#define HTTP_BODY_MAX (256u << 10)

struct http;
int http_new(struct http **ret, struct event_base *base, struct err *err);
void http_free(struct http *h); /* after its calls */

struct http_call;
typedef void http_done_fn(void *arg, const struct http_result *r);
struct http_call *http_call_new(struct http *h, const struct http_conf *conf, http_done_fn *done, void *arg);
void http_call_free(struct http_call *c); /* done is not called any more */
bool http_busy(const struct http_call *c);
/* Takes body's memory until the call is done; its contents are sent as they are. token NULL: none. */
int http_post(struct http_call *c, const char *token, struct buf *body, int64_t timeout_ms, struct err *err);
void http_cancel(struct http_call *c); /* done is not called */

#endif
