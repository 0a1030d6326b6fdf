/* listing.c: one line per row; a column shows the member of its name. */
#include "cli/listing.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/zone.h"

const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

int64_t int_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static void fill_row(const struct hub_listing *l, struct rows *rows, json_t *row, const struct listing_at *at)
{
    struct cell *c = rows_add(rows);

    for (size_t k = 0; k < l->n_columns; k++) {
        json_t *v = json_object_get(row, l->columns[k].name);
        if (l->columns[k].type == CELL_TEXT && json_string_length(v))
            cell_text(&c[k], str_n(json_string_value(v), json_string_length(v)));
        else if (l->columns[k].type == CELL_INT && json_is_integer(v))
            cell_int(&c[k], json_integer_value(v));
    }
    if (l->fill)
        l->fill(c, row, at);
}

static void fill_rows(const struct hub_listing *l, json_t *answer, json_t *list, struct rows *rows)
{
    size_t n = json_array_size(list);
    AUTO_FREE json_t **all = mem_zero(n + 1, sizeof(json_t *));
    json_t *at_ms = json_object_get(answer, "at");
    struct zone *zone = NULL;

    if (zone_load(NULL, &zone, NULL) < 0)
        zone = zone_utc();
    struct listing_at at = {answer, json_is_integer(at_ms) ? json_integer_value(at_ms) : clock_wall_ms(), zone};
    for (size_t i = 0; i < n; i++)
        all[i] = json_array_get(list, i);
    if (l->order && n)
        qsort(all, n, sizeof(json_t *), l->order);
    for (size_t i = 0; i < n; i++)
        fill_row(l, rows, all[i], &at);
    zone_free(zone);
}

int listing_put(const struct hub_listing *l, json_t *answer, bool csv, struct buf *out)
{
    json_t *list = l->member ? json_object_get(answer, l->member) : answer;
    int width = l->width || !isatty(STDOUT_FILENO) ? l->width : 80;
    AUTO_ROWS rows = {0};

    if (!json_is_array(list))
        return -EREMOTEIO;
    rows_init(&rows, l->columns, l->n_columns);
    fill_rows(l, answer, list, &rows);
    if (!rows.n && l->none)
        buf_addf(out, "%s\n", l->none);
    else if (csv)
        render_rows_csv(out, &rows);
    else
        render_rows_text(out, &rows, &(struct term){.width = cli_width(width), .colour = !l->plain && cli_colour()});
    return (int)json_array_size(list);
}

int listing_fetch(const struct hub_listing *l, const struct client_conf *conf, enum list_format how, json_t **ret,
                  struct err *err)
{
    AUTO_BUF raw = {0}, out = BUF_INIT(64u << 20);

    if (!l->path)
        return err_set(err, -EINVAL, "the request is too long");
    int r = client_request(conf, "GET", l->path, str_of(""), &raw, err);
    if (r < 0)
        return r;
    if (how == LIST_SENT)
        return cli_print(l->help, &raw);
    json_auto_t *answer = client_json(buf_str(&raw));
    if (l->member && !json_is_object(answer))
        return client_no_hub(conf, err);
    if (ret)
        *ret = json_incref(answer);
    if (how == LIST_JSON)
        return cli_print_json(l->help, &raw);
    r = listing_put(l, answer, how == LIST_CSV, &out);
    if (r < 0)
        return client_no_hub(conf, err);
    return r == 0 && l->no ? cli_fail(l->help, EXIT_NO, "%s", l->none) : cli_print(l->help, &out);
}
