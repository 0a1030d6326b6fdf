/* paper.c: pages of PDF, filled from top to bottom. Tables are in paper_table.c. */
#include "draw/paper.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "draw/paper_page.h"
#include "draw/plot_draw.h"

#define A4_SHORT 595.0
#define A4_LONG  842.0
#define MARGIN   48.0
#define FOOT     24.0 /* above the lower edge */
#define TEXT     9.5

int paper_open(const struct paper_conf *conf, struct buf *out, struct paper **ret, struct err *err)
{
    const struct cairo_lib *c = NULL;
    int r = font_load(err);

    if (r < 0 || (r = cairo_lib_load(&c, err)) < 0)
        return r;
    struct paper *p = NEW(struct paper, .wide = conf->landscape ? A4_LONG : A4_SHORT,
                          .high = conf->landscape ? A4_SHORT : A4_LONG, .left = MARGIN);
    p->right = p->wide - MARGIN;
    p->bottom = p->high - MARGIN - 12;
    p->y = p->top = MARGIN;
    p->out = out;
    p->title = mem_str(conf->title ? conf->title : "");
    p->foot = mem_str(conf->foot ? conf->foot : "");
    p->surface = c->pdf(plot_write, out, p->wide, p->high);
    p->pen = (struct pen){.c = c, .cr = c->create(p->surface)};
    plot_metadata(c, p->surface, p->title, conf->at_ms);
    font_plain(p->pen.cr);
    *ret = p;
    return 0;
}

static void paper_fail(struct paper *p, int code, const char *sentence)
{
    if (!p->err.code)
        err_set(&p->err, code, "%s", sentence);
}

/* The foot of the page that ends here. */
static void end_page(struct paper *p)
{
    struct ink dim = {INK_DIM, 1};
    AUTO_BUF b = BUF_INIT(65536);
    char number[24], fits[512];

    buf_addf(&b, "%.512s%s%.512s", p->title, p->title[0] && p->foot[0] ? " · " : "", p->foot);
    snprintf(number, sizeof(number), "%d", p->page + 1);
    struct str left = font_fit(buf_str(&b), 8, false, p->right - p->left - 40, fits, sizeof(fits));
    pen_text(&p->pen, p->left, p->high - FOOT, left, 8, false, PEN_START, 0, dim);
    pen_text(&p->pen, p->right, p->high - FOOT, str_of(number), 8, false, PEN_END, 0, dim);
    p->pen.c->show_page(p->pen.cr);
    p->page++;
    p->y = p->top;
    if (p->page >= PAPER_PAGES_MAX)
        paper_fail(p, -EMSGSIZE, "cannot write: the document has more than 2000 pages");
    if (p->out->err)
        paper_fail(p, p->out->err, "cannot write: the document is too large");
}

bool paper_need(struct paper *p, double points)
{
    if (p->err.code)
        return false;
    if (p->y + points > p->bottom && p->y > p->top)
        end_page(p);
    return !p->err.code;
}

int paper_close(struct paper *p, struct err *err)
{
    if (!p)
        return 0;
    const struct cairo_lib *c = p->pen.c;
    if (!p->err.code && (p->y > p->top || !p->page))
        end_page(p);
    cairo_status_t status = c->status(p->pen.cr);
    c->destroy(p->pen.cr);
    c->surface_finish(p->surface);
    status = status ? status : c->surface_status(p->surface);
    c->surface_destroy(p->surface);
    if (p->out->err)
        paper_fail(p, p->out->err, "cannot write: the document is too large");
    if (status)
        paper_fail(p, -EIO, c->status_text(status));
    int r = p->err.code;
    if (r < 0)
        err_set(err, r, "%s", p->err.msg);
    FREE_ALL(p->title, p->foot, p);
    return r;
}

/* ---- text ---- */

/* Scripts without blanks between words may break anywhere. */
static bool breaks_before(struct str s, size_t at)
{
    uint32_t point = 0;

    return str_utf8(str_n(s.p + at, s.len - at), &point) > 1 && point >= 0x2e80 && point <= 0x9fff && point != 0x3001 &&
           point != 0x3002;
}

struct str paper_wrap(struct str *rest, double size, bool bold, double width)
{
    struct str s = *rest;
    size_t good = 0, at = 0, last = 0; /* a whole word fits up to good; a letter up to last */
    const char *stop = memchr(s.p, '\n', s.len);
    size_t end = stop ? (size_t)(stop - s.p) : s.len;

    while (at < end) {
        uint32_t point;
        size_t n = str_utf8(str_n(s.p + at, end - at), &point);
        n = n ? n : 1;
        if (at && (s.p[at] == ' ' || breaks_before(s, at)))
            good = at;
        if (font_width(str_n(s.p, at + n), size, bold) > width && last)
            break;
        at = last = at + n;
    }
    size_t cut = at >= end ? end : good ? good : last, skip = cut;
    if (cut == end && stop)
        skip++;
    while (cut < end && skip < end && s.p[skip] == ' ')
        skip++;
    *rest = str_n(s.p + skip, s.len - skip);
    return str_n(s.p, cut);
}

static void lines(struct paper *p, const char *text, double size, bool bold, double lead)
{
    struct str rest = str_n(text, strnlen(text, 65536));

    while (rest.len && paper_need(p, lead)) {
        struct str line = paper_wrap(&rest, size, bold, p->right - p->left);
        pen_text(&p->pen, p->left, p->y + size, line, size, bold, PEN_START, 0, (struct ink){INK_TEXT, 1});
        p->y += lead;
    }
}

void paper_heading(struct paper *p, const char *text, int level)
{
    static const double sizes[] = {17, 13, 10.5};
    double size = sizes[MAX(1, MIN(level, 3)) - 1];

    if (p->y > p->top)
        p->y += size * 0.8;
    if (!paper_need(p, size * 1.4 + 72)) /* some of what it is the heading of stands below it */
        return;
    lines(p, text, size, true, size * 1.35);
    p->y += 4;
}

void paper_text(struct paper *p, const char *text)
{
    lines(p, text, TEXT, false, TEXT * 1.4);
    p->y += 5;
}

void paper_break(struct paper *p)
{
    if (!p->err.code && p->y > p->top)
        end_page(p);
}

void paper_plot(struct paper *p, const struct plot *plot)
{
    const struct cairo_lib *c = p->pen.c;
    double most = p->bottom - p->top, height = plot->height > 0 ? MIN(MAX(plot->height, 100), most) : MIN(240, most);
    struct err err = {0};

    if (plot_check(plot, &err) < 0)
        paper_fail(p, err.code, err.msg);
    if (!paper_need(p, height))
        return;
    c->save(p->pen.cr);
    c->translate(p->pen.cr, p->left - 12, p->y); /* its own margin hangs outside, so that it stands flush */
    plot_onto(&p->pen, plot, p->right - p->left + 24, height);
    c->restore(p->pen.cr);
    p->y += height + 6;
}
