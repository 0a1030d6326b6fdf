/* test_plot.c: charts and pages by what is in them: SVG's text and geometry against the values, signatures, page
 * counts; and absurd input. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "draw/paper.h"

#include "test.h"

#define DAY 86400000ll
#define AT  1794700800000ll /* 2026-11-15T00:00:00Z */

/* The number behind the n-th name="… from s on; moves s behind it. */
static double attr(struct str *s, const char *name)
{
    char want[32];
    snprintf(want, sizeof(want), " %s=\"", name);
    int at = str_find(*s, want);
    assert_true(at >= 0);
    *s = str_n(s->p + at + strlen(want), s->len - (size_t)at - strlen(want));
    return strtod(s->p, NULL);
}

static size_t count(struct str s, const char *what)
{
    size_t n = 0;
    for (int at; (at = str_find(s, what)) >= 0; n++)
        s = str_n(s.p + at + 1, s.len - (size_t)at - 1);
    return n;
}

/* What stands in the group of this class. */
static struct str group(const struct buf *svg, const char *class)
{
    char want[48];
    snprintf(want, sizeof(want), "<g class=\"%s\">", class);
    struct str s = buf_str(svg);
    int at = str_find(s, want);
    assert_true(at >= 0);
    s = str_n(s.p + at, s.len - (size_t)at);
    return str_n(s.p, (size_t)str_find(s, "</g>"));
}

static void draw(const struct plot *p, enum plot_format f, struct buf *out)
{
    struct err err = {0};
    *out = BUF_INIT(PLOT_BYTES_MAX);
    if (plot_draw(p, f, out, &err) < 0)
        fail_msg("%s", err.msg);
}

static void bars_are_as_high_as_their_values(void **unused)
{
    static const double kim[] = {3600, 7200, 0, NAN}, lee[] = {3600, 0, 10800, -5};
    static const char *const labels[] = {"a", "b", "c", "d"};
    static const struct plot_series s[] = {{.name = "kim", .y = kim}, {.name = "lee", .y = lee}};
    struct plot p = {.kind = PLOT_BARS,
                     .title = "GPU time",
                     .n = 4,
                     .labels = labels,
                     .n_series = 2,
                     .series = s,
                     .y = {.unit = "seconds", .label = "held"}};
    AUTO_BUF svg = {0};
    (void)unused;
    draw(&p, PLOT_SVG, &svg);
    struct str bars = group(&svg, "bars"), at = bars;
    assert_int_equal(count(bars, "<rect"), 4); /* nothing of what is 0, not known or below 0 */
    double y[4], h[4], x[4];
    for (int i = 0; i < 4; i++) {
        x[i] = attr(&at, "x");
        y[i] = attr(&at, "y");
        h[i] = attr(&at, "height");
    }
    assert_near(x[0], x[1], 0.011); /* kim and lee of a: one on the other */
    assert_near(y[1] + h[1], y[0], 0.021);
    assert_near(h[0], h[1], 0.021);
    assert_near(h[2], 2 * h[0], 0.031);
    assert_near(h[3], 3 * h[0], 0.041);
    assert_true(x[0] < x[2] && x[2] < x[3]);
    assert_near(y[0] + h[0], y[3] + h[3], 0.021); /* all stand on the axis */
    assert_true(str_find(bars, "<title>kim, b: 2.00 h</title>") > 0);
    static const char *const said[] = {">GPU time<", ">held, h<", ">kim<",
                                       ">lee<",      ">a<",       ">d<",
                                       ">0.0<",      ">3.0<",     "aria-label=\"GPU time\""};
    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        print_message("%s\n", said[i]);
        assert_true(str_find(buf_str(&svg), said[i]) > 0);
    }
}

