/* Time as text, and a clock that stands still for tests. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

static void a_set_clock_stands_still(void **unused)
{
    (void)unused;
    clock_set_for_test(1700000000123);
    assert_int_equal(clock_wall_ms(), 1700000000123);
    assert_int_equal(clock_mono_ms(), 1700000000123);
    assert_int_equal(clock_mono_us(), 1700000000123000);
    assert_int_equal(clock_mono_rough_ms(), 1700000000123);
    clock_set_for_test(0);
    assert_int_equal(clock_wall_ms(), 0);
    clock_set_for_test(-1);
    int64_t before = clock_mono_us();
    assert_true(clock_mono_us() >= before);
    assert_true(clock_wall_ms() > 1700000000000);
    int64_t rough = clock_mono_rough_ms();
    assert_true(rough > 0 && rough <= clock_mono_ms());
}

static void times_are_written_as_rfc_3339(void **unused)
{
    static const struct {
        int64_t ms;
        const char *want;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {1794739572345, "2026-11-15T10:46:12.345Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {4107542399999, "2100-02-28T23:59:59.999Z"},
        {4107542400000, "2100-03-01T00:00:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
        {-62167219200000, "0000-01-01T00:00:00.000Z"},
        {INT64_MIN, "0000-01-01T00:00:00.000Z"},
    };
    char out[32];

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_string_equal(clock_iso(cases[i].ms, out), cases[i].want);
    }
}

/* Every day from 1600 to 2400 against the C library. */
static void the_calendar_agrees_with_libc(void **unused)
{
    (void)unused;
    for (int64_t day = -135140; day < 157054; day++) {
        time_t t = (time_t)(day * 86400 + 12345);
        struct tm tm;
        char want[40], out[32];
        int64_t back;
        gmtime_r(&t, &tm);
        strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S.000Z", &tm);
        assert_string_equal(clock_iso((int64_t)t * 1000, out), want);
        assert_int_equal(clock_parse(out, 24, &back), 0);
        assert_int_equal(back, (int64_t)t * 1000);
    }
}

static void spans_are_written_for_people(void **unused)
{
    static const struct {
        int64_t ms;
        const char *want;
    } cases[] = {
        {0, "0 s"},
        {340, "340 ms"},
        {1000, "1 s"},
        {45999, "45 s"},
        {60000, "1 m"},
        {72000, "1 m 12 s"},
        {7800000, "2 h 10 m"},
        {7200000 + 59999, "2 h"},
        {273600000, "3 d 4 h"},
        {-45000, "-45 s"},
        {86400000ll * 400, "400 d"},
        {INT64_MIN, "-106751991167 d 7 h"},
    };
    char out[24];

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(clock_span(cases[i].ms, out), cases[i].want);
}

static void sums_of_time_are_hours_or_minutes(void **unused)
{
    static const struct {
        int64_t ms;
        const char *want;
    } cases[] = {{0, "0 h"},        {59999, "< 1 m"},   {60000, "1 m"},
                 {3599999, "59 m"}, {3600000, "1.0 h"}, {44640000, "12.4 h"}};
    char out[24];

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(clock_hours(cases[i].ms, out), cases[i].want);
}

static void times_are_read(void **unused)
{
    static const struct {
        const char *text;
        int want;
        int64_t ms;
    } cases[] = {
        {"2026-11-15T10:46:12.345Z", 0, 1794739572345},
        {"2026-11-15T10:46:12Z", 0, 1794739572000},
        {"2026-11-15t10:46:12.345678z", 0, 1794739572345},
        {"2026-11-15 11:46:12.3+01:00", 0, 1794739572300},
        {"2026-11-15T05:16:12-05:30", 0, 1794739572000},
        {"2016-12-31T23:59:60Z", 0, 1483228800000},
        {"2000-02-29T00:00:00Z", 0, 951782400000},
        {"1794739572.345", 0, 1794739572345},
        {"1794739572", 0, 1794739572000},
        {"1794739572345", 0, 1794739572345}, /* as the API gives times */
        {"0", 0, 0},
        {"1.7e9", 0, 1700000000000},
        {"1900-02-29T00:00:00Z", -EINVAL, 0},
        {"2001-02-29T00:00:00Z", -EINVAL, 0},
        {"2026-13-01T00:00:00Z", -EINVAL, 0},
        {"2026-00-01T00:00:00Z", -EINVAL, 0},
        {"2026-04-31T00:00:00Z", -EINVAL, 0},
        {"2026-11-15T24:00:00Z", -EINVAL, 0},
        {"2026-11-15T10:60:00Z", -EINVAL, 0},
        {"2026-11-15T10:46:61Z", -EINVAL, 0},
        {"2026-11-15T10:46:12", -EINVAL, 0},
        {"2026-11-15T10:46:12.Z", -EINVAL, 0},
        {"2026-11-15T10:46:12+0100", -EINVAL, 0},
        {"2026-11-15T10:46:12Zx", -EINVAL, 0},
        {"2026-11-15", -EINVAL, 0},
        {"1794739572345000", -EINVAL, 0}, /* neither, in our era */
        {"", -EINVAL, 0},
        {"now", -EINVAL, 0},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t ms = 42;
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(clock_parse(cases[i].text, strlen(cases[i].text), &ms), cases[i].want);
        assert_int_equal(ms, cases[i].want ? 42 : cases[i].ms);
    }
}

TESTS(cmocka_unit_test(a_set_clock_stands_still), cmocka_unit_test(times_are_written_as_rfc_3339),
      cmocka_unit_test(the_calendar_agrees_with_libc), cmocka_unit_test(spans_are_written_for_people),
      cmocka_unit_test(sums_of_time_are_hours_or_minutes), cmocka_unit_test(times_are_read))
