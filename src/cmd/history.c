/* history.c: `muster history`: what a GPU did, as a picture on a terminal, a table in a pipe, CSV or JSON. */
#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cli.h"
#include "cmd/client.h"
#include "cmd/cmd.h"
#include "render/render.h"

#define CHARTS 4 /* more series than this are a line each */

struct history_conf {
    struct client_conf client;
    char *from, *to, *step, *agg, *group, *fold, *filter;
    int64_t last, width, height;
    bool json, csv, table;
};

static const struct opt history_opts[] = {
    CLIENT_OPTS(history_conf, client),
    OPT(history_conf, last, 'n', OPT_DURATION, "1h", "TIME", "so far back from now (or from --to)", .min = 1000,
        .max = 36525ll * 86400000),
    OPT(history_conf, from, 0, OPT_STR, NULL, "WHEN", "from then: 2026-11-15T10:00:00Z, seconds since 1970, or -24h"),
    OPT(history_conf, to, 0, OPT_STR, NULL, "WHEN", "up to then; now unless told"),
    OPT(history_conf, step, 's', OPT_STR, NULL, "TIME", "one value for each so much time; round, and as many as fit"),
    OPT(history_conf, agg, 'a', OPT_STR, NULL, "HOW",
        "what of the samples of a step: avg, min, max, sum, last, count, rate, or several with commas (default: avg, "
        "and rate of a counter)"),
    OPT(history_conf, group, 'g', OPT_STR, NULL, "BY",
        "one series per node, model, user, person or team, or one of all"),
    OPT(history_conf, fold, 0, OPT_STR, NULL, "HOW", "what of a group's devices: mean, sum, min or max"),
    OPT(history_conf, filter, 'f', OPT_STR, NULL, "FILTER", "only devices that fit now, as 'user:kim' or 'model:h200'"),
    OPT(history_conf, json, 0, OPT_BOOL, NULL, NULL, "as JSON: columns of numbers"),
    OPT(history_conf, csv, 0, OPT_BOOL, NULL, NULL, "as CSV: a row per series and moment"),
    OPT(history_conf, table, 't', OPT_BOOL, NULL, NULL, "a table on a terminal too"),
    OPT(history_conf, width, 0, OPT_INT, NULL, "COLUMNS", "as wide as this (default: the terminal)", .min = 40,
        .max = 1000),
    OPT(history_conf, height, 0, OPT_INT, "8", "LINES", "of a picture", .min = 2, .max = 100),
    {0},
};
const struct opt_cmd history_face = {
    .name = "muster history",
    .summary = "what GPUs did: any metric, any time",
    .args = "DEVICE METRIC...",
    .about = "DEVICE is a UUID, node:index, a node's name, or a pattern as 'dgx*:0'; several with commas; '*' is all. "
             "On a terminal it draws a picture; elsewhere it prints a table. Metrics are those of muster(1).",
    .examples = "muster history dgx1:0 util --last 24h  # a day of one GPU\n"
                "muster history 'dgx*' power --group node --fold sum --last 7d  # watts of each node\n"
                "muster history '*' util --group user --last 7d  # how busy the GPUs were while each user held them\n"
                "muster history dgx1 util mem_used --from -2h --step 1m --csv > dgx1.csv",
    .opts = history_opts,
};

/* ---- asking ---- */

static int ask_hub(const struct history_conf *conf, int argc, char **argv, size_t points, struct buf *ret,
                   struct err *err)
{
    AUTO_BUF path = BUF_INIT(65536);
    char text[64];

