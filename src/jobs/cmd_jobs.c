/* cmd_jobs.c: `muster runs`, by its older name `muster jobs`: what ran, newest first. */
#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/listing.h"
#include "format/words.h"

struct jobs_conf {
    struct client_conf client;
    char *person, *kind, *node, *device, *parent, *filter;
    int64_t last, limit;
    bool json, csv;
};

static const struct opt jobs_opts[] = {
    CLIENT_OPTS(jobs_conf, client),
    OPT(jobs_conf, last, 'n', OPT_DURATION, "24h", "TIME", "only runs within this time; 0: all", .min = 0,
        .max = 36525ll * 86400000),
    OPT(jobs_conf, person, 'p', OPT_STR, NULL, "LOGIN", "only runs of this user"),
    OPT(jobs_conf, kind, 'k', OPT_STR, NULL, "KIND",
        "only this kind: record, dask, wandb, slurm, auto (not labelled) or another"),
    OPT(jobs_conf, node, 0, OPT_STR, NULL, "NODE", "only runs on this node"),
    OPT(jobs_conf, device, 0, OPT_STR, NULL, "GPU", "only runs on this GPU: NODE:N, or a UUID"),
    OPT(jobs_conf, parent, 0, OPT_STR, NULL, "ID", "only parts of this job"),
    OPT(jobs_conf, filter, 'f', OPT_STR, NULL, "FILTER", "only runs that match, e.g. 'host:dgx* program:train*'"),
    OPT(jobs_conf, limit, 0, OPT_INT, "100", "N", "maximum number of runs, the newest first", .min = 1, .max = 1000),
    OPT(jobs_conf, json, 0, OPT_BOOL, NULL, NULL, "print JSON"),
    OPT(jobs_conf, csv, 0, OPT_BOOL, NULL, NULL, "print CSV"),
    {0},
};
const struct opt_cmd runs_help = {
    .name = "muster runs",
    .summary = "list runs: recorded commands, jobs and other GPU processes, newest first",
    .args = "",
    .about = "Lists runs that `muster record`, Dask, Slurm, W&B or a script labelled at the hub, and GPU processes of "
             "people "
             "without a label (docs/jobs.md). `muster run ID` shows one run. Exit status 1: no run found.",
    .examples = "muster runs --last 7d --person kim\n"
                "muster runs --kind dask --csv > dask.csv",
    .opts = jobs_opts,
    .conf_size = sizeof(struct jobs_conf),
};
const struct opt_cmd jobs_help = {
    .name = "muster jobs",
    .summary = "list runs, as `muster runs`",
    .args = "",
    .about = "The older name of `muster runs`. Exit status 1: no run was found.",
    .examples = "muster jobs --last 7d --person kim",
    .opts = jobs_opts,
    .conf_size = sizeof(struct jobs_conf),
};

enum { C_START, C_TOOK, C_STATE, C_KIND, C_PERSON, C_NODE, C_GPUS, C_NAME, C_ID };
static const struct column_spec columns[] = {
    [C_START] = {"start", "START", CELL_TEXT, .weight = 90},
    [C_TOOK] = {"took", "TOOK", CELL_TEXT, .right = true, .weight = 80},
    [C_STATE] = {"state", "STATE", CELL_TEXT, .weight = 60},
    [C_KIND] = {"kind", "KIND", CELL_TEXT, .weight = 50},
    [C_PERSON] = {"person", "USER", CELL_TEXT, .weight = 95},
    [C_NODE] = {"node", "NODE", CELL_TEXT, .weight = 70},
    [C_GPUS] = {"gpus", "GPUS", CELL_TEXT, .right = true, .weight = 40},
    [C_NAME] = {"name", "NAME", CELL_TEXT, .weight = 100},
    [C_ID] = {"id", "ID", CELL_TEXT, .weight = 30},
};

static void fill_row(struct cell *c, json_t *job, const struct listing_at *at)
{
    json_t *end = json_object_get(job, "end");
    int64_t start_ms = int_of(job, "start");
    size_t gpus = json_array_size(json_object_get(job, "devices"));
    char when[32], took[24], count[24];

    cell_text(&c[C_START], str_n(local_time(start_ms, when), LOCAL_TO_MINUTE));
    bool running = strcmp(text_of(job, "state"), "running") == 0; /* with an end that is still to come, too */
    if (json_is_integer(json_object_get(job, "data_to")))         /* its node hangs or is down: up to its newest data */
        end = json_object_get(job, "data_to");
    if (json_is_integer(end) || running) {
        int64_t end_ms = running ? at->at_ms : json_integer_value(end);
        cell_text(&c[C_TOOK], str_of(clock_span(MAX(end_ms - start_ms, 0), took)));
    }
    snprintf(count, sizeof(count), "%zu", gpus);
    if (gpus)
        cell_text(&c[C_GPUS], str_of(count));
}

static int list_runs(struct cmd_call *c, const struct opt_cmd *help)
{
    const struct jobs_conf *conf = c->conf;
    AUTO_BUF path = BUF_INIT(65536);
    char from[32], span[24], none[100];

    if (conf->json && conf->csv)
        return err_set(&c->err, -EINVAL, "--json and --csv exclude each other");
    snprintf(from, sizeof(from), "%lld", (long long)(clock_wall_ms() - conf->last));
    buf_adds(&path, "/api/v1/jobs");
    client_param(&path, "from", conf->last ? from : NULL);
    client_options(&path, jobs_opts, conf, "person kind node device parent filter limit");
    client_param(&path, "format", conf->csv ? "csv" : NULL);
    bool any = !(conf->person || conf->kind || conf->node || conf->device || conf->parent || conf->filter);
    const char *which = any ? "" : "such ";
    if (conf->last)
        snprintf(none, sizeof(none), "no %srun within the last %s; --last TIME selects a longer period", which,
                 clock_span(conf->last, span));
    else
        snprintf(none, sizeof(none), "there is no %srun", which);
    struct hub_listing l = {LISTING(*help, columns, fill_row, none), .path = path.err ? NULL : path.p, .member = "jobs",
                            .no = true};
    return listing_fetch(&l, &conf->client, conf->json ? LIST_JSON : conf->csv ? LIST_SENT : LIST_TABLE, NULL, &c->err);
}

int cmd_runs(struct cmd_call *c)
{
    return list_runs(c, &runs_help);
}

int cmd_jobs(struct cmd_call *c)
{
    return list_runs(c, &jobs_help);
}
