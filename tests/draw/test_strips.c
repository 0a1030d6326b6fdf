/* Series of a history as charts: one per metric, a line per series, gaps where nothing is known. */
#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "draw/strips.h"

#define NOW_MS 1794700800000ll

static const struct strips_head lab = {.title = "lab"};
static const int64_t values[] = {5000, SERIES_NONE, 9900, 0};
static const struct series_frame frame = {NOW_MS, NOW_MS + 4 * 60000, 60000, "raw", .users = false};

static struct series of(const char *node, int index, const char *metric, const char *unit, const char *agg)
{
    return (struct series){.node = node,
                           .device = "GPU-1",
                           .index = index,
                           .mig = -1,
                           .metric = metric,
                           .unit = unit,
                           .agg = agg,
                           .per = 10000,
                           .n = ARRAY_LEN(values),
                           .v = values};
}

static void add(struct strips *s, struct series one)
{
    strips_add(s, &one);
}

static void each_metric_is_a_chart_and_each_series_a_line(void **unused)
{
    struct strips *s = strips_new();
    AUTO_BUF svg = BUF_INIT(PLOT_BYTES_MAX);
    AUTO_BUF png = BUF_INIT(PLOT_BYTES_MAX);
    struct err err = {0};

    (void)unused;
    strips_start(s, &frame);
    add(s, of("old", 0, "gone", "ratio", "avg"));
    strips_start(s, &frame); /* a coarser tier is tried: what there was is dropped */
    for (int i = 0; i < 10; i++)
        add(s, of("dgx1", i, "util", "ratio", "avg"));
    add(s, of("dgx1", 0, "power", "watts", "max"));
    assert_int_equal(strips_draw(s, &lab, NULL, PLOT_PNG, &png, &err), 0);
    assert_true(png.len > 1000 && memcmp(png.p, "\x89PNG", 4) == 0);
    assert_int_equal(strips_draw(s, &lab, NULL, PLOT_SVG, &svg, &err), 0);
    assert_true(str_find(buf_str(&svg), "<svg") >= 0);
    assert_true(str_find(buf_str(&svg), "utilisation, power (max) of dgx1") >= 0 ||
                str_find(buf_str(&svg), "of dgx1") >= 0);
    strips_free(s);
}

static void lines_below_the_title_are_broken_between_words(void **unused)
{
    struct strips *s = strips_new();
    AUTO_BUF svg = BUF_INIT(PLOT_BYTES_MAX), words = BUF_INIT(4096);
    struct err err = {0};

    (void)unused;
    strips_start(s, &frame);
    add(s, of("dgx1", 0, "util", "ratio", "avg"));
    for (int i = 0; i < 40; i++)
        buf_addf(&words, "word%d ", i);
    buf_adds(&words, "\nthe second line");
    assert_int_equal(strips_draw(s, &(struct strips_head){"a run", words.p}, NULL, PLOT_SVG, &svg, &err), 0);
    assert_true(str_find(buf_str(&svg), ">a run</text>") >= 0); /* without the names of metrics */
    assert_true(str_find(buf_str(&svg), ">the second line</text>") >= 0);
    assert_true(str_find(buf_str(&svg), "word39</text>") >= 0); /* nothing is cut */
    assert_true(str_find(buf_str(&svg), "word0 word1 ") >= 0 && str_find(buf_str(&svg), "word38 word39\nthe") < 0);
    strips_free(s);
}

static void a_chart_begins_at_zero_as_on_the_page(void **unused)
{
    static const int64_t full[] = {60ll << 30, 61ll << 30, 61ll << 30, 60ll << 30};
    struct strips *s = strips_new();
    struct series memory = of("dgx1", 0, "mem_used", "bytes", "avg");
    AUTO_BUF svg = BUF_INIT(PLOT_BYTES_MAX);
    struct err err = {0};

    (void)unused;
    memory.per = 1;
    memory.v = full;
    strips_start(s, &frame);
    strips_add(s, &memory);
    assert_int_equal(strips_draw(s, &lab, NULL, PLOT_SVG, &svg, &err), 0);
    assert_true(str_find(buf_str(&svg), ">0</text>") >= 0);
    strips_free(s);
}

static void nothing_to_draw_is_said(void **unused)
{
    struct strips *s = strips_new();
    AUTO_BUF out = BUF_INIT(PLOT_BYTES_MAX);
    struct err err = {0};

    (void)unused;
    assert_int_equal(strips_draw(s, &lab, NULL, PLOT_PNG, &out, &err), -ENOENT);
    assert_string_equal(err.msg, "there is nothing to draw");
    strips_start(s, &frame);
    for (int i = 0; i < 3 * STRIPS_MAX; i++) { /* what is too much is left out */
        char name[24];
        snprintf(name, sizeof(name), "metric%d", i);
        for (int k = 0; k < 2 * PLOT_SERIES_MAX; k++)
            add(s, of("dgx1", k, name, "ratio", "avg"));
    }
    assert_int_equal(strips_draw(s, &lab, NULL, PLOT_SVG, &out, &err), 0);
    strips_free(s);
    strips_free(NULL);
}

TESTS(cmocka_unit_test(each_metric_is_a_chart_and_each_series_a_line), cmocka_unit_test(nothing_to_draw_is_said),
      cmocka_unit_test(a_chart_begins_at_zero_as_on_the_page),
      cmocka_unit_test(lines_below_the_title_are_broken_between_words))
