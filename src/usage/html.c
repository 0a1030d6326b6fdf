/* html.c: usage as one page: a bar per row and a table. Text is escaped; nothing is loaded from anywhere. */
#include "draw/html.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "usage/table.h"

static void bar(struct buf *out, const struct usage_row *r, int64_t most)
{
    if (most > 0)
        buf_addf(out, "<i style=\"width:%.1fpx\"></i><u style=\"width:%.1fpx\"></u>",
                 200.0 * (double)r->s.busy_ms / (double)most,
                 200.0 * (double)(r->s.held_ms - r->s.busy_ms) / (double)most);
}

/* r NULL: the total. */
static void page_row(struct buf *out, const struct rows *rows, size_t i, const struct usage_row *r, int64_t most)
{
    buf_adds(out, r ? "<tr>" : "<tr class=total>");
    for (size_t k = 0; k < rows->n_cols; k++) {
        const struct cell *c = &rows->cells[i * rows->n_cols + k];
        AUTO_BUF b = BUF_INIT(65536);
        if (c->screen)
            buf_adds(&b, c->screen);
        else if (!c->absent && rows->cols[k].type == CELL_TEXT)
            buf_adds(&b, c->json_text);
        else if (!c->absent)
            buf_addi(&b, c->i);
        buf_adds(out, rows->cols[k].right ? "<td class=n>" : "<td>");
        html_cstr(out, b.p ? b.p : "");
        buf_adds(out, "</td>");
    }
    buf_adds(out, "<td>");
    if (r)
        bar(out, r, most);
    buf_adds(out, "</td></tr>\n");
}

static void page_head(struct buf *out, const struct usage_table *t, const char *title)
{
    char from[32], to[32];

    buf_adds(out,
             "<!doctype html>\n<html lang=en><meta charset=utf-8>"
             "<meta name=viewport content=\"width=device-width\">\n<title>Usage</title>\n"
             "<style>body{font:14px system-ui,sans-serif;margin:2em;color:#222;background:#fff}"
             "table{border-collapse:collapse}th,td{padding:.25em .7em;border-bottom:1px solid #ddd;text-align:left}"
             ".n{text-align:right;font-variant-numeric:tabular-nums}.total{font-weight:600}"
             "i,u{display:inline-block;height:.8em;background:#2563a8}u{background:#e0a030}"
             "p{color:#555}</style>\n<h1>");
    html_cstr(out, title);
    buf_addf(out, ": usage by %s</h1>\n<p>%.16s to %.16s UTC, days of ", usage_by_words[t->by],
             clock_iso(t->from_ms, from), clock_iso(t->to_ms, to));
    html_cstr(out, t->zone);
    buf_addf(out,
             "; shared GPUs split by %s. Bars: <i style=\"width:1em\"></i> busy, <u style=\"width:1em\"></u> held "
             "without work.",
             t->split);
    if (t->total.s.work_of_ms > 0)
        buf_adds(out, " " USAGE_EFFECTIVE);
    buf_adds(out, "</p>\n");
}

void render_usage_html(struct buf *out, const struct usage_table *t, const char *title)
{
    AUTO_ROWS rows = {0};
    int64_t most = 0;

    usage_rows(t, &rows);
    for (size_t i = 0; i < t->n; i++)
        most = MAX(most, t->v[i].s.held_ms);
    page_head(out, t, title);
    buf_adds(out, "<table><tr>");
    for (size_t k = 0; k < rows.n_cols; k++) {
        buf_adds(out, rows.cols[k].right ? "<th class=n>" : "<th>");
        html_cstr(out, rows.cols[k].title);
        buf_adds(out, "</th>");
    }
    buf_adds(out, "<th></th></tr>\n");
    for (size_t i = 0; i < rows.n && out->err == 0; i++)
        page_row(out, &rows, i, i < t->n ? &t->v[i] : NULL, most);
    buf_adds(out, "</table></html>\n");
}
