/* cmd_picture.c: draws samples as charts: into a file, or as dots on a terminal. */
#include "history/cmd_picture.h"

#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "dask/job.h"
#include "format/render.h"
#include "model/metric.h"

#define CHARTS   4  /* on a terminal more series than this are a line each */
#define NAME_W   11 /* columns before a line of a terminal */
#define SHORT_MS (6 * 3600000ll)

/* ---- boxes ---- */

struct boxes {
    size_t n;
    struct box *v;
    bool *known;
    double *values; /* of all of them, group by group */
};

static void boxes_init(struct boxes *b, const struct picture *p, const struct panel *of)
{
    size_t per = p->freq * of->n_series, at = 0;
    b->n = (p->n + p->freq - 1) / p->freq;
    b->v = mem_zero(b->n + 1, sizeof(*b->v));
    b->known = mem_zero(b->n + 1, sizeof(*b->known));
    b->values = mem_zero(p->n * of->n_series + 1, sizeof(*b->values));
    for (size_t k = 0; k < b->n; k++, at += per) {
        double *to = b->values + k * per;
        size_t n = 0;
        for (size_t i = k * p->freq; i < MIN((k + 1) * p->freq, p->n); i++)
            for (size_t s = 0; s < of->n_series; s++)
                to[n++] = of->v[s][i];
        b->known[k] = box_of(to, &n, &b->v[k]);
    }
}

static void boxes_fini(struct boxes *b)
{
    FREE_ALL(b->v, b->known, b->values);
}

/* Start of a group: "12.35", "10:46:12" for a short time, or "11-15 10:46". */
static const char *begins(const struct picture *p, size_t k, char out[24])
{
    struct civil c;
    if (p->seconds) {
        snprintf(out, 24, "%.2f", p->seconds[k * p->freq]);
        return out;
    }
    zone_civil(p->zone, p->at_ms[k * p->freq], &c);
    if (p->at_ms[p->n - 1] - p->at_ms[0] < SHORT_MS)
        snprintf(out, 24, "%02u:%02u:%02u", (unsigned)c.hour % 100, (unsigned)c.minute % 100, (unsigned)c.second % 100);
    else
        snprintf(out, 24, "%02u-%02u %02u:%02u", (unsigned)c.month % 100, (unsigned)c.day % 100, (unsigned)c.hour % 100,
                 (unsigned)c.minute % 100);
    return out;
}

/* ---- files ---- */

/* What a chart of boxes borrows while it is drawn. */
struct drawn {
    struct boxes boxes;
    struct plot_box *v;
    double *outliers;
    char (*labels)[24];
    const char **names;
    struct plot_series *series;
    char note[120];
};

static void drawn_fini(struct drawn *d)
{
    boxes_fini(&d->boxes);
    FREE_ALL(d->v, d->outliers, d->labels, d->names, d->series);
}

static void fill_boxes(const struct picture *p, const struct panel *of, struct drawn *d, struct plot *to)
{
    boxes_init(&d->boxes, p, of);
    size_t n = d->boxes.n, at = 0;
    d->v = mem_zero(n + 1, sizeof(*d->v));
    d->labels = mem_zero(n + 1, sizeof(*d->labels));
    d->names = mem_zero(n + 1, sizeof(*d->names));
    d->outliers = mem_zero(p->n * of->n_series + 1, sizeof(*d->outliers));
    for (size_t k = 0; k < n; k++) {
        const struct box *b = &d->boxes.v[k];
        d->names[k] = begins(p, k, d->labels[k]);
        d->v[k].min = NAN;
        if (!d->boxes.known[k])
            continue;
        d->v[k] =
            (struct plot_box){b->low, b->q1, b->median, b->q3, b->high, b->n_below + b->n_above, d->outliers + at};
        for (size_t i = 0; i < b->n_below; i++)
            d->outliers[at++] = b->below[i];
        for (size_t i = 0; i < b->n_above; i++)
            d->outliers[at++] = b->above[i];
    }
    const char *what = of->n_series == 1 ? "GPU" : "GPUs";
    snprintf(d->note, sizeof(d->note), "%s; a box is %zu sample%s of %zu %s",
             p->seconds ? "time since start, s" : zone_name(p->zone), p->freq, p->freq == 1 ? "" : "s", of->n_series,
             p->seconds ? what : "series");
    to->n = n;
    to->boxes = d->v;
    to->labels = d->names;
    to->x_label = d->note;
}

