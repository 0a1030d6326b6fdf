/* cmd_overlap.c: `muster wandb overlap`: runs of a company that share a host; and their report after a pull. */
#include <errno.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "format/render.h"
#include "wandb_pull/cmd_talk.h"
#include "wandb_pull/cmd_wandb.h"
#include "wandb_push/alert.h"
#include "wandb_push/overlap.h"

struct overlap_conf {
    struct runs_conf runs;
    char *config, *start_date, *end_date, *company, *base_url;
    bool json, csv;
};

static const struct opt overlap_opts[] = {
    OPT(overlap_conf, config, 'c', OPT_PATH, "config.yaml", "FILE",
        "config.yaml of the W&B dashboard: companies and teams"),
    RUNS_OPTS(overlap_conf, runs),
    OPT(overlap_conf, start_date, 0, OPT_STR, NULL, "DAY", "first day",
        .default_text = "yesterday; with --end-date alone: the config's project_start"),
    OPT(overlap_conf, end_date, 0, OPT_STR, NULL, "DAY", "last day", .default_text = "yesterday"),
    OPT(overlap_conf, company, 0, OPT_STR, NULL, "NAME", "only this company"),
    OPT(overlap_conf, base_url, 0, OPT_STR, NULL, "URL", "W&B server for links to pages",
        .default_text = "WANDB_BASE_URL, the config's, https://wandb.ai", .url = true),
    OPT(overlap_conf, json, 0, OPT_BOOL, NULL, NULL, "print JSON"),
    OPT(overlap_conf, csv, 0, OPT_BOOL, NULL, NULL, "print CSV"),
    {0},
};
const struct opt_cmd wandb_overlap_help = {
    .name = "muster wandb overlap",
    .summary = "list runs of a company that were on one host at the same time",
    .about = "The hours of such runs count twice. Causes are a program that logs in to W&B several times, or programs "
             "that share a machine. It checks all projects and teams of a company, among the runs on one of the days. "
             "Runs that overlap form a group; late ones started during another run of the group, and the summary "
             "counts them as overlap_runs. Exit status 1: there are such runs.",
    .examples = "muster wandb overlap --config config.yaml  # yesterday\n"
                "muster wandb overlap --end-date 2026-10-31 --company Acme --csv > overlap.csv",
    .opts = overlap_opts,
    .conf_size = sizeof(struct overlap_conf),
};

static const struct column_spec columns[] = {
    {"group", "GROUP", CELL_INT, .right = true, .weight = 90},
    {"company", "COMPANY", CELL_TEXT, .weight = 95},
    {"host", "HOST", CELL_TEXT, .weight = 95},
    {"begun", "BEGUN", CELL_TEXT, .weight = 85},
    {"ended", "ENDED", CELL_TEXT, .weight = 80},
    {"late", "LATE", CELL_INT, .right = true, .weight = 50},
    {"state", "STATE", CELL_TEXT, .weight = 40},
    {"url", "RUN", CELL_TEXT, .weight = 100},
};

static int show(const struct overlap_conf *conf, const struct wandb_config *config, const struct overlaps *o,
                int32_t from, int32_t to)
{
    char first[16], last[16], text[24];
    AUTO_BUF out = BUF_INIT(256u << 20), url = BUF_INIT(4096);
    AUTO_ROWS rows = ROWS_OF(columns);

    for (size_t i = 0; i < o->n; i++) {
        const struct overlap *r = &o->v[i];
        struct cell *c = rows_add(&rows);
        buf_reset(&url);
        overlap_url(&url, talk_base_url(conf->base_url, config), r);
        cell_int(&c[0], (int64_t)r->group);
        cell_text(&c[1], str_of(r->company->name));
        cell_text(&c[2], str_of(r->host));
        cell_text(&c[3], str_of(zone_text(config->zone, r->from_ms, text)));
        cell_text(&c[4], str_of(zone_text(config->zone, r->until_ms, text)));
        cell_int(&c[5], r->late);
        cell_text(&c[6], str_of(r->state));
        cell_text(&c[7], buf_str(&url));
    }
    if (conf->json)
        render_rows_json(&out, &rows);
    else if (conf->csv)
        render_rows_csv(&out, &rows);
    else if (o->n)
        render_rows_text(&out, &rows,
                         &(struct term){.width = isatty(STDOUT_FILENO) ? cli_width(80) : 0, .colour = cli_colour()});
    else
        buf_addf(&out, "No overlaps found %s %s%s%s\n", from == to ? "on" : "from", date_text(from, first),
                 from == to ? "" : " to ", from == to ? "" : date_text(to, last));
    int r = cli_print(&wandb_overlap_help, &out);
    return r != EXIT_OK ? r : o->n ? EXIT_NO : EXIT_OK;
}

