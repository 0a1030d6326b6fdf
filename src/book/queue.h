/*
 * queue.h: the wait queue for GPUs (`muster wait`), in order of arrival. A wait is a booking of kind BOOKING_WAIT
 * without devices (model/booking.h). When it is first it gets devices for a short time.
 *
 * Q1 The queue is FIFO. GPUs that suit a waiting request are reserved for it; later requests do not get them.
 * Q2 A wait without heartbeats is skipped, and removed after QUEUE_LEASE_MS. Its position is kept that long, also while
 *    the hub starts. A wait with notification by message needs no heartbeats and stays until its end.
 * Q3 Nothing here reads a clock or writes.
 */
#pragma once

#include "book/pick.h"

#define QUEUE_LEASE_MS   60000             /* a wait is removed this long after its last heartbeat */
#define QUEUE_LONGEST_MS (30 * 86400000ll) /* maximum time in the queue */
#define QUEUE_TOLD_MS    86400000ll        /* default maximum for a wait with notification by message */
#define QUEUE_FREE_MS    15000             /* default time for which GPUs must have been free */
#define QUEUE_NEED_MS    3600000           /* default time for which they must not be booked by other users */
#define QUEUE_HOLD_MS    120000            /* default time for which granted GPUs are reserved */
#define QUEUE_COME_MS    1800000           /* the same for a wait with notification by message */
#define QUEUE_MAX        1000

/* A request for GPUs. Text is borrowed. */
struct gpu_request {
    int64_t count, mem; /* minimum free memory in bytes; 0: any */
    struct str model, node;
    bool one_node;
    bool told; /* the user is notified by message when the GPUs are granted, and sends no heartbeats */
    bool said; /* that message was sent */
    int64_t free_ms, need_ms, hold_ms;
};
/*
 * The part of a request without a field in a booking, for its `where`: "mem=1 one free=15000 need=3600000 hold=120000
 * node=dgx*".
 */
void gpu_request_format(const struct gpu_request *w, struct buf *out);
/* Reads the request of a booking; unknown parts keep their defaults. Borrows from h. */
void gpu_request_parse(const struct booking *h, struct gpu_request *ret);
struct pick_request gpu_request_pick(const struct gpu_request *w, const char *person, int64_t id, int64_t now_ms);

static inline bool hold_waits(const struct booking *h)
{
    return h->kind == BOOKING_WAIT && !h->devices[0];
}

struct queue;
struct queue *queue_new(void);
void queue_free(struct queue *q);
void queue_seen(struct queue *q, int64_t id, int64_t now_ms);

/* Limits the message about a grant to one: true at the first call while the hub runs. */
bool queue_first_notice(struct queue *q, int64_t id);

/* Appends the uuids of free GPUs that are reserved for waits to ret, comma-separated. */
void queue_reserved(struct book *b, const struct node_now *const *nodes, size_t n, int64_t now_ms, struct buf *ret);

/*
 * Serves all waits in order: calls give for each wait that gets GPUs, and out for each one without heartbeats for too
 * long. Both change the book immediately (book_begin). Cheap while the queue is empty.
 */
struct queue_calls {
    void *arg;
    void (*give)(void *arg, const struct booking *h, const struct gpu_request *w, const char *uuids);
    void (*out)(void *arg, const struct booking *h);
};
void queue_serve(struct queue *q, struct book *b, const struct node_now *const *nodes, size_t n, int64_t now_ms,
                 const struct queue_calls *calls);
/* The number of waits before this one. */
size_t queue_ahead(struct book *b, int64_t id);
