/* cmd_history.c: `muster history`: what a GPU did, as a picture on a terminal, a table in a pipe, CSV or JSON. */
#include <errno.h>
#include <math.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/lines.h"
#include "format/render.h"
#include "format/words.h"

struct history_conf {
    struct client_conf client;
    char *from, *to, *step, *agg, *group, *fold, *filter;
    int64_t last, width, height;
    bool json, csv, table;
};

static const struct opt history_opts[] = {
    CLIENT_OPTS(history_conf, client),
    OPT(history_conf, last, 'n', OPT_DURATION, "1h", "TIME", "length of the period before now (or before --to)",
        .min = 1000, .max = 36525ll * 86400000),
    OPT(history_conf, from, 0, OPT_STR, NULL, "WHEN", "start: 2026-11-15T10:00:00Z, seconds since 1970, or -24h"),
    OPT(history_conf, to, 0, OPT_STR, NULL, "WHEN", "end", .default_text = "now"),
    OPT(history_conf, step, 's', OPT_STR, NULL, "TIME", "time per value", .default_text = "as many values as fit"),
    OPT(history_conf, agg, 'a', OPT_STR, NULL, "HOW",
        "value per step: avg, min, max, sum, last, count, rate, or several, comma-separated",
        .default_text = "avg; rate for counters"),
    OPT(history_conf, group, 'g', OPT_STR, NULL, "BY",
        "one series per node, model, user, person, team, or one for all"),
    OPT(history_conf, fold, 0, OPT_STR, NULL, "HOW", "value of a group: mean, sum, min or max of its devices"),
    OPT(history_conf, filter, 'f', OPT_STR, NULL, "FILTER",
        "only devices that match now, e.g. 'user:kim' or 'model:h200'"),
    OPT(history_conf, json, 0, OPT_BOOL, NULL, NULL, "print JSON: columns of numbers"),
    OPT(history_conf, csv, 0, OPT_BOOL, NULL, NULL, "print CSV: a row per series and time"),
    OPT(history_conf, table, 't', OPT_BOOL, NULL, NULL, "print a table on a terminal, too"),
    OPT(history_conf, width, 0, OPT_INT, NULL, "COLUMNS", "width of the output", .default_text = "the terminal's",
        .min = 40, .max = 1000),
    OPT(history_conf, height, 0, OPT_INT, "8", "LINES", "height of a chart", .min = 2, .max = 100),
    {0},
};
const struct opt_cmd history_help = {
    .name = "muster history",
    .summary = "show the history of GPUs: any metric, any period",
    .args = "DEVICE METRIC...",
    .about =
        "DEVICE is a UUID, node:index, a node's name, or a pattern, e.g. 'dgx*:0'; several are comma-separated; '*' "
        "means all. On a terminal it draws a chart; elsewhere it prints a table, from the first sample on. muster(1) "
        "lists the metrics.",
    .examples = "muster history dgx1:0 util --last 24h  # a day of one GPU\n"
                "muster history 'dgx*' power --group node --fold sum --last 7d  # watts of each node\n"
                "muster history '*' util --group user --last 7d  # how busy the GPUs were while each user held them\n"
                "muster history dgx1 util mem_used --from -2h --step 1m --csv > dgx1.csv",
    .opts = history_opts,
    .conf_size = sizeof(struct history_conf),
};

/* ---- the request ---- */

static int ask_hub(const struct history_conf *conf, int argc, char **argv, size_t points, struct buf *ret,
                   struct err *err)
{
    AUTO_BUF path = BUF_INIT(65536);
    char text[64];
    uint32_t damaged;

    buf_adds(&path, "/api/v1/history");
    client_param(&path, "device", argv[0]);
    for (int i = 1; i < argc; i++)
        client_param(&path, "metric", argv[i]);
    if (!conf->from) {
        /* `last` is relative to --to, if that is a timestamp */
        int64_t to_ms, now_ms = clock_wall_ms();
        if (conf->to && clock_parse(conf->to, strlen(conf->to), &to_ms) == 0)
            snprintf(text, sizeof(text), "%lld", (long long)(to_ms - conf->last));
        else
            snprintf(text, sizeof(text), "%lld", (long long)(now_ms - conf->last));
        client_param(&path, "from", text);
    }
    client_options(&path, history_opts, conf, "from to step agg group fold filter");
    client_param(&path, "format", conf->csv ? "csv" : NULL);
    snprintf(text, sizeof(text), "%zu", points);
    if (points)
        client_param(&path, "points", text);
    int r = client_get_history(&conf->client, &path, ret, &damaged, err);
    if (r == 0 && damaged)
        cli_fail(&history_help, 0, CLIENT_DAMAGED, damaged);
    return r;
}