static void a_line_has_its_points_and_its_gaps(void **unused)
{
    static const double y[] = {0, 10, 5, NAN, 7, NAN, 0, 10};
    static int64_t at[8];
    static const struct plot_series s[] = {{.name = "x", .y = y}};
    struct plot p = {.kind = PLOT_LINES, .n = 8, .at_ms = at, .n_series = 1, .series = s};
    AUTO_BUF svg = {0};
    double x0, y0, x1, y1, x2, y2, x3, y3, x4, y4;
    (void)unused;
    for (int i = 0; i < 8; i++)
        at[i] = AT + i * 3600000;
    draw(&p, PLOT_SVG, &svg);
    struct str line = group(&svg, "lines");
    int d = str_find(line, "d=\"M");
    assert_true(d > 0);
    char path[512];
    snprintf(path, sizeof(path), "%.*s", (int)MIN(line.len - (size_t)d, (size_t)400), line.p + d + 3);
    double ax, ay; /* a lone point between gaps moves there, and is a dot */
    assert_int_equal(sscanf(path, "M%lf %lfL%lf %lfL%lf %lfM%lf %lfM%lf %lfL%lf %lf\"", &x0, &y0, &x1, &y1, &x2, &y2,
                            &x3, &y3, &x4, &y4, &ax, &ay),
                     12);
    assert_near(x1 - x0, x2 - x1, 0.02);
    assert_near(x4 - x0, 6 * (x1 - x0), 0.05);
    assert_near(y0 - y2, (y0 - y1) / 2, 0.02);
    assert_near(ay, y1, 0.02);
    assert_int_equal(count(line, "<circle"), 1);
    struct str dot = str_n(line.p + str_find(line, "<circle"), line.len - (size_t)str_find(line, "<circle"));
    assert_near(attr(&dot, "cx"), x3, 0.02);
    assert_near(attr(&dot, "cy"), y3, 0.02);
    assert_true(str_find(group(&svg, "x"), ">00:00<") > 0 && str_find(group(&svg, "x"), ">15 Nov 2026<") > 0);
    assert_true(str_find(group(&svg, "x"), ">UTC<") > 0);
}

static void boxes_stand_where_their_quartiles_are(void **unused)
{
    static const double far[] = {70, 80, NAN};
    static const struct plot_box b[] = {{0, 20, 50, 60, 100, 0, NULL},
                                        {NAN, 1, 2, 3, 4, 0, NULL},
                                        {10, 10, 10, 10, 10, 3, far}};
    static const char *const labels[] = {"a", NULL, "c"};
    struct plot p = {.kind = PLOT_BOXES, .n = 3, .labels = labels, .boxes = b, .y = {.min = 0, .max = 100}};
    AUTO_BUF svg = {0};
    (void)unused;
    draw(&p, PLOT_SVG, &svg);
    struct str boxes = group(&svg, "boxes"),
               rect = str_n(boxes.p + str_find(boxes, "<rect"), boxes.len - (size_t)str_find(boxes, "<rect"));
    assert_int_equal(count(boxes, "<rect"), 2);
    double lo, hi; /* the whole axis, by its lowest and highest grid line */
    struct str y = group(&svg, "y");
    assert_int_equal(sscanf(y.p + str_find(y, "d=\"M"), "d=\"M%*f %lf", &lo), 1);
    y = str_n(y.p, y.len);
    int last = str_rfind(y, "d=\"M");
    assert_int_equal(sscanf(y.p + last, "d=\"M%*f %lf", &hi), 1);
    double top = attr(&rect, "y"), height = attr(&rect, "height");
    assert_near(height, (lo - hi) * 0.4, 0.05);
    assert_near(top, lo - (lo - hi) * 0.6, 0.05);
    assert_int_equal(count(group(&svg, "outliers"), "<path"), 2);
    assert_true(str_find(boxes, "a: median 50, quartiles 20 and 60, whiskers 0 and 100") > 0);
}