    buf_adds(&path, "/api/v1/history");
    client_param(&path, "device", argv[0]);
    for (int i = 1; i < argc; i++)
        client_param(&path, "metric", argv[i]);
    if (!conf->from) {
        /* so far back: of --to, when that is a moment of its own */
        int64_t to_ms, now_ms = clock_wall_ms();
        if (conf->to && clock_parse(conf->to, strlen(conf->to), &to_ms) == 0)
            snprintf(text, sizeof(text), "%lld", (long long)(to_ms - conf->last));
        else
            snprintf(text, sizeof(text), "%lld", (long long)(now_ms - conf->last));
        client_param(&path, "from", text);
    }
    client_param(&path, "from", conf->from);
    client_param(&path, "to", conf->to);
    client_param(&path, "step", conf->step);
    client_param(&path, "agg", conf->agg);
    client_param(&path, "group", conf->group);
    client_param(&path, "fold", conf->fold);
    client_param(&path, "filter", conf->filter);
    client_param(&path, "format", conf->csv ? "csv" : NULL);
    snprintf(text, sizeof(text), "%zu", points);
    if (points)
        client_param(&path, "points", text);
    if (path.err)
        return err_set(err, -EINVAL, "that is too much to ask for at once");
    return client_ask(&conf->client, "GET", path.p, str_of(""), ret, err);
}

/* ---- showing ---- */

struct line {
    char *title;
    double *v;
    struct chart chart;
};

struct lines {
    size_t n;
    struct line *v;
    int64_t from_ms, step_ms;
};

static void lines_fini(struct lines *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].title);
        free(l->v[i].v);
    }
    free(l->v);
}

static char *title_of(const json_t *s, bool one_agg)
{
    const char *node = json_string_value(json_object_get(s, "node"));
    const char *metric = json_string_value(json_object_get(s, "metric"));
    const char *agg = json_string_value(json_object_get(s, "agg"));
    const char *model = json_string_value(json_object_get(s, "model"));
    json_t *user = json_object_get(s, "user");
    json_t *index = json_object_get(s, "index"), *mig = json_object_get(s, "mig");
    AUTO_BUF b = BUF_INIT(1024);

    const char *who = json_is_string(user) ? json_string_value(user) : user ? "(unknown)" : NULL;
    buf_adds(&b, who ? who : node ? node : model ? model : "all");
    if (json_is_integer(index))
        buf_addf(&b, ":%d", (int)json_integer_value(index));
    if (json_is_integer(mig))
        buf_addf(&b, ".%d", (int)json_integer_value(mig));
    buf_addf(&b, " %s", metric ? metric : "?");
    if (agg && !one_agg)
        buf_addf(&b, " %s", agg);
    return buf_take(&b);
}

/* What the hub said, as numbers. False: it is not what a hub would say. */
static bool lines_parse(const struct buf *text, bool one_agg, struct lines *ret)
{
    json_t *o = json_loadb(text->p, text->len, 0, NULL), *series = json_object_get(o, "series"), *s;
    struct lines l = {.from_ms = json_integer_value(json_object_get(o, "from")),
                      .step_ms = json_integer_value(json_object_get(o, "step"))};
    bool ok = json_is_array(series) && l.step_ms > 0 && l.from_ms >= 0;
    size_t i, k;

    l.v = mem_zero(json_array_size(series) + 1, sizeof(*l.v));
    json_array_foreach(series, i, s)
    {
        json_t *v = json_object_get(s, "v"), *one;
        const char *unit = json_string_value(json_object_get(s, "unit"));
        struct line *to = &l.v[l.n++];
        to->title = title_of(s, one_agg);
        to->v = mem_zero(json_array_size(v) + 1, sizeof(*to->v));
        json_array_foreach(v, k, one) to->v[k] = json_is_number(one) ? json_number_value(one) : NAN;
        static const char *const units[] = {"",        "ratio", "bytes",     "bytes_per_second",
                                            "celsius", "watts", "joules",    "hertz",
                                            "seconds", "mask",  "per_second"};
        to->chart = (struct chart){.title = to->title, .unit = "", .n = json_array_size(v), .v = to->v};
        for (size_t u = 0; unit && u < ARRAY_LEN(units); u++)
            if (strcmp(unit, units[u]) == 0)
                to->chart.unit = units[u];
        to->chart.from_ms = l.from_ms;
        to->chart.step_ms = l.step_ms;
        ok = ok && json_is_array(v) && to->chart.n == l.v[0].chart.n;
    }
    json_decref(o);
    if (!ok)
        lines_fini(&l);
    else
        *ret = l;
    return ok;
}

