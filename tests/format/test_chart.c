/* Pictures of numbers over time. */
#include "test.h"

#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "format/render.h"

static void amounts_are_written_for_people(void **unused)
{
    static const struct {
        const char *unit;
        double v;
        const char *want;
    } cases[] = {{"ratio", 0.985, "98.5 %"},
                 {"ratio", 1, "100 %"},
                 {"bytes", 512, "512 B"},
                 {"bytes", 85899345920.0, "80.0 GiB"},
                 {"bytes", 1610612736, "1.50 GiB"},
                 {"bytes_per_second", 2048, "2.00 KiB/s"},
                 {"watts", 692.4, "692 W"},
                 {"celsius", 61.5, "61.5 °C"},
                 {"hertz", 1980000000, "1.98 GHz"},
                 {"per_second", 0.5, "0.5 /s"},
                 {"", 3, "3"},
                 {"seconds", 12345678, "1.235e+07 s"}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(64);
        render_amount(&b, cases[i].unit, cases[i].v);
        assert_string_equal(b.p, cases[i].want);
    }
}

static void a_line_of_blocks_has_blanks_for_gaps(void **unused)
{
    static const double v[] = {0, 0.5, NAN, 1, 0.25};
    struct chart c = {.title = "t", .unit = "ratio", .step_ms = 1000, .n = 5, .v = v};
    AUTO_BUF b = BUF_INIT(256);

    (void)unused;
    render_spark(&b, &c, 80);
    assert_string_equal(b.p, "▁▅ █▃");
    buf_reset(&b);
    c.n = 0;
    render_spark(&b, &c, 80);
    assert_int_equal(b.len, 0);
}

static void a_picture_has_axes_dots_and_a_summary(void **unused)
{
    double v[60];
    struct chart c =
        {.title = "dgx1:0 util", .unit = "ratio", .from_ms = 1794736800000, .step_ms = 60000, .n = 60, .v = v};
    AUTO_BUF b = BUF_INIT(65536);

    (void)unused;
    setenv("TZ", "UTC", 1);
    tzset();
    for (int i = 0; i < 60; i++)
        v[i] = i < 20 ? 1 : i < 40 ? NAN : 0;
    render_chart(&b, &c, 42, 2);
    assert_string_equal(b.p, "dgx1:0 util\n"
                             "     100 % ┤⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉\n"
                             "       0 % ┤                    ⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀\n"
                             "            10:00:00              11:00:00\n"
                             "            least 0 %, mean 50 %, most 100 %\n");
    assert_int_equal(chart_points(42), 60);
    for (int i = 0; i < 60; i++)
        v[i] = NAN;
    buf_reset(&b);
    render_chart(&b, &c, 10, 2); /* narrower than can be */
    assert_true(str_find(buf_str(&b), "no data") > 0);
}

TESTS(cmocka_unit_test(amounts_are_written_for_people), cmocka_unit_test(a_line_of_blocks_has_blanks_for_gaps),
      cmocka_unit_test(a_picture_has_axes_dots_and_a_summary))
