/*
 * web_api.h: Weights & Biases as its own client speaks to it: GraphQL questions, files, uploads, the stream of a run;
 * on the loop, many at once. Knows the protocol, not what a company or a report is.
 *
 * W1 `done` is called once for every request taken, never from inside wandb_send, and not after wandb_free. W2 A
 * request is tried again as the vendor's client does (wandb_again of web_answer.h; 2 s * 2^n and up to a quarter
 * more, at most 60 s, 20 tries, 30 s each; Retry-After before that), and never faster than RateLimit-Remaining and
 * -Reset allow. W3 Answers that are on their way take at most `bytes`, and one answer more. W4 The key goes to the base
 * address alone, and into no message. W5 Whatever comes back is survived and becomes data or one sentence.
 */
#pragma once

#include <event2/event.h>
#include <jansson.h>

#include "base/err.h"
#include "base/str.h"

struct buf;

#define WANDB_ANSWER_MAX (64u << 20) /* bytes of one answer, unpacked */

struct wandb_conf {
    const char *base;    /* "https://api.wandb.ai", with or without a slash behind */
    const char *key;     /* NULL: none is sent */
    const char *ca_file; /* NULL: the system's */
    const char *proxy;   /* NULL: as the environment says; "none": none */
    int in_flight;       /* at most; 0: 32. Fewer while the server says that it is too much */
    double rate;         /* requests a second at most; 0: as the server's headers say */
    size_t bytes;        /* of answers on their way; 0: 64 MiB */
    int tries;           /* 0: 20 */
    int64_t wait_ms;     /* before the second try; 0: 2 s */
    int64_t try_ms;      /* for one try; 0: 30 s */
};

struct wandb;
int wandb_new(struct wandb **ret, struct event_base *base, const struct wandb_conf *conf, struct err *err);
struct event_base *wandb_base(const struct wandb *w); /* the loop it is on */
void wandb_free(struct wandb *w); /* what is under way is dropped, done is not called; not inside a done */

/* Everything is copied. A question has query; anything else has method and url. */
struct wandb_request {
    const char *op;       /* the operation's name, as in the query; of other requests what they are, for messages */
    const char *query;    /* GraphQL */
    struct str variables; /* a JSON object; empty: {} */
    const char *method;   /* "GET", "PUT", "POST" */
    const char *url;      /* whole, or what follows the base address: "/files/team/project/run/file_stream" */
    const char *const *headers; /* "Name: value" or "Name:value", NULL-ended, or NULL */
    struct str body;            /* of PUT and POST; POST: JSON */
    size_t max;                 /* bytes of the answer; 0: WANDB_ANSWER_MAX */
    int64_t try_ms;             /* 0: the client's */
    const char *part;           /* what the server may count apart, as "team/project"; NULL: nothing */
    bool raw;                   /* a question whose answer, if HTTP 200, is given as it came: no data */
    bool conflict_again;        /* 409 is tried again, as for upsertBucket */
};

struct wandb_answer {
    int status;      /* HTTP; 0: there was none */
    json_t *data;    /* of a question that worked: its "data", an object; json_incref it to keep it */
    struct str body; /* as it came; of anything but a question, or a raw one. Until the next wandb_send */
    size_t bytes;    /* of the answer */
    int tries;
    struct err err; /* code 0: it worked. Else a sentence, and -EACCES 401 403, -ENOENT 404, -EMSGSIZE 413 or too long,
                     * -EEXIST 409, -EINVAL 400 422, -EPROTO GraphQL errors (also beside data), -EBADMSG not JSON,
                     * -ETIMEDOUT no answer in time or the tries are used up, -EIO else */
};
typedef void wandb_done_fn(void *arg, const struct wandb_answer *a);

/* It is sent when its turn comes, first in first out. -EINVAL for an address that is none. */
int wandb_send(struct wandb *w, const struct wandb_request *q, wandb_done_fn *done, void *arg, struct err *err);
/* All that waits or is under way is given up: each is done, with -ECANCELED, before this returns. Not inside a done. */
void wandb_cancel(struct wandb *w);
/* How many more would be sent at once: whoever has many to send keeps them until there is room. */
int wandb_room(const struct wandb *w);

/* The same, waited for: the loop runs meanwhile (so not inside a callback of it). The caller owns what is returned, of
 * which each may be NULL: a question's data, another request's body. */
int wandb_wait(struct wandb *w, const struct wandb_request *q, json_t **ret_data, struct buf *ret_body,
               struct err *err);

struct wandb_count {
    uint64_t sent;     /* requests on the wire, repeats included */
    uint64_t again;    /* of these: repeats */
    size_t bytes_peak; /* of answers on their way at once */
    int in_flight_peak;
};
struct wandb_count wandb_counts(const struct wandb *w);
