/*
 * book.h: the open bookings in memory: overlaps, the bookings of a device, starts and ends. Loop thread only: every
 * change goes through here, in order.
 *
 * B1 No two bookings here have a device at the same time, except a wait inside a booking of the same person.
 * B2 A change counts from book_begin on, so that no other booking gets the devices while it is written. Until it is
 *    settled the old version counts too.
 * B3 Nothing here reads a clock.
 */
#pragma once

#include "base/err.h"
#include "model/booking.h"

#define BOOK_MAX 10000 /* open bookings */

struct book;
struct book *book_new(void);
void book_free(struct book *b);
/* For features after this one: changed is called whenever a booking was settled, started or ended. It must not query
 * the book; it only notes the change. One callback; NULL removes it. */
void book_watch(struct book *b, void (*changed)(void *arg), void *arg);

/* Adds a booking from the store as it is, even if it overlaps. */
void book_load(struct book *b, const struct booking *h, int64_t now_ms);
/* Adds or changes a booking of another hub. If a change here is pending, this replaces its old version. */
void book_take(struct book *b, const struct booking *h, int64_t now_ms);
/* The last number that was assigned; the next is one more. */
void book_set_last(struct book *b, int64_t id);
int64_t book_next_id(struct book *b);

/*
 * Adds h (a new id), or replaces the booking with its id. Returns 0; -EBUSY: a change of it is pending; -EEXIST: it
 * overlaps (see book_conflicts); -ENOSPC: there are BOOK_MAX.
 */
int book_begin(struct book *b, const struct booking *h);
/* Ends the pending change: it is durable, or it failed and the old version is restored. */
void book_settle(struct book *b, int64_t id, bool durable);

/* Bookings that share a device and some time with h, except h, by start. Returns their number; at most max are in
 * ret. */
size_t book_conflicts(const struct book *b, const struct booking *h, const struct booking **ret, size_t max);
/*
 * The first start of a booking of that device that ends after from_ms: the device is not booked from from_ms until
 * then. At most from_ms: it is booked now; INT64_MAX: no booking follows. except: id of a booking to ignore, or 0;
 * person: whose bookings to ignore, or NULL.
 */
int64_t book_free_until(const struct book *b, struct str uuid, int64_t from_ms, int64_t except, const char *person);

/* ---- queries: durable bookings, borrowed until the next change ---- */
const struct booking *book_find(const struct book *b, int64_t id); /* NULL: not found, or over */
bool book_changing(const struct book *b, int64_t id);              /* a change is pending */
/* By start. */
const struct booking *const *book_all(struct book *b, size_t *ret_n);
/* The current and the next booking of a device; NULL: none. */
void book_of_device(const struct book *b, struct str uuid, int64_t now_ms, const struct booking **ret_now,
                    const struct booking **ret_next);

/*
 * Calls each for every booking that started or ended since the last call: to is its state now. Ended bookings are
 * removed after the call. Cheap while nothing is due.
 */
void book_tick(struct book *b, int64_t now_ms, void (*each)(void *arg, const struct booking *h, enum booking_state to),
               void *arg);
