/* plot.c: where the parts of a chart go, and the parts that all kinds have: title, legend, axes. plot_marks.c draws
 * what stands between the axes. */
#include "draw/plot.h"

#include <errno.h>
#include <math.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "draw/html.h"
#include "draw/jpeg.h"
#include "draw/plot_draw.h"
#include "draw/plot_marks.h"

const char *const plot_words[PLOT_FORMATS + 1] = {"png", "svg", "pdf", "jpg", NULL};
const char *const plot_types[PLOT_FORMATS] = {"image/png", "image/svg+xml", "application/pdf", "image/jpeg"};

#define TITLE          13.0
#define SWATCH         9.0
#define SUBTITLE_LINES 12
#define FIT_SIZE       512 /* bytes of a text that was made to fit */

static const uint32_t colours[PLOT_COLOURS] = {0x0550ae, 0xb04a00, 0x1a7f4b, 0x8a5c00,
                                               0x9c36b5, 0x0b7285, 0xad3a6e, 0x59636e};

uint32_t plot_colour(int place)
{
    if (place < 1)
        return 0xafb8c1;
    uint32_t rgb = colours[(place - 1) % PLOT_COLOURS], light = 0;
    if ((place - 1) / PLOT_COLOURS % 2 == 0)
        return rgb;
    for (int shift = 0; shift < 24; shift += 8) /* half way to white */
        light |= ((rgb >> shift & 255) + 255) / 2 << shift;
    return light;
}

static struct str fitted(const char *s, double size, bool bold, double width, char out[FIT_SIZE])
{
    return font_fit(str_of(s ? s : ""), size, bold, width, out, FIT_SIZE);
}

/* Small letters, as most here are. */
static void put_text(struct pen *pen, double x, double y, struct str s, enum pen_anchor anchor, uint32_t rgb)
{
    pen_text(pen, x, y, s, TEXT, false, anchor, 0, (struct ink){rgb, 1});
}

/* ---- legend ---- */

/* Draws it from y on and returns how far down it goes; with pen NULL it only measures. */
static double legend(struct pen *pen, const struct plot_frame *f, double y)
{
    const struct plot *p = f->p;
    size_t named = 0, left_out = p->n_series - f->n_series;
    double x = MARGIN, top = y;
    char out[FIT_SIZE];

    for (size_t i = 0; i < f->n_series; i++)
        named += p->series[i].name != NULL;
    if (!named || p->kind == PLOT_BOXES)
        return top;
    if (pen)
        pen_group(pen, "legend");
    for (size_t i = 0; i < f->n_series; i++) {
        const struct plot_series *s = &p->series[i];
        if (!s->name)
            continue;
        struct str name = fitted(s->name, TEXT, false, MIN(180, f->width - 2 * MARGIN - SWATCH - 4), out);
        double wide = SWATCH + 4 + font_width(name, TEXT, false);
        if (x > MARGIN && x + wide > f->width - MARGIN) {
            x = MARGIN;
            y += LEAD;
        }
        if (pen && s->line) {
            pen_begin(pen);
            pen_to(pen, x, y + LEAD / 2, true);
            pen_to(pen, x + SWATCH, y + LEAD / 2, false);
            pen_stroke(pen, 1.5, true, (struct ink){series_colour(p, i), 1});
        } else if (pen) {
            pen_rect(pen, x, y + 2, SWATCH, SWATCH, (struct ink){series_colour(p, i), 1});
        }
        if (pen)
            put_text(pen, x + SWATCH + 4, y + LEAD - 3, name, PEN_START, INK_TEXT);
        x += wide + 14;
    }
    if (left_out) {
        snprintf(out, sizeof(out), "and %zu more", left_out);
        if (x > MARGIN && x + font_width(str_of(out), TEXT, false) > f->width - MARGIN) {
            x = MARGIN;
            y += LEAD;
        }
        if (pen)
            put_text(pen, x, y + LEAD - 3, str_of(out), PEN_START, INK_DIM);
    }
    if (pen)
        pen_group_end(pen);
    return y + LEAD + 4;
}

/* ---- head and foot ---- */

/* As many words of rest as have room on a line; one that has none alone is cut. */
static struct str take_line(struct str *rest, double room)
{
    struct str all = *rest, line = str_n(all.p, 0);

    for (size_t end = 0; end < all.len;) {
        while (end < all.len && all.p[end] == ' ')
            end++;
        while (end < all.len && all.p[end] != ' ')
            end++;
        if (line.len && font_width(str_n(all.p, end), TEXT, false) > room)
            break;
        line.len = end;
    }
    *rest = str_trim(str_drop(all, line.len));
    return line;
}