/* ---- showing ---- */

/* Rows before the first that has a value. */
static size_t count_empty(const struct lines *l)
{
    size_t n = l->n ? l->v[0].chart.n : 0;

    for (size_t k = 0; k < n; k++)
        if (ANY(l->n, i, !isnan(l->v[i].v[k])))
            return k;
    return n;
}

/* In the reader's zone; to the minute where values are of minutes or longer. */
static const char *row_time(const struct lines *l, size_t k, char out[32])
{
    local_time(l->from_ms + (int64_t)k * l->step_ms, out);
    if (l->step_ms % MINUTE_MS == 0)
        out[LOCAL_TO_MINUTE] = 0;
    return out;
}

static void show_table(struct buf *out, const struct lines *l, size_t first, const struct term *t)
{
    struct column_spec *cols = mem_zero(l->n + 1, sizeof(*cols));
    AUTO_ROWS r = {0};

    cols[0] = (struct column_spec){.name = "time", .title = "TIME", .type = CELL_TEXT, .weight = 1000};
    for (size_t i = 0; i < l->n; i++)
        cols[i + 1] = (struct column_spec){.name = l->v[i].title,
                                           .title = l->v[i].title,
                                           .type = CELL_TEXT,
                                           .right = true,
                                           .weight = 100};
    rows_init(&r, cols, l->n + 1);
    for (size_t k = first; l->n && k < l->v[0].chart.n; k++) {
        struct cell *row = rows_add(&r);
        char when[32];
        cell_text(&row[0], str_of(row_time(l, k, when)));
        for (size_t i = 0; i < l->n; i++) {
            AUTO_BUF b = BUF_INIT(64);
            if (isnan(l->v[i].v[k]))
                continue;
            render_amount(&b, l->v[i].chart.unit, l->v[i].v[k]);
            cell_text(&row[i + 1], buf_str(&b));
        }
    }
    render_rows_text(out, &r, t);
    free(cols);
}

static int show_lines(const struct history_conf *conf, const struct buf *answer, bool picture, int width,
                      struct err *err)
{
    AUTO_BUF out = BUF_INIT(256 << 20);
    struct lines l = {0};
    char when[32];

    if (!lines_parse(answer, !conf->agg || !strchr(conf->agg, ','), &l))
        return client_no_hub(&conf->client, err);
    bool none = l.n == 0;
    size_t empty = picture ? 0 : count_empty(&l);
    row_time(&l, empty, when);
    if (!picture)
        show_table(&out, &l, empty,
                   &(struct term){.width = conf->width ? (int)conf->width : 0, .colour = cli_colour()});
    else
        lines_draw(&l, width, (int)conf->height, &out);
    lines_fini(&l);
    if (none)
        return cli_fail(&history_help, EXIT_NO, "no data for this period");
    if (empty)
        cli_fail(&history_help, 0, "no samples before %s", when);
    return cli_print(&history_help, &out);
}

int cmd_history(struct cmd_call *c)
{
    const struct history_conf *conf = c->conf;
    AUTO_BUF answer = {0};
    bool picture = !conf->table && !conf->json && !conf->csv && isatty(STDOUT_FILENO);
    int width = conf->width ? (int)conf->width : cli_width(80);

    if (c->argc < 2)
        return err_set(&c->err, -EINVAL, "expected a device and a metric, as in: muster history dgx1:0 util");
    if (conf->json && conf->csv)
        return err_set(&c->err, -EINVAL, "--json and --csv exclude each other");
    int r = ask_hub(conf, c->argc, c->argv, picture ? chart_points(width) : conf->table ? 60 : 0, &answer, &c->err);
    if (r == -ENOENT) /* a metric or a device that there is not: mistyped */
        return cli_fail(&history_help, EXIT_USAGE, "%s", c->err.msg);
    if (r < 0)
        return r;
    return conf->json  ? cli_print_json(&history_help, &answer)
           : conf->csv ? cli_print(&history_help, &answer)
                       : show_lines(conf, &answer, picture, width, &c->err);
}
