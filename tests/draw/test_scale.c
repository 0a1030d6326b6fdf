/* test_scale.c: what stands on axes. */
#include "base/buf.h"
#include "base/mem.h"
#include "draw/scale.h"

#include "test.h"

static void join(const struct scale *s, struct buf *out)
{
    for (size_t i = 0; i < s->n; i++)
        buf_addf(out, "%s%s%s%s", i ? " | " : "", s->v[i].text, s->v[i].under[0] ? "/" : "", s->v[i].under);
    buf_addf(out, "%s%s", s->unit[0] ? " in " : "", s->unit);
}

static void numbers_are_round(void **unused)
{
    static const struct {
        const char *unit;
        double lo, hi;
        bool exact;
        int want;
        const char *ticks;
    } cases[] = {
        {"ratio", 0.02, 0.97, false, 5, "0 | 20 | 40 | 60 | 80 | 100 in %"},
        {"ratio", 0, 1, true, 4, "0 | 50 | 100 in %"},
        {"bytes", 0, 85899345920.0, false, 5, "0 | 20 | 40 | 60 | 80 in GiB"},
        {"bytes_per_second", 0, 1500, false, 3, "0.0 | 0.5 | 1.0 | 1.5 in KiB/s"},
        {"seconds", 0, 90, false, 4, "0 | 50 | 100 in s"},
        {"seconds", 0, 3600, false, 4, "0 | 20 | 40 | 60 in min"},
        {"seconds", 0, 1080000, false, 4, "0 | 100 | 200 | 300 in h"},
        {"celsius", 62, 78, false, 4, "60 | 65 | 70 | 75 | 80 in °C"},
        {"celsius", -5, 31, false, 4, "-10 | 0 | 10 | 20 | 30 in °C"},
        {"joules", 0, 720000, false, 4, "0 | 50 | 100 | 150 | 200 in Wh"},
        {"joules", 0, 7.2e6, false, 4, "0.0 | 0.5 | 1.0 | 1.5 | 2.0 in kWh"},
        {"watts", 0, 48000, false, 5, "0 | 10 | 20 | 30 | 40 | 50 in kW"},
        {"hertz", 0, 1.98e9, false, 4, "0.0 | 0.5 | 1.0 | 1.5 | 2.0 in GHz"},
        {"EUR", 0, 123456, false, 3,
         "0 | 50\xe2\x80\x89"
         "000 | 100\xe2\x80\x89"
         "000 in EUR"},
        {NULL, 7, 7, false, 4, "6.5 | 7.0 | 7.5"},
        {NULL, 0, 0, false, 4, "0.0 | 0.5 | 1.0"},
        {NULL, 3, -2, false, 4, "-2 | 0 | 2 | 4"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scale s;
        AUTO_BUF got = BUF_INIT(4096);
        print_message("%zu: %s %g %g\n", i, cases[i].unit ? cases[i].unit : "", cases[i].lo, cases[i].hi);
        scale_linear(&s, cases[i].unit, cases[i].lo, cases[i].hi, cases[i].exact, cases[i].want);
        join(&s, &got);
        assert_string_equal(got.p, cases[i].ticks);
        assert_true(s.lo <= MIN(cases[i].lo, cases[i].hi) && s.hi >= MAX(cases[i].lo, cases[i].hi) && s.lo < s.hi);
    }
}

static void absurd_numbers_have_an_axis_too(void **unused)
{
    static const double v[] = {0, 1, -1, 1e-300, 1e300, -1e300, 1e15, 1e-9, NAN, INFINITY, -INFINITY, 0.1 + 0.2};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        for (size_t k = 0; k < ARRAY_LEN(v); k++)
            for (int want = 0; want < 100; want += 33) {
                struct scale s;
                char out[48];
                scale_linear(&s, i % 2 ? "bytes" : "ratio", v[i], v[k], k % 2, want);
                assert_true(isfinite(s.lo) && isfinite(s.hi) && s.lo < s.hi && s.n <= TICKS_MAX);
                assert_true(strlen(scale_number(&s, v[i], out)) < 48);
            }
}

static void moments_are_those_of_clock_and_calendar(void **unused)
{
    static const struct {
        const char *zone;
        int64_t from, to;
        int want;
        const char *ticks;
    } cases[] = {
        {"UTC", 1794737100000, 1794737160000, 5, "10:05:00/15 Nov 2026 | 10:05:15 | 10:05:30 | 10:05:45 | 10:06:00"},
        {"UTC", 1794736800000, 1794744000000, 8,
         "10:00/15 Nov 2026 | 10:15 | 10:30 | 10:45 | 11:00 | 11:15 | 11:30 | 11:45 | 12:00"},
        {"UTC", 1794700800000, 1794873600000, 5,
         "00:00/15 Nov 2026 | 12:00 | 00:00/16 Nov 2026 | 12:00 | 00:00/17 Nov 2026"},
        /* clocks go back in Berlin on 2026-10-25 and forward on 2026-03-29: the ticks stay at the hours of the wall */
        {"Europe/Berlin", 1792879200000, 1792969200000, 5,
         "00:00/25 Oct 2026 | 06:00 | 12:00 | 18:00 | 00:00/26 Oct 2026"},
        {"Europe/Berlin", 1774738800000, 1774760400000, 8,
         "00:00/29 Mar 2026 | 01:00 | 03:00 | 04:00 | 05:00 | 06:00 | 07:00"},
        {"Asia/Kolkata", 1794681000000, 1794767400000, 5,
         "00:00/15 Nov 2026 | 06:00 | 12:00 | 18:00 | 00:00/16 Nov 2026"},
        {"UTC", 1794700800000, 1795305600000, 8,
         "15 Nov/2026 | 16 Nov | 17 Nov | 18 Nov | 19 Nov | 20 Nov | 21 Nov | 22 Nov"},
        {"UTC", 1796083200000, 1798761600000, 5, "7 Dec/2026 | 14 Dec | 21 Dec | 28 Dec"},
        {"UTC", 1790812800000, 1806537600000, 6, "Oct/2026 | Nov | Dec | Jan/2027 | Feb | Mar | Apr"},
        {"UTC", 1577836800000, 1798761600000, 8, "2020 | 2021 | 2022 | 2023 | 2024 | 2025 | 2026 | 2027"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scale s;
        struct zone *z;
        struct err err = {0};
        AUTO_BUF got = BUF_INIT(4096);
        assert_int_equal(zone_load(cases[i].zone, &z, &err), 0);
        scale_time(&s, z, cases[i].from, cases[i].to, cases[i].want);
        join(&s, &got);
        print_message("%s\n%s\n", got.p, cases[i].ticks);
        assert_string_equal(got.p, cases[i].ticks);
        zone_free(z);
    }
}

static void absurd_times_have_an_axis_too(void **unused)
{
    static const int64_t v[] = {INT64_MIN, -1, 0, 1, 1794737100000, 253402300799999, INT64_MAX};
    struct zone *z = zone_utc();
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        for (size_t k = 0; k < ARRAY_LEN(v); k++) {
            struct scale s;
            scale_time(&s, z, v[i], v[k], 8);
            assert_true(s.lo < s.hi && s.n <= 12);
        }
    zone_free(z);
}

TESTS(cmocka_unit_test(numbers_are_round), cmocka_unit_test(absurd_numbers_have_an_axis_too),
      cmocka_unit_test(moments_are_those_of_clock_and_calendar), cmocka_unit_test(absurd_times_have_an_axis_too))
