/* cmd_alerts.c: `muster alerts`: prints current alerts, rules, rule tests and silences of the hub. */
#include <errno.h>

#include "alert/rule.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/plain.h"
#include "base/time_text.h"
#include "base/zone.h"
#include "cli/listing.h"
#include "hub/conf.h"

#define RULES_FILE_MAX (1u << 20)
#define WIDTH          160 /* where there is no terminal */

struct alerts_conf {
    struct client_conf client;
    char *rule, *node, *person, *for_, *until, *reason, *last, *rules, *to;
    bool all, json;
};

static const struct opt alerts_opts[] = {
    CLIENT_OPTS(alerts_conf, client),
    OPT(alerts_conf, all, 'a', OPT_BOOL, NULL, NULL, "list alerts that were resolved within a week, too",
        .verbs = "list"),
    OPT(alerts_conf, rule, 'r', OPT_STR, NULL, "PATTERN", "only alerts of these rules", .verbs = "list test silence"),
    OPT(alerts_conf, node, 0, OPT_STR, NULL, "PATTERN", "silence: only these nodes or GPUs, e.g. dgx2 or 'dgx2:3'",
        .verbs = "silence"),
    OPT(alerts_conf, person, 'p', OPT_STR, NULL, "PATTERN", "silence: only this user", .verbs = "silence"),
    OPTN(alerts_conf, "for", for_, 'f', OPT_STR, NULL, "TIME", "silence: duration, e.g. 2h", .verbs = "silence"),
    OPT(alerts_conf, until, 'u', OPT_STR, NULL, "WHEN", "silence: end, e.g. 'friday 18:00'; test: end of the period",
        .verbs = "silence test"),
    OPT(alerts_conf, reason, 'm', OPT_STR, NULL, "TEXT", "silence: reason (required)", .verbs = "silence"),
    OPT(alerts_conf, last, 'l', OPT_STR, NULL, "TIME", "test: length of the period of history, e.g. 7d",
        .verbs = "test"),
    OPT(alerts_conf, rules, 0, OPT_PATH, NULL, "FILE",
        "test: muster.yaml whose section alerts is used instead of the hub's", .verbs = "test"),
    OPT(alerts_conf, to, 0, OPT_STR, NULL, "WHOM", "send: recipient, for a channel that notifies persons",
        .verbs = "send"),
    OPT(alerts_conf, json, 0, OPT_BOOL, NULL, NULL, "print the hub's response as JSON",
        .verbs = "list rules test silences silence channels send"),
    {0},
};
const struct opt_cmd alerts_help = {
    .name = "muster alerts",
    .summary = "list alerts and rules, manage silences",
    .args = "[rules | test | silences | silence | unsilence ID | channels | send CHANNEL]",
    .about =
        "Lists active alerts, the most severe first. Exit status 1: at least one is not silenced.\n\n"
        "`rules` lists the condition of each rule and whether it is on. `test` lists what each rule finds now, for any "
        "duration. With --last it lists the alerts that the stored history of that period would have caused, minute by "
        "minute; with --rules it uses the rules of a file. `test` sends no notifications. `silence` mutes matching "
        "alerts until it ends; they are still listed. `channels` lists the notification channels and whether they "
        "work; `send` sends a test message through one of them (admins only). docs/alerts.md describes the rules and "
        "how to write your own.",
    .examples = "muster alerts\n"
                "muster alerts --all  # and those resolved this week\n"
                "muster alerts test  # what every rule finds now\n"
                "muster alerts test --last 7d  # the alerts of the last week\n"
                "muster alerts test --last 7d --rules new.yaml  # and with other rules\n"
                "muster alerts silence --node dgx2 --for 4h --reason 'new fans'\n"
                "muster alerts unsilence 3\n"
                "muster alerts channels  # which of them work\n"
                "muster alerts send ops",
    .opts = alerts_opts,
    .verb = "list",
    .conf_size = sizeof(struct alerts_conf),
    .no = (const int[]){ENOENT, EACCES, 0},
};

/* ---- tables ---- */

