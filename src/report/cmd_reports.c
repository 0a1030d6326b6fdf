/* cmd_reports.c: `muster reports`: those that go out by themselves: which there are, how one looks, sending it now. The
 * hub makes and sends them; this asks. */
#include <errno.h>
#include <jansson.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/zone.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "format/render.h"

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
    OPT(reports_conf, format, 'f', OPT_CHOICE, "text", "FORMAT", "show: text, html (in one file) or png (its chart)",
        .choices = formats),
    OPT(reports_conf, output, 'o', OPT_PATH, NULL, "FILE", "show: write to this file"),
    OPT(reports_conf, channel, 'c', OPT_STR, NULL, "NAME", "send: through this channel (default: all of its own)"),
    OPT(reports_conf, json, 0, OPT_BOOL, NULL, NULL, "list and send: the hub's answer as JSON"),
    {0},
};
const struct opt_cmd reports_help = {
    .name = "muster reports",
    .summary = "reports that go out by themselves: list, look at one, send it now",
    .args = "[list | show NAME | send NAME]",
    .about = "The section reports of muster.yaml says what goes out when, and through which channels "
             "(docs/reports.md). show makes one of them as it would be now, so that one can look before it is sent; "
             "send sends it at once, which takes an admin's token and leaves its own time as it is.",
    .examples = "muster reports\n"
                "muster reports show daily\n"
                "muster reports show daily --format html -o daily.html\n"
                "muster reports send daily --channel boss-mail",
    .opts = reports_opts,
};

static const struct column_spec columns[] = {
    {"name", "REPORT", CELL_TEXT, .weight = 100},       {"what", "WHAT", CELL_TEXT, .weight = 90},
    {"every", "EVERY", CELL_TEXT, .weight = 80},        {"at", "AT", CELL_TEXT, .weight = 80},
    {"zone", "ZONE", CELL_TEXT, .weight = 50},          {"channels", "CHANNELS", CELL_TEXT, .weight = 85},
    {"next", "NEXT", CELL_TEXT, .weight = 95},          {"sent", "LAST SENT", CELL_TEXT, .weight = 70},
    {"error", "LATE BECAUSE", CELL_TEXT, .weight = 75},
};

static const char *text_of(json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

/* In this machine's zone. */
static const char *moment(const struct zone *z, json_t *o, const char *key, char out[24])
{
    int64_t at_ms = json_integer_value(json_object_get(o, key));
    struct civil c;

    out[0] = 0;
    if (at_ms <= 0)
        return out;
    zone_civil(z, at_ms, &c);
    snprintf(out, 24, "%04d-%02d-%02d %02d:%02d", c.year % 10000, c.month % 100, c.day % 100, c.hour % 100,
             c.minute % 100);
    return out;
}

static void add_row(struct rows *rows, json_t *o, const struct zone *z)
{
    AUTO_BUF channels = BUF_INIT(4096);
    char next[24], sent[24];
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(o, "channels"), i, one)
    {
        buf_addf(&channels, "%s%s", i ? ", " : "", json_string_value(one) ? json_string_value(one) : "");
    }
    const char *texts[] = {text_of(o, "name"),         text_of(o, "what"),         text_of(o, "every"),
                           text_of(o, "at"),           text_of(o, "zone"),         channels.len ? channels.p : "(none)",
                           moment(z, o, "next", next), moment(z, o, "sent", sent), text_of(o, "error")};
    struct cell *c = rows_add(rows);
    for (size_t k = 0; k < ARRAY_LEN(texts); k++)
        cell_some_text(&c[k], texts[k]);
}

static int exit_of(const struct err *err)
{
    return err->code == -EINVAL ? EXIT_USAGE : err->code == -ENOENT ? EXIT_NO : EXIT_REACH;
}