static void fill_lines(const struct picture *p, const struct panel *of, struct drawn *d, bool first, struct plot *to)
{
    d->series = mem_zero(of->n_series + 1, sizeof(*d->series));
    for (size_t s = 0; s < of->n_series; s++) /* one legend for all, where all have the same */
        d->series[s] = (struct plot_series){.name = first || !p->seconds ? of->names[s] : NULL,
                                            .y = of->v[s],
                                            .alpha = of->n_series > 2 ? 0.5 : 1};
    to->n = p->n;
    to->at_ms = p->at_ms;
    to->elapsed = p->seconds != NULL;
    to->series = d->series;
    to->n_series = of->n_series;
}

int picture_draw(const struct picture *p, enum plot_format format, struct buf *ret, struct err *err)
{
    struct plot v[PLOT_STACK_MAX] = {0};
    struct drawn d[PLOT_STACK_MAX] = {0};
    for (size_t i = 0; i < p->n_panels; i++) {
        const struct panel *of = &p->panels[i];
        v[i] = (struct plot){.kind = p->boxes ? PLOT_BOXES : PLOT_LINES,
                             .title = i == 0 ? p->title : NULL,
                             .subtitle = i == 0 ? p->subtitle : NULL,
                             .zone = p->zone,
                             .y = {.label = metric_label(of->name), .unit = of->unit},
                             .width = p->width,
                             .height = p->height};
        if (p->boxes)
            fill_boxes(p, of, &d[i], &v[i]);
        else
            fill_lines(p, of, &d[i], i == 0, &v[i]);
    }
    int r = plot_draw_stack(v, p->n_panels, format, ret, err);
    for (size_t i = 0; i < p->n_panels; i++)
        drawn_fini(&d[i]);
    return r;
}

/* ---- a terminal ---- */

/* One series at even steps: the mean of the values in a step, else the last value. */
static void even(const struct picture *p, const double *v, double *to, size_t n)
{
    int64_t from = p->at_ms[0], span = p->at_ms[p->n - 1] - from + 1;
    size_t i = 0;
    double last = NAN;
    for (size_t k = 0; k < n; k++) {
        double sum = 0;
        size_t known = 0;
        for (; i < p->n && (k + 1 == n || (double)(p->at_ms[i] - from) * (double)n < (double)(k + 1) * (double)span);
             i++) {
            last = v[i];
            sum += isnan(v[i]) ? 0 : v[i];
            known += !isnan(v[i]);
        }
        to[k] = known ? sum / (double)known : last;
    }
}

static struct chart chart_of(const struct picture *p, const struct panel *of, const char *title, size_t n, double *v)
{
    struct chart c =
        {.title = title, .unit = of->unit, .from_ms = p->at_ms[0], .n = n, .v = v, .elapsed = p->seconds != NULL};
    c.step_ms = MAX((p->at_ms[p->n - 1] - p->at_ms[0]) / (int64_t)n, 1);
    return c;
}

/* The mean of all series, as one more. */
static void mean_of(const struct panel *of, size_t n, double *ret)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        size_t known = 0;
        for (size_t s = 0; s < of->n_series; s++)
            if (!isnan(of->v[s][i])) {
                sum += of->v[s][i];
                known++;
            }
        ret[i] = known ? sum / (double)known : NAN;
    }
}

static void term_sparks(const struct picture *p, const struct panel *of, int columns, struct buf *out)
{
    size_t n = MIN(p->n, (size_t)MAX(columns - NAME_W - 14, 10));
    AUTO_FREE double *v = mem_zero(n + 1, sizeof(*v));
    struct chart c = chart_of(p, of, "", n, v);
    for (size_t s = 0; s < of->n_series; s++) {
        even(p, of->v[s], v, n);
        buf_addf(out, "%-*s ", NAME_W, of->names[s]);
        render_spark(out, &c, (int)n);
        buf_addc(out, ' ');
        if (!isnan(v[n - 1]))
            render_amount(out, of->unit, v[n - 1]);
        buf_addc(out, '\n');
    }
}

