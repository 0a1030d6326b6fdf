/* Moments as people write them. */
#include "test.h"

#include <errno.h>

#include "base/when.h"

#define NOW 1794737172345ll /* 2026-11-15T10:06:12.345Z */

static void text_becomes_a_moment(void **unused)
{
    static const struct {
        const char *text;
        int64_t want; /* -1: refused */
    } cases[] = {
        {"now", NOW},
        {"-24h", NOW - 86400000},
        {"now-90m", NOW - 5400000},
        {"now+1h", NOW + 3600000},
        {" -10 ", NOW - 10000},
        {"-1h30m", NOW - 5400000},
        {"2026-11-15T10:06:12.345Z", NOW},
        {"2026-11-15T11:06:12.345+01:00", NOW},
        {"2026-11-15T11:06:12.345 01:00", NOW}, /* what a URL makes of it */
        {"1794737172", 1794737172000},
        {"1794737172.345", NOW},
        {"1794737172345", NOW},
        {"0", 0},
        {"-100000d", 0}, /* not before 1970 */
        {"", -1},
        {"now-", -1},
        {"nowish", -1},
        {"yesterday", -1},
        {"24h", -1},
        {"-24x", -1},
        {"2026-13-01T00:00:00Z", -1},
        {"99999999999999999999", -1},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        int64_t got = -7;
        int r = when_parse(str_of(cases[i].text), "from", NOW, &got, &err);
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(r, cases[i].want < 0 ? -EINVAL : 0);
        assert_int_equal(got, cases[i].want < 0 ? -7 : cases[i].want);
        if (r < 0)
            assert_true(str_starts(str_of(err.msg), "from '"));
    }
}

TESTS(cmocka_unit_test(text_becomes_a_moment))
