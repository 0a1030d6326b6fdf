/*
 * report.c: `muster report`: usage and assignment of companies. The hub computes it; with --data or --config this
 * command does, from the data folder, with or without a running hub.
 */
#include <errno.h>
#include <jansson.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/data_folder.h"
#include "cluster/feature.h"
#include "hub/decode.h"
#include "hub/past.h"
#include "now/feature.h"
#include "people/feature.h"
#include "report/direct.h"
#include "report/write.h"
#include "wandb/days.h"

#define LIMIT_MS 60000

static const char *const sources[] = {"auto", "agents", "wandb", "both", NULL};
static const char *const formats[] = {"table", "csv", "json", "html", "pdf", NULL};
enum { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_HTML, FORMAT_PDF };

struct report_conf {
    struct client_conf client;
    int source, period, headings, format, week_start;
    char *data, *config, *people_companies, *company, *from, *to, *last, *zone, *output;
    int64_t width;
    bool partial;
};

static const struct opt report_opts[] = {
    CLIENT_OPTS(report_conf, client),
    OPT(report_conf, data, 'd', OPT_PATH, NULL, "DIR", "data folder to read instead of a hub"),
    OPT(report_conf, config, 0, OPT_PATH, NULL, "FILE",
        "the hub's muster.yaml: data folder and companies; no hub is queried"),
    OPT(report_conf, people_companies, 0, OPT_PATH, NULL, "FILE",
        "with --data or --config: config.yaml of a W&B dashboard, for its companies"),
    OPT(report_conf, source, 's', OPT_CHOICE, "auto", "SOURCE",
        "measurements of agents, runs of Weights & Biases, or both side by side; auto: agents, or W&B if agents have "
        "no data",
        .choices = sources),
    OPT(report_conf, period, 'p', OPT_CHOICE, "daily", "PERIOD",
        "rows: per company and day, week or month; overall: per company; summary: per company and project; runs: per "
        "run of W&B, compared with the measurements of agents",
        .choices = report_words),
    OPT(report_conf, company, 'c', OPT_STR, NULL, "NAME", "only this company"),
    OPT(report_conf, from, 0, OPT_STR, NULL, "DAY", "first day: 2026-11-01, or -30d",
        .default_text = "the first with nodes; of a summary the first of the week"),
    OPT(report_conf, to, 0, OPT_STR, NULL, "DAY", "last day", .default_text = "yesterday"),
    OPT(report_conf, last, 'n', OPT_STR, NULL, "TIME", "length of the period before --to, e.g. 30d; instead of --from"),
    OPT(report_conf, zone, 'z', OPT_STR, NULL, "ZONE", "time zone of days, e.g. Asia/Tokyo",
        .default_text = "the hub's"),
    OPT(report_conf, week_start, 0, OPT_CHOICE, "sunday", "DAY", "first day of a week", .choices = week_days),
    OPT(report_conf, partial, 0, OPT_BOOL, NULL, NULL, "monthly: include the current month"),
    OPT(report_conf, headings, 0, OPT_CHOICE, "en", "LANGUAGE", "language of the headings, en or the original Japanese",
        .choices = headings_words),
    OPT(report_conf, format, 'f', OPT_CHOICE, "table", "FORMAT", "format of the output", .choices = formats),
    OPT(report_conf, output, 'o', OPT_PATH, NULL, "FILE", "file to write"),
    OPT(report_conf, width, 0, OPT_INT, NULL, "COLUMNS", "width of a table", .default_text = "the terminal's",
        .min = 20, .max = 1000),
    {0},
};
const struct opt_cmd report_help = {
    .name = "muster report",
    .summary = "report the usage of companies on the nodes assigned to them",
    .args = "",
    .about = "Prints hours, utilisation and runs of each company against its assignment, as in the tables of the W&B "
             "dashboard. The source is the agents' data or Weights & Biases. docs/report.md defines each "
             "number.\n\nWith --data or --config it reads the data folder itself and needs no hub. It changes nothing "
             "there, and a hub may use the folder meanwhile. It uses the settings that `muster hub` would read.",
    .examples = "muster report --last 30d  # day by day\n"
                "muster report --period monthly --format csv > months.csv\n"
                "muster report --period weekly --company Acme --headings ja\n"
                "muster report --source wandb --period weekly\n"
                "muster report --period runs --last 7d  # what W&B claims, what was held, why they differ\n"
                "muster report --period overall --format pdf -o report.pdf\n"
                "muster report --data ./data --people-companies config.yaml  # from cron, without a hub",
    .opts = report_opts,
    .conf_size = sizeof(struct report_conf),
    .no = (const int[]){ENOENT, 0},
};

static void write_path(const struct report_conf *conf, struct buf *path)
{
    buf_adds(path, "/api/v1/report");
    client_param(path, "source", conf->source ? sources[conf->source] : NULL);
    client_options(path, report_opts, conf, "period company from to last zone week-start partial headings format");
    if (conf->format == FORMAT_TABLE)
        cli_table_params(path, conf->width, conf->output);
}

/* ---- without a hub ---- */

struct folder {
    char dir[DATA_FOLDER_MAX];
    struct store *store; /* NULL: no hub used this folder; it only has runs of W&B */
    struct runs_node *nodes;
    size_t n, cap;
    struct arena mem;
};

static void add_node(void *arg, const struct store_node *n)
{
    struct folder *f = arg;
    const char *name = n->name[0] ? n->name : n->own_name[0] ? n->own_name : n->key;

    VEC_ADD(f->nodes, f->n, f->cap,
            (struct runs_node){arena_str(&f->mem, n->key), arena_str(&f->mem, name), n->last_ms});
}