/* Draws the lines below the title from y on and returns how far down they go; with pen NULL it only measures. */
static double subtitle(struct pen *pen, const struct plot *p, double room, double y)
{
    struct str all = str_of(p->subtitle ? p->subtitle : ""), rest;
    char out[FIT_SIZE];

    if (!all.len)
        return y;
    for (int n = 0; n < SUBTITLE_LINES && str_line(&all, &rest);)
        while (rest.len && n++ < SUBTITLE_LINES) {
            struct str line = take_line(&rest, room);
            if (pen)
                put_text(pen, MARGIN, y + TEXT, font_fit(line, TEXT, false, room, out, FIT_SIZE), PEN_START, INK_DIM);
            y += LEAD;
        }
    return y + 2;
}

static double head(struct pen *pen, const struct plot_frame *f)
{
    const struct plot *p = f->p;
    double y = MARGIN, room = f->width - 2 * MARGIN;
    char out[FIT_SIZE];

    if (p->title && p->title[0]) {
        pen_text(pen, MARGIN, y + TITLE - 2, fitted(p->title, TITLE, true, room, out), TITLE, true, PEN_START, 0,
                 (struct ink){INK_TEXT, 1});
        y += TITLE + 5;
    }
    y = subtitle(pen, p, room, y);
    return y > MARGIN ? y + 4 : y;
}

/* "GPU time, h" */
static double y_label(struct pen *pen, const struct plot_frame *f, double y)
{
    AUTO_BUF b = BUF_INIT(8192);
    const char *label = f->p->y.label ? f->p->y.label : "";
    char out[FIT_SIZE];

    buf_addf(&b, "%.4096s%s%s", label, label[0] && f->y.unit[0] ? ", " : "", f->y.unit);
    if (!b.len)
        return y + 4;
    put_text(pen, MARGIN, y + TEXT, fitted(b.p, TEXT, false, f->width - 2 * MARGIN, out), PEN_START, INK_DIM);
    return y + LEAD + 5;
}

/* ---- axes ---- */

static void y_axis(struct pen *pen, const struct plot_frame *f)
{
    pen_group(pen, "y");
    for (size_t i = 0; i < f->y.n; i++) {
        const struct tick *t = &f->y.v[i];
        double y = frame_y(f, t->at);
        bool zero = t->at == 0;
        pen_line(pen, f->left, y, f->right, y, zero ? 0.8 : 0.5, (struct ink){zero ? 0x8c959f : INK_LINE, 1});
        put_text(pen, f->left - 6, y + TEXT * 0.36, str_of(t->text), PEN_END, INK_TEXT);
    }
    pen_group_end(pen);
}

/* The day or year below a tick, where there is room for it behind the last one. */
static void under(struct pen *pen, const struct plot_frame *f, double x, const char *text, double *before)
{
    double half = font_width(str_of(text), TEXT, false) / 2;

    x = MAX(half + 2, MIN(x, f->width - half - 2));
    if (!text[0] || x - half < *before)
        return;
    put_text(pen, x, f->bottom + 4 + TEXT + LEAD, str_of(text), PEN_MIDDLE, INK_DIM);
    *before = x + half + 8;
}

static void put_tick(struct pen *pen, const struct plot_frame *f, double x, const struct tick *t, double *before)
{
    pen_line(pen, x, f->bottom, x, f->bottom + 4, 0.8, (struct ink){0x8c959f, 1});
    put_text(pen, x, f->bottom + 4 + TEXT, str_of(t->text), PEN_MIDDLE, INK_TEXT);
    under(pen, f, x, t->under, before);
}

static void time_axis(struct pen *pen, const struct plot_frame *f)
{
    double before = -1e9;

    for (size_t i = 0; i < f->x.n; i++)
        put_tick(pen, f, frame_time(f, f->x.v[i].at), &f->x.v[i], &before);
    char since[64];
    snprintf(since, sizeof(since), "time since start, %s", f->x.unit);
    const char *zone = f->p->elapsed ? since : f->p->zone ? zone_name(f->p->zone) : "UTC";
    if (f->right - font_width(str_of(zone), TEXT, false) > before)
        put_text(pen, f->right, f->bottom + 4 + TEXT + LEAD, str_of(zone), PEN_END, INK_DIM);
}

/* Too many periods for a name each: those at which something of the calendar begins. */
static void period_axis(struct pen *pen, const struct plot_frame *f)
{
    double before = -1e9;
    size_t slot = 0;

    for (size_t i = 0; i < f->x.n; i++) {
        const struct tick *t = &f->x.v[i];
        while (slot + 1 < f->p->n && (double)f->p->at_ms[slot] < t->at)
            slot++;
        put_tick(pen, f, frame_slot(f, slot), t, &before);
    }
}

