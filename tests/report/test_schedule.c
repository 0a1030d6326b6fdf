/* test_schedule.c: scheduled reports out of muster.yaml, and their times in zones whose clocks are changed. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/make.h"
#include "report/schedule.h"

static struct schedules *schedules_from(const char *text, const struct channels *channels, int want, struct err *err)
{
    struct schedules *b = schedules_new();
    AUTO_FREE char *copy = mem_str(text);
    char path[] = "m.yaml";

    assert_int_equal(schedules_read(b, &(struct opt_section){.text = copy, .path = path}, channels, err), want);
    return b;
}

static struct zone *zone_of(const char *name)
{
    struct zone *z = NULL;
    struct err err = {0};

    if (zone_load(name, &z, &err) < 0)
        fail_msg("%s", err.msg);
    return z;
}

static int64_t utc(const char *s)
{
    int64_t v = 0;

    assert_int_equal(clock_parse(s, strlen(s), &v), 0);
    return v;
}

static void reports_are_read(void **unused)
{
    struct err err = {0};
    struct schedules *b =
        schedules_from("daily: {every: day, channel: ops}\n"
                       "boss: {every: week, at: \"7:30\", zone: Asia/Tokyo, channel: [ops, mail], what: usage by "
                       "company, filter: 'model:h200', company: X, team: Y, idle: no, chart: no}\n"
                       "all: {every: month, at: \"00:00\", what: status}\n",
                       NULL, 0, &err);
    size_t n = b->n;
    const struct scheduled *v = b->v;
    char what[48];

    (void)unused;
    assert_int_equal(n, 3);
    assert_int_equal(v[0].every, PERIOD_DAY);
    assert_int_equal(v[0].at, 480);
    assert_int_equal(v[0].by, BY_PERSON);
    assert_true(v[0].idle && v[0].chart && !v[0].status && !v[0].zone && !v[0].filter && !v[0].company);
    assert_string_equal(v[0].channels[0], "ops");
    assert_int_equal(v[1].every, PERIOD_WEEK);
    assert_int_equal(v[1].at, 450);
    assert_int_equal(v[1].by, BY_COMPANY);
    assert_string_equal(zone_name(v[1].zone), "Asia/Tokyo");
    assert_int_equal(v[1].n_channels, 2);
    assert_string_equal(v[1].channels[1], "mail");
    assert_string_equal(v[1].filter, "model:h200");
    assert_string_equal(v[1].company, "X");
    assert_string_equal(v[1].team, "Y");
    assert_false(v[1].idle || v[1].chart);
    assert_true(v[2].status);
    scheduled_title(&v[1], what);
    assert_string_equal(what, "usage by company");
    assert_ptr_equal(schedules_find(b, "all"), &v[2]);
    assert_null(schedules_find(b, "none"));
    schedules_free(b);
}

static void mistakes_have_their_place(void **unused)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"[a]", "m.yaml:1:1: expected names of reports"},
        {"a: 7", "m.yaml:1:4: expected {every: day"},
        {"a: {at: \"08:00\"}", "m.yaml:1:4: expected {every: day"},
        {"a: {every: hour}", "m.yaml:1:12: expected day, week or month"},
        {"a:\n  every: day\n  at: 8 o'clock", "m.yaml:3:7: expected a time of day"},
        {"a: {every: day, at: \"24:00\"}", "m.yaml:1:21: expected a time of day"},
        {"a: {every: day, zone: Moon/Base}", "m.yaml:1:23: expected a zone"},
        {"a: {every: day, zone: ../../etc/passwd}", "m.yaml:1:23: expected a zone"},
        {"a: {every: day, what: usage by magic}", "m.yaml:1:23: expected usage by person"},
        {"a: {every: day, what: usage by device}", "m.yaml:1:23: expected usage by person"},
        {"a: {every: day, filter: 'util>>3'}", "column 6 of the filter"},
        {"a: {every: day, channel: [ops, ops]}", "m.yaml:1:32: this channel is there already"},
        {"a: {every: day, channel: [ops, gone]}", "m.yaml:1:32: there is no channel 'gone'"},
        {"a: {every: day, channel: {x: 1}}", "m.yaml:1:26: expected up to 8 names"},
        {"a: {every: day, idle: perhaps}", "m.yaml:1:23: expected yes or no"},
        {"a: {every: day, colour: red}", "m.yaml:1:17: not understood here"},
        {"a: {every: day}\na: {every: week}", "m.yaml:2:1: "},
        {"a/b: {every: day}", "m.yaml:1:1: expected the name of a report"},
        {"a: {every: day, what: status, team: x}", "m.yaml:1:4: a status is of GPUs"},
    };
    struct channels *ops = channels_new();
    char text[] = "ops: {type: webhook, url: \"https://h/x\"}", path[] = "m.yaml";

    (void)unused;
    assert_int_equal(channels_read(ops, &(struct opt_section){.text = text, .path = path}, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        print_message("%s\n", cases[i].text);
        schedules_free(schedules_from(cases[i].text, ops, -EINVAL, &err));
        if (!strstr(err.msg, cases[i].want))
            fail_msg("no '%s' in '%s'", cases[i].want, err.msg);
    }
    channels_free(ops);
}

/* B1 */
static void a_report_is_due_once_for_each_period(void **unused)
{
    static const struct {
        const char *zone;
        enum period every;
        int32_t at;
        const char *now, *from, *to, *due, *next, *label;
    } cases[] = {
        {"UTC", PERIOD_DAY, 480, "2026-11-15T08:00:00Z", "2026-11-14T00:00:00Z", "2026-11-15T00:00:00Z",
         "2026-11-15T08:00:00Z", "2026-11-16T08:00:00Z", "Saturday 2026-11-14"},
        {"UTC", PERIOD_DAY, 480, "2026-11-15T07:59:59Z", "2026-11-13T00:00:00Z", "2026-11-14T00:00:00Z",
         "2026-11-14T08:00:00Z", "2026-11-15T08:00:00Z", "Friday 2026-11-13"},
        {"UTC", PERIOD_DAY, 0, "2026-11-15T00:00:00Z", "2026-11-14T00:00:00Z", "2026-11-15T00:00:00Z",
         "2026-11-15T00:00:00Z", "2026-11-16T00:00:00Z", "Saturday 2026-11-14"},
        {"Asia/Tokyo", PERIOD_WEEK, 540, "2026-11-16T00:00:00Z", "2026-11-08T15:00:00Z", "2026-11-15T15:00:00Z",
         "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z", "week 2026-W46"},
        {"Europe/Berlin", PERIOD_MONTH, 480, "2026-11-15T00:00:00Z", "2026-09-30T22:00:00Z", "2026-10-31T23:00:00Z",
         "2026-11-01T07:00:00Z", "2026-12-01T07:00:00Z", "2026-10"},
        /* the night of 29 March: 02:30 does not come, 03:00 is the first moment after */
        {"Europe/Berlin", PERIOD_DAY, 150, "2026-03-29T12:00:00Z", "2026-03-27T23:00:00Z", "2026-03-28T23:00:00Z",
         "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z", "Saturday 2026-03-28"},
        /* the night of 25 October: 02:30 comes twice, the first is meant; the day that is told of has 25 hours then */
        {"Europe/Berlin", PERIOD_DAY, 150, "2026-10-25T12:00:00Z", "2026-10-23T22:00:00Z", "2026-10-24T22:00:00Z",
         "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z", "Saturday 2026-10-24"},
        {"Europe/Berlin", PERIOD_DAY, 480, "2026-10-26T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z",
         "2026-10-26T07:00:00Z", "2026-10-27T07:00:00Z", "Sunday 2026-10-25"},
        /* midnight itself does not come: Cairo, 24 April 2026 */
        {"Africa/Cairo", PERIOD_DAY, 0, "2026-04-24T12:00:00Z", "2026-04-22T22:00:00Z", "2026-04-23T22:00:00Z",
         "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z", "Thursday 2026-04-23"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct zone *z = zone_of(cases[i].zone);
        struct scheduled b = {.every = cases[i].every, .at = cases[i].at};
        struct scheduled_due last, next;
        char label[40];
        print_message("%s %s\n", cases[i].zone, cases[i].now);
        scheduled_times(&b, z, utc(cases[i].now), &last, &next);
        assert_int_equal(last.from_ms, utc(cases[i].from));
        assert_int_equal(last.to_ms, utc(cases[i].to));
        assert_int_equal(last.at_ms, utc(cases[i].due));
        assert_int_equal(next.at_ms, utc(cases[i].next));
        assert_int_equal(next.from_ms, last.to_ms);
        assert_string_equal(scheduled_label(&b, z, &last, label), cases[i].label);
        zone_free(z);
    }
}

/* Two years, a look every 7 minutes (with sanitizers, where a look takes twenty times as long, every 37): each period
 * exactly once, none left out, none before it is over. */
static void two_years_have_each_report_once(void **unused)
{
    static const char *const zones[] = {"Europe/Berlin",
                                        "America/Havana",
                                        "Australia/Lord_Howe",
                                        "Africa/Cairo",
                                        "Asia/Tehran",
                                        "America/New_York",
                                        "UTC"};
    static const int32_t times[] = {0, 30, 90, 120, 150, 480, 1439};
    int64_t look_ms = (getenv("MUSTER_SAN") ? 37 : 7) * 60000;

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        struct zone *z = zone_of(zones[i]);
        for (size_t t = 0; t < ARRAY_LEN(times); t++)
            for (enum period every = PERIOD_DAY; every <= PERIOD_MONTH; every++) {
                struct scheduled b = {.every = every, .at = times[t]};
                struct scheduled_due d;
                uint32_t missed, sent = 0;
                int64_t now = utc("2025-01-01T00:00:00Z"), done = 0, end = utc("2027-01-01T00:00:00Z");
                for (; now < end; now += look_ms) {
                    enum scheduled_step s = scheduled_step(&b, z, done, now, &d, &missed);
                    if (s == SCHEDULED_WAIT)
                        continue;
                    assert_int_equal(s, done ? SCHEDULED_SEND : SCHEDULED_BEGIN);
                    assert_true(!done || d.from_ms == done);
                    assert_true(now >= d.at_ms && now - d.at_ms < (done ? look_ms + 60000 : 40 * DAY_MS));
                    assert_true(d.at_ms >= d.to_ms);
                    assert_int_equal(missed, 0);
                    sent += done != 0;
                    done = d.to_ms;
                }
                /* from the end of what was due at the beginning to that of what was due at the end */
                if (every == PERIOD_MONTH)
                    assert_in_range(sent, 23, 24);
                if (every == PERIOD_DAY)
                    assert_in_range(sent, 729, 730);
            }
        zone_free(z);
    }
}

