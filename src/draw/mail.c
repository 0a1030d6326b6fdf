/*
 * mail.c: writes rows as HTML for mail. Attributes are used rather than styles where they will do: old readers know
 * them best, and Gmail cuts what is longer than 100 KB, so a cell must be short.
 */
#include "draw/mail.h"

#include "base/buf.h"
#include "base/mem.h"
#include "draw/html.h"
#include "format/words.h"

#define FONT   "font-family:Segoe UI,Helvetica,Arial,sans-serif;"
#define INK    "#1f2430"
#define FAINT  "#667085"
#define BAR    "#2f6fde"
#define TRACK  "#e8ecf3"
#define HEAD   "#dfe5ef"
#define STRIPE "#f5f7fa"
#define BAR_PX 90

void mail_start(struct buf *out, const struct mail *m)
{
    html_between(out,
                 "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\">"
                 "<meta name=\"viewport\" content=\"width=device-width\"><title>",
                 m->title,
                 "</title></head>\n<body bgcolor=\"#ffffff\" "
                 "style=\"margin:0;padding:16px;background:#ffffff;color:" INK ";" FONT "font-size:14px\">\n");
    html_between(out, "<h1 style=\"margin:0 0 4px;font-size:20px;font-weight:600\">", m->title, "</h1>\n");
    html_between(out, "<p style=\"margin:0 0 16px;color:" FAINT "\">", m->subtitle, "</p>\n");
}

void mail_end(struct buf *out, const struct mail *m)
{
    struct str rest = m->notes, line;

    while (str_line(&rest, &line))
        html_text_between(out, "<p style=\"margin:0 0 4px;color:" FAINT ";font-size:13px\">", line, "</p>\n");
    buf_adds(out, "</body></html>\n");
}

void mail_heading(struct buf *out, const char *text)
{
    html_between(out, "<h2 style=\"margin:0 0 6px;font-size:16px;font-weight:600\">", text, "</h2>\n");
}

void mail_line(struct buf *out, struct str text)
{
    html_text_between(out, "<p style=\"margin:0 0 20px\">", text, "</p>\n");
}

void mail_screen(struct buf *out, struct str text)
{
    struct str line;

    buf_adds(out, "<pre style=\"margin:0 0 20px;font-family:Consolas,Menlo,monospace;font-size:12px\">");
    while (str_line(&text, &line))
        html_text_between(out, "", line, "\n");
    buf_adds(out, "</pre>\n");
}

void mail_picture(struct buf *out, const char *src, const char *alt, int width)
{
    html_between(out, "<p style=\"margin:0 0 20px\"><img src=\"", src, "\" alt=\"");
    html_cstr(out, alt);
    buf_addf(out, "\" width=\"%d\" style=\"width:100%%;max-width:%dpx;height:auto;border:0\"></p>\n", width, width);
}

static void bar(struct buf *out, int64_t v, int64_t full, int all)
{
    int px = full > 0 ? (int)((MAX(MIN(v, full), 0) * all + full / 2) / full) : 0;

    if (v > 0 && px == 0)
        px = 1; /* little is not nothing */
    buf_addf(out,
             "<td width=\"%d\"><table cellpadding=\"0\" cellspacing=\"0\" width=\"%d\" bgcolor=\"" TRACK
             "\" style=\"font-size:8px;line-height:10px\"><tr>",
             all, all);
    if (px)
        buf_addf(out, "<td width=\"%d\" height=\"10\" bgcolor=\"" BAR "\"></td>", px);
    if (px < all)
        buf_addf(out, "<td width=\"%d\" height=\"10\"></td>", all - px);
    buf_adds(out, "</tr></table></td>");
}

static void cell(struct buf *out, const struct column_spec *col, const struct cell *c)
{
    AUTO_BUF shown = BUF_INIT(65536);

    buf_adds(out, col->right ? "<td align=\"right\" nowrap>" : "<td nowrap>");
    if (!c->absent)
        cell_shown(&shown, col, c);
    html_text_between(out, c->absent ? "&ndash;" : "", buf_str(&shown), "</td>");
}

/* A name of a column may be broken after each underscore, but for one it begins with. */
static void heading(struct buf *out, const char *title)
{
    struct str rest = str_of(title), word;

    while (str_cut(&rest, '_', &word)) {
        html_text(out, word);
        if (rest.len)
            buf_adds(out, word.len ? "_<wbr>" : "_");
    }
}

void mail_table(struct buf *out, const struct mail_table *t)
{
    const struct rows *r = t->rows;

    if (t->title)
        mail_heading(out, t->title);
    buf_adds(out, "<table cellpadding=\"5\" cellspacing=\"0\" border=\"0\" style=\"border-collapse:collapse;" FONT
                  "font-size:13px;margin:0 0 20px\">\n<tr bgcolor=\"" HEAD "\">");
    for (size_t k = t->skip; k < r->n_cols; k++) {
        buf_adds(out,
                 r->cols[k].right ? "<th align=\"right\" valign=\"bottom\">" : "<th align=\"left\" valign=\"bottom\">");
        heading(out, r->cols[k].title);
        buf_adds(out, "</th>");
        if (k == t->bar)
            buf_adds(out, "<th></th>");
    }
    buf_adds(out, "</tr>\n");
    for (size_t i = 0; i < t->n && t->first + i < r->n && !out->err; i++) {
        bool total = t->total && t->first + i + 1 == r->n;
        buf_adds(out, total   ? "<tr bgcolor=\"" HEAD "\" style=\"font-weight:600\">"
                      : i % 2 ? "<tr bgcolor=\"" STRIPE "\">"
                              : "<tr>");
        for (size_t k = t->skip; k < r->n_cols; k++) {
            const struct cell *c = &r->cells[(t->first + i) * r->n_cols + k];
            cell(out, &r->cols[k], c);
            if (k == t->bar && !total)
                bar(out, c->absent ? 0 : c->i, t->bar_full, t->bar_px ? t->bar_px : BAR_PX);
            else if (k == t->bar)
                buf_adds(out, "<td></td>");
        }
        buf_adds(out, "</tr>\n");
    }
    buf_adds(out, "</table>\n");
}
