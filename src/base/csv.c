/* csv.c: reads CSV in one pass, cell by cell; a cell is a view of the text unless quotes in it had to be undone. */
#include "base/csv.h"

#include <errno.h>

#include "base/mem.h"

void csv_init(struct csv *c, struct str text)
{
    str_skip(&text, "\xef\xbb\xbf");
    *c = (struct csv){.rest = text, .scratch = BUF_INIT(CSV_RECORD_MAX + 1)};
}

void csv_fini(struct csv *c)
{
    if (c)
        buf_fini(&c->scratch);
}

/* Reads from behind the opening quote. ret: the text between the quotes. */
static int quoted(struct csv *c, struct str *ret, struct err *err)
{
    size_t from = c->scratch.len;
    struct str s = c->rest;

    for (size_t n = 0;;) {
        const char *end = memchr(s.p + n, '"', s.len - n);
        if (!end)
            return err_set(err, -EINVAL, "line %zu: a quote is never closed", c->line);
        size_t at = (size_t)(end - s.p);
        bool again = at + 1 < s.len && s.p[at + 1] == '"';
        buf_add(&c->scratch, s.p + n, at - n + again);
        n = at + 1 + again;
        if (c->scratch.err)
            return err_set(err, -EINVAL, "line %zu: a record is longer than %u bytes", c->line, CSV_RECORD_MAX);
        if (!again) {
            c->rest = str_drop(s, n);
            break;
        }
    }
    *ret = str_n(c->scratch.p + from, c->scratch.len - from);
    for (size_t i = 0; i < ret->len; i++)
        c->lines += ret->p[i] == '\n';
    if (c->rest.len && c->rest.p[0] != ',' && c->rest.p[0] != '\n' && !str_starts(c->rest, "\r\n"))
        return err_set(err, -EINVAL, "line %zu: a comma is missing after a quote", c->line);
    return 0;
}

static int cell(struct csv *c, struct str *ret, struct err *err)
{
    size_t n = 0;

    if (str_skip(&c->rest, "\""))
        return quoted(c, ret, err);
    while (n < c->rest.len && c->rest.p[n] != ',' && c->rest.p[n] != '\n')
        n++;
    *ret = str_n(c->rest.p, n);
    if (ret->len && ret->p[n - 1] == '\r' && (n == c->rest.len || c->rest.p[n] == '\n'))
        ret->len--;
    c->rest = str_drop(c->rest, n);
    return 0;
}

int csv_next(struct csv *c, struct str *cells, size_t max, struct err *err)
{
    struct str one;
    int n = 0;

    while (str_starts(c->rest, "\n") || str_starts(c->rest, "\r\n")) {
        c->rest = str_drop(c->rest, c->rest.p[0] == '\n' ? 1 : 2);
        c->lines++;
    }
    c->line = c->lines + 1;
    if (!c->rest.len)
        return 0;
    const char *start = c->rest.p;
    buf_reset(&c->scratch);
    buf_room(&c->scratch, MIN(c->rest.len, (size_t)CSV_RECORD_MAX) + 1); /* what cells point into does not move */
    for (;;) {
        int r = cell(c, &one, err);
        if (r < 0)
            return r;
        if ((size_t)(c->rest.p - start) > CSV_RECORD_MAX)
            return err_set(err, -EINVAL, "line %zu: a record is longer than %u bytes", c->line, CSV_RECORD_MAX);
        if ((size_t)n < max)
            cells[n] = one;
        n++;
        if (!str_skip(&c->rest, ","))
            break;
    }
    if (str_skip(&c->rest, "\r\n") || str_skip(&c->rest, "\n"))
        c->lines++;
    return n;
}

void csv_add(struct buf *out, const char *s)
{
    if (!strpbrk(s, ",\"\r\n")) {
        buf_adds(out, s);
        return;
    }
    buf_addc(out, '"');
    for (; *s; s++) {
        if (*s == '"')
            buf_addc(out, '"');
        buf_addc(out, *s);
    }
    buf_addc(out, '"');
}
