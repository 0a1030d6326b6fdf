/* when.h: the times and durations a user may write: "now", "-24h", "now-90m", RFC 3339, seconds or milliseconds since
 * 1970. */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define WHEN_END_MS (1ll << 43) /* upper limit of times: the year 2248 */

/* Returns 0, or -EINVAL with a message in err that starts with what (the parameter's name). */
int when_parse(struct str s, const char *what, int64_t now_ms, int64_t *ret, struct err *err);
