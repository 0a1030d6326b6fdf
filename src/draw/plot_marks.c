/* plot_marks.c: lines, stacked bars and boxes, and the frame they stand in. No more is drawn than can be seen: lines
 * are thinned to what each half point's least, most, first and last say. */
#include "draw/plot_marks.h"

#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "draw/plot_draw.h"

#define TICK_W   64.0 /* of a time axis */
#define PERIOD_W 48.0 /* of an axis of periods */
#define SLOTS    4000 /* that are drawn at most: of more, one in so many */

uint32_t series_colour(const struct plot *p, size_t i)
{
    int c = p->series[i].colour;

    return plot_colour(c < 0 ? 0 : c > 0 ? c : (int)i + 1);
}

/* ---- the frame ---- */

struct span {
    double lo, hi;
};

static void widen(struct span *s, double v)
{
    if (isfinite(v)) {
        s->lo = MIN(s->lo, v);
        s->hi = MAX(s->hi, v);
    }
}

/* What a bar may add to its stack. */
static double part(double v)
{
    return isfinite(v) && v > 0 ? v : 0;
}

static struct span span_of(struct plot_frame *f)
{
    const struct plot *p = f->p;
    struct span s = {INFINITY, -INFINITY};

    for (size_t i = 0; i < p->n; i++) {
        double stack = 0;
        bool known = false;
        for (size_t k = 0; k < f->n_series; k++) {
            const struct plot_series *one = &p->series[k];
            known = known || isfinite(one->y[i]);
            if (p->kind == PLOT_BARS && !one->line)
                stack += part(one->y[i]);
            else
                widen(&s, one->y[i]);
        }
        if (p->kind == PLOT_BARS && known)
            widen(&s, stack);
        if (p->kind == PLOT_BOXES && p->boxes) {
            widen(&s, p->boxes[i].min);
            widen(&s, p->boxes[i].max);
            for (size_t k = 0; k < p->boxes[i].n_outliers; k++)
                widen(&s, p->boxes[i].outliers[k]);
        }
    }
    f->empty = s.lo > s.hi;
    if (f->empty)
        return (struct span){0, 1};
    if (p->kind == PLOT_BARS || p->y.zero)
        widen(&s, 0);
    return s;
}

static void y_scale(struct plot_frame *f)
{
    const struct plot_axis *a = &f->p->y;
    struct span s = span_of(f);
    bool given = isfinite(a->min) && isfinite(a->max) && a->min < a->max;
    int want = MAX(2, (int)(f->height / 44));

    if (given)
        scale_linear(&f->y, a->unit, a->min, a->max, true, want);
    else
        scale_linear(&f->y, a->unit, s.lo, s.hi, false, want);
    double wide = 0;
    for (size_t i = 0; i < f->y.n; i++)
        wide = MAX(wide, font_width(str_of(f->y.v[i].text), TEXT, false));
    f->left = MAX(MARGIN + wide + 8, f->p->left > 0 ? MIN(f->p->left, f->width / 2) : 0);
    f->right = f->width - MARGIN - 4;
}

static void x_time(struct plot_frame *f)
{
    const struct plot *p = f->p;
    int64_t from = p->from_ms, to = p->to_ms, half = p->elapsed ? 1000 : 1800000;

    if (from >= to) {
        from = INT64_MAX, to = INT64_MIN;
        for (size_t i = 0; i < p->n; i++) {
            from = MIN(from, p->at_ms[i]);
            to = MAX(to, p->at_ms[i]);
        }
        if (!p->n)
            from = 0, to = 3600000;
        else if (from == to) /* one moment: in the middle of an hour */
            from = from > INT64_MIN + half ? from - half : from, to = to < INT64_MAX - half ? to + half : to;
    }
    int want = MAX(2, (int)((f->right - f->left) / TICK_W));
    if (!p->elapsed) {
        scale_time(&f->x, f->zone, from, to, want);
        return;
    }
    scale_linear(&f->x, "s", (double)from / 1000, (double)to / 1000, true, want);
    f->x.lo *= 1000;
    f->x.hi *= 1000;
    for (size_t i = 0; i < f->x.n; i++)
        f->x.v[i].at *= 1000;
}

