/* test_book.c: moments as people type them, what overlaps, what begins and ends, who may. */
#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/time_text.h"
#include "base/zone.h"
#include "book/book.h"
#include "book/ics.h"
#include "book/permission.h"

#define NOW  1794733200000ll /* 2026-11-15T09:00:00Z, a Sunday */
#define HOUR 3600000ll

/* ---- moments ---- */

static void a_moment_is_read_as_people_type_it(void **unused)
{
    static const struct {
        const char *text, *want; /* NULL: refused */
    } cases[] = {
        {"", "2026-11-15T09:00:00.000Z"},
        {"now", "2026-11-15T09:00:00.000Z"},
        {"2d", "2026-11-17T09:00:00.000Z"},
        {"4h", "2026-11-15T13:00:00.000Z"},
        {"2d 4h", "2026-11-17T13:00:00.000Z"},
        {" 2 D  4 H ", "2026-11-17T13:00:00.000Z"},
        {"2d4h", "2026-11-17T13:00:00.000Z"},
        {"90m", "2026-11-15T10:30:00.000Z"},
        {"1w", "2026-11-22T09:00:00.000Z"},
        {"+3 days", "2026-11-18T09:00:00.000Z"},
        {"-1 hour", "2026-11-15T08:00:00.000Z"},
        {"1 month", "2026-12-15T09:00:00.000Z"},
        {"+3 months", "2027-02-15T09:00:00.000Z"},
        {"1 year", "2027-11-15T09:00:00.000Z"},
        {"next week", "2026-11-22T09:00:00.000Z"},
        {"2026-11-20", "2026-11-20T00:00:00.000Z"},
        {"2026-11-20 14:00", "2026-11-20T14:00:00.000Z"},
        {"2026-11-20 14:00:30", "2026-11-20T14:00:30.000Z"},
        {"2026-11-20T14:00:00Z", "2026-11-20T14:00:00.000Z"},
        {"2026-11-20T14:00:00.250+01:00", "2026-11-20T13:00:00.000Z"},
        {"2026-11-20T14:00:00-0530", "2026-11-20T19:30:00.000Z"},
        {"2026-11-20 14:00 UTC", "2026-11-20T14:00:00.000Z"},
        {"2026/11/20 14:00", "2026-11-20T14:00:00.000Z"},
        {"11/20/2026", "2026-11-20T00:00:00.000Z"},
        {"11/20 6pm", "2026-11-20T18:00:00.000Z"},
        {"20.11.2026 14:00", "2026-11-20T14:00:00.000Z"},
        {"20.11. 14:00", "2026-11-20T14:00:00.000Z"},
        {"20-11-2026", "2026-11-20T00:00:00.000Z"},
        {"20261120", "2026-11-20T00:00:00.000Z"},
        {"20 Nov 2026 14:00", "2026-11-20T14:00:00.000Z"},
        {"20 november", "2026-11-20T00:00:00.000Z"},
        {"Nov 20, 2026", "2026-11-20T00:00:00.000Z"},
        {"Nov 20 14:00", "2026-11-20T14:00:00.000Z"},
        {"Fri 20 Nov 14:00", "2026-11-20T14:00:00.000Z"},
        {"14:00", "2026-11-15T14:00:00.000Z"},
        {"6pm", "2026-11-15T18:00:00.000Z"},
        {"12am", "2026-11-15T00:00:00.000Z"},
        {"12:30 pm", "2026-11-15T12:30:00.000Z"},
        {"today", "2026-11-15T00:00:00.000Z"},
        {"today 24:00", "2026-11-16T00:00:00.000Z"},
        {"tomorrow", "2026-11-16T00:00:00.000Z"},
        {"tomorrow 18:00", "2026-11-16T18:00:00.000Z"},
        {"tomorrow noon", "2026-11-16T12:00:00.000Z"},
        {"tomorrow at 18:00", "2026-11-16T18:00:00.000Z"},
        {"tomorrow +2 hours", "2026-11-16T02:00:00.000Z"},
        {"friday", "2026-11-20T00:00:00.000Z"},
        {"Sunday", "2026-11-15T00:00:00.000Z"},
        {"next sunday", "2026-11-22T00:00:00.000Z"},
        {"next friday 17:30", "2026-11-20T17:30:00.000Z"},
        {"last friday", "2026-11-13T00:00:00.000Z"},
        {"1794733200000", "2026-11-15T09:00:00.000Z"},
        {"@1794733200", "2026-11-15T09:00:00.000Z"},
        {"2028-02-29", "2028-02-29T00:00:00.000Z"},
        {"2026-02-29", NULL},
        {"2026-13-01", NULL},
        {"2026-11-31", NULL},
        {"25:00", NULL},
        {"14:61", NULL},
        {"13pm", NULL},
        {"2 cows", NULL},
        {"soon", NULL},
        {"2026-11-20 2026-11-21", NULL},
        {"14:00 15:00", NULL},
        {"99999999999999999999d", NULL},
        {"9999999d", NULL},
        {"1794733200000 14:00", NULL},
        {"5", NULL},
        {"2d 4", NULL},
        {"'; DROP TABLE", NULL},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got = -1;
        char iso[32];
        struct err err = {0};
        print_message("'%s'\n", cases[i].text);
        int r = time_parse(str_of(cases[i].text), "until", NOW, NULL, &got, &err);
        assert_int_equal(r, cases[i].want ? 0 : -EINVAL);
        if (cases[i].want)
            assert_string_equal(clock_iso(got, iso), cases[i].want);
        else
            assert_int_equal(strncmp(err.msg, "until '", 7), 0);
    }
}

