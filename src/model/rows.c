/* rows.c: a flat table of typed cells. */
#include "model/rows.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

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

static void cell_fini(struct cell *c)
{
    if (c->json_text) /* most cells have neither */
        free(c->json_text);
    if (c->screen)
        free(c->screen);
}

int rows_pick(struct rows *r, char *const *names, size_t n, struct err *err)
{
    AUTO_FREE size_t *at = mem_zero(n + 1, sizeof(*at));
    AUTO_FREE bool *wanted = mem_zero(r->n_cols + 1, sizeof(*wanted));
    for (size_t i = 0; i < n; i++) {
        at[i] = FIRST(r->n_cols, k, strcmp(r->cols[k].name, names[i]) == 0);
        if (at[i] == r->n_cols) {
            AUTO_BUF all = BUF_INIT(4096);
            for (size_t k = 0; k < r->n_cols; k++)
                buf_addf(&all, "%s%s", k ? ", " : "", r->cols[k].name);
            return err_set(err, -ENOENT, "there is no column '%.60s'; there are %s", names[i], all.p);
        }
        if (wanted[at[i]])
            return err_set(err, -EEXIST, "column '%.60s' is named twice", names[i]);
        wanted[at[i]] = true;
    }
    struct column_spec *cols = mem_zero(n + 1, sizeof(*cols));
    struct cell *cells = mem_zero(r->n * n + 1, sizeof(*cells));
    for (size_t k = 0; k < n; k++)
        cols[k] = r->cols[at[k]];
    for (size_t i = 0; i < r->n; i++) {
        struct cell *from = r->cells + i * r->n_cols;
        for (size_t k = 0; k < n; k++)
            cells[i * n + k] = from[at[k]];
        for (size_t k = 0; k < r->n_cols; k++)
            if (!wanted[k])
                cell_fini(&from[k]);
    }
    free(r->cells);
    free(r->picked);
    *r = (struct rows){.cols = cols, .n_cols = n, .n = r->n, .cap = r->n, .cells = cells, .picked = cols};
    return 0;
}

void rows_fini(struct rows *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n * r->n_cols; i++)
        cell_fini(&r->cells[i]);
    free(r->cells);
    free(r->picked);
    *r = (struct rows){0};
}