/* Slots: which of their names fit, and how. */
static void x_slots(struct plot_frame *f)
{
    const struct plot *p = f->p;
    struct tick t;

    f->dated = p->at_ms && !p->labels;
    f->slot = (f->right - f->left) / (double)MAX(p->n, (size_t)1);
    f->step_ms = DAY_MS;
    if (f->dated && p->n > 1 && p->at_ms[0] >= 0 && p->at_ms[1] > p->at_ms[0]) /* their difference is in range */
        f->step_ms = p->at_ms[1] - p->at_ms[0];
    for (size_t i = 0; i < p->n && i < SLOTS; i++) {
        slot_tick(f, i, &t);
        const char *text = f->dated ? t.text : p->labels && p->labels[i] ? p->labels[i] : "";
        f->widest = MAX(f->widest, font_width(str_n(text, strnlen(text, 256)), TEXT, false));
    }
    f->thin = 1;
    if (f->widest + 6 <= f->slot)
        return;
    /* Periods speak for their neighbours; names do not, and are turned before any is left out. */
    double need = f->dated ? f->widest + 10 : TEXT + 3;
    f->turned = !f->dated;
    if (f->slot >= need)
        return;
    f->thin = (size_t)ceil(need / f->slot);
    if (f->dated) /* weeks, months and years begin where the calendar says, not at every so many bars */
        scale_time(&f->x, f->zone, p->at_ms[0], p->at_ms[p->n - 1], MAX(2, (int)((f->right - f->left) / PERIOD_W)));
}

void frame_init(struct plot_frame *f, const struct plot *p, double width, double height)
{
    *f = (struct plot_frame){.p = p, .width = width, .height = height, .zone = p->zone};
    if (!f->zone)
        f->zone = f->utc = zone_utc();
    f->n_series = p->kind == PLOT_BOXES ? 0 : MIN(p->n_series, (size_t)PLOT_SERIES_MAX);
    y_scale(f);
    f->timed = p->kind == PLOT_LINES && p->at_ms;
    if (f->timed)
        x_time(f);
    else
        x_slots(f);
}

void frame_fini(struct plot_frame *f)
{
    zone_free(f->utc);
    f->utc = NULL;
}

void frame_foot(struct plot_frame *f, double below)
{
    double text = LEAD + 6;

    if (f->timed || f->dated) {
        text += LEAD;
    } else if (f->turned) {
        text = MIN(f->widest, LABEL_MAX) * 0.65 + LEAD + 6;
    }
    f->bottom = MAX(f->height - MARGIN - text - below + 6, f->top + 10);
}

double frame_y(const struct plot_frame *f, double v)
{
    double share = (v - f->y.lo) / (f->y.hi - f->y.lo);

    return f->bottom - MAX(0, MIN(1, share)) * (f->bottom - f->top);
}

double frame_time(const struct plot_frame *f, double at_ms)
{
    double share = (at_ms - f->x.lo) / (f->x.hi - f->x.lo);

    return f->left + MAX(0, MIN(1, share)) * (f->right - f->left);
}

double frame_slot(const struct plot_frame *f, size_t i)
{
    return f->left + ((double)i + 0.5) * f->slot;
}

void slot_tick(const struct plot_frame *f, size_t i, struct tick *ret)
{
    *ret = (struct tick){0};
    if (f->dated)
        scale_period(f->zone, f->p->at_ms[i], f->step_ms, ret);
}

/* ---- lines ---- */

static double x_of(const struct plot_frame *f, size_t i)
{
    return f->timed ? frame_time(f, (double)f->p->at_ms[i]) : frame_slot(f, i);
}

static bool outside(const struct plot_frame *f, size_t i)
{
    return f->timed && ((double)f->p->at_ms[i] < f->x.lo || (double)f->p->at_ms[i] > f->x.hi);
}

/* One line, point by point; those of one half point of width are gathered and given as first, least, most, last. */
struct trace {
    struct pen *pen;
    const struct plot_frame *f;
    double column; /* of what is gathered; -1: nothing */
    double x, first, least, most, last;
    double alone_x, alone_y; /* a point that nothing has been joined to yet */
    size_t joined;           /* points since the last gap */
    size_t strokes;          /* since the path began */
    struct ink ink;
};

static void trace_end(struct trace *t)
{
    pen_stroke(t->pen, 1.4, false, t->ink);
}

static void trace_to(struct trace *t, double x, double v)
{
    enum { STROKES = 100 };
    double y = frame_y(t->f, v);

    pen_to(t->pen, x, y, t->joined == 0);
    t->alone_x = x;
    t->alone_y = y;
    t->joined++;
    if (t->pen->cr && ++t->strokes == STROKES) { /* cairo's time grows with how often one path crosses itself */
        trace_end(t);
        pen_begin(t->pen);
        pen_to(t->pen, x, y, true);
        t->strokes = 0;
    }
}

static void trace_flush(struct trace *t)
{
    if (t->column < 0)
        return;
    trace_to(t, t->x, t->first);
    if (t->least < t->most) {
        bool fell = t->last < t->first; /* the way it went on the whole */
        trace_to(t, t->x, fell ? t->most : t->least);
        trace_to(t, t->x, fell ? t->least : t->most);
        trace_to(t, t->x, t->last);
    }
    t->column = -1;
}

