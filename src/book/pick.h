/*
 * pick.h: converts text to devices ("dgx2:0,1", or any two of a model) and back. It reads the live state and changes
 * nothing.
 */
#pragma once

#include "base/clock.h"
#include "book/book.h"
#include "now/live.h"

/*
 * "dgx2:0,1 dgx3:4-7", "dgx2:*", "dgx2:0.1" (a MIG instance), or UUIDs, to comma-separated uuids. Returns 0; -EINVAL;
 * -ENOENT: no such node or device; -E2BIG.
 */
int pick_named(struct live *l, struct str words, struct buf *ret, struct err *err);

struct pick_request {
    int64_t count;
    struct str model, node; /* patterns, case-insensitive; a part of a model is enough: "h200"; "dgx2:3": that GPU.
                             * Empty: any */
    int64_t from_ms, until_ms, now_ms;
    const char *person; /* GPUs that only this person uses count as free */
    int64_t except;     /* id of a booking to ignore */
    /* for waits (queue.h) */
    bool idle;              /* only GPUs that are not in use, also not by the person; GPUs that the person has booked
                             * are included */
    int64_t idle_ms;        /* minimum time since they were last in use */
    int64_t mem;            /* bytes of memory that must be free */
    bool one_node;          /* all on one node, or none */
    const struct buf *kept; /* uuids reserved for other waits; NULL: none */
};
#define PICK_SOON_MS DAY_MS /* a GPU that another user has booked within this time is picked last */
/*
 * Picks count GPUs that are not booked then; from now on also not in use by others now. All on one node if possible, on
 * the node that fits best; else on as few nodes as possible. idle: GPUs that are not booked soon come first. Returns 0;
 * -EINVAL; -ENOENT: no GPU matches; -EBUSY: too few are left, with their number in err.
 */
int pick_any(struct live *l, const struct book *b, const struct pick_request *w, struct buf *ret, struct err *err);
/* The same among these nodes; b NULL: no bookings. */
int pick_among(const struct node_now *const *nodes, size_t n, const struct book *b, const struct pick_request *w,
               struct buf *ret, struct err *err);
/* Until when a device is not booked, for a wait by others; INT64_MAX: no booking follows. */
int64_t pick_until(const struct book *b, const struct pick_request *w, const struct device_now *d);
/* Appends all GPUs that match now to ret. */
void pick_every(const struct node_now *const *nodes, size_t n, const struct book *b, const struct pick_request *w,
                struct buf *ret);
/* Returns 0 if enough such GPUs exist, free or not, or -ENOENT with a message in err. */
int pick_possible(const struct node_now *const *nodes, size_t n, const struct pick_request *w, struct err *err);

/* Iterates over a list of uuids; `rest` is the whole list at first. n and d are NULL for an unknown device. */
struct pick_device {
    struct str rest, uuid;
    const struct node_now *n;
    const struct device_now *d;
};
bool pick_next(const struct live *l, struct pick_device *p);
/* The booking of a device, for screens (now/live.h). NULL: none. */
const struct booking_now *pick_booking(const struct booking *h, struct booking_now *ret);
/* A copy of h without this device; released if it has no other device. The caller frees it; made for the next change of
 * the book. */
struct booking *pick_without(struct live *l, const struct booking *h, const char *uuid, int64_t now_ms);

/* Formats uuids for screens: "dgx2:0,1 dgx3:4"; an unknown device by its uuid. */
void pick_places(struct live *l, struct str devices, struct buf *ret);
