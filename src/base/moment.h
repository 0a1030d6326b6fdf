/*
 * moment.h: moments and spans as people type them: "2d 4h", "2026-11-20 14:00", "tomorrow 18:00", "next friday", RFC
 * 3339,
 * "+3 days", milliseconds since 1970. A span is added to now; empty is now. docs/bookings.md has the list. Pure.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define MOMENT_END_MS (1ll << 43) /* no moment is later: the year 2248 */

struct zone; /* base/zone.h; here NULL is UTC */

/* zone: of what names none. 0, or -EINVAL with a sentence that begins with what. */
int moment_parse(struct str s, const char *what, int64_t now_ms, const struct zone *zone, int64_t *ret,
                 struct err *err);
/* A span alone: "2d 4h", "90m", "3 days". 0, or -EINVAL with a sentence. */
int moment_span(struct str s, const char *what, int64_t *ret, struct err *err);

#define MOMENT_TEXT 32
/* A moment for people, as every screen has it: "2026-11-17 14:00", in the reader's zone. */
const char *moment_text(int64_t ms, const struct zone *zone, char out[MOMENT_TEXT]);
/* The same where the reader may have another zone: "2026-11-17 14:00 CET". */
const char *moment_zoned(int64_t ms, const struct zone *zone, char out[MOMENT_TEXT]);
