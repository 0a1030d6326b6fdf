/* use.h: compares a booking with the real use of its devices. */
#pragma once

#include "book/pick.h"
#include "model/booking.h"
#include "now/live.h"
#include "people/people.h"

enum booking_use { USE_UNKNOWN, USE_UNUSED, USE_OWN, USE_OTHERS, USE_SHARED, USES };
extern const char *const use_words[USES]; /* NULL for unknown; "unused", "own", "others", "shared" */

#define USE_NAMES 16

/*
 * Checks who uses h's devices now. Adds persons other than h's to others (at most USE_NAMES, borrowed from live and
 * from people/). Unknown: a device does not report, or its user is unknown. Display servers do not count.
 */
enum booking_use booking_use(struct live *l, const struct people *c, const struct booking *h,
                             const char *others[USE_NAMES], size_t *ret_n);
/* The same for one of its devices: the current one of pick_next. */
enum booking_use booking_use_at(struct live *l, const struct people *c, const struct booking *h,
                                const struct pick_device *at, const char *others[USE_NAMES], size_t *ret_n);
/* Its devices that others use, for screens: "dgx2:0". */
void booking_conflicts_text(struct live *l, const struct people *c, const struct booking *h, struct buf *ret);
