/* cmd_jobs.c: `muster jobs`: the labelled spans a hub knows, newest first. */
#include <errno.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "format/render.h"
#include "format/words.h"

struct jobs_conf {
    struct client_conf client;
    char *person, *kind, *node, *device, *parent, *filter;
    int64_t last, limit;
    bool json, csv;
};

static const struct opt jobs_opts[] = {
    CLIENT_OPTS(jobs_conf, client),
    OPT(jobs_conf, last, 'n', OPT_DURATION, "24h", "TIME", "those that ran within this time; 0: ever", .min = 0,
        .max = 36525ll * 86400000),
    OPT(jobs_conf, person, 'p', OPT_STR, NULL, "LOGIN", "only this person's"),
    OPT(jobs_conf, kind, 'k', OPT_STR, NULL, "KIND", "only of this kind: record, dask, wandb, slurm or another"),
    OPT(jobs_conf, node, 0, OPT_STR, NULL, "NODE", "only on this node"),
    OPT(jobs_conf, device, 0, OPT_STR, NULL, "UUID", "only on this GPU"),
    OPT(jobs_conf, parent, 0, OPT_STR, NULL, "ID", "only parts of this job"),
    OPT(jobs_conf, filter, 'f', OPT_STR, NULL, "FILTER", "only those that fit, as 'host:dgx* program:train*'"),
    OPT(jobs_conf, limit, 0, OPT_INT, "100", "N", "the newest so many", .min = 1, .max = 1000),
    OPT(jobs_conf, json, 0, OPT_BOOL, NULL, NULL, "as JSON"),
    OPT(jobs_conf, csv, 0, OPT_BOOL, NULL, NULL, "as CSV"),
    {0},
};
const struct opt_cmd jobs_help = {
    .name = "muster jobs",
    .summary = "commands and jobs that were labelled, newest first",
    .args = "",
    .about = "Lists what `muster record`, Dask, Slurm, W&B or a script labelled in the hub (docs/jobs.md). Exit status "
             "1: there is none.",
    .examples = "muster jobs --last 7d --person kim\n"
                "muster jobs --kind dask --csv > dask.csv",
    .opts = jobs_opts,
};

static int ask_hub(const struct jobs_conf *conf, struct buf *ret, struct err *err)
{
    AUTO_BUF path = BUF_INIT(65536);
    char from[32], limit[32];

    buf_adds(&path, "/api/v1/jobs");
    snprintf(from, sizeof(from), "%lld", (long long)(clock_wall_ms() - conf->last));
    snprintf(limit, sizeof(limit), "%lld", (long long)conf->limit);
    client_param(&path, "from", conf->last ? from : NULL);
    client_param(&path, "person", conf->person);
    client_param(&path, "kind", conf->kind);
    client_param(&path, "node", conf->node);
    client_param(&path, "device", conf->device);
    client_param(&path, "parent", conf->parent);
    client_param(&path, "filter", conf->filter);
    client_param(&path, "limit", limit);
    client_param(&path, "format", conf->csv ? "csv" : NULL);
    if (path.err)
        return err_set(err, -EINVAL, "that is too much to ask for at once");
    return client_ask(&conf->client, "GET", path.p, str_n("", 0), ret, err);
}

enum { C_START, C_TOOK, C_STATE, C_KIND, C_PERSON, C_NODE, C_GPUS, C_NAME, C_ID };
static const struct column_spec columns[] = {
    [C_START] = {"start", "START", CELL_TEXT, .weight = 90},
    [C_TOOK] = {"took", "TOOK", CELL_TEXT, .right = true, .weight = 80},
    [C_STATE] = {"state", "STATE", CELL_TEXT, .weight = 60},
    [C_KIND] = {"kind", "KIND", CELL_TEXT, .weight = 50},
    [C_PERSON] = {"person", "PERSON", CELL_TEXT, .weight = 95},
    [C_NODE] = {"node", "NODE", CELL_TEXT, .weight = 70},
    [C_GPUS] = {"gpus", "GPUS", CELL_TEXT, .right = true, .weight = 40},
    [C_NAME] = {"name", "NAME", CELL_TEXT, .weight = 100},
    [C_ID] = {"id", "ID", CELL_TEXT, .weight = 30},
};