/* B2 */
static void what_was_seen_to_is_not_due_again(void **unused)
{
    struct zone *z = zone_of("Europe/Berlin"), *tokyo = zone_of("Asia/Tokyo"), *plain = zone_of("UTC");
    struct scheduled b = {.every = PERIOD_DAY, .at = 480};
    struct scheduled_due d;
    uint32_t missed;
    int64_t at = utc("2026-11-15T07:00:00Z"), done = utc("2026-11-14T23:00:00Z"); /* sent at its time */

    (void)unused;
    assert_int_equal(scheduled_step(&b, z, done - DAY_MS, at, &d, &missed), SCHEDULED_SEND);
    assert_int_equal(d.to_ms, done);
    assert_int_equal(scheduled_step(&b, z, done, at, &d, &missed), SCHEDULED_WAIT);
    /* the clock is set back by a minute, an hour, a day: nothing until the next day's is due */
    assert_int_equal(scheduled_step(&b, z, done, at - 60000, &d, &missed), SCHEDULED_WAIT);
    assert_int_equal(scheduled_step(&b, z, done, at - HOUR_MS, &d, &missed), SCHEDULED_WAIT);
    assert_int_equal(scheduled_step(&b, z, done, at - DAY_MS, &d, &missed), SCHEDULED_WAIT);
    assert_int_equal(scheduled_step(&b, z, done, at + DAY_MS - 1, &d, &missed), SCHEDULED_WAIT);
    assert_int_equal(scheduled_step(&b, z, done, at + DAY_MS, &d, &missed), SCHEDULED_SEND);
    /* it was wrong by years: from now on again, but not at once */
    assert_int_equal(scheduled_step(&b, z, done + 1000 * DAY_MS, at, &d, &missed), SCHEDULED_RESET);
    assert_int_equal(scheduled_step(&b, z, d.to_ms, at, &d, &missed), SCHEDULED_WAIT);
    /* at is another now, the zone is another now: the same day is not told of twice */
    b.at = 600;
    assert_int_equal(scheduled_step(&b, z, done, at + 12 * HOUR_MS, &d, &missed), SCHEDULED_WAIT);
    assert_int_equal(scheduled_step(&b, plain, done, at + 12 * HOUR_MS, &d, &missed), SCHEDULED_WAIT);
    assert_int_equal(scheduled_step(&b, tokyo, done, at + 6 * HOUR_MS, &d, &missed), SCHEDULED_WAIT);
    assert_int_equal(scheduled_step(&b, tokyo, done, at + DAY_MS, &d, &missed), SCHEDULED_SEND);
    zone_free(z);
    zone_free(tokyo);
    zone_free(plain);
}

