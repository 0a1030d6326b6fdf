/* reply.h: one HTTP reply, to be sent by the server. */
#pragma once

#include "base/json.h"
#include "http/cache.h"

enum reply_mode {
    REPLY_NOW,    /* send status and body */
    REPLY_LATER,  /* the hub replies through rq->conn */
    REPLY_STREAM, /* server-sent events follow */
};
struct reply {
    int status;       /* 0: 200 */
    int outcome;      /* for the audit log in place of status, if that is always 200 (vesta); 0: status */
    const char *type; /* NULL: application/json */
    struct buf body;
    struct blob *blob; /* in place of body: shared bytes; the reply owns one reference */
    char etag[48];
    char location[256], cookie[256], cache[64];
    char extra[400]; /* one more header line "Name: value", or empty */
    bool no_gzip, close;
    bool series; /* GZIP_SERIES */
};
void reply_fini(struct reply *rp);
/* RFC 9457 problem JSON with a message that a user can act on. Returns REPLY_NOW. */
enum reply_mode reply_problem(struct reply *rp, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define reply_refuse(...)                                                                                              \
    ((void)reply_problem(__VA_ARGS__), false)         /* the same for callers that return false when rp is set */
bool reply_wrong(struct reply *rp, const char *what); /* false: a 400 with this message */
/* A response that is one JSON object of at most max bytes: the caller writes j's members between the two calls. Returns
 * REPLY_NOW. */
struct json reply_object(struct reply *rp, size_t max);
enum reply_mode reply_object_end(struct reply *rp, struct json *j);
const char *status_words(int status); /* "Not Found" */