static int list(const struct reports_conf *conf)
{
    AUTO_BUF raw = {0};
    AUTO_BUF out = BUF_INIT(4u << 20);
    struct err err = {0};
    struct zone *z = NULL;
    struct rows rows;
    json_t *one;
    size_t i;

    if (client_ask(&conf->client, "GET", "/api/v1/reports", str_of(""), &raw, &err) < 0)
        return cli_fail(&reports_help, exit_of(&err), "%s", err.msg);
    if (conf->json)
        return cli_print_json(&reports_help, &raw);
    json_t *o = client_json(buf_str(&raw));
    if (zone_load(NULL, &z, &err) < 0)
        z = zone_utc();
    rows_init(&rows, columns, ARRAY_LEN(columns));
    json_array_foreach(json_object_get(o, "rows"), i, one)
    {
        add_row(&rows, one, z);
    }
    if (rows.n)
        render_rows_text(&out, &rows, &(struct term){.width = cli_width(140), .colour = cli_colour()});
    else
        buf_adds(&out, "no report goes out by itself: see docs/reports.md\n");
    rows_fini(&rows);
    zone_free(z);
    json_decref(o);
    return cli_print(&reports_help, &out);
}

static void path_of(struct buf *path, const char *name)
{
    buf_adds(path, "/api/v1/reports/");
    buf_addurl(path, str_of(name));
}

static int show(const struct reports_conf *conf, const char *name)
{
    AUTO_BUF path = BUF_INIT(4096);
    AUTO_BUF answer = {0};
    struct client_conf client = conf->client;
    struct err err = {0};

    if (conf->format == FORMAT_PNG && !conf->output && isatty(STDOUT_FILENO))
        return cli_fail(&reports_help, EXIT_USAGE, "a png is not for a terminal: use --output FILE");
    path_of(&path, name);
    client_param(&path, "format", formats[conf->format]);
    client.limit_ms = LIMIT_MS;
    if (client_ask(&client, "GET", path.p, str_of(""), &answer, &err) < 0)
        return cli_fail(&reports_help, exit_of(&err), "%s", err.msg);
    return cli_save(&reports_help, conf->output, conf->format == FORMAT_PNG, &answer);
}

static int send_now(const struct reports_conf *conf, const char *name)
{
    AUTO_BUF path = BUF_INIT(4096);
    AUTO_BUF body = BUF_INIT(4096);
    AUTO_BUF answer = {0};
    AUTO_BUF out = BUF_INIT(65536);
    struct client_conf client = conf->client;
    struct err err = {0};
    struct json j = json_on(&body);
    json_t *one;
    size_t i;

    json_obj(&j, NULL);
    if (conf->channel)
        json_cstr(&j, "channel", conf->channel);
    json_end_obj(&j);
    path_of(&path, name);
    client.limit_ms = LIMIT_MS;
    if (client_ask(&client, "POST", path.p, buf_str(&body), &answer, &err) < 0)
        return cli_fail(&reports_help, exit_of(&err), "%s", err.msg);
    if (conf->json)
        return cli_print_json(&reports_help, &answer);
    json_t *o = client_json(buf_str(&answer));
    buf_addf(&out, "%s is on its way through", name);
    json_array_foreach(json_object_get(o, "channels"), i, one)
    {
        buf_addf(&out, "%s %s", i ? "," : "", json_string_value(one) ? json_string_value(one) : "");
    }
    buf_addc(&out, '\n');
    json_decref(o);
    return cli_print(&reports_help, &out);
}

static int run(const struct reports_conf *conf, const char *verb, const char *name)
{
    bool shows = strcmp(verb, "show") == 0, sends = strcmp(verb, "send") == 0;

    if (strcmp(verb, "list") == 0)
        return name ? cli_fail(&reports_help, EXIT_USAGE, "'%s' is not expected here; see --help", name) : list(conf);
    if (!shows && !sends)
        return cli_fail(&reports_help, EXIT_USAGE, "'%s' is not one of list, show, send; see --help", verb);
    if (!name)
        return cli_fail(&reports_help, EXIT_USAGE, "which? `muster reports` lists them");
    return shows ? show(conf, name) : send_now(conf, name);
}

int cmd_reports(int argc, char **argv)
{
    struct reports_conf conf = {0};
    int argi, r = cli_parse(&reports_help, &conf, argc, argv, &argi);

    if (r < 0)
        r = argc - argi > 2
                ? cli_fail(&reports_help, EXIT_USAGE, "'%s' is not expected here; see --help", argv[argi + 2])
                : run(&conf, argi < argc ? argv[argi] : "list", argi + 1 < argc ? argv[argi + 1] : NULL);
    opt_fini(reports_opts, &conf);
    return r;
}
