/* reply.h: one HTTP reply, to be sent by the server. */
#pragma once

#include "base/json.h"
#include "http/cache.h"

enum reply_how {
    REPLY_NOW,    /* send status and body */
    REPLY_LATER,  /* the hub answers through rq->conn */
    REPLY_STREAM, /* server-sent events follow */
};
struct reply {
    int status;       /* 0: 200 */
    int outcome;      /* what the audit log has instead of status, where that is always 200 (vesta); 0: status */
    const char *type; /* NULL: application/json */
    struct buf body;
    struct blob *blob; /* instead of body: shared bytes; one reference is the reply's */
    char etag[48];
    char location[256], cookie[256], cache[64];
    char extra[400]; /* one more header line "Name: value", or empty */
    bool no_gzip, close;
    bool series; /* GZIP_SERIES */
};
void reply_fini(struct reply *rp);
/* RFC 9457 problem JSON with a sentence a person can act on. Returns REPLY_NOW. */
enum reply_how reply_problem(struct reply *rp, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define reply_refuse(...)                                                                                              \
    ((void)reply_problem(__VA_ARGS__), false)         /* the same for who tells by false that there is an answer */
bool reply_wrong(struct reply *rp, const char *what); /* false: a 400 that says what */
/* An answer that is one JSON object of at most so many bytes: j's members go between the two. Returns REPLY_NOW. */
struct json reply_object(struct reply *rp, size_t max);
enum reply_how reply_object_end(struct reply *rp, struct json *j);
const char *status_words(int status); /* "Not Found" */