/* The settings of a hub started with these options. */
static int read_settings(const struct report_conf *conf, struct hub_conf *ret, struct err *err)
{
    static const struct opt_cmd hub = {.opts = hub_opts, .file = true};
    char name[] = "hub", config[] = "--config", companies[] = "--people-companies";
    char *argv[6] = {name};
    int n = 1, argi;

    if (conf->config) {
        argv[n++] = config;
        argv[n++] = conf->config;
    }
    if (conf->people_companies) {
        argv[n++] = companies;
        argv[n++] = conf->people_companies;
    }
    return cli_load(&hub, ret, n, argv, &argi, err);
}

static bool has(const char *dir, const char *file)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", dir, file);

    return access(path, F_OK) == 0;
}

static int folder_open(const char *data, struct folder *f, struct err *err)
{
    bool runs_alone = data && has(data, "wandb.db") && !has(data, "muster.db") && !has(data, "lock");

    if (runs_alone)
        return mem_copy_str(f->dir, sizeof(f->dir), data) ? 0 : err_set(err, -EINVAL, "--data: the path is too long");
    int r = data_folder(data, NULL, f->dir, err);
    if (r == 0)
        r = store_open_tools(&f->store, f->dir, &hub_decoder, err);
    return r < 0 ? r : store_each(f->store, EACH_NODE(add_node, f), err);
}

static void folder_close(struct folder *f)
{
    store_close(f->store);
    free(f->nodes);
    arena_fini(&f->mem);
}

static int each_record(void *store, const struct store_each *e, struct err *err)
{
    return store_each(store, e, err);
}

static struct str no_header(UNUSED const struct request *rq, UNUSED const char *name)
{
    return str_of("");
}

/* The body of a reply, or its problem as an error. */
static int take_reply(struct reply *rp, struct buf *ret, struct err *err)
{
    json_auto_t *o = rp->status ? client_json(buf_str(&rp->body)) : NULL;
    const char *detail = json_string_value(json_object_get(o, "detail"));

    if (rp->status)
        return err_set(err,
                       rp->status == 400   ? -EINVAL
                       : rp->status == 404 ? -ENOENT
                                           : -EIO,
                       "%s", detail ? detail : "the report cannot be made");
    *ret = rp->body;
    rp->body = (struct buf){0};
    return 0;
}

static int answer(const struct hub_conf *hub, struct folder *f, struct buf *path, struct buf *ret, struct err *err)
{
    struct request rq = {.method = METHOD_GET, .header = no_header, .now_ms = clock_wall_ms()};
    struct past_source past = {.store = f->store,
                               .dir = f->dir,
                               .history = store_history,
                               .histories = store_histories,
                               .was = store_node_at,
                               .each = f->store ? each_record : NULL,
                               .arg = f->store};
    struct report_direct of = {.zone = *(char *const *)hub_conf_value(hub, "usage.zone"),
                               .nodes = f->nodes,
                               .n_nodes = f->n,
                               .wandb = &wandb_runs};
    AUTO_FREE char *scratch = mem_alloc(path->len + 1);
    struct state_rule rule;
    struct reply rp = {0};

    int r = state_rule_of_conf(hub, &rule, err);
    r = r ?: request_target(&rq, buf_str(path), scratch, err);
    r = r ?: people_of_conf(hub, &of.people, err);
    if (r < 0)
        return r;
    of.graphics_mem = rule.graphics_mem;
    past.session = f->store ? store_session(f->store) : NULL;
    report_answer(&rq, &of, &past, &rp);
    if (past.session)
        store_session_end(past.session);
    people_unref(of.people);
    r = take_reply(&rp, ret, err);
    reply_fini(&rp);
    return r;
}

static int read_folder(const struct report_conf *conf, struct buf *path, struct buf *ret, struct err *err)
{
    struct hub_conf hub = {0};
    struct folder f = {0};
    const char *password;

    int r = read_settings(conf, &hub, err);
    if (r == 0 && !conf->data && cluster_store(&hub, &password))
        r = err_set(err, -EINVAL, "this hub has its records on a PostgreSQL server: query a hub with --hub URL");
    r = r ?: folder_open(conf->data ? conf->data : hub.data, &f, err);
    r = r ?: answer(&hub, &f, path, ret, err);
    folder_close(&f);
    opt_fini(hub_opts, &hub);
    return r;
}

int cmd_report(struct cmd_call *c)
{
    const struct report_conf *conf = c->conf;
    AUTO_BUF path = BUF_INIT(65536), out = {0};
    int r;

    if (conf->format == FORMAT_PDF && !conf->output && isatty(STDOUT_FILENO))
        return err_set(&c->err, -EINVAL, "a PDF cannot be printed on a terminal: use -o FILE");
    if (conf->people_companies && !conf->data && !conf->config)
        return err_set(&c->err, -EINVAL, "--people-companies needs --data or --config: a hub has its own companies");
    write_path(conf, &path);
    if (path.err)
        r = err_set(&c->err, -EINVAL, "the options are too long");
    else if (conf->data || conf->config)
        r = read_folder(conf, &path, &out, &c->err);
    else
        r = client_get(&conf->client, LIMIT_MS, &path, &out, &c->err);
    return r < 0 ? r : cli_save(&report_help, conf->output, conf->format == FORMAT_PDF, &out);
}