/* One name or period under each slot, as many as there is room for. */
static void slot_axis(struct pen *pen, const struct plot_frame *f)
{
    struct tick t, last = {0};
    size_t every = f->thin;
    double before = -1e9;
    char out[FIT_SIZE];

    for (size_t i = 0; i < f->p->n; i += every) {
        double x = frame_slot(f, i);
        slot_tick(f, i, &t);
        const char *text = f->dated ? t.text : f->p->labels && f->p->labels[i] ? f->p->labels[i] : "";
        if (f->turned)
            pen_text(pen, x + 3, f->bottom + 4 + TEXT, fitted(text, TEXT, false, LABEL_MAX, out), TEXT, false, PEN_END,
                     -40, (struct ink){INK_TEXT, 1});
        else
            put_text(pen, x, f->bottom + 4 + TEXT, fitted(text, TEXT, false, MAX(f->slot * (double)every, 30.0), out),
                     PEN_MIDDLE, INK_TEXT);
        if (f->dated && strcmp(t.under, last.under) != 0) {
            under(pen, f, x, t.under, &before);
            last = t;
        }
    }
}

static void x_axis(struct pen *pen, const struct plot_frame *f)
{
    pen_group(pen, "x");
    pen_line(pen, f->left, f->bottom, f->right, f->bottom, 0.8, (struct ink){0x8c959f, 1});
    if (f->timed)
        time_axis(pen, f);
    else if (f->x.n)
        period_axis(pen, f);
    else
        slot_axis(pen, f);
    pen_group_end(pen);
}

void plot_onto(struct pen *pen, const struct plot *p, double width, double height)
{
    struct plot_frame f;
    char out[FIT_SIZE];

    frame_init(&f, p, width, height);
    pen_rect(pen, 0, 0, width, height, (struct ink){INK_BACK, 1});
    double y = legend(pen, &f, head(pen, &f));
    f.top = y_label(pen, &f, y);
    frame_foot(&f, (p->x_label && p->x_label[0] ? LEAD : 0) + (p->note && p->note[0] ? LEAD : 0));
    y_axis(pen, &f);
    plot_marks(pen, &f);
    x_axis(pen, &f);
    y = height - MARGIN + 4;
    if (p->note && p->note[0]) {
        pen_text(pen, MARGIN, y, fitted(p->note, TEXT - 1, false, width - 2 * MARGIN, out), TEXT - 1, false, PEN_START,
                 0, (struct ink){INK_DIM, 1});
        y -= LEAD;
    }
    if (p->x_label && p->x_label[0])
        put_text(pen, (f.left + f.right) / 2, y, fitted(p->x_label, TEXT, false, f.right - f.left, out), PEN_MIDDLE,
                 INK_DIM);
    frame_fini(&f);
}

/* ---- files ---- */