static void term_lines(const struct picture *p, const struct panel *of, int columns, int lines, struct buf *out)
{
    size_t n = MIN(p->n, chart_points(columns));
    AUTO_FREE double *v = mem_zero(n + 1, sizeof(*v)), *all = mem_zero(p->n + 1, sizeof(*all));
    bool many = of->n_series > CHARTS;
    for (size_t s = 0; s < (many ? 1 : of->n_series); s++) {
        AUTO_FREE char *title =
            many ? mem_fmt("%s, mean of %zu", of->name, of->n_series) : mem_fmt("%s, %s", of->name, of->names[s]);
        if (many)
            mean_of(of, p->n, all);
        even(p, many ? all : of->v[s], v, n);
        struct chart c = chart_of(p, of, title, n, v);
        render_chart(out, &c, columns, lines);
    }
    if (many)
        term_sparks(p, of, columns, out);
}

/* A line of a terminal, glyph by glyph. */
struct strip {
    int n;
    double lo, hi;
    const char *at[512];
};

static int column(const struct strip *s, double v)
{
    return (int)lround((v - s->lo) / (s->hi - s->lo) * (s->n - 1));
}

static void strip_box(struct strip *s, const struct box *b)
{
    for (int i = 0; i < s->n; i++)
        s->at[i] = " ";
    for (int i = column(s, b->low); i <= column(s, b->high); i++)
        s->at[i] = "─";
    s->at[column(s, b->low)] = "├";
    s->at[column(s, b->high)] = "┤";
    for (int i = column(s, b->q1); i <= column(s, b->q3); i++)
        s->at[i] = "▒";
    for (size_t i = 0; i < b->n_below; i++)
        s->at[column(s, b->below[i])] = "◆";
    for (size_t i = 0; i < b->n_above; i++)
        s->at[column(s, b->above[i])] = "◆";
    s->at[column(s, b->median)] = "┃";
}

static void term_boxes(const struct picture *p, const struct panel *of, int columns, struct buf *out)
{
    struct boxes b;
    struct strip s = {.n = MAX(20, MIN(columns - NAME_W - 3, 500)), .lo = INFINITY, .hi = -INFINITY};
    char label[24];
    boxes_init(&b, p, of);
    for (size_t k = 0; k < b.n; k++)
        if (b.known[k]) {
            s.lo = MIN(s.lo, b.v[k].n_below ? b.v[k].below[0] : b.v[k].low);
            s.hi = MAX(s.hi, b.v[k].n_above ? b.v[k].above[b.v[k].n_above - 1] : b.v[k].high);
        }
    if (s.lo > 0 && s.lo < s.hi / 2)
        s.lo = 0;
    if (!(s.lo < s.hi))
        s.hi = s.lo + 1;
    buf_addf(out, "%s\n", of->name);
    for (size_t k = 0; k < b.n; k++) {
        buf_addf(out, "%*s │", NAME_W, begins(p, k, label));
        if (b.known[k])
            strip_box(&s, &b.v[k]);
        for (int i = 0; i < s.n && b.known[k]; i++)
            buf_adds(out, s.at[i]);
        while (out->len && out->p[out->len - 1] == ' ')
            buf_cut(out, out->len - 1);
        buf_addc(out, '\n');
    }
    AUTO_BUF lo = BUF_INIT(64), hi = BUF_INIT(64);
    if (isfinite(s.lo)) {
        render_amount(&lo, of->unit, s.lo);
        render_amount(&hi, of->unit, s.hi);
        buf_fill(out, ' ', NAME_W + 2);
        buf_adds(out, lo.p);
        buf_fill(out, ' ', (size_t)MAX(s.n - (int)lo.len - (int)hi.len, 1));
        buf_addf(out, "%s\n", hi.p);
    }
    boxes_fini(&b);
}

void picture_term(const struct picture *p, int columns, int lines, struct buf *ret)
{
    buf_addf(ret, "%s\n", p->title);
    for (size_t i = 0; i < p->n_panels && p->n; i++)
        if (p->boxes)
            term_boxes(p, &p->panels[i], columns, ret);
        else
            term_lines(p, &p->panels[i], columns, lines, ret);
}
