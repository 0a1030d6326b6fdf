/* The night strip as a picture: names, hatching, outlines, blank paper, trouble in words. */
#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "draw/night.h"

#define FROM_MS 1794700800000ll /* 2026-11-15 00:00 UTC */
#define STEP_MS 3600000ll
#define BINS    24

static int8_t work[BINS];
static struct night_stretch held[] = {{0, 6, "kim"}, {6, 12, "lee & co"}}, idle[] = {{6, 12, NULL}};
static struct night_span booked[] = {{FROM_MS + 2 * STEP_MS, FROM_MS + 9 * STEP_MS, "mia", false}};
static struct night_span hung[] = {
    {FROM_MS + 15 * STEP_MS, FROM_MS + BINS *STEP_MS, "the driver does not answer", true}};

static struct night_row whole_row(const char *name)
{
    return (struct night_row){.name = name,
                              .now = "● 99 %",
                              .work = work,
                              .n_held = 2,
                              .held = held,
                              .n_idle = 1,
                              .idle = idle,
                              .n_booked = 1,
                              .booked = booked,
                              .n_wrong = 1,
                              .wrong = hung};
}

static struct night of(const struct night_row *rows, size_t n)
{
    return (struct night){.title = "lab",
                          .from_ms = FROM_MS,
                          .to_ms = FROM_MS + BINS * STEP_MS,
                          .bins = BINS,
                          .n = n,
                          .rows = rows};
}

/* 12 hours are known. */
static int set_work(void **unused)
{
    (void)unused;
    for (int i = 0; i < BINS; i++)
        work[i] = (int8_t)(i < 6 ? 100 : i < 12 ? 0 : NIGHT_NONE);
    return 0;
}

static size_t count(struct str s, const char *what)
{
    size_t n = 0;

    for (int at; (at = str_find(s, what)) >= 0; n++)
        s = str_n(s.p + at + 1, s.len - (size_t)at - 1);
    return n;
}

static void a_row_says_who_what_is_booked_and_what_is_wrong(void **unused)
{
    struct night_row rows[] = {whole_row("dgx1:0"), whole_row("dgx1:1")};
    struct night s = of(rows, 2);
    AUTO_BUF svg = BUF_INIT(PLOT_BYTES_MAX);
    AUTO_BUF png = BUF_INIT(PLOT_BYTES_MAX);
    struct err err = {0};

    (void)unused;
    assert_int_equal(night_draw(&s, PLOT_SVG, &svg, &err), 0);
    struct str text = buf_str(&svg);
    assert_int_equal(count(text, ">kim<"), 2);
    assert_int_equal(count(text, ">lee &amp; co<"), 2);
    assert_int_equal(count(text, ">booked: mia<"), 2);
    assert_int_equal(count(text, ">\u2715 the driver does not answer since 15:00<"), 1); /* once for both */
    assert_int_equal(count(text, ">\u25cf 99 %<"), 2);
    assert_int_equal(count(text, "stroke=\"#8a5c00\""), 3); /* hatching, and in the legend */
    assert_int_equal(count(text, ">free<"), 0);
    assert_int_equal(night_draw(&s, PLOT_PNG, &png, &err), 0);
    assert_true(png.len > 1000 && memcmp(png.p, "\x89PNG", 4) == 0);
}

/* What is not known is no stroke: each row has one for all that is known and one for what worked. */
static void a_gap_is_blank(void **unused)
{
    struct night_row row = {.name = "dgx1:0", .work = work};
    struct night s = of(&row, 1);
    AUTO_BUF svg = BUF_INIT(PLOT_BYTES_MAX);
    AUTO_BUF blank = BUF_INIT(PLOT_BYTES_MAX);
    struct err err = {0};
    int8_t none[BINS];

    (void)unused;
    assert_int_equal(night_draw(&s, PLOT_SVG, &svg, &err), 0);
    assert_int_equal(count(buf_str(&svg), "stroke-width=\"13\""), 2);
    memset(none, NIGHT_NONE, sizeof(none));
    row.work = none;
    assert_int_equal(night_draw(&s, PLOT_SVG, &blank, &err), 0);
    assert_int_equal(count(buf_str(&blank), "stroke-width=\"13\""), 0);
}

static void the_legend_says_what_brightness_is(void **unused)
{
    struct night_row rows[] = {{.by_util = true}, {.by_util = true}};
    struct night s = of(rows, 2);

    (void)unused;
    assert_string_equal(night_legend(&s), "the darker, the higher the utilisation");
    rows[1].by_util = false;
    assert_string_equal(night_legend(&s),
                        "the darker, the more multiprocessors work; utilisation where that is not known");
    rows[0].by_util = false;
    assert_string_equal(night_legend(&s), "the darker, the more multiprocessors work");
    s.dark = true;
    assert_string_equal(night_legend(&s), "the brighter, the more multiprocessors work");
}

static void too_many_rows_are_left_out_and_said(void **unused)
{
    AUTO_FREE struct night_row *rows = mem_zero(NIGHT_ROWS_MAX + 7, sizeof(*rows));
    struct night s = of(rows, NIGHT_ROWS_MAX + 7), none = of(rows, 0);
    AUTO_BUF svg = BUF_INIT(PLOT_BYTES_MAX);
    struct err err = {0};

    (void)unused;
    for (size_t i = 0; i < s.n; i++)
        rows[i] = (struct night_row){.name = "dgx1:0", .work = work};
    assert_int_equal(night_draw(&s, PLOT_SVG, &svg, &err), 0);
    assert_int_equal(count(buf_str(&svg), ">dgx1:0<"), NIGHT_ROWS_MAX);
    assert_int_equal(count(buf_str(&svg), "and 7 more GPUs"), 1);
    assert_int_equal(night_draw(&none, PLOT_SVG, &svg, &err), -ENOENT);
    assert_string_equal(err.msg, "there is nothing to draw");
}

TESTS(cmocka_unit_test_setup(a_row_says_who_what_is_booked_and_what_is_wrong, set_work),
      cmocka_unit_test_setup(a_gap_is_blank, set_work), cmocka_unit_test(the_legend_says_what_brightness_is),
      cmocka_unit_test_setup(too_many_rows_are_left_out_and_said, set_work))
