/*
 * web_api.h: a client of Weights & Biases that behaves like the vendor's: GraphQL queries, files, uploads, the stream
 * of a run. It runs on the loop, with many concurrent requests. It knows the protocol, not companies or reports.
 *
 * W1 `done` is called once for every accepted request, never from inside wandb_send, and not after wandb_free.
 * W2 A request is retried as in the vendor's client: wandb_is_retryable of web_answer.h; 2 s * 2^n plus up to a
 * quarter, at most 60 s; 20 tries, 30 s each. Retry-After has priority. Requests never exceed the rate that
 * RateLimit-Remaining and -Reset allow. W3 Replies in flight use at most `bytes` of memory, plus one reply. W4 The key
 * is sent to the base address only, and is in no message. W5 Any reply is handled: it becomes data or one error
 * message.
 */
#pragma once

#include <event2/event.h>
#include <jansson.h>

#include "base/err.h"
#include "base/str.h"

struct buf;

#define WANDB_ANSWER_MAX (64u << 20) /* bytes of one reply, decompressed */

struct wandb_conf {
    const char *base;    /* "https://api.wandb.ai", with or without a slash behind */
    const char *key;     /* NULL: no key is sent */
    const char *ca_file; /* NULL: the system's */
    const char *proxy;   /* NULL: from the environment; "none": no proxy */
    int in_flight;       /* at most; 0: 32. Fewer while the server reports overload */
    double rate;         /* maximum requests a second; 0: limited by the server's headers only */
    size_t bytes;        /* of replies in flight; 0: 64 MiB */
    int tries;           /* 0: 20 */
    int64_t wait_ms;     /* before the second try; 0: 2 s */
    int64_t try_ms;      /* for one try; 0: 30 s */
};

struct wandb;
int wandb_new(struct wandb **ret, struct event_base *base, const struct wandb_conf *conf, struct err *err);
struct event_base *wandb_base(const struct wandb *w); /* the loop it is on */
void wandb_free(struct wandb *w); /* drops pending requests without calling done; do not call it inside done */

/* All members are copied. A GraphQL query sets query; any other request sets method and url. */
struct wandb_request {
    const char *op;       /* the operation's name, as in the query; for other requests a description, for messages */
    const char *query;    /* GraphQL */
    struct str variables; /* a JSON object; empty: {} */
    const char *method;   /* "GET", "PUT", "POST" */
    const char *url;      /* complete, or relative to the base address: "/files/team/project/run/file_stream" */
    const char *const *headers; /* "Name: value" or "Name:value", NULL-terminated, or NULL */
    struct str body;            /* of PUT and POST; POST: JSON */
    size_t max;                 /* bytes of the reply; 0: WANDB_ANSWER_MAX */
    int64_t try_ms;             /* 0: the client's */
    const char *part;           /* what the server may limit separately, as "team/project"; NULL if nothing */
    bool raw;                   /* return the reply of a query unparsed if HTTP 200: no data */
    bool conflict_again;        /* 409 is retried, as for upsertBucket */
};

struct wandb_answer {
    int status;      /* HTTP; 0: no reply */
    json_t *data;    /* of a successful query: its "data", an object; json_incref it to keep it */
    struct str body; /* unparsed; not for queries unless raw. Valid until the next wandb_send */
    size_t bytes;    /* of the reply */
    int tries;
    /*
     * code 0: success. Else a message and one of these codes:
     *   -EACCES     401, 403
     *   -ENOENT     404
     *   -EMSGSIZE   413, or too long
     *   -EEXIST     409
     *   -EINVAL     400, 422
     *   -EPROTO     GraphQL errors, also together with data
     *   -EBADMSG    not JSON
     *   -ETIMEDOUT  no reply in time, or no tries left
     *   -EIO        anything else
     */
    struct err err;
};
typedef void wandb_done_fn(void *arg, const struct wandb_answer *a);

/* Queues a request; the queue is FIFO. Returns -EINVAL for an invalid address. */
int wandb_send(struct wandb *w, const struct wandb_request *q, wandb_done_fn *done, void *arg, struct err *err);
/* Cancels all pending requests: calls done for each with -ECANCELED before it returns. Do not call it inside done. */
void wandb_cancel(struct wandb *w);
/* How many more requests would be sent immediately: a caller with many to send waits for room. */
int wandb_room(const struct wandb *w);

/*
 * The same, synchronous: runs the loop while it waits, so do not call it inside a callback of the loop. The caller owns
 * the results, of which each may be NULL: a query's data, another request's body.
 */
int wandb_wait(struct wandb *w, const struct wandb_request *q, json_t **ret_data, struct buf *ret_body,
               struct err *err);

struct wandb_count {
    uint64_t sent;     /* requests on the wire, repeats included */
    uint64_t again;    /* of these: repeats */
    size_t bytes_peak; /* maximum of concurrent replies in flight */
    int in_flight_peak;
};
struct wandb_count wandb_counts(const struct wandb *w);
