/* use.h: compares a booking with what really happens on its devices. */
#pragma once

#include "book/pick.h"
#include "model/booking.h"
#include "now/live.h"
#include "people/people.h"

enum booking_use { USE_UNKNOWN, USE_UNUSED, USE_OWN, USE_OTHERS, USE_SHARED, USES };
extern const char *const use_words[USES]; /* NULL for unknown; "unused", "own", "others", "shared" */

#define USE_NAMES 16

/*
 * Who is on h's devices now: persons other than h's into others (at most USE_NAMES, borrowed from live and from
 * people/). Unknown: nothing is heard of a device, or somebody is on it and nobody knows who. A display server is
 * nobody.
 */
enum booking_use booking_use(struct live *l, const struct people *c, const struct booking *h,
                             const char *others[USE_NAMES], size_t *ret_n);
/* The same of one of its devices: where pick_next stands. */
enum booking_use booking_use_at(struct live *l, const struct people *c, const struct booking *h,
                                const struct pick_device *at, const char *others[USE_NAMES], size_t *ret_n);
/* Those of its devices that others are on, as people say it: "dgx2:0". */
void booking_taken(struct live *l, const struct people *c, const struct booking *h, struct buf *ret);