static void a_moment_is_of_the_zone_it_is_said_in(void **unused)
{
    struct zone *berlin;
    int64_t got;
    char iso[32], text[MOMENT_TEXT];

    (void)unused;
    assert_int_equal(zone_load("CET-1CEST,M3.5.0,M10.5.0/3", &berlin, NULL), 0);
    assert_int_equal(time_parse(str_of("2026-11-20 14:00"), "x", NOW, berlin, &got, NULL), 0);
    assert_string_equal(clock_iso(got, iso), "2026-11-20T13:00:00.000Z");
    assert_string_equal(time_text(got, berlin, text), "2026-11-20 14:00");
    assert_string_equal(time_text_zoned(got, berlin, text), "2026-11-20 14:00 CET");
    assert_string_equal(time_text_zoned(got, NULL, text), "2026-11-20 13:00 UTC");
    assert_string_equal(time_text(got, NULL, text), "2026-11-20 13:00");
    assert_int_equal(time_parse(str_of("2026-07-20 14:00"), "x", NOW, berlin, &got, NULL), 0);
    assert_string_equal(clock_iso(got, iso), "2026-07-20T12:00:00.000Z");
    assert_int_equal(time_parse(str_of("2026-07-20 14:00 UTC"), "x", NOW, berlin, &got, NULL), 0);
    assert_string_equal(clock_iso(got, iso), "2026-07-20T14:00:00.000Z");
    zone_free(berlin);
}

static void a_span_is_a_length_and_nothing_else(void **unused)
{
    static const struct {
        const char *text;
        int64_t want; /* 0: refused */
    } cases[] = {{"2d 4h", 52 * HOUR},
                 {"90m", HOUR * 3 / 2},
                 {"1w", 168 * HOUR},
                 {"30 minutes", HOUR / 2},
                 {"", 0},
                 {"tomorrow", 0},
                 {"0h", 0},
                 {"-2h", 0},
                 {"14:00", 0},
                 {"2h 14:00", 0},
                 {"1 month", 0},
                 {"1794733200000", 0}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got = 0;
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(duration_parse(str_of(cases[i].text), "for", &got, NULL), cases[i].want ? 0 : -EINVAL);
        assert_int_equal(got, cases[i].want);
    }
}

/* ---- the book ---- */

static struct booking booking_of(struct book *b, const char *person, const char *devices, int64_t from_h,
                                 int64_t until_h)
{
    return (struct booking){.id = b ? book_next_id(b) : 0,
                            .person = person,
                            .by = person,
                            .devices = devices,
                            .from_ms = NOW + from_h * HOUR,
                            .until_ms = NOW + until_h * HOUR};
}

