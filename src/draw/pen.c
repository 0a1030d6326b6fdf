/*
 * pen.c: draws each shape either with cairo or as an element of SVG. Numbers of SVG have two decimals, in any locale.
 */
#include "draw/pen.h"

#include <math.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "draw/html.h"

static double opaque(struct ink ink)
{
    return ink.alpha > 0 ? ink.alpha : 1;
}

static void source(struct pen *p, struct ink ink)
{
    p->c->rgba(p->cr, (ink.rgb >> 16 & 255) / 255.0, (ink.rgb >> 8 & 255) / 255.0, (ink.rgb & 255) / 255.0,
               opaque(ink));
}

static void number(struct pen *p, const char *before, double v)
{
    buf_adds(p->svg, before);
    buf_fixed(p->svg, isfinite(v) ? llround(MAX(-1e9, MIN(1e9, v)) * 100) : 0, 100);
}

static void colour(struct pen *p, const char *what, struct ink ink)
{
    buf_addf(p->svg, " %s=\"#%06x\"", what, (unsigned)ink.rgb & 0xffffff);
    if (opaque(ink) < 1) {
        buf_addf(p->svg, " %s-opacity", what);
        number(p, "=\"", ink.alpha);
        buf_addc(p->svg, '"');
    }
}

void pen_rect(struct pen *p, double x, double y, double w, double h, struct ink ink)
{
    if (p->cr) {
        source(p, ink);
        p->c->rectangle(p->cr, x, y, w, h);
        p->c->fill(p->cr);
        return;
    }
    number(p, "<rect x=\"", x);
    number(p, "\" y=\"", y);
    number(p, "\" width=\"", w);
    number(p, "\" height=\"", h);
    buf_addc(p->svg, '"');
    colour(p, "fill", ink);
    if (p->hint[0]) {
        html_between(p->svg, "><title>", p->hint, "</title></rect>\n");
        p->hint[0] = 0;
    } else {
        buf_adds(p->svg, "/>\n");
    }
}

void pen_line(struct pen *p, double x1, double y1, double x2, double y2, double width, struct ink ink)
{
    pen_begin(p);
    pen_to(p, x1, y1, true);
    pen_to(p, x2, y2, false);
    pen_stroke(p, width, false, ink);
}

void pen_dot(struct pen *p, double x, double y, double radius, struct ink ink)
{
    if (p->cr) {
        source(p, ink);
        p->c->arc(p->cr, x, y, radius, 0, 2 * M_PI);
        p->c->fill(p->cr);
        return;
    }
    number(p, "<circle cx=\"", x);
    number(p, "\" cy=\"", y);
    number(p, "\" r=\"", radius);
    buf_addc(p->svg, '"');
    colour(p, "fill", ink);
    buf_adds(p->svg, "/>\n");
}

void pen_begin(struct pen *p)
{
    if (!p->cr)
        buf_adds(p->svg, "<path d=\"");
}

void pen_to(struct pen *p, double x, double y, bool move)
{
    if (p->cr) {
        (move ? p->c->move_to : p->c->line_to)(p->cr, x, y);
        return;
    }
    number(p, move ? "M" : "L", x);
    number(p, " ", y);
}

void pen_stroke(struct pen *p, double width, bool dashed, struct ink ink)
{
    static const double dashes[] = {4, 3};

    if (p->cr) {
        source(p, ink);
        p->c->line_width(p->cr, width);
        p->c->line_join(p->cr, CAIRO_LINE_JOIN_ROUND);
        p->c->dash(p->cr, dashes, dashed ? 2 : 0, 0);
        p->c->stroke(p->cr);
        return;
    }
    number(p, "\" fill=\"none\" stroke-linejoin=\"round\" stroke-width=\"", width);
    buf_adds(p->svg, dashed ? "\" stroke-dasharray=\"4 3\"" : "\"");
    colour(p, "stroke", ink);
    buf_adds(p->svg, "/>\n");
}

void pen_fill(struct pen *p, struct ink ink)
{
    if (p->cr) {
        source(p, ink);
        p->c->close_path(p->cr);
        p->c->fill(p->cr);
        return;
    }
    buf_adds(p->svg, "Z\"");
    colour(p, "fill", ink);
    buf_adds(p->svg, "/>\n");
}

static void svg_text(struct pen *p, double x, double y, struct str s, double size, bool bold, enum pen_anchor anchor,
                     double turn, struct ink ink)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};

    number(p, "<text x=\"", x);
    number(p, "\" y=\"", y);
    number(p, "\" font-size=\"", size);
    buf_addf(p->svg, "\"%s%s", bold ? " font-weight=\"bold\"" : "", anchors[anchor]);
    if (turn != 0) {
        number(p, " transform=\"rotate(", turn);
        number(p, " ", x);
        number(p, " ", y);
        buf_adds(p->svg, ")\"");
    }
    colour(p, "fill", ink);
    html_text_between(p->svg, ">", s, "</text>\n");
}

void pen_text(struct pen *p, double x, double y, struct str s, double size, bool bold, enum pen_anchor anchor,
              double turn, struct ink ink)
{
    if (!s.len)
        return;
    if (!p->cr) {
        svg_text(p, x, y, s, size, bold, anchor, turn, ink);
        return;
    }
    double wide = anchor == PEN_START ? 0 : font_width(s, size, bold);
    p->c->save(p->cr);
    source(p, ink);
    p->c->translate(p->cr, x, y);
    if (turn != 0)
        p->c->rotate(p->cr, turn * M_PI / 180);
    p->c->translate(p->cr, anchor == PEN_END ? -wide : anchor == PEN_MIDDLE ? -wide / 2 : 0, 0);
    font_show(p->cr, s, size, bold);
    p->c->restore(p->cr);
}

void pen_group(struct pen *p, const char *class)
{
    if (!p->cr)
        buf_addf(p->svg, "<g class=\"%s\">\n", class);
}

void pen_hint(struct pen *p, struct str text)
{
    AUTO_FREE char *all = mem_strn(text.p, text.len);

    if (!p->cr)
        mem_copy_str(p->hint, sizeof(p->hint), all);
}

void pen_group_end(struct pen *p)
{
    if (!p->cr)
        buf_adds(p->svg, "</g>\n");
}

void pen_down(struct pen *p, double y)
{
    if (p->cr) {
        p->c->save(p->cr);
        p->c->translate(p->cr, 0, y);
        return;
    }
    number(p, "<g transform=\"translate(0 ", y);
    buf_adds(p->svg, ")\">\n");
}

void pen_up(struct pen *p)
{
    if (p->cr)
        p->c->restore(p->cr);
    else
        buf_adds(p->svg, "</g>\n");
}
