/*
 * feature.h: makes and changes bookings (feature.c) and waits (waits.c), on the loop. They are shown, announced and
 * answered when they are durable.
 *
 * Several hubs on one store: F1 A change is stored only over the version that it was made from (`changes`); else it is
 * refused with -ESTALE. F2 The queue's grants are stored only while the epoch in which this hub leads is the newest.
 * F3 A hub grants only after it has read all open bookings in that epoch. F4 "yours" is the answer for a row that was
 * just read from the store.
 */
#pragma once

#include "book/book.h"
#include "hub/hub.h"
#include "hub/look.h"

struct hub_book {
    struct hub *h;
    struct queue *queue; /* who waits for GPUs */
    int64_t serve_ms;    /* the moment of the round that serves them */
    int64_t epoch;       /* in which the bookings here were read from the store; 0: at the start */
    int64_t read_ms;     /* and when, monotonic */
    bool stale;          /* a write failed: the store may have other bookings */
    bool rereads;        /* they are being read */
};
static inline struct hub_book *hub_book_of(const struct hub *h)
{
    return feature_self(&h->features, &book_feature);
}

/* x as it is to be (id 0: a new one), by whom. Answers through rq when it is durable, or now with a 409. */
enum reply_how bookings_put(struct hub *h, struct request *rq, struct reply *rp, const struct booking *x,
                            const char *by);
/* The same without a request: done is told how it went (NULL: nobody wants to know). x gets its id if it has none.
 * As book_begin; by: who. */
int bookings_write(struct hub *h, struct booking *x, const char *by, store_done_fn *done, void *arg);
/* The same as the leader: F2. */
int bookings_write_led(struct hub *h, struct booking *x, const char *by);
/* x as another hub, or this one, stored it. */
void bookings_take(struct hub *h, const struct booking *x, int64_t now_ms);

/* ---- reread.c ---- */
bool bookings_are_current(struct hub_book *d, int64_t now_ms); /* F3; false: they are being read */

/* ---- waits.c ---- */
void waits_tick(struct hub *hub, int64_t now_ms);
void waits_heard(struct hub *hub, const struct booking *h, int64_t now_ms); /* who waits, or was given, is there */
void waits_over(struct hub *hub, const struct booking *h);                  /* it ended, and nothing was given */
bool waits_reach(struct hub *hub, const char *person);                      /* can a message say whose turn it is? */