static int put(struct book *b, const struct booking *h)
{
    int r = book_begin(b, h);

    if (r == 0)
        book_settle(b, h->id, true);
    return r;
}

static void b1_no_two_have_a_device_for_the_same_moment(void **unused)
{
    static const struct {
        const char *devices;
        int64_t from, until;
        int want;
    } cases[] = {
        {"GPU-a,GPU-b", 10, 20, 0},
        {"GPU-b", 19, 21, -EEXIST},
        {"GPU-b", 20, 21, 0},
        {"GPU-b", 9, 10, 0},
        {"GPU-b", 12, 13, -EEXIST},
        {"GPU-c", 12, 13, 0},
        {"GPU-c,GPU-a", 5, 30, -EEXIST},
        {"GPU", 10, 20, 0}, /* a part of a name is another */
        {"GPU-d,GPU-e", 0, 100, 0},
        {"GPU-e", 0, 1, -EEXIST},
    };
    struct book *b = book_new();

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct booking h = booking_of(b, "kim", cases[i].devices, cases[i].from, cases[i].until);
        print_message("case %zu\n", i);
        assert_int_equal(put(b, &h), cases[i].want);
    }
    struct booking h = booking_of(b, "lee", "GPU-b", 0, 100);
    const struct booking *with[2];
    assert_int_equal(book_conflicts(b, &h, with, 2), 3);
    assert_true(with[0]->from_ms == NOW + 9 * HOUR && with[1]->from_ms == NOW + 10 * HOUR); /* by start */
    assert_true(book_free_until(b, str_of("GPU-b"), NOW + 15 * HOUR, 0, NULL) < NOW + 15 * HOUR);
    assert_true(book_free_until(b, str_of("GPU-b"), NOW + 15 * HOUR, 1, NULL) == NOW + 20 * HOUR);
    assert_true(book_free_until(b, str_of("GPU-b"), NOW + 21 * HOUR, 0, NULL) == INT64_MAX);
    assert_true(book_free_until(b, str_of("GPU-b"), NOW - 5 * HOUR, 0, NULL) == NOW + 9 * HOUR);
    assert_true(book_free_until(b, str_of("GPU-b"), NOW - 5 * HOUR, 0, "kim") == INT64_MAX);
    book_free(b);
}

static void b2_what_is_being_written_counts_and_is_not_shown(void **unused)
{
    struct book *b = book_new();
    struct booking h = booking_of(b, "kim", "GPU-a", 0, 10), other = booking_of(b, "lee", "GPU-a", 5, 6);
    const struct booking *now, *next;
    size_t n;

    (void)unused;
    assert_int_equal(book_begin(b, &h), 0);
    assert_int_equal(book_begin(b, &other), -EEXIST);
    assert_null(book_find(b, h.id));
    book_all(b, &n);
    assert_int_equal(n, 0);
    book_settle(b, h.id, false); /* the disk was full */
    assert_int_equal(book_begin(b, &other), 0);
    book_settle(b, other.id, true);
    assert_int_equal(book_find(b, other.id)->until_ms, NOW + 6 * HOUR);
    /* a change: what was counts until it is settled, and comes back if it fails */
    struct booking moved = other;
    moved.from_ms += 20 * HOUR;
    moved.until_ms += 20 * HOUR;
    assert_int_equal(book_begin(b, &moved), 0);
    assert_int_equal(book_begin(b, &moved), -EBUSY);
    assert_int_equal(book_begin(b, &h), -EEXIST);
    book_of_device(b, str_of("GPU-a"), NOW + 5 * HOUR, &now, &next);
    assert_true(now && now->id == other.id && !next);
    book_settle(b, moved.id, false);
    assert_int_equal(book_find(b, other.id)->from_ms, NOW + 5 * HOUR);
    assert_int_equal(put(b, &moved), 0);
    assert_int_equal(put(b, &h), 0);
    book_of_device(b, str_of("GPU-a"), NOW, &now, &next);
    assert_true(now && now->id == h.id && next && next->id == moved.id);
    book_free(b);
}

struct moves {
    size_t n;
    int64_t id[8];
    enum booking_state to[8];
};

