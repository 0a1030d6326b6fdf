/*
 * book.h: the bookings that are not over, in memory: what overlaps, what a device is booked for, what begins and ends.
 * Single-threaded; whoever owns the loop owns this, and every change goes through here one after the other.
 *
 * B1 No two bookings here have a device for the same moment, but for what a person waited for inside a booking of their
 * own. B2 A change counts from book_begin on, so that nobody else gets what is being written; until it is settled what
 * was before counts too. B3 Nothing here reads a clock.
 */
#pragma once

#include "base/err.h"
#include "model/booking.h"

#define BOOK_MAX 10000 /* bookings at once */

struct book;
struct book *book_new(void);
void book_free(struct book *b);
/* For features behind this one: changed is called whenever a booking was settled, began or ended. It only notes that:
 * the book is not to be asked from there. One can; changed NULL: none any more. */
void book_watch(struct book *b, void (*changed)(void *arg), void *arg);

/* Read back from the store: as it is, whatever it overlaps. */
void book_load(struct book *b, const struct booking *h, int64_t now_ms);
/* Another hub changed it, or made it. Begun here and not settled yet, this is what it was. */
void book_take(struct book *b, const struct booking *h, int64_t now_ms);
/* Numbers given out so far; the next is one more. */
void book_set_last(struct book *b, int64_t id);
int64_t book_next_id(struct book *b);

/*
 * h is new (an id nobody has) or takes the place of the one with its id. 0; -EBUSY: that one is being changed just now;
 * -EEXIST: it overlaps (book_conflicts tells with what); -ENOSPC: there are BOOK_MAX.
 */
int book_begin(struct book *b, const struct booking *h);
/* It is durable, or it is not: then all is as before. */
void book_settle(struct book *b, int64_t id, bool durable);

/* Those that have a device of h for a moment of its time, h itself aside, by start: how many, at most max into ret. */
size_t book_conflicts(const struct book *b, const struct booking *h, const struct booking **ret, size_t max);
/*
 * The first start of a booking of that device that ends after from_ms: the device is not booked from from_ms until
 * then. At most from_ms: it is booked now; INT64_MAX: nothing follows. except: the id of one that does not count, or 0;
 * person: whose bookings do not count, or NULL.
 */
int64_t book_free_until(const struct book *b, struct str uuid, int64_t from_ms, int64_t except, const char *person);

/* ---- questions: what is durable, borrowed until the next change ---- */
const struct booking *book_find(const struct book *b, int64_t id); /* NULL: there is none, or it is over */
bool book_changing(const struct book *b, int64_t id);              /* begun, and not settled yet */
/* By start. */
const struct booking *const *book_all(struct book *b, size_t *ret_n);
/* What a device is held for at a moment, and what comes next; NULL: nothing. */
void book_of_device(const struct book *b, struct str uuid, int64_t now_ms, const struct booking **ret_now,
                    const struct booking **ret_next);

/*
 * Each one that began or ended since the last time: to is its state now. Those that ended are forgotten after the call.
 * Cheap while nothing is due.
 */
void book_tick(struct book *b, int64_t now_ms, void (*each)(void *arg, const struct booking *h, enum booking_state to),
               void *arg);