cairo_status_t plot_write(void *closure, const unsigned char *data, unsigned length)
{
    return buf_add(closure, data, length) < 0 ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

void plot_metadata(const struct cairo_lib *c, cairo_surface_t *s, const char *title, int64_t at_ms)
{
    char text[256], iso[32];

    mem_copy_str(text, sizeof(text), title ? title : "");
    if (text[0] && str_utf8_ok(str_of(text)))
        c->pdf_metadata(s, CAIRO_PDF_METADATA_TITLE, text);
    clock_iso(at_ms, iso);
    iso[19] = 'Z', iso[20] = 0; /* whole seconds */
    c->pdf_metadata(s, CAIRO_PDF_METADATA_CREATE_DATE, iso);
    c->pdf_metadata(s, CAIRO_PDF_METADATA_CREATOR, "muster");
}

int plot_check(const struct plot *p, struct err *err)
{
    if (p->n > PLOT_POINTS_MAX || (p->n && p->n_series > PLOT_POINTS_MAX / p->n))
        return err_set(err, -EINVAL, "cannot draw: more than %u values", PLOT_POINTS_MAX);
    return font_load(err);
}

static double clamp(double v, double otherwise, double min, double max)
{
    return !(v > 0) ? otherwise : MAX(min, MIN(max, v)); /* NAN is not above 0 */
}

/* Charts above each other, and how high each is. */
struct stack {
    size_t n;
    const struct plot *v;
    double width, height, *heights;
};

static void stack_onto(struct pen *pen, const void *what)
{
    const struct stack *s = what;
    double y = 0;

    for (size_t i = 0; i < s->n; y += s->heights[i++]) {
        if (s->n > 1)
            pen_down(pen, y);
        plot_onto(pen, &s->v[i], s->width, s->heights[i]);
        if (s->n > 1)
            pen_up(pen);
    }
}

static int draw_svg(const struct plot_picture *s, struct buf *out)
{
    struct pen pen = {.svg = out};

    buf_addf(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
             "font-family=\"DejaVu Sans, Verdana, sans-serif\" aria-label=\"",
             (int)s->width, (int)s->height, (int)s->width, (int)s->height);
    html_between(out, "", s->title ? s->title : "", "\">\n");
    s->onto(&pen, s->what);
    buf_adds(out, "</svg>\n");
    return out->err;
}

static int draw_cairo(const struct plot_picture *s, enum plot_format format, struct buf *out, struct err *err)
{
    const struct cairo_lib *c = NULL;
    bool paged = format == PLOT_PDF;
    double scale = paged ? 1 : 2; /* pixels per point */
    int width = (int)ceil(s->width * scale), height = (int)ceil(s->height * scale);
    int r = cairo_lib_load(&c, err);

    if (r < 0)
        return r;
    cairo_surface_t *to =
        paged ? c->pdf(plot_write, out, s->width, s->height) : c->image(CAIRO_FORMAT_RGB24, width, height);
    cairo_t *cr = c->create(to);
    struct pen pen = {.c = c, .cr = cr};
    if (paged)
        plot_metadata(c, to, s->title, 946684800000); /* without a date it is the clock's */
    font_plain(cr);
    c->scale(cr, scale, scale);
    s->onto(&pen, s->what);
    cairo_status_t status = c->status(cr);
    c->destroy(cr);
    if (paged)
        c->surface_finish(to);
    else if (status == CAIRO_STATUS_SUCCESS && format == PLOT_PNG)
        status = c->png(to, plot_write, out);
    else if (status == CAIRO_STATUS_SUCCESS) {
        c->surface_flush(to);
        jpeg_draw(out, c->image_data(to), (size_t)c->image_stride(to), width, height);
    }
    if (status == CAIRO_STATUS_SUCCESS)
        status = c->surface_status(to);
    c->surface_destroy(to);
    if (status != CAIRO_STATUS_SUCCESS && !out->err)
        r = err_set(err, -EIO, "cannot draw: %s", c->status_text(status));
    return r;
}

int plot_picture(const struct plot_picture *s, enum plot_format format, struct buf *ret, struct err *err)
{
    int r = format == PLOT_SVG ? draw_svg(s, ret) : draw_cairo(s, format, ret, err);

    if (ret->err)
        r = err_set(err, ret->err, "cannot draw: the picture is larger than %zu bytes", ret->max);
    return r;
}

static int draw(const struct stack *s, enum plot_format format, struct buf *ret, struct err *err)
{
    return plot_picture(&(struct plot_picture){s->width, s->height, s->v[0].title, stack_onto, s}, format, ret, err);
}

int plot_draw(const struct plot *p, enum plot_format format, struct buf *ret, struct err *err)
{
    double width = floor(clamp(p->width, 720, 120, 4000)), height = floor(clamp(p->height, 360, 100, 4000));
    int r = plot_check(p, err);

    return r < 0 ? r : draw(&(struct stack){1, p, width, height, &height}, format, ret, err);
}

/* Room that the head and the legend of the first take. */
static double first_more(const struct plot *p, double width)
{
    struct plot_frame f;
    frame_init(&f, p, width, 360);
    double more = legend(NULL, &f, 0);
    frame_fini(&f);
    return more + (p->title && p->title[0] ? TITLE + 5 : 0) + subtitle(NULL, p, width - 2 * MARGIN, 0);
}

int plot_draw_stack(const struct plot *v, size_t n, enum plot_format format, struct buf *ret, struct err *err)
{
    if (n == 0 || n > PLOT_STACK_MAX)
        return err_set(err, -EINVAL, "cannot draw %zu charts above each other: at most %d", n, PLOT_STACK_MAX);
    struct plot flush[PLOT_STACK_MAX];
    double heights[PLOT_STACK_MAX], left = 0;
    double width = floor(clamp(v[0].width, 720, 120, 4000));
    double height = floor(clamp(v[0].height, 260 * (double)n, 100 * (double)n, 4000));

    for (size_t i = 0; i < n; i++) {
        struct plot_frame f;
        int r = plot_check(&v[i], err);
        if (r < 0)
            return r;
        frame_init(&f, &v[i], width, height / (double)n);
        left = MAX(left, f.left);
        frame_fini(&f);
        flush[i] = v[i];
    }
    double more = n > 1 ? MIN(first_more(&v[0], width), height / 3) : 0;
    for (size_t i = 0; i < n; i++) {
        flush[i].left = left;
        heights[i] = floor((height - more) / (double)n); /* whole points: no seam between them */
    }
    heights[0] += height - heights[0] * (double)n;
    return draw(&(struct stack){n, flush, width, height, heights}, format, ret, err);
}

int plot_can_write(const char *text, struct err *err)
{
    uint32_t missing = 0;
    int r = font_load(err);

    if (r < 0 || font_has(str_of(text), &missing))
        return r;
    return err_set(err, -ENOENT,
                   "no font here has the letter U+%04X of '%.60s'; install one that has it (Debian, for Japanese: "
                   "fonts-ipafont-gothic)",
                   (unsigned)missing, text);
}
