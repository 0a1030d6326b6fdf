/*
 * look.h: a few records of the store for the loop, which waits for no disk: a thread of its own reads them. Blobs,
 * which may be many bytes, have another, so that nobody's token waits for them.
 *
 * L1 A request that needs one is kept meanwhile, and its handler is called again once it is known. L2 A record is as it
 * was when it was read: what is in memory counts first. L3 Memory is bounded: reads that wait, and requests kept.
 */
#pragma once

#include <errno.h>

#include "base/workers.h"
#include "http/reply.h"
#include "store/records.h"

struct hub;
struct request;

struct looked {
    enum store_kind kind; /* STORE_JOB or STORE_BOOKING */
    int64_t id;
    int r; /* as store_get says */
    struct err err;
    struct job_fact *job; /* NULL, or it is freed after it was told of; booking, too */
    struct booking *booking;
};
typedef void look_fn(void *arg, struct looked *found);

struct looks;
struct look_read {                                                      /* embedded in the caller's */
    int (*read)(struct look_read *r, struct store *s, struct err *err); /* on the thread; s is its own */
    void (*done)(struct look_read *r);                                  /* on the loop; may free r */
    int code; /* in done: what read returned, or -errno where it was not called */
    struct err err;
    bool blobs;          /* it reads such */
    struct work_job job; /* look's own */
    struct looks *l;
    struct kept_request *kept;
};
struct looks *looks_new(struct hub *h); /* NULL when no thread could be started */
void looks_free(struct looks *l);       /* everybody who waits is told that it cannot be read */

/* 0: done will be called, or -EAGAIN: too much is asked at once. */
int look_read(struct hub *h, struct look_read *r, struct err *err);
/* The same inside a handler, before it changes anything: -EINPROGRESS: once r was read the handler is called again and
 * finds it by looked_read, until it returns; then done is called. */
int look_read_for(struct hub *h, struct request *rq, struct look_read *r, struct err *err);
struct look_read *looked_read(const struct request *rq); /* NULL: nothing was read yet */
/* then is told on the loop, later. 0, or -EAGAIN: too much is asked at once. */
int look_up(struct hub *h, enum store_kind kind, int64_t id, look_fn *then, void *arg, struct err *err);
/*
 * Inside a handler, before it changes anything: 1, 0 or -errno, what is found for free(). -EINPROGRESS: it is called
 * again, and returns what look_how says.
 */
int look_job(struct hub *h, struct request *rq, int64_t id, struct job_fact **ret, struct err *err);
int look_booking(struct hub *h, struct request *rq, int64_t id, struct booking **ret, struct err *err);
static inline enum reply_how look_how(int r)
{
    return r == -EINPROGRESS ? REPLY_LATER : REPLY_NOW;
}