static void text_cell(struct cell *c, json_t *job, const char *key)
{
    const char *text = json_string_value(json_object_get(job, key));

    if (text)
        cell_text(c, str_of(text));
}

static void add_job(struct rows *r, json_t *job, int64_t now_ms)
{
    struct cell *row = rows_add(r);
    json_t *end = json_object_get(job, "end");
    int64_t start_ms = json_integer_value(json_object_get(job, "start"));
    const char *state = json_string_value(json_object_get(job, "state"));
    size_t gpus = json_array_size(json_object_get(job, "devices"));
    char when[32], took[24], count[24];

    cell_text(&row[C_START], str_of(local_time(start_ms, false, when)));
    if (json_is_integer(end) || (state && strcmp(state, "running") == 0)) {
        int64_t end_ms = json_is_integer(end) ? json_integer_value(end) : now_ms;
        cell_text(&row[C_TOOK], str_of(clock_span(MAX(end_ms - start_ms, 0), took)));
    }
    text_cell(&row[C_STATE], job, "state");
    text_cell(&row[C_KIND], job, "kind");
    text_cell(&row[C_PERSON], job, "person");
    text_cell(&row[C_NODE], job, "node");
    snprintf(count, sizeof(count), "%zu", gpus);
    if (gpus)
        cell_text(&row[C_GPUS], str_of(count));
    text_cell(&row[C_NAME], job, "name");
    text_cell(&row[C_ID], job, "id");
}

static int show(const struct jobs_conf *conf, const struct buf *answer)
{
    AUTO_BUF out = BUF_INIT(64 << 20);
    struct rows r;
    size_t i;
    json_t *job, *o = client_json(buf_str(answer)), *jobs = json_object_get(o, "jobs");
    int64_t now_ms = clock_wall_ms();
    int code;

    if (!json_is_array(jobs)) {
        json_decref(o);
        return cli_fail(&jobs_help, EXIT_REACH, "'%s' answered something else than a hub would",
                        client_url(&conf->client));
    }
    rows_init(&r, columns, ARRAY_LEN(columns));
    json_array_foreach(jobs, i, job)
    {
        add_job(&r, job, now_ms);
    }
    if (r.n == 0) {
        code = cli_fail(&jobs_help, EXIT_NO, "there is no such job");
    } else {
        render_rows_text(&out, &r,
                         &(struct term){.width = isatty(STDOUT_FILENO) ? cli_width(80) : 0, .colour = cli_colour()});
        code = cli_print(&jobs_help, &out);
    }
    rows_fini(&r);
    json_decref(o);
    return code;
}

int cmd_jobs(int argc, char **argv)
{
    struct jobs_conf conf = {0};
    struct err err = {0};
    AUTO_BUF answer = {0};
    int argi, r = cli_parse(&jobs_help, &conf, argc, argv, &argi);

    if (r >= 0)
        goto out;
    if (argi < argc)
        r = cli_fail(&jobs_help, EXIT_USAGE, "'%s' is not expected here; see --help", argv[argi]);
    else if (conf.json && conf.csv)
        r = cli_fail(&jobs_help, EXIT_USAGE, "--json and --csv exclude each other");
    else if (ask_hub(&conf, &answer, &err) < 0)
        r = cli_fail(&jobs_help, err.code == -EINVAL ? EXIT_USAGE : EXIT_REACH, "%s", err.msg);
    else
        r = conf.json  ? cli_print_json(&jobs_help, &answer)
            : conf.csv ? cli_print(&jobs_help, &answer)
                       : show(&conf, &answer);
out:
    opt_fini(jobs_opts, &conf);
    return r;
}
