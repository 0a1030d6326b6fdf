/*
 * queue.h: who waits for GPUs (`muster wait`), in order of arrival, and whose turn it is. A wait is a booking of kind
 * BOOKING_WAIT without devices (model/booking.h); when its turn comes it gets some, for a short while.
 *
 * Q1 Who came first is served first: what would do for somebody whose request cannot be met yet is kept for them, and
 * nobody behind them gets it. Q2 Who is not heard of is passed over, and is out after QUEUE_LEASE_MS; their place is
 * kept that long, also while the hub starts. Who is told by a message need not be heard of: they wait until their wait
 * ends. Q3 Nothing here reads a clock or writes.
 */
#pragma once

#include "book/pick.h"

#define QUEUE_LEASE_MS   60000             /* after the last word of a waiter they are out */
#define QUEUE_LONGEST_MS (30 * 86400000ll) /* nobody waits longer */
#define QUEUE_TOLD_MS    86400000ll        /* one who is told by a message, unless told: they may have forgotten */
#define QUEUE_FREE_MS    15000             /* unless told: GPUs are free for so long before somebody gets them */
#define QUEUE_NEED_MS    3600000           /* and not booked by anybody else for so long */
#define QUEUE_HOLD_MS    120000            /* and theirs for so long from then on */
#define QUEUE_COME_MS    1800000           /* ... of one who is told by a message */
#define QUEUE_MAX        1000

/* What is wished for. Text is borrowed. */
struct gpu_request {
    int64_t count, mem; /* bytes that must be free; 0: any */
    struct str model, node;
    bool one_node;
    bool told; /* they are told by a message when their turn comes, and need not say that they are there */
    bool said; /* and that was done */
    int64_t free_ms, need_ms, hold_ms;
};
/*
 * The part of a request that a booking has no field for, as its `where`: "mem=1 one free=15000 need=3600000 hold=120000
 * node=dgx*".
 */
void wish_write(const struct gpu_request *w, struct buf *out);
/* Of a booking; what is not understood is left at what it is unless told. Borrows from h. */
void wish_read(const struct booking *h, struct gpu_request *ret);
struct pick_wish gpu_request_pick(const struct gpu_request *w, const char *person, int64_t id, int64_t now_ms);

static inline bool hold_waits(const struct booking *h)
{
    return h->kind == BOOKING_WAIT && !h->devices[0];
}

struct queue;
struct queue *queue_new(void);
void queue_free(struct queue *q);
void queue_heard(struct queue *q, int64_t id, int64_t now_ms);

/* The message that it is their turn is made once: true the first time, for as long as the hub runs. */
bool queue_says(struct queue *q, int64_t id);

/* What is free, but the turn of somebody who waits: uuids with commas between, behind what ret has. */
void queue_kept(struct book *b, const struct node_now *const *nodes, size_t n, int64_t now_ms, struct buf *ret);

/*
 * Everybody, first come first: give for each whose turn it is, out for each who was not heard of for too long. Both
 * change the book at once (book_begin). Cheap while nobody waits.
 */
struct queue_calls {
    void *arg;
    void (*give)(void *arg, const struct booking *h, const struct gpu_request *w, const char *uuids);
    void (*out)(void *arg, const struct booking *h);
};
void queue_serve(struct queue *q, struct book *b, const struct node_now *const *nodes, size_t n, int64_t now_ms,
                 const struct queue_calls *calls);
/* How many came before this one and still wait. */
size_t queue_ahead(struct book *b, int64_t id);
