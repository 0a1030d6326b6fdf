/* Local time of many zones, beside what the C library says of them. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/zone.h"

static struct zone *load(const char *name)
{
    struct zone *z = NULL;
    struct err err = {0};

    if (zone_load(name, &z, &err) < 0)
        fail_msg("%s", err.msg);
    return z;
}

static uint64_t seed = 7;
static int64_t pick(int64_t lo, int64_t hi)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (int64_t)((seed >> 16) % (uint64_t)(hi - lo));
}

static const char *const zones[] = {"Europe/Berlin",    "Europe/London",       "America/New_York",
                                    "America/St_Johns", "Asia/Tokyo",          "Asia/Kolkata",
                                    "Asia/Kathmandu",   "Australia/Lord_Howe", "America/Sao_Paulo",
                                    "Africa/Cairo",     "Asia/Beirut",         "Pacific/Apia",
                                    "America/Havana",   "Antarctica/Troll",    "Africa/Casablanca",
                                    "Asia/Tehran",      "Pacific/Chatham",     "America/Asuncion",
                                    "Europe/Dublin",    "Etc/GMT+5",           "CET-1CEST,M3.5.0,M10.5.0/3",
                                    "EST5EDT",          "<+0330>-3:30",        "XYZ5ABC,J60/0,300/167"};

static void local_time_is_what_the_c_library_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        struct zone *z = load(zones[i]);
        setenv("TZ", zones[i], 1);
        tzset();
        print_message("%s\n", zones[i]);
        for (int k = 0; k < 4000; k++) {
            int64_t at = k % 2 ? pick(0, 4102444800) : pick(1735689600, 1798761600); /* to 2100; 2025 and 2026 */
            time_t t = (time_t)at;
            struct tm tm;
            struct civil c;
            const char *abbr;
            localtime_r(&t, &tm);
            zone_civil(z, at * 1000 + 999, &c);
            assert_int_equal(c.year, tm.tm_year + 1900);
            assert_int_equal(c.month, tm.tm_mon + 1);
            assert_int_equal(c.day, tm.tm_mday);
            assert_int_equal(c.hour, tm.tm_hour);
            assert_int_equal(c.minute, tm.tm_min);
            assert_int_equal(c.second, tm.tm_sec);
            assert_int_equal(zone_offset(z, at * 1000, &abbr), tm.tm_gmtoff);
            assert_string_equal(abbr, tm.tm_zone);
            assert_int_equal((date_weekday(zone_date(z, at * 1000)) + 1) % 7, tm.tm_wday);
        }
        unsetenv("TZ");
        zone_free(z);
    }
}

/* Z3 */
static void a_local_time_is_a_moment_again(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        struct zone *z = load(zones[i]);
        for (int k = 0; k < 4000; k++) {
            int64_t at_ms = pick(0, 4102444800) * 1000;
            struct civil c, again;
            zone_civil(z, at_ms, &c);
            int64_t back_ms = zone_to_ms(z, &c);
            zone_civil(z, back_ms, &again);
            assert_memory_equal(&c, &again, sizeof(c));
            assert_true(back_ms <= at_ms); /* the first of two */
        }
        zone_free(z);
    }
}

static void days_follow_each_other_without_gap_or_overlap(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        struct zone *z = load(zones[i]);
        for (int p = PERIOD_DAY; p <= PERIOD_YEAR; p++) {
            int64_t at_ms = 1704067200000ll, from_ms, next_ms = 0; /* 2024 */
            for (int k = 0; k < 1200 && at_ms < 1830297600000ll; k++) {
                from_ms = zone_period(z, (enum period)p, k % 7, at_ms, &next_ms);
                assert_true(from_ms <= at_ms && at_ms < next_ms);
                int64_t again_ms, last_next_ms;
                again_ms = zone_period(z, (enum period)p, k % 7, next_ms - 1, &last_next_ms);
                assert_int_equal(again_ms, from_ms);
                assert_int_equal(last_next_ms, next_ms);
                at_ms = next_ms;
            }
        }
        zone_free(z);
    }
}