static const struct column_spec alert_columns[] = {
    {"severity", "SEVERITY", CELL_TEXT, .weight = 90}, {"rule", "RULE", CELL_TEXT, .weight = 95},
    {"place", "WHERE", CELL_TEXT, .weight = 97},       {"for", "DURATION", CELL_TEXT, .weight = 92},
    {"text", "WHAT", CELL_TEXT, .weight = 100},        {"advice", "WHAT TO DO", CELL_TEXT, .weight = 20},
};
static const struct column_spec rule_columns[] = {
    {"rule", "RULE", CELL_TEXT, .weight = 100},      {"severity", "SEVERITY", CELL_TEXT, .weight = 80},
    {"on", "ON", CELL_TEXT, .weight = 90},           {"for", "AFTER", CELL_TEXT, .weight = 70},
    {"remind", "REPEAT", CELL_TEXT, .weight = 50},   {"person", "USERS", CELL_TEXT, .weight = 40},
    {"about", "CONDITION", CELL_TEXT, .weight = 99},
};
static const struct column_spec silence_columns[] = {
    {"id", "ID", CELL_INT, .right = true, .weight = 100},
    {"rule", "RULE", CELL_TEXT, .weight = 90},
    {"node", "NODE", CELL_TEXT, .weight = 90},
    {"person", "USER", CELL_TEXT, .weight = 80},
    {"left", "LEFT", CELL_TEXT, .weight = 85},
    {"by", "BY", CELL_TEXT, .weight = 70},
    {"reason", "REASON", CELL_TEXT, .weight = 60},
};

static const struct column_spec channel_columns[] = {
    {"name", "CHANNEL", CELL_TEXT, .weight = 100},  {"type", "TYPE", CELL_TEXT, .weight = 80},
    {"state", "STATE", CELL_TEXT, .weight = 95},    {"waiting", "WAITING", CELL_INT, .right = true, .weight = 90},
    {"since", "DURATION", CELL_TEXT, .weight = 85}, {"error", "ERROR", CELL_TEXT, .weight = 92},
};

static void fill_alert(struct cell *c, json_t *o, const struct listing_at *at)
{
    char span[24], what[700], when[48] = "";
    json_t *s = json_object_get(o, "silenced");
    int64_t end = int_of(o, "resolved"), since = int_of(o, "since");
    bool notice = json_is_true(json_object_get(o, "notice"));

    if (notice)
        snprintf(when, sizeof(when), " (%s ago)", clock_span(MAX(0, at->at_ms - since), span));
    else if (end)
        snprintf(when, sizeof(when), " (over for %s)", clock_span(MAX(0, at->at_ms - end), span));
    snprintf(what, sizeof(what), "%s%s%s%s", text_of(o, "text"), when, s ? ", silenced by " : "",
             s ? text_of(s, "by") : "");
    if (since && !notice)
        cell_text(&c[3], str_of(clock_span(MAX(0, (end ? end : at->at_ms) - since), span)));
    cell_some_text(&c[4], what);
}

static void fill_rule(struct cell *c, json_t *o, UNUSED const struct listing_at *at)
{
    char span[24];
    cell_text(&c[2], str_of(json_is_true(json_object_get(o, "on")) ? "on" : "off"));
    cell_text(&c[3], str_of(int_of(o, "for") ? clock_span(int_of(o, "for"), span) : "immediately"));
    cell_text(&c[4], str_of(int_of(o, "remind") ? clock_span(int_of(o, "remind"), span) : "never"));
    if (json_is_true(json_object_get(o, "person")))
        cell_text(&c[5], STR("told"));
}

static void fill_silence(struct cell *c, json_t *o, const struct listing_at *at)
{
    char span[24];

    cell_text(&c[4], str_of(clock_span(MAX(0, int_of(o, "until") - at->at_ms), span)));
}

static void fill_channel(struct cell *c, json_t *o, const struct listing_at *at)
{
    char span[24];
    bool ok = json_is_true(json_object_get(o, "ok"));

    cell_text(&c[2], str_of(ok ? "works" : "fails"));
    if (!ok)
        cell_text(&c[4], str_of(clock_span(MAX(0, at->at_ms - int_of(o, "since")), span)));
}

