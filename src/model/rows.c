/* rows.c: a flat table of typed cells. */
#include "model/rows.h"

#include "base/mem.h"

void rows_init(struct rows *r, const struct column_spec *cols, size_t n_cols)
{
    *r = (struct rows){.cols = cols, .n_cols = n_cols};
}

struct cell *rows_add(struct rows *r)
{
    if (r->n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 16;
        r->cells = mem_grow(r->cells, r->cap * r->n_cols, sizeof(*r->cells));
    }
    struct cell *row = r->cells + r->n++ * r->n_cols;
    for (size_t i = 0; i < r->n_cols; i++)
        row[i] = (struct cell){.absent = true};
    return row;
}

void cell_text(struct cell *c, struct str s)
{
    free(c->json_text);
    c->json_text = mem_strn(s.p, s.len);
    c->absent = false;
}

void cell_some_text(struct cell *c, const char *s)
{
    if (s[0])
        cell_text(c, str_of(s));
}

void cell_int(struct cell *c, int64_t v)
{
    c->i = v;
    c->absent = false;
}

void cell_screen(struct cell *c, const char *fmt, ...)
{
    struct buf b = BUF_INIT(4096);
    va_list ap;
    va_start(ap, fmt);
    buf_vaddf(&b, fmt, ap);
    va_end(ap);
    free(c->screen);
    c->screen = buf_take(&b);
}

void rows_fini(struct rows *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n * r->n_cols; i++) {
        free(r->cells[i].json_text);
        free(r->cells[i].screen);
    }
    free(r->cells);
    *r = (struct rows){0};
}