static void charts_above_each_other_stand_flush(void **unused)
{
    static const int64_t at[] = {1000, 2000, 61000};
    static const double small[] = {1, 2, 3}, large[] = {1e9, 2e9, 3e9};
    struct plot_series a = {.name = "GPU 0", .y = small}, b = {.y = large};
    struct plot v[2] =
        {{.kind = PLOT_LINES, .title = "both", .n = 3, .at_ms = at, .elapsed = true, .n_series = 1, .series = &a},
         {.kind = PLOT_LINES, .n = 3, .at_ms = at, .elapsed = true, .n_series = 1, .series = &b}};
    double left[2];
    (void)unused;
    for (int f = 0; f < PLOT_FORMATS; f++) {
        AUTO_BUF out = BUF_INIT(PLOT_BYTES_MAX);
        struct err err = {0};
        assert_int_equal(plot_draw_stack(v, 2, (enum plot_format)f, &out, &err), 0);
        if (f != PLOT_SVG)
            continue;
        struct str svg = buf_str(&out);
        assert_int_equal(count(svg, "class=\"lines\""), 2);
        assert_int_equal(count(svg, "class=\"legend\""), 1);
        assert_int_equal(count(svg, "translate(0 "), 2);
        assert_int_equal(count(svg, ">time since start, s<"), 2);
        assert_true(str_find(svg, ">UTC<") < 0);
        for (int i = 0; i < 2; i++) { /* where the first grid line of each begins */
            int y = str_find(svg, "class=\"y\"");
            svg = str_n(svg.p + y, svg.len - (size_t)y);
            assert_int_equal(sscanf(svg.p + str_find(svg, "d=\"M"), "d=\"M%lf", &left[i]), 1);
            svg = str_n(svg.p + 10, svg.len - 10);
        }
        assert_near(left[0], left[1], 0.005);
    }
    AUTO_BUF out = BUF_INIT(1000);
    assert_int_equal(plot_draw_stack(v, 0, PLOT_SVG, &out, NULL), -EINVAL);
}

static void a_million_points_are_few_strokes_that_keep_the_extremes(void **unused)
{
    enum { N = 1000000 };
    AUTO_FREE double *y = mem_zero(N, sizeof(*y));
    AUTO_FREE int64_t *at = mem_zero(N, sizeof(*at));
    struct plot_series s = {.name = "x", .y = y};
    struct plot p = {.kind = PLOT_LINES, .n = N, .at_ms = at, .n_series = 1, .series = &s, .y = {.min = 0, .max = 100}};
    AUTO_BUF svg = {0};
    (void)unused;
    for (int i = 0; i < N; i++) {
        y[i] = i % 3 == 2 ? NAN : 50 + i % 7;
        at[i] = AT + i * 1000ll;
    }
    y[500000] = 100; /* one spike is seen */
    draw(&p, PLOT_SVG, &svg);
    assert_true(svg.len < 400000);
    struct str y_axis = group(&svg, "y"), line = group(&svg, "lines");
    double top, spike = 1e9;
    assert_int_equal(sscanf(y_axis.p + str_rfind(y_axis, "d=\"M"), "d=\"M%*f %lf", &top), 1);
    size_t strokes = 0;
    const char *from = strstr(line.p, "<path d=\"M");
    assert_non_null(from);
    for (const char *c = from + 9; c < line.p + line.len && *c != '"'; c++)
        if (*c == 'L' || *c == 'M') {
            double v;
            assert_int_equal(sscanf(c + 1, "%*f %lf", &v), 1);
            spike = MIN(spike, v);
            strokes++;
        }
    assert_near(spike, top, 0.02);
    assert_in_range(strokes, 1000, 8000);
    AUTO_BUF png = {0};
    draw(&p, PLOT_PNG, &png);
    assert_true(png.len > 1000);
}

