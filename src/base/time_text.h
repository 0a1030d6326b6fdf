/*
 * time_text.h: parses times and durations that users type: "2d 4h", "2026-11-20 14:00", "tomorrow 18:00", "next
 * friday", RFC 3339, "+3 days", milliseconds since 1970. A duration is added to now; empty is now. docs/bookings.md has
 * the list. Pure.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define MOMENT_END_MS (1ll << 43) /* upper limit of times: the year 2248 */

struct zone; /* base/zone.h; here NULL is UTC */

/* zone: for texts that name none. Returns 0, or -EINVAL with a message in err that starts with what. */
int time_parse(struct str s, const char *what, int64_t now_ms, const struct zone *zone, int64_t *ret, struct err *err);
/* A duration alone: "2d 4h", "90m", "3 days". Returns 0, or -EINVAL with a message in err. */
int duration_parse(struct str s, const char *what, int64_t *ret, struct err *err);

#define MOMENT_TEXT 32
/* A time in the format of every screen: "2026-11-17 14:00", in the reader's zone. */
const char *time_text(int64_t ms, const struct zone *zone, char out[MOMENT_TEXT]);
/* The same where the reader may have another zone: "2026-11-17 14:00 CET". */
const char *time_text_zoned(int64_t ms, const struct zone *zone, char out[MOMENT_TEXT]);
