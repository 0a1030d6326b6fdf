/*
 * look.h: single records of the store for the loop, which waits for no disk: a thread of its own reads them.
 *
 * L1 A request that needs one is kept meanwhile, and its handler is called again once it is known. L2 A record is as it
 * was when it was read: what is in memory counts first.
 */
#pragma once

#include <errno.h>

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
struct looks *looks_new(struct hub *h); /* NULL when no thread could be started */
void looks_free(struct looks *l);       /* everybody who waits is told that it cannot be read */

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