static void files_are_what_they_say(void **unused)
{
    static const double y[] = {1, 2, 3};
    static const char *const labels[] = {"a", "b", "c"};
    static const struct plot_series s[] = {{.name = "x", .y = y}};
    struct plot p = {.kind = PLOT_BARS,
                     .title = "T",
                     .n = 3,
                     .labels = labels,
                     .n_series = 1,
                     .series = s,
                     .width = 300,
                     .height = 150};
    AUTO_BUF png = {0}, pdf = {0}, again = {0}, jpg = {0};
    (void)unused;
    draw(&p, PLOT_PNG, &png);
    assert_memory_equal(png.p, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x58\0\0\x01\x2c", 24); /* 600 by 300 */
    draw(&p, PLOT_JPG, &jpg);
    assert_memory_equal(jpg.p, "\xff\xd8\xff\xe0\0\x10JFIF", 10);
    assert_true(memmem(jpg.p, jpg.len, "\xff\xc0\0\x11\x08\x01\x2c\x02\x58", 9) != NULL); /* 300 lines of 600 */
    assert_memory_equal(jpg.p + jpg.len - 2, "\xff\xd9", 2);
    draw(&p, PLOT_PDF, &pdf);
    assert_memory_equal(pdf.p, "%PDF-1.", 7);
    assert_true(str_find(buf_str(&pdf), "/Count 1") > 0 && str_find(buf_str(&pdf), "%%EOF") > 0);
    draw(&p, PLOT_PDF, &again); /* L1 */
    assert_int_equal(pdf.len, again.len);
    assert_memory_equal(pdf.p, again.p, pdf.len);
    struct err err = {0};
    AUTO_BUF small = BUF_INIT(100);
    for (int f = 0; f < PLOT_FORMATS; f++) {
        buf_reset(&small);
        assert_int_equal(plot_draw(&p, (enum plot_format)f, &small, &err), -EMSGSIZE);
    }
}

static void anything_can_be_drawn(void **unused)
{
    static const double nan3[] = {NAN, NAN, NAN}, odd[] = {INFINITY, -INFINITY, 1e308}, one[] = {5, 5, 5},
                        tiny[] = {1e-300, -1e-300, 0};
    static const double *const ys[] = {nan3, odd, one, tiny};
    static const int64_t same[] = {AT, AT, AT}, wild[] = {INT64_MIN, INT64_MAX, 0};
    static const int64_t *const ats[] = {NULL, same, wild};
    static const char *const labels[] = {"<script>alert(1)</script>", NULL, "\xff\xfe\x01"};
    AUTO_BUF novel = BUF_INIT(1 << 20);
    (void)unused;
    for (int i = 0; i < 20000; i++)
        buf_adds(&novel, "long & <b> \"");
    for (int kind = PLOT_LINES; kind <= PLOT_BOXES; kind++)
        for (size_t i = 0; i < ARRAY_LEN(ys); i++)
            for (size_t k = 0; k < ARRAY_LEN(ats); k++)
                for (size_t n = 0; n <= 3; n += n ? 2 : 1) {
                    struct plot_series s[] = {{.name = novel.p, .y = ys[i], .colour = 99999},
                                              {.name = "\xff", .y = ys[(i + 1) % 4], .line = true, .colour = -7}};
                    struct plot_box b[3] = {{ys[i][0], ys[i][1], ys[i][2], ys[i][0], ys[i][1], 3, ys[i]},
                                            {1, 2, 3, 4, 5, 0, NULL},
                                            {5, 4, 3, 2, 1, 0, NULL}};
                    struct plot p = {.kind = (enum plot_kind)kind,
                                     .title = novel.p,
                                     .subtitle = novel.p,
                                     .note = "\x1b[31m",
                                     .x_label = novel.p,
                                     .n = n,
                                     .at_ms = ats[k],
                                     .labels = k == 2 ? NULL : labels,
                                     .n_series = 2,
                                     .series = s,
                                     .boxes = b,
                                     .width = k ? NAN : -5,
                                     .height = i ? 1e9 : 1,
                                     .y = {.label = novel.p, .unit = novel.p, .min = NAN, .max = 3}};
                    for (int f = 0; f < PLOT_FORMATS; f++) {
                        AUTO_BUF out = {0};
                        if (f == PLOT_PNG)
                            p.height = 200; /* large ones are only slow */
                        if (f == PLOT_JPG)
                            p.width = 100 + 50 * (double)k;
                        draw(&p, (enum plot_format)f, &out);
                        if (f != PLOT_SVG)
                            continue;
                        assert_int_equal(str_find(buf_str(&out), "<script"), -1);
                        assert_int_equal(str_find(buf_str(&out), "<b>"), -1);
                        assert_int_equal(str_find(buf_str(&out), "nan"), -1);
                        assert_true(str_ends(buf_str(&out), "</svg>\n"));
                    }
                }
}

static void more_than_can_be_drawn_is_said(void **unused)
{
    static const double y[] = {1};
    static const char *const labels[] = {"a"};
    struct plot_series s[PLOT_SERIES_MAX + 6];
    struct err err = {0};
    AUTO_BUF svg = {0}, out = BUF_INIT(1 << 20);
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(s); i++)
        s[i] = (struct plot_series){.name = "s", .y = y};
    struct plot p = {.kind = PLOT_BARS, .n = 1, .labels = labels, .n_series = ARRAY_LEN(s), .series = s};
    draw(&p, PLOT_SVG, &svg);
    assert_true(str_find(buf_str(&svg), ">and 6 more<") > 0);
    assert_int_equal(count(group(&svg, "bars"), "<rect"), PLOT_SERIES_MAX);
    p.n = PLOT_POINTS_MAX;
    assert_int_equal(plot_draw(&p, PLOT_SVG, &out, &err), -EINVAL);
}