static int overlap(const struct overlap_conf *conf, struct talk *t, struct err *err)
{
    AUTO_WANDB_STORE *store = NULL;
    AUTO_OVERLAPS found = {0};
    int32_t from, to;
    int r = talk_days(t, conf->start_date, conf->end_date, &from, &to, err);

    if (r < 0)
        return r;
    if (conf->company && !people_company(t->config->people, conf->company))
        return err_set(err, -EINVAL, "no company is called '%s'", conf->company);
    r = talk_store(t, false, &store, err);
    if (r == -ENOENT)
        err_set(err, r, "no W&B runs in '%s': pull or import some, or name the place with --data or --store", t->shown);
    r = r ?: overlaps_find(store, t->config, conf->company, from, to, &found, err);
    return r ?: show(conf, t->config, &found, from, to);
}

int cmd_wandb_overlap(struct cmd_call *c)
{
    const struct overlap_conf *conf = c->conf;
    AUTO_TALK t = {0};

    if (c->argc)
        return err_set(&c->err, -EINVAL, "unexpected '%s'", c->argv[0]);
    if (conf->json && conf->csv)
        return err_set(&c->err, -EINVAL, "--json and --csv exclude each other");
    int r = talk_place(&conf->runs, false, &t, &c->err);
    r = r ?: wandb_config_load(conf->config, &t.config, &c->err);
    return r ?: overlap(conf, &t, &c->err);
}

/* ---- report after a pull ---- */

static int alert(struct talk *t, const struct overlaps *o, int32_t day, int64_t now_ms, struct err *err)
{
    AUTO_BUF teams = BUF_INIT(WANDB_TEXT_MAX);
    char salt[16];

    overlaps_teams(&teams, o);
    struct wandb_alert a = {.run = "Overlap Alert",
                            .job_type = "overlap-check",
                            .salt = date_text(day, salt),
                            .title = OVERLAP_TITLE,
                            .text = buf_str(&teams),
                            .warn = true,
                            .at_ms = now_ms};
    return wandb_alert_send(t->w, t->config, &a, err);
}

int wandb_overlap_print(const struct opt_cmd *help, struct talk *t, struct wandb_store *store, int32_t from, int32_t to,
                        bool quiet)
{
    AUTO_OVERLAPS found = {0};
    struct err err = {0};
    int64_t now_ms = clock_wall_ms();
    char first[16], last[16];
    int r = overlaps_find(store, t->config, NULL, from, to, &found, &err);

    for (size_t at = 0; r == 0 && at < found.n;) {
        AUTO_BUF text = BUF_INIT(WANDB_TEXT_MAX);
        const char *company = found.v[at].company->name;
        at = overlaps_text(&text, &found, at, t->config->zone, t->base_url);
        struct wandb_event e = {.at_ms = now_ms,
                                .kind = WANDB_EVENT_OVERLAP,
                                .subject = company,
                                .text = buf_str(&text).p};
        r = wandb_event_put(store, &e, &err);
        if (!quiet)
            cli_fail(help, 0, "%.*s: muster wandb overlap --start-date %s --end-date %s lists them",
                     (int)strcspn(e.text, "\n"), e.text, date_text(from, first), date_text(to, last));
    }
    r = r ?: wandb_store_flush(store, &err);
    if (r < 0)
        return cli_fail(help, EXIT_REACH, "%s", err.msg);
    if (found.n && t->config->enable_alert && t->config->dashboard.entity && t->config->dashboard.project &&
        alert(t, &found, to, now_ms, &err) < 0)
        return cli_fail(help, EXIT_REACH, "the alert was not sent: %s", err.msg);
    return EXIT_OK;
}