/* A gap: a point between two of them is a dot, drawn after the path. */
static void trace_gap(struct trace *t, struct buf *dots)
{
    trace_flush(t);
    if (t->joined == 1) {
        double at[2] = {t->alone_x, t->alone_y};
        buf_add(dots, at, sizeof(at));
    }
    t->joined = 0;
}

static void trace_add(struct trace *t, double x, double v)
{
    double column = floor(x * 2);

    if (t->column >= 0 && column == t->column) {
        t->least = MIN(t->least, v);
        t->most = MAX(t->most, v);
        t->last = v;
        return;
    }
    trace_flush(t);
    t->column = column;
    t->x = x;
    t->first = t->least = t->most = t->last = v;
}

static void draw_line(struct pen *pen, const struct plot_frame *f, size_t k)
{
    const struct plot_series *s = &f->p->series[k];
    struct trace t = {.pen = pen, .f = f, .column = -1, .ink = {series_colour(f->p, k), s->alpha}};
    AUTO_BUF dots = BUF_INIT(1u << 20);
    /* Where points lie closer than can be seen, a gap is one that leaves a half point empty. */
    double reach = (double)f->p->n > 2 * (f->right - f->left) ? 1 : 0;
    bool gap = false;

    pen_begin(pen);
    for (size_t i = 0; i < f->p->n; i++) {
        if (outside(f, i))
            continue;
        if (!isfinite(s->y[i])) {
            gap = true;
            continue;
        }
        double x = x_of(f, i);
        if (gap && fabs(floor(x * 2) - (t.column < 0 ? -1e9 : t.column)) > reach)
            trace_gap(&t, &dots);
        gap = false;
        trace_add(&t, x, s->y[i]);
    }
    trace_gap(&t, &dots);
    trace_end(&t);
    for (size_t i = 0; i + 2 * sizeof(double) <= dots.len; i += 2 * sizeof(double)) {
        double at[2];
        memcpy(at, dots.p + i, sizeof(at));
        pen_dot(pen, at[0], at[1], 1.8, t.ink);
    }
}

/* Across bars: level over each, and straight up or down between them. */
static void draw_steps(struct pen *pen, const struct plot_frame *f, size_t k)
{
    const double *y = f->p->series[k].y;
    size_t stride = f->p->n / SLOTS + 1;
    bool on = false;

    pen_begin(pen);
    for (size_t i = 0; i < f->p->n; i += stride) {
        double x = frame_slot(f, i), half = f->slot * (double)stride / 2;
        if (isfinite(y[i])) {
            pen_to(pen, x - half, frame_y(f, y[i]), !on);
            pen_to(pen, MIN(x + half, f->right), frame_y(f, y[i]), false);
        }
        on = isfinite(y[i]);
    }
    pen_stroke(pen, 1.2, true, (struct ink){series_colour(f->p, k), 1});
}

/* ---- bars ---- */

static void hint(struct pen *pen, const struct plot_frame *f, size_t i, size_t k)
{
    AUTO_BUF b = BUF_INIT(4096);
    struct tick t;
    char number[48];

    if (pen->cr)
        return;
    slot_tick(f, i, &t);
    const char *name = f->p->series[k].name, *label = f->p->labels ? f->p->labels[i] : NULL;
    buf_addf(&b, "%.100s%s%.60s%s%s", name ? name : "", name ? ", " : "", label ? label : t.text, t.under[0] ? " " : "",
             t.under);
    buf_addf(&b, ": %s %s", scale_number(&f->y, f->p->series[k].y[i], number), f->y.unit);
    pen_hint(pen, str_trim(buf_str(&b)));
}

static void draw_bars(struct pen *pen, const struct plot_frame *f)
{
    const struct plot *p = f->p;
    size_t stride = p->n / SLOTS + 1;
    double wide = MIN(f->slot * (double)stride * (f->slot > 3 ? 0.78 : 1), 64);

    pen_group(pen, "bars");
    for (size_t i = 0; i < p->n; i += stride) {
        double stack = 0, x = frame_slot(f, i) - wide / 2;
        for (size_t k = 0; k < f->n_series; k++) {
            double v = p->series[k].line ? 0 : part(p->series[k].y[i]);
            if (v <= 0)
                continue;
            double y0 = frame_y(f, stack), y1 = frame_y(f, stack + v);
            stack += v;
            if (y0 - y1 < 0.005)
                continue;
            hint(pen, f, i, k);
            pen_rect(pen, x, y1, wide, y0 - y1, (struct ink){series_colour(p, k), 1});
        }
    }
    pen_group_end(pen);
}

