/* cmd_reports.c: `muster reports`: those that go out by themselves: which there are, how one looks, sending it now. The
 * hub makes and sends them; this asks. */
#include <errno.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/zone.h"
#include "cli/listing.h"

#define LIMIT_MS 60000

static const char *const formats[] = {"text", "html", "png", NULL};
enum { FORMAT_TEXT, FORMAT_HTML, FORMAT_PNG };

struct reports_conf {
    struct client_conf client;
    char *channel, *output;
    int format;
    bool json;
};

static const struct opt reports_opts[] = {
    CLIENT_OPTS(reports_conf, client),
    OPT(reports_conf, format, 'f', OPT_CHOICE, "text", "FORMAT", "show: text, html (one file) or png (the chart)",
        .choices = formats, .verbs = "show"),
    OPT(reports_conf, output, 'o', OPT_PATH, NULL, "FILE", "show: file to write", .verbs = "show"),
    OPT(reports_conf, channel, 'c', OPT_STR, NULL, "NAME", "send: only this channel",
        .default_text = "all channels of the report", .verbs = "send"),
    OPT(reports_conf, json, 0, OPT_BOOL, NULL, NULL, "list, send: print the hub's response as JSON",
        .verbs = "list send"),
    {0},
};
const struct opt_cmd reports_help = {
    .name = "muster reports",
    .summary = "list, preview and send scheduled reports",
    .args = "[list | show NAME | send NAME]",
    .about = "The section `reports` of muster.yaml sets which reports are sent when, and through which channels "
             "(docs/reports.md). `show` previews a report. `send` sends it immediately (admins only); its schedule "
             "does not change.",
    .examples = "muster reports\n"
                "muster reports show daily\n"
                "muster reports show daily --format html -o daily.html\n"
                "muster reports send daily --channel boss-mail",
    .opts = reports_opts,
    .verb = "list",
    .conf_size = sizeof(struct reports_conf),
    .no = (const int[]){ENOENT, 0},
};

static const struct column_spec columns[] = {
    {"name", "REPORT", CELL_TEXT, .weight = 100},       {"what", "WHAT", CELL_TEXT, .weight = 90},
    {"every", "EVERY", CELL_TEXT, .weight = 80},        {"at", "AT", CELL_TEXT, .weight = 80},
    {"zone", "ZONE", CELL_TEXT, .weight = 50},          {"channels", "CHANNELS", CELL_TEXT, .weight = 85},
    {"next", "NEXT", CELL_TEXT, .weight = 95},          {"sent", "LAST SENT", CELL_TEXT, .weight = 70},
    {"error", "LATE BECAUSE", CELL_TEXT, .weight = 75},
};

/* In this machine's zone. */
static void put_moment(struct cell *c, json_t *at, const struct zone *z)
{
    char text[24];

    if (json_integer_value(at) > 0)
        cell_text(c, str_n(zone_text(z, json_integer_value(at), text), ZONE_TO_MINUTE));
}

/* Several, with commas between. */
static void add_channels(struct buf *out, json_t *o)
{
    json_t *one;
    size_t i;

    json_array_foreach (json_object_get(o, "channels"), i, one)
        buf_addf(out, "%s%s", i ? ", " : "", json_string_value(one) ? json_string_value(one) : "");
}

static void fill_row(struct cell *c, json_t *o, const struct listing_at *at)
{
    AUTO_BUF channels = BUF_INIT(4096);

    add_channels(&channels, o);
    cell_text(&c[5], channels.len ? buf_str(&channels) : STR("(none)"));
    put_moment(&c[6], json_object_get(o, "next"), at->zone);
    put_moment(&c[7], json_object_get(o, "sent"), at->zone);
    if (!channels.len) { /* its time of day means nothing */
        cell_text(&c[3], STR("on request"));
        cell_text(&c[6], STR("no channel"));
    } else if (c[7].absent) {
        cell_text(&c[7], STR("not due yet"));
    }
}

static int list_reports(struct cmd_call *c)
{
    const struct reports_conf *conf = c->conf;
    struct hub_listing l = {LISTING(reports_help, columns, fill_row, "no report is scheduled: see docs/reports.md"),
                            .path = "/api/v1/reports", .member = "rows", .width = 140};

    return listing_fetch(&l, &conf->client, conf->json ? LIST_JSON : LIST_TABLE, NULL, &c->err);
}

static void path_of(struct buf *path, const char *name)
{
    buf_adds(path, "/api/v1/reports/");
    buf_addurl(path, str_of(name));
}

static int show_one(struct cmd_call *c, const char *name)
{
    const struct reports_conf *conf = c->conf;
    AUTO_BUF path = BUF_INIT(4096), answer = {0};

    if (conf->format == FORMAT_PNG && !conf->output && isatty(STDOUT_FILENO))
        return err_set(&c->err, -EINVAL, "a png is not for a terminal: use --output FILE");
    path_of(&path, name);
    client_param(&path, "format", formats[conf->format]);
    int r = client_get(&conf->client, LIMIT_MS, &path, &answer, &c->err);
    return r < 0 ? r : cli_save(&reports_help, conf->output, conf->format == FORMAT_PNG, &answer);
}

static int send_now(struct cmd_call *c, const char *name)
{
    const struct reports_conf *conf = c->conf;
    AUTO_BUF path = BUF_INIT(4096), body = BUF_INIT(4096), answer = {0}, out = BUF_INIT(65536);
    struct client_conf client = conf->client;

    if (conf->channel)
        json_print(&body, "{'channel':%s}", conf->channel);
    else
        buf_adds(&body, "{}");
    path_of(&path, name);
    client.limit_ms = LIMIT_MS;
    int r = client_request(&client, "POST", path.p, buf_str(&body), &answer, &c->err);
    if (r < 0)
        return r;
    if (conf->json)
        return cli_print_json(&reports_help, &answer);
    json_auto_t *o = client_json(buf_str(&answer));
    buf_addf(&out, "%s is on its way through ", name);
    add_channels(&out, o);
    buf_addc(&out, '\n');
    return cli_print(&reports_help, &out);
}

int cmd_reports(struct cmd_call *c)
{
    const char *verb = c->argc ? c->argv[0] : "list", *name = c->argc > 1 ? c->argv[1] : NULL;
    bool lists = strcmp(verb, "list") == 0, shows = strcmp(verb, "show") == 0, sends = strcmp(verb, "send") == 0;

    if (c->argc > (lists ? 1 : 2))
        return err_set(&c->err, -EINVAL, "'%s' is not expected here; see --help", c->argv[c->argc > 2 ? 2 : 1]);
    if (lists)
        return list_reports(c);
    if (!shows && !sends)
        return err_set(&c->err, -EINVAL, "'%s' is not one of list, show, send; see --help", verb);
    if (!name)
        return err_set(&c->err, -EINVAL, "which? `muster reports` lists them");
    return shows ? show_one(c, name) : send_now(c, name);
}
