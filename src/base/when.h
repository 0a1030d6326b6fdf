/* when.h: the moments and spans a person may write: "now", "-24h", "now-90m", RFC 3339, seconds or milliseconds since
 * 1970. */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define WHEN_END_MS (1ll << 43) /* no moment is later: the year 2248 */

/* 0, or -EINVAL with a sentence that begins with what (the parameter's name). */
int when_parse(struct str s, const char *what, int64_t now_ms, int64_t *ret, struct err *err);
