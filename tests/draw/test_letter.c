/* test_letter.c: a report as plain text and as HTML for mail. */
#include "test.h"

#include "base/buf.h"
#include "base/mem.h"
#include "draw/letter.h"

static const struct column_spec columns[] = {
    {"who", "WHO", CELL_TEXT, .weight = 100},
    {"held", "HELD", CELL_INT, .right = true, .weight = 90},
};

static void fill(struct rows *r, const char *const *names, const int64_t *held, size_t n)
{
    rows_init(r, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < n; i++) {
        struct cell *c = rows_add(r);
        cell_some_text(&c[0], names[i]);
        cell_int(&c[1], held[i]);
        cell_screen(&c[1], "%d h", (int)held[i]);
    }
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void parts_stand_below_each_other(void **unused)
{
    const char *names[] = {"<b>eve</b>", "kim", "total"};
    const int64_t held[] = {10, 5, 15};
    struct rows some, none;
    AUTO_BUF text = BUF_INIT(65536);
    AUTO_BUF html = BUF_INIT(65536);

    (void)unused;
    fill(&some, names, held, 3);
    fill(&none, NULL, NULL, 0);
    struct letter l = {.title = "lab: usage & more",
                       .subtitle = "one day",
                       .picture = "cid:usage.png",
                       .alt = "a \"chart\"",
                       .n = 3,
                       .v = {{.title = "Used", .rows = &some, .bar = "held", .total = true, .more = "and 2 more"},
                             {.title = "Wrong", .rows = &none, .none = "Nothing."},
                             {.title = "Left out", .rows = &none}},
                       .notes = STR("One note.\nAnother.\n")};
    letter_text(&text, &l, 78);
    assert_string_equal(text.p, "one day\n\n"
                                "Used\n"
                                "WHO         HELD\n"
                                "<b>eve</b>  10 h\n"
                                "kim          5 h\n"
                                "total       15 h\n"
                                "and 2 more\n\n"
                                "Wrong\n"
                                "Nothing.\n\n"
                                "One note.\n"
                                "Another.\n");
    letter_mail(&html, &l);
    assert_int_equal(html.err, 0);
    assert_null(strstr(html.p, "<b>"));
    assert_non_null(strstr(html.p, "&lt;b&gt;eve&lt;/b&gt;"));
    assert_non_null(strstr(html.p, "usage &amp; more"));
    assert_non_null(strstr(html.p, "<img src=\"cid:usage.png\" alt=\"a &quot;chart&quot;\""));
    assert_null(strstr(html.p, "Left out"));
    assert_non_null(strstr(html.p, "Nothing."));
    assert_int_equal(count(html.p, "bgcolor=\"#2f6fde\""), 2);                         /* a bar each, none of the sum */
    assert_non_null(strstr(html.p, "width=\"25\" height=\"10\" bgcolor=\"#2f6fde\"")); /* 5 of 10, of 50 pixels */
    assert_true(strstr(html.p, "and 2 more") < strstr(html.p, "<img"));
    assert_true(strstr(html.p, "<img") < strstr(html.p, "Wrong"));
    rows_fini(&some);
    rows_fini(&none);
}

static void a_screen_keeps_its_lines(void **unused)
{
    struct letter l = {.title = "t", .subtitle = "s", .screen = STR("+---+\n| <x> |\n")};
    AUTO_BUF text = BUF_INIT(65536);
    AUTO_BUF html = BUF_INIT(65536);

    (void)unused;
    letter_text(&text, &l, 78);
    assert_string_equal(text.p, "s\n\n+---+\n| <x> |\n");
    letter_mail(&html, &l);
    assert_non_null(strstr(html.p, ">+---+\n| &lt;x&gt; |\n</pre>"));
    assert_null(strstr(html.p, "<img"));
}

TESTS(cmocka_unit_test(parts_stand_below_each_other), cmocka_unit_test(a_screen_keeps_its_lines))
