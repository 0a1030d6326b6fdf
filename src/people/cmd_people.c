/* cmd_people.c: `muster people`: who uses how many GPUs, now and lately; `muster idle`: who holds GPUs without work. */
#include <errno.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "format/render.h"
#include "model/metric.h"

struct people_conf {
    struct client_conf client;
    char *filter, *longer;
    bool json, csv;
};

static const struct opt people_opts[] = {
    CLIENT_OPTS(people_conf, client),
    OPT(people_conf, filter, 'f', OPT_STR, NULL, "FILTER", "only on GPUs that fit, as 'host:dgx*'"),
    OPT(people_conf, json, 0, OPT_BOOL, NULL, NULL, "as JSON"),
    OPT(people_conf, csv, 0, OPT_BOOL, NULL, NULL, "as CSV"),
    {0},
};
const struct opt_cmd people_help = {
    .name = "muster people",
    .summary = "who to ask for a GPU: held now, and lately",
    .args = "",
    .about =
        "A line per person: GPUs they are on, how many of these do no work, booked, used (a shared GPU by memory), and "
        "moving averages over 2 hours, a day and a week. Exit status 1: there is nobody.",
    .examples = "muster people\n"
                "muster people --filter model:h200",
    .opts = people_opts,
};

static const struct opt idle_opts[] = {
    CLIENT_OPTS(people_conf, client),
    OPT(people_conf, longer, 'l', OPT_STR, "30m", "TIME", "without work for at least so long"),
    OPT(people_conf, filter, 'f', OPT_STR, NULL, "FILTER", "only GPUs that fit, as 'model:h200 not user:kim'"),
    OPT(people_conf, json, 0, OPT_BOOL, NULL, NULL, "as JSON"),
    OPT(people_conf, csv, 0, OPT_BOOL, NULL, NULL, "as CSV"),
    {0},
};
const struct opt_cmd idle_help = {
    .name = "muster idle",
    .summary = "GPUs that are held without work, by whom, for how long",
    .args = "",
    .about = "The longest first. What it cost is shown where the hub knows prices (usage.price). Exit status 1: there "
             "is none.",
    .examples = "muster idle --longer 2h\n"
                "muster idle --filter model:h200 --csv > idle.csv",
    .opts = idle_opts,
};

static const struct column_spec people_columns[] = {
    {"person", "PERSON", CELL_TEXT, .weight = 100},
    {"gpus", "GPUS", CELL_INT, .right = true, .weight = 90},
    {"idle", "IDLE", CELL_INT, .right = true, .weight = 60},
    {"booked", "BOOKED", CELL_INT, .right = true, .weight = 70},
    {"used", "USED", CELL_FIXED, .per = 100, .right = true, .weight = 80},
    {"ema_2h", "2 H", CELL_FIXED, .per = 100, .right = true, .weight = 50},
    {"ema_24h", "24 H", CELL_FIXED, .per = 100, .right = true, .weight = 45},
    {"ema_1w", "1 WEEK", CELL_FIXED, .per = 100, .right = true, .weight = 40},
};
static const struct column_spec idle_columns[] = {
    {"person", "PERSON", CELL_TEXT, .weight = 100},
    {"node", "NODE", CELL_TEXT, .weight = 95},
    {"index", "GPU", CELL_INT, .right = true, .weight = 95},
    {"idle", "IDLE", CELL_TEXT, .right = true, .weight = 100},
    {"memory", "MEMORY", CELL_TEXT, .right = true, .weight = 50},
    {"program", "PROGRAM", CELL_TEXT, .weight = 60},
    {"model", "MODEL", CELL_TEXT, .weight = 40},
    {"cost", "COST", CELL_TEXT, .right = true, .weight = 70},
};

static void text(struct cell *c, json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);

    if (json_is_string(v))
        cell_text(c, str_of(json_string_value(v)));
}

/* Hundredths, with two digits on a screen. */
static void amount(struct cell *c, json_t *v)
{
    if (!json_is_number(v))
        return;
    cell_int(c, (int64_t)(json_number_value(v) * 100 + 0.5));
    cell_screen(c, "%.2f", json_number_value(v));
}

static void person_row(struct rows *r, json_t *o)
{
    struct cell *c = rows_add(r);
    json_t *ema = json_object_get(o, "ema");

    text(&c[0], o, "person");
    if (c[0].absent) {
        c[0].absent = false;
        cell_screen(&c[0], "(unknown)");
    }
    cell_int(&c[1], json_integer_value(json_object_get(o, "gpus")));
    cell_int(&c[2], json_integer_value(json_object_get(o, "idle")));
    cell_int(&c[3], json_integer_value(json_object_get(o, "booked")));
    amount(&c[4], json_object_get(o, "used"));
    amount(&c[5], json_object_get(ema, "2h"));
    amount(&c[6], json_object_get(ema, "24h"));
    amount(&c[7], json_object_get(ema, "1w"));
}