static void on_move(void *arg, const struct booking *h, enum booking_state to)
{
    struct moves *m = arg;

    m->id[m->n] = h->id;
    m->to[m->n++] = to;
}

static void count_change(void *arg)
{
    ++*(int *)arg;
}

static void what_begins_and_ends_is_told_once(void **unused)
{
    struct book *b = book_new();
    struct booking h = booking_of(b, "kim", "GPU-a", 1, 2), early = booking_of(b, "lee", "GPU-b", 1, 9);
    struct moves m = {0};
    int changes = 0;
    size_t n;

    (void)unused;
    book_watch(b, count_change, &changes);
    assert_int_equal(put(b, &h), 0);
    assert_int_equal(put(b, &early), 0);
    assert_int_equal(changes, 2); /* once each is durable */
    book_tick(b, NOW, on_move, &m);
    assert_int_equal(m.n, 0);
    book_tick(b, NOW + HOUR, on_move, &m);
    book_tick(b, NOW + HOUR + 1000, on_move, &m);
    assert_int_equal(m.n, 2);
    assert_true(m.to[0] == BOOKING_ACTIVE && m.to[1] == BOOKING_ACTIVE);
    early.released_ms = NOW + HOUR + 5000;
    assert_int_equal(put(b, &early), 0);
    assert_true(book_free_until(b, str_of("GPU-b"), NOW + 2 * HOUR, 0, NULL) >= NOW + 3 * HOUR);
    book_tick(b, NOW + HOUR + 6000, on_move, &m);
    assert_int_equal(m.n, 3);
    assert_true(m.id[2] == early.id && m.to[2] == BOOKING_RELEASED);
    book_tick(b, NOW + 2 * HOUR, on_move, &m);
    assert_true(m.n == 4 && m.id[3] == h.id && m.to[3] == BOOKING_OVER);
    assert_int_equal(changes, 7); /* three were written, and four moves */
    book_all(b, &n);
    assert_int_equal(n, 0);
    assert_int_equal(book_next_id(b), 3); /* numbers are not given out twice */
    book_free(b);
}

/* ---- who may ---- */

static void who_books_for_whom(void **unused)
{
    static const struct booker nobody = {.person = "", .id = ""},
                               kim = {.role = ROLE_MEMBER, .token = true, .person = "kim", .id = "t1"},
                               proxied = {.role = ROLE_MEMBER, .person = "kim", .id = ""},
                               admin = {.role = ROLE_ADMIN, .token = true, .person = "", .id = "t2"},
                               agent = {.role = ROLE_AGENT, .token = true, .person = "", .id = "t3"};
    static const struct {
        enum book_auth auth;
        const struct booker *who;
        const char *typed;
        int want;
        const char *person;
        int change; /* of a booking of kim's */
    } cases[] = {
        {BOOK_TOKEN, &nobody, "kim", -EACCES, NULL, -EACCES},
        {BOOK_TOKEN, &proxied, "", -EACCES, NULL, -EACCES},
        {BOOK_TOKEN, &agent, "kim", -EPERM, NULL, -EPERM},
        {BOOK_TOKEN, &kim, "", 0, "kim", 0},
        {BOOK_TOKEN, &kim, " kim ", 0, "kim", 0},
        {BOOK_TOKEN, &kim, "lee", -EPERM, NULL, 0},
        {BOOK_TOKEN, &admin, "", -EINVAL, NULL, 0},
        {BOOK_TOKEN, &admin, "lee", 0, "lee", 0},
        {BOOK_PROXY, &nobody, "kim", -EACCES, NULL, -EACCES},
        {BOOK_PROXY, &proxied, "", 0, "kim", 0},
        {BOOK_PROXY, &proxied, "lee", -EPERM, NULL, 0},
        {BOOK_PROXY, &kim, "", 0, "kim", 0},
        {BOOK_OPEN, &nobody, "", -EINVAL, NULL, -EPERM},
        {BOOK_OPEN, &nobody, "kim", 0, "kim", 0},
        {BOOK_OPEN, &nobody, "lee", 0, "lee", -EPERM},
        {BOOK_OPEN, &kim, "lee", 0, "lee", 0},
        {BOOK_OPEN, &kim, "", 0, "kim", 0},
        {BOOK_OPEN, &nobody, "a\nb", -EINVAL, NULL, -EPERM},
    };
    struct booking h = booking_of(NULL, "kim", "GPU-a", 0, 1);

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char person[BOOKING_PERSON_MAX] = "";
        struct err err = {0};
        print_message("case %zu\n", i);
        assert_int_equal(book_for(cases[i].auth, cases[i].who, str_of(cases[i].typed), person, &err), cases[i].want);
        assert_int_equal(cases[i].want != 0, err.msg[0] != 0);
        if (cases[i].person)
            assert_string_equal(person, cases[i].person);
        assert_int_equal(book_check_change(cases[i].auth, cases[i].who, str_of(cases[i].typed), &h, &err),
                         cases[i].change);
    }
}