static void a_hub_that_was_off_sends_the_newest_once(void **unused)
{
    static const struct {
        enum period every;
        int64_t off_ms; /* after the moment it was due */
        int64_t done_days;
        enum scheduled_step want;
        uint32_t missed;
    } cases[] = {
        {PERIOD_DAY, 0, 1, SCHEDULED_SEND, 0},
        {PERIOD_DAY, 23 * HOUR_MS, 1, SCHEDULED_SEND, 0},
        {PERIOD_DAY, 5 * HOUR_MS, 4, SCHEDULED_SEND, 3},
        {PERIOD_WEEK, DAY_MS, 7, SCHEDULED_SEND, 0},
        {PERIOD_WEEK, DAY_MS + 1, 7, SCHEDULED_SKIP, 0},
        {PERIOD_WEEK, 3 * DAY_MS, 21, SCHEDULED_SKIP, 2},
        {PERIOD_DAY, HOUR_MS, 5000, SCHEDULED_SEND, 400},
    };
    struct zone *z = zone_of("UTC");

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scheduled b = {.every = cases[i].every, .at = 480};
        struct scheduled_due d;
        uint32_t missed;
        int64_t monday = utc("2026-11-16T00:00:00Z"), at = monday + 8 * HOUR_MS;
        print_message("row %zu\n", i);
        assert_int_equal(scheduled_step(&b, z, monday - cases[i].done_days * DAY_MS, at + cases[i].off_ms, &d, &missed),
                         cases[i].want);
        assert_int_equal(d.at_ms, at);
        assert_int_equal(missed, cases[i].missed);
    }
    zone_free(z);
}

