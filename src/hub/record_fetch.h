/*
 * record_fetch.h: reads single records of the store on a dedicated thread, so that the loop never waits for the disk.
 * Blobs, which may be large, have their own thread, so that a token lookup never waits for a blob.
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

struct record_result {
    enum store_kind kind; /* STORE_JOB or STORE_BOOKING */
    int64_t id;
    int r; /* result of store_get */
    struct err err;
    struct job_fact *job; /* NULL, or freed after the callback returns; the same for booking */
    struct booking *booking;
};
typedef void look_fn(void *arg, struct record_result *found);

struct record_fetcher;
struct record_fetch {                                                      /* embedded in the caller's */
    int (*read)(struct record_fetch *r, struct store *s, struct err *err); /* on the thread; s is that thread's */
    void (*done)(struct record_fetch *r);                                  /* on the loop; may free r */
    int code; /* in done: the result of read, or -errno if it was not called */
    struct err err;
    bool blobs;          /* it reads blobs */
    struct work_job job; /* private to record_fetch.c */
    struct record_fetcher *l;
    struct cached_request *kept;
};
struct record_fetcher *record_fetcher_new(struct hub *h); /* NULL when no thread could be started */
void record_fetcher_free(struct record_fetcher *l);       /* all pending reads fail */

/* Returns 0: done will be called, or -EAGAIN: too many reads are pending. */
int record_fetch(struct hub *h, struct record_fetch *r, struct err *err);
/* The same inside a handler, before it changes anything. Returns -EINPROGRESS: once r was read the handler is called
 * again and gets it from request_fetched, until it returns; then done is called. */
int record_fetch_for(struct hub *h, struct request *rq, struct record_fetch *r, struct err *err);
struct record_fetch *request_fetched(const struct request *rq); /* NULL: nothing was read yet */
/* Calls then on the loop, later. Returns 0, or -EAGAIN: too many reads are pending. */
int look_up(struct hub *h, enum store_kind kind, int64_t id, look_fn *then, void *arg, struct err *err);
/*
 * Inside a handler, before it changes anything. Returns 1 with the record in *ret, to free(); 0 if not found; or
 * -errno. -EINPROGRESS: the handler returns the result of reply_mode_of_fetch and is called again.
 */
int record_fetch_job(struct hub *h, struct request *rq, int64_t id, struct job_fact **ret, struct err *err);
int record_fetch_booking(struct hub *h, struct request *rq, int64_t id, struct booking **ret, struct err *err);
static inline enum reply_mode reply_mode_of_fetch(int r)
{
    return r == -EINPROGRESS ? REPLY_LATER : REPLY_NOW;
}