static void the_hours_of_a_day_are_those_of_its_zone(void **unused)
{
    static const struct {
        const char *zone, *date;
        int hours;
        const char *first; /* its first hour */
    } cases[] = {
        {"Europe/Berlin", "2026-03-28", 24, "2026-03-28 00:00"},
        {"Europe/Berlin", "2026-03-29", 23, "2026-03-29 00:00"},
        {"Europe/Berlin", "2026-10-25", 25, "2026-10-25 00:00"},
        {"America/New_York", "2026-03-08", 23, "2026-03-08 00:00"},
        {"America/New_York", "2026-11-01", 25, "2026-11-01 00:00"},
        {"Asia/Tokyo", "2026-03-29", 24, "2026-03-29 00:00"},
        {"Africa/Cairo", "2026-04-24", 23, "2026-04-24 01:00"}, /* the clock goes from 23:59 to 01:00 */
        {"America/Havana", "2026-11-01", 25, "2026-11-01 00:00"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct zone *z = load(cases[i].zone);
        int32_t date;
        char label[24], text[16];
        int64_t next_ms;
        print_message("%s %s\n", cases[i].zone, cases[i].date);
        assert_true(date_parse(str_of(cases[i].date), &date));
        assert_string_equal(date_text(date, text), cases[i].date);
        int64_t from_ms = zone_date_ms(z, date);
        assert_int_equal(zone_date_ms(z, date + 1) - from_ms, cases[i].hours * 3600000ll);
        assert_int_equal(zone_period(z, PERIOD_DAY, 0, from_ms, &next_ms), from_ms);
        assert_string_equal(zone_period_label(z, PERIOD_HOUR, 0, from_ms, label), cases[i].first);
        zone_free(z);
    }
}

static void periods_have_names(void **unused)
{
    static const struct {
        enum period p;
        int week_start;
        const char *at, *from, *label;
    } cases[] = {
        {PERIOD_WEEK, 0, "2026-11-15", "2026-11-09", "2026-W46"},
        {PERIOD_WEEK, 6, "2026-11-15", "2026-11-15", "2026-11-15"},
        {PERIOD_WEEK, 6, "2026-11-14", "2026-11-08", "2026-11-08"},
        {PERIOD_WEEK, 0, "2027-01-01", "2026-12-28", "2026-W53"},
        {PERIOD_WEEK, 0, "2024-12-31", "2024-12-30", "2025-W01"},
        {PERIOD_MONTH, 0, "2024-02-29", "2024-02-01", "2024-02"},
        {PERIOD_YEAR, 0, "2024-12-31", "2024-01-01", "2024"},
        {PERIOD_DAY, 0, "2000-02-29", "2000-02-29", "2000-02-29"},
    };
    struct zone *z = load("Asia/Kathmandu");
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int32_t at = 0, from = 0;
        int64_t next_ms;
        char label[24];
        print_message("%s of %s\n", period_words[cases[i].p], cases[i].at);
        assert_true(date_parse(str_of(cases[i].at), &at) && date_parse(str_of(cases[i].from), &from));
        int64_t from_ms = zone_period(z, cases[i].p, cases[i].week_start, zone_date_ms(z, at) + 3600000, &next_ms);
        assert_int_equal(from_ms, zone_date_ms(z, from));
        assert_string_equal(zone_period_label(z, cases[i].p, cases[i].week_start, from_ms, label), cases[i].label);
    }
    assert_null(period_words[PERIODS]); /* whoever walks over them stops there */
    zone_free(z);
}

static void only_days_of_the_calendar_are_dates(void **unused)
{
    static const char *const bad[] = {"2026-02-29",
                                      "2026-13-01",
                                      "2026-00-10",
                                      "2026-01-00",
                                      "0000-01-01",
                                      "2026-1-01",
                                      "2026-01-1",
                                      "20260101",
                                      "2026-01-01 ",
                                      "+026-01-01",
                                      ""};
    int32_t date = 5;
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(date_parse(str_of(bad[i]), &date));
    assert_int_equal(date, 5);
    assert_int_equal(date_of(1970, 1, 1), 0);
    assert_int_equal(date_of(2026, 14, 0), date_of(2027, 1, 31));
}

/* Z2 */
static void what_is_no_zone_is_refused_in_words(void **unused)
{
    static const char *const bad[] = {"Europe/Nowhere",
                                      "../../etc/passwd",
                                      "/etc/passwd",
                                      "Europe",
                                      "a b",
                                      "zone.tab",
                                      "Europe/Berlin\n",
                                      "XX",
                                      "CET-1CEST,M13.1.0,M1.1.1"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct zone *z = NULL;
        struct err err = {0};
        print_message("%s\n", bad[i]);
        assert_true(zone_load(bad[i], &z, &err) < 0);
        assert_null(z);
        assert_non_null(strstr(err.msg, "time zone"));
    }
}

static void without_a_name_it_is_the_systems(void **unused)
{
    (void)unused;
    setenv("TZ", ":Asia/Tokyo", 1);
    struct zone *z = load("");
    assert_string_equal(zone_name(z), "Asia/Tokyo");
    assert_int_equal(zone_offset(z, 0, NULL), 9 * 3600);
    zone_free(z);
    setenv("TZ", "", 1);
    z = load(NULL);
    assert_string_equal(zone_name(z), "UTC");
    zone_free(z);
    unsetenv("TZ");
    zone_free(load(NULL));
}

static void times_of_day_are_minutes(void **unused)
{
    static const struct {
        const char *text;
        int32_t want; /* -1: it is none */
    } cases[] = {{"8:05", 485}, {" 00:00 ", 0}, {"23:59", 1439}, {"24:00", -1},  {"8:5", -1},     {"8", -1},
                 {"", -1},      {":30", -1},    {"8:60", -1},    {"008:00", -1}, {"8:00:00", -1}, {"-1:00", -1}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int32_t v = -1;
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(minute_parse(str_of(cases[i].text), &v), cases[i].want >= 0);
        assert_int_equal(v, cases[i].want);
    }
}

TESTS(cmocka_unit_test(times_of_day_are_minutes), cmocka_unit_test(local_time_is_what_the_c_library_says),
      cmocka_unit_test(a_local_time_is_a_moment_again), cmocka_unit_test(days_follow_each_other_without_gap_or_overlap),
      cmocka_unit_test(the_hours_of_a_day_are_those_of_its_zone), cmocka_unit_test(periods_have_names),
      cmocka_unit_test(only_days_of_the_calendar_are_dates), cmocka_unit_test(what_is_no_zone_is_refused_in_words),
      cmocka_unit_test(without_a_name_it_is_the_systems))