static void each_channel_gets_what_it_takes(void **unused)
{
    static const struct {
        const char *type;
        size_t lines; /* of 50 bytes each */
        bool status;
        const char *html;
        const char *begin, *end; /* of the text */
        size_t n_files;
        const char *files[2];
    } cases[] = {
        {"mail", 5, false, "<p>", "0 ", "9\n", 1, {"usage.png"}},
        {"slack", 5, false, "", "```\n0 ", "The chart does not go through this channel.\n", 0, {0}},
        {"slack", 500, false, "", "```\n0 ", "The chart does not go through this channel.\n", 0, {0}},
        {"slack-bot", 5, false, "", "```\n0 ", "9\n```", 1, {"usage.png"}},
        {"slack-bot", 500, false, "", "", "", 2, {"report.txt", "usage.png"}},
        {"slack-bot", 5, true, "", "", "", 1, {"status.txt"}},
        {"webhook", 500, false, "", "0 ", "The chart does not go through this channel.\n", 0, {0}},
        {"webhook", 5, true, "", "0 ", "9\n", 0, {0}},
        {"ntfy", 500, false, "", "0 ", "this channel.\n", 0, {0}},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct channel c = {.name = "ch"};
        struct scheduled_made made = {.title = "t",
                                      .text = BUF_INIT(65536),
                                      .html = BUF_INIT(64),
                                      .picture = BUF_INIT(64),
                                      .screen = BUF_INIT(65536)};
        int type = 0;
        print_message("%s %zu %d\n", cases[i].type, cases[i].lines, cases[i].status);
        while (type < CHANNEL_TYPES && strcmp(channel_words[type], cases[i].type) != 0)
            type++;
        if (type == CHANNEL_TYPES)
            continue; /* this muster has no such channel */
        c.type = (enum channel_type)type;
        for (size_t k = 0; k < cases[i].lines; k++)
            buf_addf(&made.text, "%zu %047d\n", k, 9);
        buf_adds(&made.html, "<p>");
        buf_addstr(cases[i].status ? &made.screen : &made.picture, STR("bytes"));
        AUTO_FREE struct message *m = scheduled_message(&made, "daily", &c, 7, 1000);
        struct str text = str_of(m->text);
        assert_int_equal(m->kind, MESSAGE_REPORT);
        assert_int_equal(m->id, 7);
        assert_string_equal(m->channel, "ch");
        assert_string_equal(m->rule, "daily");
        assert_string_equal(m->html, cases[i].html);
        assert_true(str_starts(text, cases[i].begin) && str_ends(text, cases[i].end));
        if (strcmp(cases[i].type, "webhook") != 0)
            assert_true(text.len < 4000);
        assert_int_equal(str_find(text, "(cut:") >= 0, text.len > 2000 && text.len < 4000);
        assert_int_equal(m->n_files, cases[i].n_files);
        for (size_t k = 0; k < m->n_files; k++)
            assert_string_equal(m->files[k].name, cases[i].files[k]);
        buf_fini(&made.text);
        buf_fini(&made.html);
        buf_fini(&made.picture);
        buf_fini(&made.screen);
    }
}

TESTS(cmocka_unit_test(reports_are_read), cmocka_unit_test(mistakes_have_their_place),
      cmocka_unit_test(a_report_is_due_once_for_each_period), cmocka_unit_test(two_years_have_each_report_once),
      cmocka_unit_test(what_was_seen_to_is_not_due_again), cmocka_unit_test(a_hub_that_was_off_sends_the_newest_once),
      cmocka_unit_test(each_channel_gets_what_it_takes))