static int list_all(struct cmd_call *c, struct hub_listing l, json_t **ret)
{
    const struct alerts_conf *conf = c->conf;

    l.member = l.member ? l.member : "rows";
    l.width = WIDTH;
    return listing_fetch(&l, &conf->client, conf->json ? LIST_JSON : LIST_TABLE, ret, &c->err);
}

static int list_alerts(struct cmd_call *c)
{
    const struct alerts_conf *conf = c->conf;
    AUTO_BUF path = BUF_INIT(4096);
    json_auto_t *o = NULL;

    buf_adds(&path, "/api/v1/alerts");
    client_param(&path, "rule", conf->rule);
    client_param(&path, "all", conf->all ? "true" : NULL);
    struct hub_listing l = {.path = path.p, LISTING(alerts_help, alert_columns, fill_alert, "no alerts")};
    int code = list_all(c, l, &o);
    return code == EXIT_OK && int_of(o, "firing") > 0 ? EXIT_NO : code;
}

/* ---- silences ---- */

static int silence(struct cmd_call *c)
{
    const struct alerts_conf *conf = c->conf;
    AUTO_BUF body = BUF_INIT(8192), raw = {0}, out = BUF_INIT(65536);
    json_auto_t *o = NULL;
    struct json j = json_on(&body);
    const char *const names[] = {"rule", "node", "person", "for", "until", "reason"};
    const char *const v[] = {conf->rule, conf->node, conf->person, conf->for_, conf->until, conf->reason};

    if (!conf->rule && !conf->node && !conf->person)
        return err_set(&c->err, -EINVAL, "no alerts selected: use --rule, --node or --person; --rule '*' selects all");
    if (!conf->for_ == !conf->until)
        return err_set(&c->err, -EINVAL, "no end: use either --for 2h or --until 'friday 18:00'");
    if (!conf->reason)
        return err_set(&c->err, -EINVAL, "no reason: use --reason 'new fans'");
    json_obj(&j, NULL);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (v[i])
            json_cstr(&j, names[i], v[i]);
    json_end_obj(&j);
    int r = client_request_object(&conf->client, "POST", "/api/v1/silences", buf_str(&body), &o, &raw, &c->err);
    if (r < 0)
        return r;
    if (conf->json)
        plain_json(&out, buf_str(&raw));
    else
        buf_addf(&out, "silence %lld\n", (long long)int_of(o, "id"));
    return cli_print(&alerts_help, &out);
}

static int unsilence(struct cmd_call *c, const char *id)
{
    const struct alerts_conf *conf = c->conf;
    AUTO_BUF path = BUF_INIT(256), raw = {0};
    json_auto_t *o = NULL;
    int64_t number;

    if (!id || !str_int(str_of(id), &number) || number < 1)
        return err_set(&c->err, -EINVAL, "which? `muster alerts silences` lists them with their numbers");
    buf_addf(&path, "/api/v1/silences/%lld", (long long)number);
    return client_request_object(&conf->client, "DELETE", path.p, str_of(""), &o, &raw, &c->err);
}

/* ---- channels ---- */

static int list_channels(struct cmd_call *c)
{
    json_auto_t *o = NULL;
    json_t *one;
    size_t i;
    int code = list_all(c,
                        (struct hub_listing){.path = "/api/v1/alerts",
                                             .member = "channels",
                                             LISTING(alerts_help, channel_columns, fill_channel,
                                                     "no notifications are sent: muster.yaml has no channels")},
                        &o);

    json_array_foreach (json_object_get(o, "channels"), i, one)
        if (code == EXIT_OK && !json_is_true(json_object_get(one, "ok")))
            code = EXIT_NO;
    return code;
}

