/* cmd_report.c: `muster report`: what companies used of what was assigned to them. The hub does the work; this asks. */
#include <errno.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "report/write.h"

#define LIMIT_MS 60000

static const char *const sources[] = {"auto", "agents", "wandb", "both", NULL};
static const char *const formats[] = {"table", "csv", "json", "html", "pdf", NULL};
enum { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_HTML, FORMAT_PDF };

struct report_conf {
    struct client_conf client;
    int source, period, headings, format, week_start;
    char *company, *from, *to, *last, *zone, *output;
    int64_t width;
    bool partial;
};

static const struct opt report_opts[] = {
    CLIENT_OPTS(report_conf, client),
    OPT(report_conf, source, 's', OPT_CHOICE, "auto", "SOURCE",
        "what agents saw, what Weights & Biases says, or both beside each other; auto: agents, or W&B where they saw "
        "nothing",
        .choices = sources),
    OPT(report_conf, period, 'p', OPT_CHOICE, "daily", "PERIOD",
        "a row per company and day, week or month; overall: one per company; summary: one per company and project; "
        "runs: one per run of W&B, against what agents saw of it",
        .choices = report_words),
    OPT(report_conf, company, 'c', OPT_STR, NULL, "NAME", "only this company"),
    OPT(report_conf, from, 0, OPT_STR, NULL, "DAY",
        "from this day on: 2026-11-01, or -30d (default: the first with nodes; of a summary the first of the week)"),
    OPT(report_conf, to, 0, OPT_STR, NULL, "DAY", "up to this day and with it (default: yesterday)"),
    OPT(report_conf, last, 'n', OPT_STR, NULL, "TIME", "so long up to then, as 30d, instead of --from"),
    OPT(report_conf, zone, 'z', OPT_STR, NULL, "ZONE", "whose days, as Asia/Tokyo (default: the hub's)"),
    OPT(report_conf, week_start, 0, OPT_CHOICE, "sunday", "DAY", "weeks begin on it", .choices = week_days),
    OPT(report_conf, partial, 0, OPT_BOOL, NULL, NULL, "monthly: the month that is not over, too"),
    OPT(report_conf, headings, 0, OPT_CHOICE, "en", "LANGUAGE", "English, or the original Japanese headings",
        .choices = headings_words),
    OPT(report_conf, format, 'f', OPT_CHOICE, "table", "FORMAT",
        "for a screen, a spreadsheet, a program, a mail, or paper", .choices = formats),
    OPT(report_conf, output, 'o', OPT_PATH, NULL, "FILE", "write to this file"),
    OPT(report_conf, width, 0, OPT_INT, NULL, "COLUMNS", "of a table (default: the terminal)", .min = 20, .max = 1000),
    {0},
};
const struct opt_cmd report_help = {
    .name = "muster report",
    .summary = "what companies used of the nodes assigned to them",
    .args = "",
    .about = "Hours, utilisation and runs per company against its assignment, as the W&B dashboard's tables have them, "
             "from what agents saw or Weights & Biases says. docs/report.md says how each number is made.",
    .examples = "muster report --last 30d  # day by day\n"
                "muster report --period monthly --format csv > months.csv\n"
                "muster report --period weekly --company Acme --headings ja\n"
                "muster report --source wandb --period weekly\n"
                "muster report --period runs --last 7d  # what W&B claims, what was held, why they differ\n"
                "muster report --period overall --format pdf -o report.pdf",
    .opts = report_opts,
    .conf_size = sizeof(struct report_conf),
    .no = (const int[]){ENOENT, 0},
};

static int ask_hub(const struct report_conf *conf, struct buf *ret, struct err *err)
{
    AUTO_BUF path = BUF_INIT(65536);

    buf_adds(&path, "/api/v1/report");
    client_param(&path, "source", conf->source ? sources[conf->source] : NULL);
    client_options(&path, report_opts, conf, "period company from to last zone week-start partial headings format");
    if (conf->format == FORMAT_TABLE)
        cli_table_params(&path, conf->width, conf->output);
    return client_get(&conf->client, LIMIT_MS, &path, ret, err);
}

int cmd_report(struct cmd_call *c)
{
    const struct report_conf *conf = c->conf;
    AUTO_BUF answer = {0};

    if (conf->format == FORMAT_PDF && !conf->output && isatty(STDOUT_FILENO))
        return err_set(&c->err, -EINVAL, "a PDF is nothing for a terminal: write it to a file with -o FILE");
    int r = ask_hub(conf, &answer, &c->err);
    return r < 0 ? r : cli_save(&report_help, conf->output, conf->format == FORMAT_PDF, &answer);
}
