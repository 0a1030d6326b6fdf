/* paper_table.c: a table over pages: how wide its columns are, its header on each page, its rows. */

#include "base/buf.h"
#include "base/mem.h"
#include "draw/paper_page.h"
#include "draw/plot_draw.h"
#include "format/words.h"

#define SIZE       8.5
#define LEAST_SIZE 6.0
#define PAD        5.0 /* on either side of a cell */
#define HEAD_LINES 4

struct layout {
    const struct paper_table *t;
    double size;
    double width[PAPER_COLS_MAX]; /* with padding */
    size_t n_cols;
    int head_lines;
};

static const char *text_of(const char *s)
{
    return s ? s : "";
}

static double measure(const char *s, bool bold)
{
    return font_width(str_n(text_of(s), strnlen(text_of(s), 512)), SIZE, bold);
}

/* The narrowest a title may be: its longest word, and no more lines than the header has. */
static double title_width(const char *title)
{
    struct str rest = str_of(text_of(title)), word;
    double whole = measure(title, true), widest = 0;

    while (str_word(&rest, &word))
        widest = MAX(widest, font_width(str_n(word.p, MIN(word.len, (size_t)512)), SIZE, true));
    if (widest >= whole) /* one word; Chinese and Japanese may break anywhere */
        return whole > 48 && strpbrk(text_of(title), "\xe3\xe4\xe5\xe6\xe7\xe8\xe9") ? whole / 2 + SIZE : whole;
    return MAX(widest, whole / 3 + SIZE * 2);
}

/* Cut the widest columns to one width, so that all fit. */
static void squeeze(struct layout *l, double room)
{
    double low = 0, high = room;

    for (int i = 0; i < 40; i++) {
        double cap = (low + high) / 2, sum = 0;
        for (size_t k = 0; k < l->n_cols; k++)
            sum += MIN(l->width[k], cap);
        if (sum <= room)
            low = cap;
        else
            high = cap;
    }
    for (size_t k = 0; k < l->n_cols; k++)
        l->width[k] = MIN(l->width[k], low);
}

/* Their widths with titles in one line each, or with titles wrapped; the sum. */
static double widths(struct layout *l, bool wrapped)
{
    enum { LOOKED_AT = 5000 };
    const struct paper_table *t = l->t;
    double sum = 0;

    for (size_t k = 0; k < l->n_cols; k++) {
        l->width[k] = wrapped ? title_width(t->cols[k].title) : measure(t->cols[k].title, true);
        for (size_t i = 0; i < t->n; i++)
            if (i < LOOKED_AT || i + t->n_bold >= t->n)
                l->width[k] = MAX(l->width[k], measure(t->cells[i * t->n_cols + k], i + t->n_bold >= t->n));
        l->width[k] += 2 * PAD;
        sum += l->width[k];
    }
    return sum;
}

/* Letters do not shrink quite as their size does: what fitted by a hair must not be broken for that. */
static double head_width(const struct layout *l, size_t k)
{
    return l->width[k] - 2 * PAD * l->size / SIZE + l->size / 4;
}

static void lay_out(struct layout *l, const struct paper_table *t, double room)
{
    *l = (struct layout){.t = t, .size = SIZE, .n_cols = MIN(t->n_cols, (size_t)PAPER_COLS_MAX)};
    double sum = widths(l, false);
    if (sum > room)
        sum = widths(l, true);
    if (sum > room) {
        double factor = MAX(room / sum, LEAST_SIZE / SIZE);
        l->size *= factor;
        for (size_t k = 0; k < l->n_cols; k++)
            l->width[k] *= factor;
        if (sum * factor > room + 0.01)
            squeeze(l, room);
    }
    for (size_t k = 0; k < l->n_cols; k++) {
        struct str rest = str_of(text_of(t->cols[k].title));
        int n = 0;
        while (rest.len && n < HEAD_LINES) {
            paper_wrap(&rest, l->size, true, head_width(l, k));
            n++;
        }
        l->head_lines = MAX(l->head_lines, n);
    }
}

