/* letter.c: writes a report for mail twice, as plain text and as HTML: its parts one below the other. */
#include "draw/letter.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/plain.h"
#include "draw/mail.h"
#include "format/render.h"
#include "format/words.h"

#define LINE_INDENT 4
#define PICTURE_PX  720
#define BAR_PX      50 /* a phone has 360 for all of a table */

static void add_line(struct buf *out, const char *text)
{
    plain_line(out, str_of(text));
    buf_addc(out, '\n');
}

static bool is_left_out(const struct letter_part *p)
{
    return !p->rows->n && !p->none;
}

/* A line for each row: all of its texts, folded at width. */
static void add_lines(struct buf *out, const struct rows *r, int width)
{
    for (size_t i = 0; i < r->n; i++) {
        AUTO_BUF line = BUF_INIT(4096), clean = BUF_INIT(12288);
        struct str part;
        for (size_t c = 0; c < r->n_cols; c++) {
            const struct cell *v = &r->cells[i * r->n_cols + c];
            if (!v->absent)
                buf_addf(&line, "%s%s", line.len ? "  " : "", v->json_text);
        }
        plain_line(&clean, buf_str(&line));
        struct str rest = buf_str(&clean);
        for (int indent = 0; words_line(&rest, width - indent, &part); indent = LINE_INDENT)
            buf_addf(out, "%*s%.*s\n", indent, "", STR_ARG(part));
    }
}

void letter_text(struct buf *out, const struct letter *l, int width)
{
    const struct term t = {.width = width};

    add_line(out, l->subtitle);
    if (l->screen.len) {
        buf_addc(out, '\n');
        plain_text(out, l->screen);
    }
    for (size_t i = 0; i < l->n; i++) {
        const struct letter_part *p = &l->v[i];
        if (is_left_out(p))
            continue;
        buf_addc(out, '\n');
        add_line(out, p->title);
        if (!p->rows->n)
            add_line(out, p->none);
        else if (p->lines)
            add_lines(out, p->rows, width);
        else
            render_rows_text(out, p->rows, &t);
        if (p->more[0])
            add_line(out, p->more);
    }
    if (l->notes.len) {
        buf_addc(out, '\n');
        plain_text(out, l->notes);
    }
}

/* Which column is to have bars, and of how much they are full. */
static size_t bar_of(const struct letter_part *p, const struct rows *r, int64_t *ret_full)
{
    size_t n = r->n - (p->total && r->n), k = FIRST(r->n_cols, c, p->bar && strcmp(r->cols[c].name, p->bar) == 0);

    *ret_full = 0;
    for (size_t i = 0; k < r->n_cols && i < n; i++)
        *ret_full = MAX(*ret_full, r->cells[i * r->n_cols + k].i);
    return k;
}

static void mail_part(struct buf *out, const struct letter_part *p)
{
    const struct rows *r = p->slim ? p->slim : p->rows;
    struct mail_table t = {.title = p->title, .rows = r, .n = r->n, .bar_px = BAR_PX, .total = p->total};

    if (!r->n) {
        mail_heading(out, p->title);
        mail_line(out, str_of(p->none));
        return;
    }
    t.bar = bar_of(p, r, &t.bar_full);
    buf_adds(out, "<div style=\"overflow-x:auto\">\n"); /* a wide table moves, not the whole mail */
    mail_table(out, &t);
    buf_adds(out, "</div>\n");
    if (p->more[0])
        mail_line(out, str_of(p->more));
}

void letter_mail(struct buf *out, const struct letter *l)
{
    struct mail m = {l->title, l->subtitle, l->notes};

    mail_start(out, &m);
    if (l->screen.len)
        mail_screen(out, l->screen);
    for (size_t i = 0; i < l->n; i++) {
        if (!is_left_out(&l->v[i]))
            mail_part(out, &l->v[i]);
        if (i == 0 && l->picture) /* what it draws stands above it */
            mail_picture(out, l->picture, l->alt, PICTURE_PX);
    }
    mail_end(out, &m);
}