static void show_sparks(struct buf *out, const struct lines *l, int width)
{
    int title = 8;

    for (size_t i = 0; i < l->n; i++)
        title = MAX(title, str_width(str_of(l->v[i].title)));
    title = MIN(title, width / 2);
    for (size_t i = 0; i < l->n; i++) {
        const struct chart *c = &l->v[i].chart;
        double last = NAN;
        for (size_t k = 0; k < c->n; k++)
            last = isnan(c->v[k]) ? last : c->v[k];
        buf_adds(out, c->title);
        int pad = title - str_width(str_of(c->title));
        buf_fill(out, ' ', (size_t)MAX(pad, 0) + 1);
        render_spark(out, c, width - title - 12);
        buf_addc(out, ' ');
        if (!isnan(last))
            render_amount(out, c->unit, last);
        buf_addc(out, '\n');
    }
}

static void show_table(struct buf *out, const struct lines *l, const struct term *t)
{
    struct column_spec *cols = mem_zero(l->n + 1, sizeof(*cols));
    struct rows r;

    cols[0] = (struct column_spec){.name = "time", .title = "TIME", .type = CELL_TEXT, .weight = 1000};
    for (size_t i = 0; i < l->n; i++)
        cols[i + 1] = (struct column_spec){.name = l->v[i].title,
                                           .title = l->v[i].title,
                                           .type = CELL_TEXT,
                                           .right = true,
                                           .weight = 100};
    rows_init(&r, cols, l->n + 1);
    for (size_t k = 0; l->n && k < l->v[0].chart.n; k++) {
        struct cell *row = rows_add(&r);
        char when[32];
        cell_text(&row[0], str_of(clock_iso(l->from_ms + (int64_t)k * l->step_ms, when)));
        for (size_t i = 0; i < l->n; i++) {
            AUTO_BUF b = BUF_INIT(64);
            if (isnan(l->v[i].v[k]))
                continue;
            render_amount(&b, l->v[i].chart.unit, l->v[i].v[k]);
            cell_text(&row[i + 1], buf_str(&b));
        }
    }
    render_rows_text(out, &r, t);
    rows_fini(&r);
    free(cols);
}

static int show(const struct history_conf *conf, const struct buf *answer, bool picture, int width)
{
    AUTO_BUF out = BUF_INIT(256 << 20);
    struct lines l = {0};

    if (!lines_parse(answer, !conf->agg || !strchr(conf->agg, ','), &l))
        return cli_fail(&history_face, EXIT_REACH, "'%s' answered something else than a hub would",
                        client_url(&conf->client));
    bool none = l.n == 0;
    if (!picture)
        show_table(&out, &l, &(struct term){.width = conf->width ? (int)conf->width : 0, .colour = cli_colour()});
    else if (l.n <= CHARTS)
        for (size_t i = 0; i < l.n; i++)
            render_chart(&out, &l.v[i].chart, width, (int)conf->height);
    else
        show_sparks(&out, &l, width);
    lines_fini(&l);
    if (none)
        return cli_fail(&history_face, EXIT_NO, "nothing is stored of that");
    return cli_print(&history_face, &out);
}

int cmd_history(int argc, char **argv)
{
    struct history_conf conf = {0};
    struct err err = {0};
    AUTO_BUF answer = {0};
    int argi, r = cli_parse(&history_face, &conf, argc, argv, &argi);

    if (r >= 0)
        goto out;
    bool picture = !conf.table && !conf.json && !conf.csv && isatty(STDOUT_FILENO);
    int width = conf.width ? (int)conf.width : cli_width(80);
    if (argc - argi < 2)
        r = cli_fail(&history_face, EXIT_USAGE, "expected a device and a metric, as in: muster history dgx1:0 util");
    else if (conf.json && conf.csv)
        r = cli_fail(&history_face, EXIT_USAGE, "--json and --csv exclude each other");
    else if ((r = ask_hub(&conf, argc - argi, argv + argi,
                          picture      ? chart_points(width)
                          : conf.table ? 60
                                       : 0,
                          &answer, &err)) < 0)
        r = cli_fail(&history_face, r == -EINVAL ? EXIT_USAGE : EXIT_REACH, "%s", err.msg);
    else if (conf.json || conf.csv)
        r = cli_print(&history_face, &answer);
    else
        r = show(&conf, &answer, picture, width);
out:
    opt_fini(history_opts, &conf);
    return r;
}
