/* ics.h: bookings as an iCalendar feed (RFC 5545), for calendars that subscribe. */
#pragma once

#include "model/booking.h"

void render_ics_start(struct buf *out, const char *name); /* of the calendar */
/* UID stays the same while the booking is stored; SEQUENCE counts its changes. A cancelled one has that status. */
void render_ics_booking(struct buf *out, const struct booking *h);
void render_ics_end(struct buf *out);
