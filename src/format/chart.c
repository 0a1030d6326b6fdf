/* chart.c: numbers over time as dots: braille with axes, or one line of blocks. */
#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/plain.h"
#include "format/render.h"
#include "format/words.h"
#include "model/metric.h"

#define LABEL    10 /* columns left of the axis */
#define LEAST    20
#define DOT_ROWS 4

void render_amount(struct buf *out, const char *unit, double v)
{
    static const char *const binary[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    static const char *const metric[] = {"Hz", "kHz", "MHz", "GHz"};
    size_t i = 0;

    if (strcmp(unit, "ratio") == 0) {
        buf_addf(out, "%.3g %%", v * 100);
    } else if (strncmp(unit, "bytes", 5) == 0) {
        for (; fabs(v) >= 1024 && i + 1 < ARRAY_LEN(binary); i++)
            v /= 1024;
        buf_addf(out,
                 fabs(v) < 10 && i    ? "%.2f %s%s"
                 : fabs(v) < 100 && i ? "%.1f %s%s"
                                      : "%.0f %s%s",
                 v, binary[i], unit[5] ? "/s" : "");
    } else if (strcmp(unit, "hertz") == 0) {
        for (; fabs(v) >= 1000 && i + 1 < ARRAY_LEN(metric); i++)
            v /= 1000;
        buf_addf(out, "%.4g %s", v, metric[i]);
    } else if (strcmp(unit, "joules") == 0) {
        energy_human(out, v);
    } else {
        const char *mark = strcmp(unit, "watts") == 0        ? " W"
                           : strcmp(unit, "celsius") == 0    ? " °C"
                           : strcmp(unit, "seconds") == 0    ? " s"
                           : strcmp(unit, "per_second") == 0 ? " /s"
                           : strcmp(unit, "%") == 0          ? " %"
                                                             : "";
        buf_addf(out, fabs(v) >= 1e6 ? "%.4g%s" : fabs(v) >= 100 ? "%.0f%s" : "%.3g%s", v, mark);
    }
}

struct range {
    double lo, hi, mean;
    size_t known;
};

static struct range range_of(const struct chart *c)
{
    struct range r = {.lo = INFINITY, .hi = -INFINITY};
    double sum = 0;

    for (size_t i = 0; i < c->n; i++)
        if (!isnan(c->v[i])) {
            r.lo = fmin(r.lo, c->v[i]);
            r.hi = fmax(r.hi, c->v[i]);
            sum += c->v[i];
            r.known++;
        }
    r.mean = r.known ? sum / (double)r.known : 0;
    return r;
}

/* What the picture spans: from zero, but for what is always far from it; a ratio up to one. */
static struct range axis_of(const struct chart *c, struct range r)
{
    if (!r.known)
        return (struct range){.lo = 0, .hi = 1};
    bool far = strcmp(c->unit, "celsius") == 0 || strcmp(c->unit, "hertz") == 0; /* zero says nothing there */
    if (!far || r.lo < r.hi / 2)
        r.lo = fmin(r.lo, 0);
    if (strcmp(c->unit, "ratio") == 0)
        r.hi = fmax(r.hi, 1);
    if (strcmp(c->unit, "%") == 0)
        r.hi = fmax(r.hi, 100);
    if (r.hi <= r.lo)
        r.hi = r.lo + fmax(fabs(r.lo) * 0.1, 1e-9);
    return r;
}

size_t chart_points(int width)
{
    return 2 * (size_t)MAX(width - LABEL - 2, LEAST);
}

/* The value to show at dot column x of n_cols; NAN where there is none. */
static double value_at(const struct chart *c, size_t x, size_t n_cols)
{
    return c->n ? c->v[x * c->n / n_cols] : NAN;
}

static void label(struct buf *out, const struct chart *c, double v)
{
    AUTO_BUF b = BUF_INIT(64);

    render_amount(&b, c->unit, v);
    fit(out, buf_str(&b), LABEL, FIT_RIGHT, false);
}

/* "11/15 10:46" or "10:46:12" of moments, "12.5 s" of what counts from a beginning: at either end. */
static void time_axis(struct buf *out, const struct chart *c, size_t columns)
{
    int64_t ends_ms[2] = {c->from_ms, c->from_ms + (int64_t)c->n * c->step_ms};
    bool days = ends_ms[1] - ends_ms[0] > 86400000ll;
    char text[2][32];

    for (int i = 0; i < 2; i++)
        if (c->elapsed)
            snprintf(text[i], sizeof(text[i]), "%.7g s", (double)ends_ms[i] / 1000);
        else
            snprintf(text[i], sizeof(text[i]), "%.*s", days ? 11 : 8,
                     local_time(ends_ms[i], (char[32]){0}) + (days ? 5 : 11));
    size_t wide = strlen(text[0]) + strlen(text[1]);
    buf_fill(out, ' ', LABEL + 2);
    buf_adds(out, text[0]);
    if (columns > wide) {
        buf_fill(out, ' ', columns - wide);
        buf_adds(out, text[1]);
    }
    buf_addc(out, '\n');
}

void render_chart(struct buf *out, const struct chart *c, int width, int height)
{
    /* bits of a braille cell, by dot row and column */
    static const uint8_t dots[DOT_ROWS][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    size_t n_cols = chart_points(width), n_rows = (size_t)MAX(height, 2) * DOT_ROWS;
    AUTO_FREE uint8_t *cells = mem_zero(n_cols / 2 * (n_rows / DOT_ROWS), 1);
    struct range known = range_of(c), r = axis_of(c, known);
    size_t before = SIZE_MAX;

    for (size_t x = 0; x < n_cols; x++) {
        double v = value_at(c, x, n_cols);
        if (isnan(v)) {
            before = SIZE_MAX;
            continue;
        }
        size_t y = (size_t)lround((r.hi - v) / (r.hi - r.lo) * (double)(n_rows - 1));
        size_t from = before == SIZE_MAX ? y : MIN(before, y), to = before == SIZE_MAX ? y : MAX(before, y);
        for (size_t k = from; k <= to; k++) /* joined up to the one before */
            cells[k / DOT_ROWS * (n_cols / 2) + x / 2] |= dots[k % DOT_ROWS][x % 2];
        before = y;
    }
    plain_line(out, str_of(c->title));
    buf_addc(out, '\n');
    for (size_t row = 0; row < n_rows / DOT_ROWS && out->err == 0; row++) {
        bool last = row + 1 == n_rows / DOT_ROWS;
        if (row == 0 || last)
            label(out, c, row == 0 ? r.hi : r.lo);
        else
            buf_fill(out, ' ', LABEL);
        buf_adds(out, row == 0 || last ? " ┤" : " │");
        for (size_t x = 0; x < n_cols / 2; x++) {
            uint8_t bits = cells[row * (n_cols / 2) + x];
            char utf8[3] = {(char)0xe2, (char)(0xa0 | bits >> 6), (char)(0x80 | (bits & 63))};
            if (bits)
                buf_add(out, utf8, 3);
            else
                buf_addc(out, ' ');
        }
        while (out->len && out->p[out->len - 1] == ' ')
            buf_cut(out, out->len - 1);
        buf_addc(out, '\n');
    }
    time_axis(out, c, n_cols / 2);
    buf_fill(out, ' ', LABEL + 2);
    if (known.known) {
        buf_adds(out, "least ");
        render_amount(out, c->unit, known.lo);
        buf_adds(out, ", mean ");
        render_amount(out, c->unit, known.mean);
        buf_adds(out, ", most ");
        render_amount(out, c->unit, known.hi);
    } else {
        buf_adds(out, "no data");
    }
    buf_addc(out, '\n');
}

void render_spark(struct buf *out, const struct chart *c, int width)
{
    struct range r = axis_of(c, range_of(c));
    size_t n = MIN(c->n, (size_t)MAX(width, 1));

    for (size_t x = 0; x < n; x++) {
        double v = value_at(c, x, n);
        if (isnan(v)) {
            buf_addc(out, ' ');
            continue;
        }
        char block[3] = {(char)0xe2, (char)0x96, (char)(0x81 + lround((v - r.lo) / (r.hi - r.lo) * 7))};
        buf_add(out, block, 3);
    }
}