/* ---- boxes ---- */

static void draw_outliers(struct pen *pen, const struct plot_frame *f, const struct plot_box *b, double x,
                          struct ink ink)
{
    const double r = 2.4;
    for (size_t k = 0; k < b->n_outliers; k++) {
        if (!isfinite(b->outliers[k]))
            continue;
        double y = frame_y(f, b->outliers[k]);
        pen_begin(pen);
        pen_to(pen, x, y - r, true);
        pen_to(pen, x + r, y, false);
        pen_to(pen, x, y + r, false);
        pen_to(pen, x - r, y, false);
        pen_fill(pen, ink);
    }
}

/* What the box says, for whoever hovers or listens. */
static void box_hint(struct pen *pen, const struct plot_frame *f, size_t i)
{
    const struct plot_box *b = &f->p->boxes[i];
    const char *label = f->p->labels ? f->p->labels[i] : NULL;
    AUTO_BUF out = BUF_INIT(4096);
    char n[5][48];
    const double v[5] = {b->median, b->q1, b->q3, b->min, b->max};

    if (pen->cr)
        return;
    for (int k = 0; k < 5; k++)
        snprintf(n[k], sizeof(n[k]), "%.5g", v[k] / f->y.per);
    buf_addf(&out, "%.60s%smedian %s, quartiles %s and %s, whiskers %s and %s %s, %zu outliers", label ? label : "",
             label ? ": " : "", n[0], n[1], n[2], n[3], n[4], f->y.unit, b->n_outliers);
    pen_hint(pen, buf_str(&out));
}

static void draw_boxes(struct pen *pen, const struct plot_frame *f)
{
    const struct plot *p = f->p;
    size_t stride = p->n / SLOTS + 1;
    double wide = MIN(f->slot * (double)stride * 0.6, 48);
    struct ink line = {plot_colour(1), 1}, body = {plot_colour(1), 0.22};

    pen_group(pen, "boxes");
    for (size_t i = 0; i < p->n && p->boxes; i += stride) {
        const struct plot_box *b = &p->boxes[i];
        if (!isfinite(b->min + b->q1 + b->median + b->q3 + b->max))
            continue;
        double x = frame_slot(f, i), y[] = {frame_y(f, b->min), frame_y(f, b->q1), frame_y(f, b->median),
                                            frame_y(f, b->q3), frame_y(f, b->max)};
        pen_line(pen, x, y[0], x, y[1], 1, line);
        pen_line(pen, x, y[3], x, y[4], 1, line);
        pen_line(pen, x - wide / 4, y[0], x + wide / 4, y[0], 1, line);
        pen_line(pen, x - wide / 4, y[4], x + wide / 4, y[4], 1, line);
        box_hint(pen, f, i);
        pen_rect(pen, x - wide / 2, MIN(y[3], y[1]), wide, fabs(y[1] - y[3]), body);
        pen_begin(pen);
        pen_to(pen, x - wide / 2, y[1], true);
        pen_to(pen, x + wide / 2, y[1], false);
        pen_to(pen, x + wide / 2, y[3], false);
        pen_to(pen, x - wide / 2, y[3], false);
        pen_to(pen, x - wide / 2, y[1], false);
        pen_stroke(pen, 1, false, line);
        pen_line(pen, x - wide / 2, y[2], x + wide / 2, y[2], 2, line);
    }
    pen_group_end(pen);
    pen_group(pen, "outliers");
    for (size_t i = 0; i < p->n && p->boxes; i += stride)
        if (p->boxes[i].n_outliers)
            draw_outliers(pen, f, &p->boxes[i], frame_slot(f, i), (struct ink){plot_colour(2), 0.7});
    pen_group_end(pen);
}

void plot_marks(struct pen *pen, const struct plot_frame *f)
{
    const struct plot *p = f->p;

    if (f->empty)
        pen_text(pen, (f->left + f->right) / 2, (f->top + f->bottom) / 2, STR("no data"), TEXT, false, PEN_MIDDLE, 0,
                 (struct ink){INK_DIM, 1});
    if (p->kind == PLOT_BOXES) {
        draw_boxes(pen, f);
        return;
    }
    if (p->kind == PLOT_BARS)
        draw_bars(pen, f);
    pen_group(pen, "lines");
    for (size_t k = 0; k < f->n_series; k++)
        if (p->kind == PLOT_LINES)
            draw_line(pen, f, k);
        else if (p->series[k].line)
            draw_steps(pen, f, k);
    pen_group_end(pen);
}