static int send_test(struct cmd_call *c, const char *name)
{
    const struct alerts_conf *conf = c->conf;
    struct client_conf patient = conf->client;
    AUTO_BUF path = BUF_INIT(4096), body = BUF_INIT(4096), raw = {0}, out = BUF_INIT(65536);
    json_auto_t *o = NULL;

    if (!name)
        return err_set(&c->err, -EINVAL, "through which? `muster alerts channels` lists them");
    patient.limit_ms = 60000; /* the channel has its time, too */
    buf_adds(&path, "/api/v1/channels/");
    buf_addurl(&path, str_of(name));
    buf_adds(&path, "/test");
    struct json j = json_on(&body);
    json_obj(&j, NULL);
    if (conf->to)
        json_cstr(&j, "to", conf->to);
    json_end_obj(&j);
    int r = client_request_object(&patient, "POST", path.p, buf_str(&body), &o, &raw, &c->err);
    if (r < 0)
        return r;
    bool partly = text_of(o, "error")[0];
    if (conf->json)
        plain_json(&out, buf_str(&raw));
    else
        buf_addf(&out, "sent through %s%s%s\n", name, partly ? ", but not to all recipients: " : "",
                 text_of(o, "error"));
    int code = cli_print(&alerts_help, &out);
    return code == EXIT_OK && partly ? EXIT_NO : code;
}

/* ---- over history ---- */

static const struct column_spec tally_columns[] = {
    {"rule", "RULE", CELL_TEXT, .weight = 100},
    {"severity", "SEVERITY", CELL_TEXT, .weight = 80},
    {"alerts", "ALERTS", CELL_INT, .right = true, .weight = 99},
    {"days", "DAYS", CELL_INT, .right = true, .weight = 90},
    {"longest", "LONGEST", CELL_TEXT, .right = true, .weight = 90},
    {"firing", "FIRING", CELL_INT, .right = true, .weight = 70},
};
static const struct column_spec past_columns[] = {
    {"rule", "RULE", CELL_TEXT, .weight = 100},   {"place", "WHERE", CELL_TEXT, .weight = 98},
    {"person", "USER", CELL_TEXT, .weight = 90},  {"since", "SINCE", CELL_TEXT, .weight = 97},
    {"for", "DURATION", CELL_TEXT, .weight = 96}, {"text", "WHAT", CELL_TEXT, .weight = 50},
};

/* Reads the section alerts of a file like the hub; sends nothing else of the file. */
static int read_rules(const char *path, struct buf *ret, struct err *err)
{
    AUTO_BUF text = BUF_INIT(RULES_FILE_MAX);
    struct hub_conf scratch = {0};
    const struct opt_section *section = hub_conf_value(&scratch, "alerts");
    int r = file_read(path, RULES_FILE_MAX, &text, err);

    if (r < 0)
        return r;
    struct alert_rules *rules = alert_rules_new();
    opt_defaults(hub_opts, &scratch);
    r = opt_yaml(hub_opts, &scratch, buf_str(&text), path, err);
    if (r == 0)
        r = alert_rules_read(rules, section, err);
    alert_rules_free(rules);
    if (r == 0 && section->text)
        buf_adds(ret, section->text);
    opt_fini(hub_opts, &scratch);
    return r;
}

static void fill_tally(struct cell *c, json_t *o, UNUSED const struct listing_at *at)
{
    char span[24];

    if (int_of(o, "alerts"))
        cell_text(&c[4], str_of(int_of(o, "longest") > 0 ? clock_span(int_of(o, "longest"), span) : ""));
}

static void fill_past(struct cell *c, json_t *o, const struct listing_at *at)
{
    char span[24], since[MOMENT_TEXT], lasted[40];
    int64_t end = int_of(o, "resolved"), from = int_of(o, "since");

    snprintf(lasted, sizeof(lasted), "%s%s", clock_span(MAX(0, (end ? end : int_of(at->answer, "until")) - from), span),
             end ? "" : ", still");
    cell_text(&c[3], str_of(time_text(from, at->zone, since)));
    cell_text(&c[4], str_of(lasted));
}

static void put_rest(struct buf *out, json_t *o, const struct zone *zone)
{
    size_t i;
    json_t *one;
    int64_t more = -(int64_t)json_array_size(json_object_get(o, "rows"));
    char until[MOMENT_TEXT];

    json_array_foreach (json_object_get(o, "rules"), i, one)
        more += int_of(one, "alerts");
    buf_adds(out, "\nnot evaluated, because the store has no data for it:");
    json_array_foreach (json_object_get(o, "left_out"), i, one)
        buf_addf(out, "%s %s", i ? "," : "", json_string_value(one));
    buf_addc(out, '\n');
    if (!json_is_true(json_object_get(o, "complete")))
        buf_addf(out, "incomplete: evaluated until %s, then the time limit was reached; request a shorter period\n",
                 time_text(int_of(o, "until"), zone, until));
    else if (more > 0)
        buf_addf(out, "%lld more are counted above and not listed here\n", (long long)more);
}