/* ---- a calendar ---- */

static void a_calendar_line_is_escaped_folded_and_ends_with_crlf(void **unused)
{
    struct booking h =
        {.id = 7,
         .changes = 2,
         .created_ms = NOW - HOUR,
         .changed_ms = NOW,
         .from_ms = NOW,
         .until_ms = NOW + 52 * HOUR,
         .person = "Robert'); DROP TABLE",
         .by = "x",
         .devices = "GPU-a",
         .places = "dgx2:0,1",
         .comment = "a\\b;c,d\nBEGIN:VEVENT \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
                    "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 end"};
    AUTO_BUF b = BUF_INIT(65536);
    AUTO_BUF whole = BUF_INIT(65536);
    struct str rest, l;

    (void)unused;
    render_ics_start(&b, "lab, one");
    render_ics_booking(&b, &h);
    render_ics_end(&b);
    rest = buf_str(&b);
    while (str_cut(&rest, '\n', &l)) { /* unfold as a reader does */
        if (!l.len && !rest.len)
            break;
        assert_true(l.len <= 76 && l.p[l.len - 1] == '\r' && str_utf8_ok(str_n(l.p, l.len - 1)));
        if (l.p[0] == ' ')
            buf_cut(&whole, whole.len - 1);
        buf_addf(&whole, "%.*s\n", (int)(l.len - 1 - (l.p[0] == ' ')), l.p + (l.p[0] == ' '));
    }
    static const char *const want[] =
        {"BEGIN:VCALENDAR\nVERSION:2.0\n",
         "X-WR-CALNAME:lab\\, one\n",
         "\nUID:booking-7-1794729600000@muster\nSEQUENCE:2\nDTSTAMP:20261115T090000Z\n",
         "\nDTSTART:20261115T090000Z\nDTEND:20261117T130000Z\nSUMMARY:Robert')\\; DROP TABLE: dgx2:0\\,1\n",
         "\nDESCRIPTION:a\\\\b\\;c\\,d\\nBEGIN:VEVENT \xc3\xa4",
         "\xc3\xa4 end\nSTATUS:CONFIRMED\n",
         "END:VEVENT\nEND:VCALENDAR\n"};
    print_message("%s", whole.p);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_non_null(strstr(whole.p, want[i]));
    buf_reset(&b);
    h.released_ms = NOW - 1; /* cancelled before it began */
    render_ics_booking(&b, &h);
    assert_non_null(strstr(b.p, "STATUS:CANCELLED\r\n"));
    buf_reset(&b);
    h.released_ms = NOW + HOUR;
    render_ics_booking(&b, &h);
    assert_non_null(strstr(b.p, "DTEND:20261115T100000Z\r\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_moment_is_read_as_people_type_it),
        cmocka_unit_test(a_moment_is_of_the_zone_it_is_said_in),
        cmocka_unit_test(a_span_is_a_length_and_nothing_else),
        cmocka_unit_test(b1_no_two_have_a_device_for_the_same_moment),
        cmocka_unit_test(b2_what_is_being_written_counts_and_is_not_shown),
        cmocka_unit_test(what_begins_and_ends_is_told_once),
        cmocka_unit_test(who_books_for_whom),
        cmocka_unit_test(a_calendar_line_is_escaped_folded_and_ends_with_crlf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