static void cell(struct paper *p, const struct layout *l, double x, double y, size_t k, struct str s, bool bold)
{
    double pad = PAD * l->size / SIZE;
    bool right = l->t->cols[k].right;
    char fits[1024];

    s = font_fit(s, l->size, bold, head_width(l, k), fits, sizeof(fits));
    pen_text(&p->pen, right ? x + l->width[k] - pad : x + pad, y, s, l->size, bold, right ? PEN_END : PEN_START, 0,
             (struct ink){INK_TEXT, 1});
}

static double total(const struct layout *l)
{
    double sum = 0;

    for (size_t k = 0; k < l->n_cols; k++)
        sum += l->width[k];
    return sum;
}

static void header(struct paper *p, const struct layout *l)
{
    double x = p->left, lead = l->size * 1.25;

    for (size_t k = 0; k < l->n_cols; k++) {
        struct str rest = str_of(text_of(l->t->cols[k].title)), v[HEAD_LINES];
        int n = 0;
        while (rest.len && n < HEAD_LINES) {
            struct str all = rest;
            v[n] = paper_wrap(&rest, l->size, true, head_width(l, k));
            if (++n == HEAD_LINES && rest.len)
                v[n - 1] = all; /* cut, and it shows */
        }
        for (int i = 0; i < n; i++) /* they stand on the line below */
            cell(p, l, x, p->y + lead * (l->head_lines - n + i + 1) - 2, k, v[i], true);
        x += l->width[k];
    }
    p->y += lead * l->head_lines + 3;
    pen_line(&p->pen, p->left, p->y, p->left + total(l), p->y, 0.8, (struct ink){INK_TEXT, 1});
    p->y += 1;
}

void paper_table(struct paper *p, const struct paper_table *t)
{
    struct layout l;

    if (!t->n_cols)
        return;
    lay_out(&l, t, p->right - p->left);
    double row = l.size * 1.55, head = l.size * 1.25 * l.head_lines + 4;
    if (!paper_need(p, head + row * (double)MIN(MAX(t->n, (size_t)1), (size_t)3)))
        return;
    header(p, &l);
    for (size_t i = 0; i < t->n; i++) {
        bool bold = i + t->n_bold >= t->n;
        double x = p->left;
        int page = p->page;
        if (!paper_need(p, row))
            return;
        if (p->page != page)
            header(p, &l);
        if (bold && (i == 0 || i - 1 + t->n_bold < t->n))
            pen_line(&p->pen, p->left, p->y, p->left + total(&l), p->y, 0.8, (struct ink){INK_TEXT, 1});
        for (size_t k = 0; k < l.n_cols; k++) {
            const char *s = text_of(t->cells[i * t->n_cols + k]);
            cell(p, &l, x, p->y + row * 0.72, k, str_n(s, strnlen(s, 4096)), bold);
            x += l.width[k];
        }
        p->y += row;
        pen_line(&p->pen, p->left, p->y, p->left + total(&l), p->y, 0.4, (struct ink){INK_LINE, 1});
    }
    p->y += 8;
}

void paper_rows(struct paper *p, const struct rows *r, size_t n_bold)
{
    AUTO_ARENA arena = {0};
    struct paper_table t = {.n_cols = r->n_cols, .n = r->n, .n_bold = n_bold};
    struct paper_col *cols = arena_alloc(&arena, r->n_cols + 1, sizeof(*cols));
    const char **cells = arena_alloc(&arena, r->n * r->n_cols + 1, sizeof(*cells));

    for (size_t k = 0; k < r->n_cols; k++)
        cols[k] = (struct paper_col){r->cols[k].title, r->cols[k].right};
    for (size_t i = 0; i < r->n * r->n_cols; i++) {
        AUTO_BUF b = BUF_INIT(65536);
        cell_shown(&b, &r->cols[i % r->n_cols], &r->cells[i]);
        if (b.len)
            cells[i] = arena_strn(&arena, b.p, b.len);
    }
    t.cols = cols;
    t.cells = cells;
    paper_table(p, &t);
}
