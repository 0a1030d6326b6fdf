/*
 * pick.h: from words to devices ("dgx2:0,1", or any two of a model) and back. It reads the live state and changes
 * nothing.
 */
#pragma once

#include "base/clock.h"
#include "book/book.h"
#include "now/live.h"

/*
 * "dgx2:0,1 dgx3:4-7", "dgx2:*", "dgx2:0.1" (a MIG instance), or UUIDs, into uuids with commas between. 0; -EINVAL;
 * -ENOENT: no such node or device; -E2BIG.
 */
int pick_named(struct live *l, struct str words, struct buf *ret, struct err *err);

struct pick_wish {
    int64_t count;
    struct str model, node; /* patterns, any case; a model's part will do: "h200"; "dgx2:3": that GPU. Empty: any */
    int64_t from_ms, until_ms, now_ms;
    const char *person; /* what only they use counts as free */
    int64_t except;     /* id of a booking that does not count */
    /* of who waits (queue.h) */
    bool idle;              /* nobody is on it, the person included; what they have booked themselves will do */
    int64_t idle_ms;        /* and that for so long */
    int64_t mem;            /* bytes of memory that must be free */
    bool one_node;          /* all on one node, or none */
    const struct buf *kept; /* uuids of others' turn; NULL: none */
};
#define PICK_SOON_MS DAY_MS /* a GPU that somebody else has booked within this time is given last */
/*
 * That many that nobody has booked then; from now on also that nobody else uses now. All on one node where there is
 * one, the one that fits best; else on as few nodes as can be. idle: GPUs that are not booked soon come first. 0;
 * -EINVAL; -ENOENT: nothing is like that at all; -EBUSY: too few are left, with a sentence that counts them.
 */
int pick_any(struct live *l, const struct book *b, const struct pick_wish *w, struct buf *ret, struct err *err);
/* The same among these nodes; b NULL: nothing is booked. */
int pick_among(const struct node_now *const *nodes, size_t n, const struct book *b, const struct pick_wish *w,
               struct buf *ret, struct err *err);
/* Until when a device is not booked, by others where w is of who waits; INT64_MAX: nothing follows. */
int64_t pick_until(const struct book *b, const struct pick_wish *w, const struct device_now *d);
/* All that would do now, behind what ret has. */
void pick_every(const struct node_now *const *nodes, size_t n, const struct book *b, const struct pick_wish *w,
                struct buf *ret);
/* 0: there are as many of that kind, free or not, as are asked for; -ENOENT with a sentence: there never will be. */
int pick_possible(const struct node_now *const *nodes, size_t n, const struct pick_wish *w, struct err *err);

/* A list of uuids, one after the other; `rest` is the list at first. n and d are NULL where it is not known now. */
struct pick_device {
    struct str rest, uuid;
    const struct node_now *n;
    const struct device_now *d;
};
bool pick_next(const struct live *l, struct pick_device *p);
/* What a device is booked for, for screens (now/live.h). NULL: nothing. */
const struct booking_now *pick_booking(const struct booking *h, struct booking_now *ret);
/* h without this device; one that had no other is released. Ours, for free(); made for the next change of the book. */
struct booking *pick_without(struct live *l, const struct booking *h, const char *uuid, int64_t now_ms);

/* uuids as people say it: "dgx2:0,1 dgx3:4"; a device that is not known any more by its uuid. */
void pick_places(struct live *l, struct str devices, struct buf *ret);
