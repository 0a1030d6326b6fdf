/* table.c: rows as text for pipes and screens, as CSV, and as JSON. */
#include "format/render.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/plain.h"
#include "format/words.h"

static void add_number(struct buf *b, const struct column_spec *col, const struct cell *c, const char *yes,
                       const char *no)
{
    if (col->type == CELL_BOOL)
        buf_adds(b, c->i ? yes : no);
    else if (col->type == CELL_FIXED)
        buf_fixed(b, c->i, col->per);
    else
        buf_addi(b, c->i);
}

void cell_shown(struct buf *b, const struct column_spec *col, const struct cell *c)
{
    if (c->absent)
        buf_addc(b, '-');
    else if (c->screen)
        plain_line(b, str_of(c->screen));
    else if (col->type == CELL_TEXT)
        plain_line(b, str_of(c->json_text ? c->json_text : ""));
    else
        add_number(b, col, c, "yes", "no");
}

static int total_width(const int *widths, const bool *keep, size_t n)
{
    int sum = 0, columns = 0;

    for (size_t i = 0; i < n; i++)
        if (keep[i]) {
            sum += widths[i];
            columns++;
        }
    return sum + 2 * MAX(columns - 1, 0);
}

/* Leave out the lightest column, the rightmost of equals; false when only one is left. */
static bool drop_lightest(const struct rows *r, bool *keep)
{
    size_t worst = r->n_cols, left = 0;

    for (size_t i = 0; i < r->n_cols; i++) {
        if (!keep[i])
            continue;
        left++;
        if (worst == r->n_cols || r->cols[i].weight <= r->cols[worst].weight)
            worst = i;
    }
    if (left <= 1)
        return false;
    keep[worst] = false;
    return true;
}

void render_rows_fit(struct buf *out, const struct rows *r, const struct term *t, bool *kept)
{
    if (!r->n_cols)
        return;
    AUTO_FREE int *widths = mem_zero(r->n_cols, sizeof(*widths));
    AUTO_BUF b = BUF_INIT(65536);
    size_t last = 0;

    for (size_t k = 0; k < r->n_cols; k++) {
        widths[k] = str_width(str_of(r->cols[k].title));
        kept[k] = true;
        for (size_t i = 0; i < r->n; i++) {
            buf_reset(&b);
            cell_shown(&b, &r->cols[k], &r->cells[i * r->n_cols + k]);
            widths[k] = MAX(widths[k], str_width(buf_str(&b)));
        }
    }
    while (t->width > 0 && total_width(widths, kept, r->n_cols) > t->width)
        if (!drop_lightest(r, kept)) {
            for (size_t k = 0; k < r->n_cols; k++)
                widths[k] = MIN(widths[k], t->width);
            break;
        }
    for (size_t k = 0; k < r->n_cols; k++)
        last = kept[k] ? k : last;
    for (size_t i = 0; i <= r->n && out->err == 0; i++) { /* 0: titles */
        const char *gap = "";
        for (size_t k = 0; k < r->n_cols; k++) {
            const struct cell *c = i ? &r->cells[(i - 1) * r->n_cols + k] : NULL;
            if (!kept[k])
                continue;
            buf_adds(out, gap);
            gap = "  ";
            buf_reset(&b);
            if (c)
                cell_shown(&b, &r->cols[k], c);
            else
                buf_adds(&b, r->cols[k].title);
            bool tint = t->colour && (!c || c->ansi);
            if (tint)
                buf_addf(out, "\033[%dm", c ? c->ansi : 1);
            /* nothing trails the last column */
            int width = k == last && !r->cols[k].right ? MIN(widths[k], str_width(buf_str(&b))) : widths[k];
            fit(out, buf_str(&b), width, r->cols[k].right ? FIT_RIGHT : FIT_LEFT, t->ascii);
            if (tint)
                buf_adds(out, "\033[0m");
        }
        buf_addc(out, '\n');
    }
}

void render_rows_text(struct buf *out, const struct rows *r, const struct term *t)
{
    AUTO_FREE bool *kept = mem_zero(r->n_cols, sizeof(*kept));

    render_rows_fit(out, r, t, kept);
}

void csv_text(struct buf *out, const char *s)
{
    AUTO_BUF clean = BUF_INIT(plain_room(str_of(s)));

    if (!plain_is(str_of(s))) {
        plain_text(&clean, str_of(s));
        s = clean.p ? clean.p : "";
    }
    bool quote = strpbrk(s, "\",;\t\r\n") || s[0] == ' '; /* ; and tabs end cells in some locales */
    bool formula = s[0] && strchr("=+-@\t\r", s[0]);

    if (quote)
        buf_addc(out, '"');
    if (formula)
        buf_addc(out, '\'');
    if (!quote)
        buf_adds(out, s);
    for (; quote && *s; s++) {
        if (*s == '"')
            buf_addc(out, '"');
        buf_addc(out, *s);
    }
    if (quote)
        buf_addc(out, '"');
}

void render_rows_csv(struct buf *out, const struct rows *r)
{
    for (size_t k = 0; k < r->n_cols; k++) {
        buf_adds(out, k ? "," : "");
        csv_text(out, r->cols[k].name);
    }
    buf_adds(out, "\r\n");
    render_rows_csv_on(out, r);
}

void render_rows_csv_on(struct buf *out, const struct rows *r)
{
    for (size_t i = 0; i < r->n && out->err == 0; i++) {
        for (size_t k = 0; k < r->n_cols; k++) {
            const struct cell *c = &r->cells[i * r->n_cols + k];
            if (k)
                buf_addc(out, ',');
            if (c->absent)
                continue;
            if (r->cols[k].type == CELL_TEXT)
                csv_text(out, c->json_text ? c->json_text : "");
            else
                add_number(out, &r->cols[k], c, "true", "false");
        }
        buf_add(out, "\r\n", 2);
    }
}

void render_rows_json(struct buf *out, const struct rows *r)
{
    struct json j = json_on(out);

    json_arr(&j, NULL);
    for (size_t i = 0; i < r->n && out->err == 0; i++) {
        json_obj(&j, NULL);
        for (size_t k = 0; k < r->n_cols; k++) {
            const struct cell *c = &r->cells[i * r->n_cols + k];
            const char *name = r->cols[k].name;
            if (c->absent)
                json_none(&j, name);
            else if (r->cols[k].type == CELL_TEXT)
                json_cstr(&j, name, c->json_text ? c->json_text : "");
            else {
                json_raw(&j, name, STR(""));
                add_number(out, &r->cols[k], c, "true", "false");
            }
        }
        json_end_obj(&j);
    }
    json_end_arr(&j);
    buf_addc(out, '\n');
}
