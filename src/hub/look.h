/*
 * look.h: reads single records of the store on a dedicated thread, so that the loop never waits for the disk. Blobs,
 * which may be large, have their own thread, so that a token lookup never waits for a blob.
 *
 * L1 A request that needs a record is parked. Its handler is called again when the record is there.
 * L2 A record is as it was when it was read: the state in memory takes precedence.
 * L3 Memory is bounded: pending reads, and parked requests.
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
    int r; /* result of store_get */
    struct err err;
    struct job_fact *job; /* NULL, or freed after the callback returns; the same for booking */
    struct booking *booking;
};
typedef void look_fn(void *arg, struct looked *found);

struct looks;
struct look_read {                                                      /* embedded in the caller's */
    int (*read)(struct look_read *r, struct store *s, struct err *err); /* on the thread; s is that thread's */
    void (*done)(struct look_read *r);                                  /* on the loop; may free r */
    int code; /* in done: the result of read, or -errno if it was not called */
    struct err err;
    bool blobs;          /* it reads blobs */
    struct work_job job; /* private to look.c */
    struct looks *l;
    struct kept_request *kept;
};
struct looks *looks_new(struct hub *h); /* NULL when no thread could be started */
void looks_free(struct looks *l);       /* all pending reads fail */

/* Returns 0: done will be called, or -EAGAIN: too many reads are pending. */
int look_read(struct hub *h, struct look_read *r, struct err *err);
/* The same inside a handler, before it changes anything. Returns -EINPROGRESS: once r was read the handler is called
 * again and gets it from looked_read, until it returns; then done is called. */
int look_read_for(struct hub *h, struct request *rq, struct look_read *r, struct err *err);
struct look_read *looked_read(const struct request *rq); /* NULL: nothing was read yet */
/* Calls then on the loop, later. Returns 0, or -EAGAIN: too many reads are pending. */
int look_up(struct hub *h, enum store_kind kind, int64_t id, look_fn *then, void *arg, struct err *err);
/*
 * Inside a handler, before it changes anything. Returns 1 with the record in *ret, to free(); 0 if not found; or
 * -errno. -EINPROGRESS: the handler returns the result of look_how and is called again.
 */
int look_job(struct hub *h, struct request *rq, int64_t id, struct job_fact **ret, struct err *err);
int look_booking(struct hub *h, struct request *rq, int64_t id, struct booking **ret, struct err *err);
static inline enum reply_how look_how(int r)
{
    return r == -EINPROGRESS ? REPLY_LATER : REPLY_NOW;
}
