/*
 * feature.h: makes and changes bookings (feature.c) and waits (waits.c). Loop thread only. They are shown and
 * announced, and requests are completed, when they are durable.
 *
 * Several hubs on one store:
 * F1 A change is stored only over the version that it was made from (`changes`); else it fails with -ESTALE.
 * F2 The queue's grants are stored only while the epoch in which this hub is the leader is the newest.
 * F3 A hub grants only after it has read all open bookings in that epoch.
 * F4 A reply has "yours" only for a row that was just read from the store.
 */
#pragma once

#include "book/book.h"
#include "hub/hub.h"
#include "hub/record_fetch.h"

struct hub_book {
    struct hub *h;
    struct queue *queue; /* the wait queue */
    int64_t serve_ms;    /* time of the current round of grants */
    int64_t epoch;       /* in which the bookings here were read from the store; 0: at the start */
    int64_t read_ms;     /* when they were read, monotonic */
    bool stale;          /* a write failed: the store may have other bookings */
    bool rereads;        /* a read of them is in progress */
};
static inline struct hub_book *hub_book_of(const struct hub *h)
{
    return feature_self(&h->features, &book_feature);
}

/* Stores x, the new version (id 0: a new booking), by a user. Replies through rq when it is durable, or immediately
 * with a 409. */
enum reply_mode bookings_put(struct hub *h, struct request *rq, struct reply *rp, const struct booking *x,
                             const char *by);
/* The same without a request: done gets the result (NULL: not needed). x gets its id if it has none. Errors as in
 * book_begin; by: the user. */
int bookings_write(struct hub *h, struct booking *x, const char *by, store_done_fn *done, void *arg);
/* The same as the leader: F2. */
int bookings_write_led(struct hub *h, struct booking *x, const char *by);
/* Adds x as stored by this hub or another one. */
void bookings_take(struct hub *h, const struct booking *x, int64_t now_ms);

/* ---- reread.c ---- */
bool bookings_are_current(struct hub_book *d, int64_t now_ms); /* F3; false: a read is in progress */

/* ---- waits.c ---- */
void waits_tick(struct hub *hub, int64_t now_ms);
void waits_seen(struct hub *hub, const struct booking *h, int64_t now_ms); /* heartbeat: the user of a wait or of
                                                                            * granted GPUs is present */
void waits_over(struct hub *hub, const struct booking *h);                 /* the wait ended without a grant */
bool waits_reach(struct hub *hub, const char *person);                     /* can a message notify the person of a
                                                                            * grant? */