static double score(json_t *o)
{
    return (double)json_integer_value(json_object_get(o, "booked")) +
           1.5 * json_number_value(json_object_get(o, "used")) +
           0.15 * json_number_value(json_object_get(json_object_get(o, "ema"), "2h"));
}

/* Booked, used and lately used, weighed as the page that this table is from did. */
static int by_score(const void *x, const void *y)
{
    double a = score(*(json_t *const *)x), b = score(*(json_t *const *)y);

    return (a < b) - (a > b);
}

static void idle_row(struct rows *r, json_t *o)
{
    struct cell *c = rows_add(r);
    json_t *mem = json_object_get(o, "memory"), *cost = json_object_get(o, "cost");
    char span[24], money[32];
    AUTO_BUF b = BUF_INIT(100);

    text(&c[0], o, "person");
    text(&c[1], o, "node");
    cell_int(&c[2], json_integer_value(json_object_get(o, "index")));
    cell_text(&c[3], str_of(clock_span((int64_t)(json_number_value(json_object_get(o, "idle")) * 1000), span)));
    if (json_is_integer(mem)) {
        metric_human(&b, M_mem_used, json_integer_value(mem));
        cell_text(&c[4], buf_str(&b));
    }
    text(&c[5], o, "program");
    text(&c[6], o, "model");
    snprintf(money, sizeof(money), "%.2f", json_number_value(cost));
    if (json_is_number(cost))
        cell_text(&c[7], str_of(money));
}

struct list { /* one of the two commands */
    const struct opt_cmd *help;
    const char *path;
    const struct column_spec *cols;
    size_t n_cols;
    void (*row)(struct rows *r, json_t *o);
    const char *none;
    int (*order)(const void *x, const void *y); /* NULL: as it comes */
};

static int show(const struct list *l, const struct people_conf *conf, const struct buf *answer)
{
    AUTO_BUF out = BUF_INIT(64 << 20);
    struct rows r;
    json_t *all = client_json(buf_str(answer)), *o;
    size_t i;
    int code;

    if (!json_is_array(all)) {
        json_decref(all);
        return cli_fail(l->help, EXIT_REACH, "'%s' answered something else than a hub would",
                        client_url(&conf->client));
    }
    AUTO_FREE json_t **order = mem_zero(json_array_size(all) + 1, sizeof(*order));
    json_array_foreach(all, i, o)
    {
        order[i] = o;
    }
    if (l->order && i)
        qsort(order, json_array_size(all), sizeof(*order), l->order);
    rows_init(&r, l->cols, l->n_cols);
    for (i = 0; i < json_array_size(all); i++)
        l->row(&r, order[i]);
    if (conf->csv)
        render_rows_csv(&out, &r);
    else
        render_rows_text(&out, &r,
                         &(struct term){.width = isatty(STDOUT_FILENO) ? cli_width(80) : 0, .colour = cli_colour()});
    code = r.n ? cli_print(l->help, &out) : cli_fail(l->help, EXIT_NO, "%s", l->none);
    rows_fini(&r);
    json_decref(all);
    return code;
}

static int run(const struct list *l, int argc, char **argv)
{
    struct people_conf conf = {0};
    struct err err = {0};
    AUTO_BUF answer = {0};
    AUTO_BUF path = BUF_INIT(65536);
    int argi, r = cli_parse(l->help, &conf, argc, argv, &argi);

    if (r >= 0)
        goto out;
    buf_adds(&path, l->path);
    client_param(&path, "filter", conf.filter);
    client_param(&path, "longer", conf.longer);
    client_param(&path, "recent", l->help == &people_help && !conf.filter ? "1" : NULL);
    if (argi < argc)
        r = cli_fail(l->help, EXIT_USAGE, "'%s' is not expected here; see --help", argv[argi]);
    else if (conf.json && conf.csv)
        r = cli_fail(l->help, EXIT_USAGE, "--json and --csv exclude each other");
    else if (path.err || client_ask(&conf.client, "GET", path.p, str_of(""), &answer, &err) < 0)
        r = cli_fail(l->help, err.code == -EINVAL ? EXIT_USAGE : EXIT_REACH, "%s",
                     path.err ? "that is too much to ask for at once" : err.msg);
    else
        r = conf.json ? cli_print_json(l->help, &answer) : show(l, &conf, &answer);
out:
    opt_fini(l->help->opts, &conf);
    return r;
}

int cmd_people(int argc, char **argv)
{
    static const struct list people = {&people_help,   "/api/v1/people",
                                       people_columns, ARRAY_LEN(people_columns),
                                       person_row,     "nobody is on a GPU, and nobody was lately",
                                       by_score};

    return run(&people, argc, argv);
}

int cmd_idle(int argc, char **argv)
{
    static const struct list idle = {&idle_help,   "/api/v1/idle",
                                     idle_columns, ARRAY_LEN(idle_columns),
                                     idle_row,     "nobody holds a GPU without work for so long",
                                     NULL};

    return run(&idle, argc, argv);
}
