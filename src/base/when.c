/*
 * when.c: parses a time of a request or a flag. A '+' of a zone that a URL turned into a space is read as '+'.
 */
#include "base/when.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"

#define MS_FROM 100000000000ll /* as seconds this is the year 5138: larger numbers are milliseconds */

static bool when_relative(struct str s, int64_t now_ms, int64_t *ret)
{
    int64_t span;

    str_skip(&s, "now");
    if (s.len == 0) {
        *ret = now_ms;
        return true;
    }
    bool back = s.p[0] == '-', on = s.p[0] == '+' || s.p[0] == ' ';
    if ((!back && !on) || !str_duration_ms(str_n(s.p + 1, s.len - 1), &span) || span > WHEN_END_MS)
        return false;
    *ret = back ? now_ms - span : now_ms + span;
    return true;
}

static bool when_absolute(struct str s, int64_t *ret)
{
    char text[64];
    int64_t v;

    if (str_int(s, &v) && v >= MS_FROM) {
        *ret = v;
        return true;
    }
    if (s.len >= sizeof(text))
        return false;
    memcpy(text, s.p, s.len);
    if (s.len > 20 && text[s.len - 6] == ' ')
        text[s.len - 6] = '+';
    return clock_parse(text, s.len, ret) == 0;
}

int when_parse(struct str s, const char *what, int64_t now_ms, int64_t *ret, struct err *err)
{
    int64_t v = 0;

    s = str_trim(s);
    if (s.len == 0 || !(when_relative(s, now_ms, &v) || when_absolute(s, &v)))
        return err_set(err, -EINVAL,
                       "%s '%.*s' is not a time: write 2026-11-15T10:00:00Z, seconds or milliseconds since 1970, "
                       "'now', or how long ago as -24h",
                       what, (int)MIN(s.len, 60u), s.p);
    *ret = MAX(0, MIN(v, WHEN_END_MS));
    return 0;
}
