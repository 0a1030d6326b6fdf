/* cmd_usage.c: `muster usage`: who held what, for how long. The hub does the work; this program queries it. */
#include <errno.h>
#include <jansson.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/zone.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "model/usage.h"

#define LIMIT_MS 60000

static const char *const formats[] = {"table", "csv", "json", "html", "pdf", "svg", "png", NULL};
enum { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_HTML, FORMAT_PDF };

struct usage_conf {
    struct client_conf client;
    int by, period, format, week_start;
    char *from, *to, *last, *zone, *person, *team, *project, *company, *node, *model, *device, *filter, *output;
    int64_t width;
    bool recount;
};

static const struct opt usage_opts[] = {
    CLIENT_OPTS(usage_conf, client),
    OPT(usage_conf, by, 'b', OPT_CHOICE, "person", "WHAT", "rows of the table", .choices = usage_by_words),
    OPT(usage_conf, from, 0, OPT_STR, NULL, "WHEN", "start: 2026-11-01, 2026-11-15T10:00:00Z or -7d"),
    OPT(usage_conf, to, 0, OPT_STR, NULL, "WHEN", "end; a date includes its day", .default_text = "now"),
    OPT(usage_conf, last, 'n', OPT_STR, NULL, "TIME", "length of the period before --to, instead of --from",
        .default_text = "30d"),
    OPT(usage_conf, period, 'p', OPT_CHOICE, "all", "PERIOD", "rows per period, too", .choices = period_words),
    OPT(usage_conf, zone, 'z', OPT_STR, NULL, "ZONE", "time zone of days, e.g. Asia/Tokyo",
        .default_text = "the hub's"),
    OPT(usage_conf, week_start, 0, OPT_CHOICE, "monday", "DAY", "first day of a week", .choices = week_days),
    OPT(usage_conf, person, 0, OPT_STR, NULL, "NAME", "only this user"),
    OPT(usage_conf, team, 0, OPT_STR, NULL, "NAME", "only this team"),
    OPT(usage_conf, project, 0, OPT_STR, NULL, "NAME", "only this project"),
    OPT(usage_conf, company, 0, OPT_STR, NULL, "NAME", "only this company"),
    OPT(usage_conf, node, 0, OPT_STR, NULL, "NODE", "only these nodes: a name, or a pattern, e.g. 'dgx*'"),
    OPT(usage_conf, model, 0, OPT_STR, NULL, "MODEL", "only these GPUs: part of a model's name"),
    OPT(usage_conf, device, 0, OPT_STR, NULL, "GPU", "only this GPU: NODE:N, or a UUID"),
    OPT(usage_conf, filter, 0, OPT_STR, NULL, "FILTER", "only GPUs that match now"),
    OPT(usage_conf, format, 'f', OPT_CHOICE, "table", "FORMAT", "format of the output", .choices = formats),
    OPT(usage_conf, output, 'o', OPT_PATH, NULL, "FILE", "file to write"),
    OPT(usage_conf, width, 0, OPT_INT, NULL, "COLUMNS", "width of a table", .default_text = "the terminal's", .min = 20,
        .max = 1000),
    OPT(usage_conf, recount, 0, OPT_BOOL, NULL, NULL,
        "recompute every possible hour first and wait for it (admins only)"),
    {0},
};
const struct opt_cmd usage_help = {
    .name = "muster usage",
    .summary = "report GPU usage: who held which GPUs, how long, and how active they were",
    .args = "",
    .about = "Prints held, busy, idle and effective GPU time, energy and cost, as measured by agents; no scheduler is "
             "needed. docs/usage.md defines each number. Exit status 1: no usage recorded for the period.",
    .examples = "muster usage  # each user, the last 30 days\n"
                "muster usage --by team --period month --last 365d --format csv > teams.csv\n"
                "muster usage --by node --from 2026-11-01 --to 2026-11-30\n"
                "muster usage --by device --person kim --last 7d  # the GPUs that kim used\n"
                "muster usage --period week --format pdf -o usage.pdf",
    .opts = usage_opts,
    .conf_size = sizeof(struct usage_conf),
};

static int ask_hub(const struct usage_conf *conf, struct buf *ret, struct err *err)
{
    AUTO_BUF path = BUF_INIT(65536);

    buf_adds(&path, "/api/v1/usage");
    client_options(&path, usage_opts, conf,
                   "by period from to last zone week-start person team project company node model device filter "
                   "format");
    if (conf->format == FORMAT_TABLE)
        cli_table_params(&path, conf->width, conf->output);
    return client_get(&conf->client, LIMIT_MS, &path, ret, err);
}

static int64_t waiting(const struct usage_conf *conf, struct err *err)
{
    AUTO_BUF answer = {0};
    int r = client_request(&conf->client, "GET", "/api/v1/usage?last=1h&by=model", str_of(""), &answer, err);
    json_t *o = r < 0 ? NULL : client_json(buf_str(&answer)), *n = json_object_get(o, "waiting");
    int64_t v = r < 0 ? r
                : json_is_integer(n)
                    ? json_integer_value(n)
                    : err_set(err, -EPROTO, "the hub sent an unexpected response; is it a muster hub?");

    json_decref(o);
    return v;
}

/* The hub counts; we watch. */
static int count_again(const struct usage_conf *conf, struct err *err)
{
    AUTO_BUF answer = {0};
    int r = client_request(&conf->client, "POST", "/api/v1/usage/recount", str_of("{}"), &answer, err);
    bool screen = isatty(STDERR_FILENO);
    int64_t left = r < 0 ? r : waiting(conf, err);

    while (left > 0) {
        if (screen)
            fprintf(stderr, "\r%lld hours to count \033[K", (long long)left);
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        left = waiting(conf, err);
    }
    if (screen && r >= 0)
        fprintf(stderr, "\r\033[K");
    return left < 0 ? (int)left : 0;
}

/* Nothing but its titles, or nothing at all. */
static bool is_empty(const struct usage_conf *conf, const struct buf *answer)
{
    struct str rest = buf_str(answer), line;

    bool titles = str_line(&rest, &line);
    return conf->format == FORMAT_TABLE && !(titles && str_line(&rest, &line));
}

int cmd_usage(struct cmd_call *c)
{
    const struct usage_conf *conf = c->conf;
    AUTO_BUF answer = {0};
    int r = conf->recount ? count_again(conf, &c->err) : 0;

    if (r == 0)
        r = ask_hub(conf, &answer, &c->err);
    if (r < 0)
        return r;
    if (is_empty(conf, &answer))
        return cli_fail(&usage_help, EXIT_NO, "no usage recorded for this period");
    if (!conf->output && conf->format >= FORMAT_PDF && isatty(STDOUT_FILENO))
        return err_set(&c->err, -EINVAL, "%s cannot be printed on a terminal: use --output FILE",
                       formats[conf->format]);
    return cli_save(&usage_help, conf->output, conf->format >= FORMAT_PDF, &answer);
}