static int test_past(struct cmd_call *c)
{
    const struct alerts_conf *conf = c->conf;
    AUTO_BUF path = BUF_INIT(4096), raw = {0}, rules = BUF_INIT(RULES_FILE_MAX), out = BUF_INIT(64u << 20);
    struct client_conf patient = conf->client;
    int status, r = conf->rules ? read_rules(conf->rules, &rules, &c->err) : 0;

    if (r < 0)
        return cli_fail(&alerts_help, EXIT_USAGE, "%s", c->err.msg);
    patient.limit_ms = 130000; /* the hub gives up before */
    buf_adds(&path, "/api/v1/alerts/test");
    client_param(&path, "last", conf->last ? conf->last : "7d");
    client_param(&path, "until", conf->until);
    client_param(&path, "rule", conf->rule);
    r = conf->rules ? client_post(&patient, NULL, path.p, "application/yaml", buf_str(&rules), &raw, &status, &c->err)
                    : client_request(&patient, "GET", path.p, str_of(""), &raw, &c->err);
    if (r < 0)
        return r;
    if (conf->json)
        return cli_print_json(&alerts_help, &raw);
    json_auto_t *o = client_json(buf_str(&raw));
    struct zone *zone = NULL;
    zone_load(NULL, &zone, NULL); /* none: UTC */
    listing_put(&(struct hub_listing){.member = "rules",
                                      .width = WIDTH,
                                      LISTING(alerts_help, tally_columns, fill_tally, NULL)},
                o, false, &out);
    if (json_array_size(json_object_get(o, "rows"))) {
        buf_addc(&out, '\n');
        listing_put(&(struct hub_listing){.member = "rows",
                                          .width = WIDTH,
                                          LISTING(alerts_help, past_columns, fill_past, NULL)},
                    o, false, &out);
    }
    put_rest(&out, o, zone);
    zone_free(zone);
    return cli_print(&alerts_help, &out);
}

int cmd_alerts(struct cmd_call *c)
{
    const struct alerts_conf *conf = c->conf;
    const char *verb = c->argc ? c->argv[0] : "list", *operand = c->argc > 1 ? c->argv[1] : NULL;

    if (c->argc > 2)
        return err_set(&c->err, -EINVAL, "'%s' is not expected here; see --help", c->argv[2]);
    if (strcmp(verb, "list") == 0)
        return list_alerts(c);
    if (strcmp(verb, "silence") == 0)
        return silence(c);
    if (strcmp(verb, "unsilence") == 0)
        return unsilence(c, operand);
    if (strcmp(verb, "channels") == 0)
        return list_channels(c);
    if (strcmp(verb, "send") == 0)
        return send_test(c, operand);
    if (strcmp(verb, "test") == 0 && (conf->last || conf->rules))
        return test_past(c);
    if (strcmp(verb, "test") == 0 && (conf->rule || conf->until))
        return err_set(&c->err, -EINVAL, "--rule and --until need --last or --rules");
    const struct hub_listing rules = {.path = "/api/v1/alerts/rules",
                                      LISTING(alerts_help, rule_columns, fill_rule, "no rules")},
                             test = {.path = "/api/v1/alerts/test",
                                     LISTING(alerts_help, alert_columns, fill_alert, "no rule finds anything")},
                             silences = {.path = "/api/v1/silences",
                                         LISTING(alerts_help, silence_columns, fill_silence, "no silences")};
    if (strcmp(verb, "rules") == 0)
        return list_all(c, rules, NULL);
    if (strcmp(verb, "test") == 0)
        return list_all(c, test, NULL);
    if (strcmp(verb, "silences") == 0)
        return list_all(c, silences, NULL);
    return err_set(&c->err, -EINVAL,
                   "'%s' is not one of rules, test, silences, silence, unsilence, channels, send; see --help", verb);
}