static void *draw_again(void *arg)
{
    static const double y[] = {1, 2, 3};
    static const char *const labels[] = {"kim", "Łukasz", "会社"};
    static const struct plot_series s[] = {{.name = "x", .y = y}};
    const struct plot p =
        {.kind = PLOT_BARS, .n = 3, .labels = labels, .n_series = 1, .series = s, .width = 300, .height = 150};
    struct buf *out = arg;
    struct err err = {0};
    for (int i = 0; i < 5; i++) {
        buf_reset(out);
        for (int f = 0; f < PLOT_FORMATS; f++)
            plot_draw(&p, (enum plot_format)f, out, &err);
    }
    return NULL;
}

static void threads_draw_side_by_side(void **unused)
{
    enum { THREADS = 4 };
    pthread_t t[THREADS];
    struct buf out[THREADS];
    (void)unused;
    for (int i = 0; i < THREADS; i++) {
        out[i] = BUF_INIT(PLOT_BYTES_MAX);
        assert_int_equal(pthread_create(&t[i], NULL, draw_again, &out[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        assert_true(out[i].len > 1000 && out[i].len == out[0].len && memcmp(out[i].p, out[0].p, out[0].len) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        buf_fini(&out[i]);
}

static void a_year_of_days_is_marked_by_months(void **unused)
{
    enum { N = 365 };
    static double y[N];
    static int64_t at[N];
    static const struct plot_series s[] = {{.y = y}};
    struct plot p = {.kind = PLOT_BARS, .n = N, .at_ms = at, .n_series = 1, .series = s};
    AUTO_BUF svg = {0};
    (void)unused;
    for (int i = 0; i < N; i++) {
        at[i] = 1767225600000 + i * DAY; /* 2026-01-01 */
        y[i] = i + 1;
    }
    draw(&p, PLOT_SVG, &svg);
    struct str x = group(&svg, "x"), bars = group(&svg, "bars");
    static const char *const months[] = {">Jan<", ">Feb<", ">Jul<", ">Dec<", ">2026<"};
    for (size_t i = 0; i < ARRAY_LEN(months); i++)
        assert_true(str_find(x, months[i]) > 0);
    assert_int_equal(count(bars, "<rect"), N);
    assert_true(str_find(bars, "<title>31 Dec 2026: 365</title>") > 0);
    p.n = 0;
    AUTO_BUF none = {0};
    draw(&p, PLOT_SVG, &none);
    assert_true(str_find(buf_str(&none), ">no data<") > 0);
}

/* ---- pages ---- */

static size_t pages(const struct buf *pdf)
{
    int at = str_find(buf_str(pdf), "/Count ");
    assert_true(at > 0);
    return strtoul(pdf->p + at + 7, NULL, 10);
}

/* What pdftotext reads; skips where it is not. */
static void text_of(const struct buf *pdf, struct buf *out)
{
    char path[] = "/tmp/muster-paper-XXXXXX", command[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, pdf->p, pdf->len) == (ssize_t)pdf->len);
    close(fd);
    snprintf(command, sizeof(command), "pdftotext -layout %s - 2>/dev/null", path);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    char piece[4096];
    for (size_t n; (n = fread(piece, 1, sizeof(piece), f)) > 0;)
        buf_add(out, piece, n);
    int status = pclose(f);
    unlink(path);
    if (status != 0)
        skip();
}

static void a_table_goes_on_over_pages_under_its_header(void **unused)
{
    enum { N = 200 };
    static const struct paper_col cols[] = {{"Company", false}, {"GPU hours", true}};
    static char numbers[N][16];
    static const char *cells[N * 2];
    AUTO_BUF pdf = BUF_INIT(PLOT_BYTES_MAX), text = BUF_INIT(1 << 20);
    struct paper *p;
    struct err err = {0};
    (void)unused;
    for (int i = 0; i < N; i++) {
        snprintf(numbers[i], sizeof(numbers[i]), "%d.5", i * 7);
        cells[i * 2] = i == N - 1 ? "all" : "ACME";
        cells[i * 2 + 1] = numbers[i];
    }
    assert_int_equal(paper_open(&(struct paper_conf){.title = "Usage", .foot = "made today", .at_ms = AT}, &pdf, &p,
                                &err),
                     0);
    paper_heading(p, "October", 1);
    paper_text(p, "How it is counted.");
    paper_table(p, &(struct paper_table){.n_cols = 2, .n = N, .cols = cols, .cells = cells, .n_bold = 1});
    assert_int_equal(paper_close(p, &err), 0);
    assert_int_equal(pages(&pdf), 4);
    text_of(&pdf, &text);
    assert_int_equal(count(buf_str(&text), "GPU hours"), 4); /* on each page */
    assert_int_equal(count(buf_str(&text), "ACME"), N - 1);
    assert_int_equal(count(buf_str(&text), "Usage · made today"), 4);
    assert_true(str_find(buf_str(&text), "1393.5") > 0);
}

static void a_chart_that_does_not_fit_begins_a_page(void **unused)
{
    static const double y[] = {1, 2, 3};
    static const char *const labels[] = {"a", "b", "c"};
    static const struct plot_series s[] = {{.name = "x", .y = y}};
    const struct plot plot = {.kind = PLOT_BARS, .n = 3, .labels = labels, .n_series = 1, .series = s, .height = 300};
    AUTO_BUF pdf = BUF_INIT(PLOT_BYTES_MAX);
    struct paper *p;
    struct err err = {0};
    (void)unused;
    assert_int_equal(paper_open(&(struct paper_conf){.title = "T"}, &pdf, &p, &err), 0);
    for (int i = 0; i < 5; i++)
        paper_plot(p, &plot); /* two on a page */
    paper_break(p);
    paper_break(p); /* of an empty page: nothing */
    assert_int_equal(paper_close(p, &err), 0);
    assert_int_equal(pages(&pdf), 3);
}

static void an_empty_document_has_a_page(void **unused)
{
    AUTO_BUF pdf = BUF_INIT(PLOT_BYTES_MAX);
    struct paper *p;
    struct err err = {0};
    (void)unused;
    assert_int_equal(paper_open(&(struct paper_conf){0}, &pdf, &p, &err), 0);
    assert_int_equal(paper_close(p, &err), 0);
    assert_int_equal(pages(&pdf), 1);
    assert_int_equal(paper_close(NULL, &err), 0);
}

static void any_text_can_be_set(void **unused)
{
    static const struct paper_col cols[] = {{"a-very-long-title-of-one-word-that-cannot-be-broken-anywhere", true},
                                            {NULL, false},
                                            {"\xff\x01", true}};
    static const char *cells[9] = {"x", NULL, "\xff"};
    AUTO_BUF novel = BUF_INIT(1 << 20), pdf = BUF_INIT(PLOT_BYTES_MAX), small = BUF_INIT(1000);
    struct paper *p;
    struct err err = {0};
    (void)unused;
    for (int i = 0; i < 9000; i++)
        buf_adds(&novel, i % 100 ? "x" : "\xff\n");
    cells[4] = cells[6] = novel.p;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(paper_open(&(struct paper_conf){.title = novel.p, .landscape = i}, i ? &small : &pdf, &p,
                                    &err),
                         0);
        paper_heading(p, novel.p, 77);
        paper_text(p, novel.p);
        paper_text(p, "");
        paper_table(p, &(struct paper_table){.n_cols = 3, .n = 3, .cols = cols, .cells = cells, .n_bold = 9});
        paper_table(p, &(struct paper_table){0});
        assert_int_equal(paper_close(p, &err), i ? -EMSGSIZE : 0);
    }
}

static void a_document_has_a_greatest_length(void **unused)
{
    AUTO_BUF pdf = BUF_INIT(PLOT_BYTES_MAX);
    struct paper *p;
    struct err err = {0};
    (void)unused;
    assert_int_equal(paper_open(&(struct paper_conf){.title = "T"}, &pdf, &p, &err), 0);
    for (int i = 0; i < PAPER_PAGES_MAX + 10; i++) {
        paper_text(p, "x");
        paper_break(p);
    }
    assert_int_equal(paper_close(p, &err), -EMSGSIZE);
    assert_true(strstr(err.msg, "2000 pages") != NULL);
}

static void japanese_is_set_where_a_font_has_it(void **unused)
{
    static const struct paper_col cols[] = {{"企業名", false}, {"合計GPU使用時間(h)", true}};
    static const char *const cells[] = {"株式会社", "12.5"};
    AUTO_BUF pdf = BUF_INIT(PLOT_BYTES_MAX), text = BUF_INIT(1 << 20);
    struct paper *p;
    struct err err = {0};
    (void)unused;
    assert_int_equal(plot_can_write("Total GPU hours – é", &err), 0);
    int r = plot_can_write("企業名", &err);
    if (r < 0) {
        assert_int_equal(r, -ENOENT);
        assert_non_null(strstr(err.msg, "U+4F01"));
        skip();
    }
    assert_int_equal(paper_open(&(struct paper_conf){.title = "T"}, &pdf, &p, &err), 0);
    paper_table(p, &(struct paper_table){.n_cols = 2, .n = 1, .cols = cols, .cells = cells});
    assert_int_equal(paper_close(p, &err), 0);
    text_of(&pdf, &text);
    assert_true(str_find(buf_str(&text), "企業名") >= 0 && str_find(buf_str(&text), "株式会社") >= 0);
}

static void rows_become_a_table(void **unused)
{
    static const struct column_spec cols[] =
        {{.name = "who", .title = "WHO", .type = CELL_TEXT},
         {.name = "h", .title = "HOURS", .type = CELL_FIXED, .per = 10, .right = true}};
    struct rows r;
    AUTO_BUF pdf = BUF_INIT(PLOT_BYTES_MAX), text = BUF_INIT(1 << 20);
    struct paper *p;
    struct err err = {0};
    (void)unused;
    rows_init(&r, cols, 2);
    struct cell *c = rows_add(&r);
    cell_text(&c[0], str_of("kim"));
    cell_int(&c[1], 125);
    rows_add(&r);
    assert_int_equal(paper_open(&(struct paper_conf){.title = "T"}, &pdf, &p, &err), 0);
    paper_rows(p, &r, 1);
    assert_int_equal(paper_close(p, &err), 0);
    rows_fini(&r);
    text_of(&pdf, &text);
    assert_true(str_find(buf_str(&text), "WHO") >= 0 && str_find(buf_str(&text), "kim") >= 0 &&
                str_find(buf_str(&text), "12.5") >= 0);
}

static void colours_are_the_pages(void **unused)
{
    (void)unused;
    assert_int_equal(plot_colour(1), 0x0550ae);
    assert_int_equal(plot_colour(8), 0x59636e);
    assert_int_equal(plot_colour(9), 0x82a7d6);
    assert_int_equal(plot_colour(17), 0x0550ae);
    assert_int_equal(plot_colour(-1), 0xafb8c1);
}

TESTS(cmocka_unit_test(bars_are_as_high_as_their_values), cmocka_unit_test(a_line_has_its_points_and_its_gaps),
      cmocka_unit_test(boxes_stand_where_their_quartiles_are), cmocka_unit_test(charts_above_each_other_stand_flush),
      cmocka_unit_test(a_million_points_are_few_strokes_that_keep_the_extremes),
      cmocka_unit_test(files_are_what_they_say), cmocka_unit_test(anything_can_be_drawn),
      cmocka_unit_test(threads_draw_side_by_side), cmocka_unit_test(a_year_of_days_is_marked_by_months),
      cmocka_unit_test(more_than_can_be_drawn_is_said), cmocka_unit_test(a_table_goes_on_over_pages_under_its_header),
      cmocka_unit_test(a_chart_that_does_not_fit_begins_a_page), cmocka_unit_test(an_empty_document_has_a_page),
      cmocka_unit_test(any_text_can_be_set), cmocka_unit_test(a_document_has_a_greatest_length),
      cmocka_unit_test(japanese_is_set_where_a_font_has_it), cmocka_unit_test(rows_become_a_table),
      cmocka_unit_test(colours_are_the_pages))
