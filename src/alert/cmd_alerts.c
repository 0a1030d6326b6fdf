/* cmd_alerts.c: `muster alerts`: what is wrong now, the rules, what would fire, and silences. The hub knows; this asks.
 */
#include <errno.h>
#include <jansson.h>

#include "alert/rule.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/moment.h"
#include "base/plain.h"
#include "base/zone.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "format/render.h"
#include "hub/conf.h"

#define RULES_FILE_MAX (1u << 20)

struct alerts_conf {
    struct client_conf client;
    char *rule, *node, *person, *for_, *until, *reason, *last, *rules, *to;
    bool all, json;
};

static const struct opt alerts_opts[] = {
    CLIENT_OPTS(alerts_conf, client),
    OPT(alerts_conf, all, 'a', OPT_BOOL, NULL, NULL, "what was resolved within a week, too"),
    OPT(alerts_conf, rule, 'r', OPT_STR, NULL, "PATTERN", "only of these rules; silence: these rules"),
    OPT(alerts_conf, node, 0, OPT_STR, NULL, "PATTERN", "silence: of these nodes or GPUs, as dgx2 or 'dgx2:3'"),
    OPT(alerts_conf, person, 'p', OPT_STR, NULL, "PATTERN", "silence: of this person"),
    OPTN(alerts_conf, "for", for_, 'f', OPT_STR, NULL, "TIME", "silence: for so long, as 2h"),
    OPT(alerts_conf, until, 'u', OPT_STR, NULL, "WHEN",
        "silence: until then, as 'friday 18:00'; test: over the time before then"),
    OPT(alerts_conf, reason, 'm', OPT_STR, NULL, "TEXT", "silence: why; it must be said"),
    OPT(alerts_conf, last, 'l', OPT_STR, NULL, "TIME", "test: over this time of history, as 7d"),
    OPT(alerts_conf, rules, 0, OPT_PATH, NULL, "FILE",
        "test: with the section alerts of this muster.yaml instead of the hub's"),
    OPT(alerts_conf, to, 0, OPT_STR, NULL, "WHOM", "send: to this address there, where the channel leads to persons"),
    OPT(alerts_conf, json, 0, OPT_BOOL, NULL, NULL, "the hub's answer as JSON"),
    {0},
};
const struct opt_cmd alerts_help = {
    .name = "muster alerts",
    .summary = "what is wrong now, the rules, and silences",
    .args = "[rules | test | silences | silence | unsilence ID | channels | send CHANNEL]",
    .about =
        "Lists what fires, the worst first; the exit status is 1 when something does that nobody silenced, so that "
        "a script can ask.\n\n"
        "rules lists when each rule fires and whether it is on; test lists what each finds now, however long it "
        "has been so. With --last it lists which alerts there would have been over that time, per rule and one by "
        "one, out of what is stored, minute by minute; with --rules under the rules of a file that is not in force "
        "yet. Nobody is told. silence says that nothing is to be told of some alerts until it ends; they are still "
        "listed. channels lists who is told and whether that works; send sends a test message through one of them, for "
        "admins. docs/alerts.md has the rules, and how to write one's own.",
    .examples = "muster alerts\n"
                "muster alerts --all  # and what was, this week\n"
                "muster alerts test  # what every rule finds now\n"
                "muster alerts test --last 7d  # what would have fired over the last week\n"
                "muster alerts test --last 7d --rules new.yaml  # and with other rules\n"
                "muster alerts silence --node dgx2 --for 4h --reason 'new fans'\n"
                "muster alerts unsilence 3\n"
                "muster alerts channels  # which of them work\n"
                "muster alerts send ops",
    .opts = alerts_opts,
};

static const char *text_of(json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static int64_t int_of(json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static int exit_of(const struct err *err)
{
    return err->code == -EINVAL ? EXIT_USAGE : err->code == -ENOENT || err->code == -EACCES ? EXIT_NO : EXIT_REACH;
}

/* ---- tables ---- */

static const struct column_spec alert_columns[] = {
    {"severity", "SEVERITY", CELL_TEXT, .weight = 90}, {"rule", "RULE", CELL_TEXT, .weight = 95},
    {"where", "WHERE", CELL_TEXT, .weight = 97},       {"for", "FOR", CELL_TEXT, .weight = 92},
    {"what", "WHAT", CELL_TEXT, .weight = 100},        {"advice", "WHAT TO DO", CELL_TEXT, .weight = 20},
};
static const struct column_spec rule_columns[] = {
    {"rule", "RULE", CELL_TEXT, .weight = 100},   {"severity", "SEVERITY", CELL_TEXT, .weight = 80},
    {"on", "ON", CELL_TEXT, .weight = 90},        {"for", "AFTER", CELL_TEXT, .weight = 70},
    {"remind", "AGAIN", CELL_TEXT, .weight = 50}, {"person", "PERSONS", CELL_TEXT, .weight = 40},
    {"about", "WHEN", CELL_TEXT, .weight = 99},
};
static const struct column_spec silence_columns[] = {
    {"id", "ID", CELL_INT, .right = true, .weight = 100},
    {"rule", "RULE", CELL_TEXT, .weight = 90},
    {"node", "NODE", CELL_TEXT, .weight = 90},
    {"person", "PERSON", CELL_TEXT, .weight = 80},
    {"left", "LEFT", CELL_TEXT, .weight = 85},
    {"by", "BY", CELL_TEXT, .weight = 70},
    {"reason", "REASON", CELL_TEXT, .weight = 60},
};

static const struct column_spec channel_columns[] = {
    {"name", "CHANNEL", CELL_TEXT, .weight = 100}, {"type", "TYPE", CELL_TEXT, .weight = 80},
    {"state", "STATE", CELL_TEXT, .weight = 95},   {"waiting", "WAITING", CELL_INT, .right = true, .weight = 90},
    {"since", "FOR", CELL_TEXT, .weight = 85},     {"error", "WHY", CELL_TEXT, .weight = 92},
};

static void put_texts(struct rows *rows, const char *const *texts, size_t n)
{
    struct cell *c = rows_add(rows);

    for (size_t i = 0; i < n; i++)
        if (texts[i][0])
            cell_text(&c[i], str_of(texts[i]));
}

static void alert_row(struct rows *rows, json_t *o, int64_t now_ms)
{
    char span[24], what[700], when[48] = "";
    json_t *s = json_object_get(o, "silenced");
    int64_t end = int_of(o, "resolved"), since = int_of(o, "since");
    bool notice = json_is_true(json_object_get(o, "notice"));

    if (notice)
        snprintf(when, sizeof(when), " (%s ago)", clock_span(MAX(0, now_ms - since), span));
    else if (end)
        snprintf(when, sizeof(when), " (over for %s)", clock_span(MAX(0, now_ms - end), span));
    snprintf(what, sizeof(what), "%s%s%s%s", text_of(o, "text"), when, s ? ", silenced by " : "",
             s ? text_of(s, "by") : "");
    const char *texts[] = {text_of(o, "severity"),
                           text_of(o, "rule"),
                           text_of(o, "place"),
                           since && !notice ? clock_span(MAX(0, (end ? end : now_ms) - since), span) : "",
                           what,
                           text_of(o, "advice")};
    put_texts(rows, texts, ARRAY_LEN(texts));
}

static void rule_row(struct rows *rows, json_t *o, int64_t now_ms)
{
    char span[24], again[24];
    const char *texts[] = {text_of(o, "rule"),
                           text_of(o, "severity"),
                           json_is_true(json_object_get(o, "on")) ? "on" : "off",
                           int_of(o, "for") ? clock_span(int_of(o, "for"), span) : "at once",
                           int_of(o, "remind") ? clock_span(int_of(o, "remind"), again) : "never",
                           json_is_true(json_object_get(o, "person")) ? "told" : "",
                           text_of(o, "about")};

    (void)now_ms;
    put_texts(rows, texts, ARRAY_LEN(texts));
}

static void silence_row(struct rows *rows, json_t *o, int64_t now_ms)
{
    char span[24];
    const char *texts[] = {"",
                           text_of(o, "rule"),
                           text_of(o, "node"),
                           text_of(o, "person"),
                           clock_span(MAX(0, int_of(o, "until") - now_ms), span),
                           text_of(o, "by"),
                           text_of(o, "reason")};

    put_texts(rows, texts, ARRAY_LEN(texts));
    cell_int(&rows->cells[(rows->n - 1) * ARRAY_LEN(texts)], int_of(o, "id"));
}

static void channel_row(struct rows *rows, json_t *o, int64_t now_ms)
{
    char span[24];
    bool ok = json_is_true(json_object_get(o, "ok"));
    const char *texts[] = {text_of(o, "name"),
                           text_of(o, "type"),
                           ok ? "works" : "fails",
                           "",
                           ok ? "" : clock_span(MAX(0, now_ms - int_of(o, "since")), span),
                           text_of(o, "error")};

    put_texts(rows, texts, ARRAY_LEN(texts));
    cell_int(&rows->cells[(rows->n - 1) * ARRAY_LEN(texts) + 3], int_of(o, "waiting"));
}

/* list: the member of the answer that has the rows */
static int show(const struct alerts_conf *conf, const char *path, const char *list_name,
                const struct column_spec *columns, size_t n_columns,
                void (*row)(struct rows *rows, json_t *o, int64_t now_ms), const char *none, json_t **ret)
{
    AUTO_BUF raw = {0};
    AUTO_BUF out = BUF_INIT(64u << 20);
    struct err err = {0};
    struct rows rows;
    json_t *one;
    size_t i;

    if (client_ask_object(&conf->client, "GET", path, str_of(""), ret, &raw, &err) < 0)
        return cli_fail(&alerts_help, exit_of(&err), "%s", err.msg);
    rows_init(&rows, columns, n_columns);
    json_array_foreach(json_object_get(*ret, list_name), i, one)
    {
        row(&rows, one, int_of(*ret, "at"));
    }
    struct term t = {.width = cli_width(160), .colour = cli_colour()};
    if (conf->json)
        plain_json(&out, buf_str(&raw));
    else if (!rows.n)
        buf_addf(&out, "%s\n", none);
    else
        render_rows_text(&out, &rows, &t);
    rows_fini(&rows);
    return cli_print(&alerts_help, &out);
}

static int list(const struct alerts_conf *conf)
{
    AUTO_BUF path = BUF_INIT(4096);
    json_t *o = NULL;

    buf_adds(&path, "/api/v1/alerts");
    client_param(&path, "rule", conf->rule);
    client_param(&path, "all", conf->all ? "true" : NULL);
    int code = show(conf, path.p, "rows", alert_columns, ARRAY_LEN(alert_columns), alert_row, "nothing is wrong", &o);
    if (code == EXIT_OK && int_of(o, "firing") > 0)
        code = EXIT_NO;
    json_decref(o);
    return code;
}

/* ---- silences ---- */

static int silence(const struct alerts_conf *conf)
{
    AUTO_BUF body = BUF_INIT(8192);
    AUTO_BUF raw = {0};
    AUTO_BUF out = BUF_INIT(65536);
    struct err err = {0};
    json_t *o = NULL;
    struct json j = json_on(&body);
    const char *const names[] = {"rule", "node", "person", "for", "until", "reason"};
    const char *const v[] = {conf->rule, conf->node, conf->person, conf->for_, conf->until, conf->reason};

    if (!conf->rule && !conf->node && !conf->person)
        return cli_fail(&alerts_help, EXIT_USAGE, "say of what: --rule, --node or --person; --rule '*' is everything");
    if (!conf->for_ == !conf->until)
        return cli_fail(&alerts_help, EXIT_USAGE, "say for how long, in one way: --for 2h or --until 'friday 18:00'");
    if (!conf->reason)
        return cli_fail(&alerts_help, EXIT_USAGE, "say why: --reason 'new fans'");
    json_obj(&j, NULL);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (v[i])
            json_cstr(&j, names[i], v[i]);
    json_end_obj(&j);
    if (client_ask_object(&conf->client, "POST", "/api/v1/silences", buf_str(&body), &o, &raw, &err) < 0)
        return cli_fail(&alerts_help, exit_of(&err), "%s", err.msg);
    if (conf->json)
        plain_json(&out, buf_str(&raw));
    else
        buf_addf(&out, "silence %lld\n", (long long)int_of(o, "id"));
    json_decref(o);
    return cli_print(&alerts_help, &out);
}

static int unsilence(const struct alerts_conf *conf, const char *id)
{
    AUTO_BUF path = BUF_INIT(256);
    AUTO_BUF raw = {0};
    struct err err = {0};
    json_t *o = NULL;
    int64_t number;

    if (!id || !str_int(str_of(id), &number) || number < 1)
        return cli_fail(&alerts_help, EXIT_USAGE, "which? `muster alerts silences` lists them with their numbers");
    buf_addf(&path, "/api/v1/silences/%lld", (long long)number);
    int r = client_ask_object(&conf->client, "DELETE", path.p, str_of(""), &o, &raw, &err);
    json_decref(o);
    return r < 0 ? cli_fail(&alerts_help, exit_of(&err), "%s", err.msg) : EXIT_OK;
}

/* ---- channels ---- */

static bool all_work(json_t *o)
{
    size_t i;
    json_t *one;

    json_array_foreach(json_object_get(o, "channels"), i, one)
    {
        if (!json_is_true(json_object_get(one, "ok")))
            return false;
    }
    return true;
}

static int channels(const struct alerts_conf *conf)
{
    json_t *o = NULL;
    int code = show(conf, "/api/v1/alerts", "channels", channel_columns, ARRAY_LEN(channel_columns), channel_row,
                    "nobody is told: muster.yaml has no channels", &o);

    if (code == EXIT_OK && !all_work(o))
        code = EXIT_NO;
    json_decref(o);
    return code;
}

static int send_test(const struct alerts_conf *conf, const char *name)
{
    struct alerts_conf patient = *conf;
    AUTO_BUF path = BUF_INIT(4096), body = BUF_INIT(4096), raw = {0}, out = BUF_INIT(65536);
    struct err err = {0};
    json_t *o = NULL;

    if (!name)
        return cli_fail(&alerts_help, EXIT_USAGE, "through which? `muster alerts channels` lists them");
    patient.client.limit_ms = 60000; /* the channel has its time, too */
    buf_adds(&path, "/api/v1/channels/");
    buf_addurl(&path, str_of(name));
    buf_adds(&path, "/test");
    struct json j = json_on(&body);
    json_obj(&j, NULL);
    if (conf->to)
        json_cstr(&j, "to", conf->to);
    json_end_obj(&j);
    if (client_ask_object(&patient.client, "POST", path.p, buf_str(&body), &o, &raw, &err) < 0)
        return cli_fail(&alerts_help, exit_of(&err), "%s", err.msg);
    bool partly = text_of(o, "error")[0];
    if (conf->json)
        plain_json(&out, buf_str(&raw));
    else
        buf_addf(&out, "sent through %s%s%s\n", name, partly ? ", but not to everybody: " : "", text_of(o, "error"));
    json_decref(o);
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
    {"firing", "STILL", CELL_INT, .right = true, .weight = 70},
};
static const struct column_spec past_columns[] = {
    {"rule", "RULE", CELL_TEXT, .weight = 100},    {"where", "WHERE", CELL_TEXT, .weight = 98},
    {"person", "PERSON", CELL_TEXT, .weight = 90}, {"since", "SINCE", CELL_TEXT, .weight = 97},
    {"for", "FOR", CELL_TEXT, .weight = 96},       {"what", "WHAT", CELL_TEXT, .weight = 50},
};

/* The section alerts of a file, read as the hub would: nothing else of it leaves this machine. */
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

static const char *span_or_none(int64_t ms, char out[24])
{
    return ms > 0 ? clock_span(ms, out) : "";
}

static void put_tally(struct buf *out, json_t *o, const struct term *t)
{
    struct rows rows;
    size_t i;
    json_t *one;

    rows_init(&rows, tally_columns, ARRAY_LEN(tally_columns));
    json_array_foreach(json_object_get(o, "rules"), i, one)
    {
        char span[24];
        struct cell *c = rows_add(&rows);
        cell_text(&c[0], str_of(text_of(one, "rule")));
        cell_text(&c[1], str_of(text_of(one, "severity")));
        cell_int(&c[2], int_of(one, "alerts"));
        cell_int(&c[3], int_of(one, "days"));
        if (int_of(one, "alerts"))
            cell_text(&c[4], str_of(span_or_none(int_of(one, "longest"), span)));
        cell_int(&c[5], int_of(one, "firing"));
    }
    render_rows_text(out, &rows, t);
    rows_fini(&rows);
}

static void put_alerts(struct buf *out, json_t *o, const struct zone *zone, const struct term *t)
{
    struct rows rows;
    size_t i;
    json_t *one;

    rows_init(&rows, past_columns, ARRAY_LEN(past_columns));
    json_array_foreach(json_object_get(o, "rows"), i, one)
    {
        char span[24], since[MOMENT_TEXT], lasted[40];
        int64_t end = int_of(one, "resolved"), from = int_of(one, "since");
        snprintf(lasted, sizeof(lasted), "%s%s", clock_span(MAX(0, (end ? end : int_of(o, "until")) - from), span),
                 end ? "" : ", still");
        const char *texts[] = {text_of(one, "rule"),
                               text_of(one, "place"),
                               text_of(one, "person"),
                               moment_text(from, int_of(o, "at"), zone, since),
                               lasted,
                               text_of(one, "text")};
        put_texts(&rows, texts, ARRAY_LEN(texts));
    }
    if (rows.n) {
        buf_addc(out, '\n');
        render_rows_text(out, &rows, t);
    }
    rows_fini(&rows);
}

static void put_rest(struct buf *out, json_t *o, const struct zone *zone)
{
    size_t i;
    json_t *one;
    int64_t more = -(int64_t)json_array_size(json_object_get(o, "rows"));
    char until[MOMENT_TEXT];

    json_array_foreach(json_object_get(o, "rules"), i, one)
    {
        more += int_of(one, "alerts");
    }
    buf_adds(out, "\nnot looked at, since nothing is stored of it:");
    json_array_foreach(json_object_get(o, "left_out"), i, one)
    {
        buf_addf(out, "%s %s", i ? "," : "", json_string_value(one));
    }
    buf_addc(out, '\n');
    if (!json_is_true(json_object_get(o, "complete")))
        buf_addf(out, "this is not all: it was looked at until %s, then the time was up; ask for a shorter time\n",
                 moment_text(int_of(o, "until"), int_of(o, "at"), zone, until));
    else if (more > 0)
        buf_addf(out, "%lld more are counted above and not listed here\n", (long long)more);
}

static int test_past(const struct alerts_conf *conf)
{
    AUTO_BUF path = BUF_INIT(4096);
    AUTO_BUF raw = {0};
    AUTO_BUF rules = BUF_INIT(RULES_FILE_MAX);
    AUTO_BUF out = BUF_INIT(64u << 20);
    struct client_conf patient = conf->client;
    struct err err = {0};
    int status, r = conf->rules ? read_rules(conf->rules, &rules, &err) : 0;

    if (r < 0)
        return cli_fail(&alerts_help, EXIT_USAGE, "%s", err.msg);
    patient.limit_ms = 130000; /* the hub gives up before */
    buf_adds(&path, "/api/v1/alerts/test");
    client_param(&path, "last", conf->last ? conf->last : "7d");
    client_param(&path, "until", conf->until);
    client_param(&path, "rule", conf->rule);
    r = conf->rules ? client_post(&patient, NULL, path.p, "application/yaml", buf_str(&rules), &raw, &status, &err)
                    : client_ask(&patient, "GET", path.p, str_of(""), &raw, &err);
    if (r < 0)
        return cli_fail(&alerts_help, exit_of(&err), "%s", err.msg);
    json_t *o = client_json(buf_str(&raw));
    struct term t = {.width = cli_width(160), .colour = cli_colour()};
    if (conf->json) {
        plain_json(&out, buf_str(&raw));
    } else {
        struct zone *zone = NULL;
        zone_load(NULL, &zone, NULL); /* none: UTC */
        put_tally(&out, o, &t);
        put_alerts(&out, o, zone, &t);
        put_rest(&out, o, zone);
        zone_free(zone);
    }
    json_decref(o);
    return cli_print(&alerts_help, &out);
}

static int run(const struct alerts_conf *conf, const char *verb, const char *operand)
{
    json_t *o = NULL;
    int code;

    if (strcmp(verb, "list") == 0)
        return list(conf);
    if (strcmp(verb, "silence") == 0)
        return silence(conf);
    if (strcmp(verb, "unsilence") == 0)
        return unsilence(conf, operand);
    if (strcmp(verb, "channels") == 0)
        return channels(conf);
    if (strcmp(verb, "send") == 0)
        return send_test(conf, operand);
    if (strcmp(verb, "rules") == 0)
        code =
            show(conf, "/api/v1/alerts/rules", "rows", rule_columns, ARRAY_LEN(rule_columns), rule_row, "no rules", &o);
    else if (strcmp(verb, "test") == 0 && (conf->last || conf->rules))
        code = test_past(conf);
    else if (strcmp(verb, "test") == 0)
        code = show(conf, "/api/v1/alerts/test", "rows", alert_columns, ARRAY_LEN(alert_columns), alert_row,
                    "no rule finds anything", &o);
    else if (strcmp(verb, "silences") == 0)
        code = show(conf, "/api/v1/silences", "rows", silence_columns, ARRAY_LEN(silence_columns), silence_row,
                    "nothing is silenced", &o);
    else
        code =
            cli_fail(&alerts_help, EXIT_USAGE,
                     "'%s' is not one of rules, test, silences, silence, unsilence, channels, send; see --help", verb);
    json_decref(o);
    return code;
}

int cmd_alerts(int argc, char **argv)
{
    struct alerts_conf conf = {0};
    int argi, r = cli_parse(&alerts_help, &conf, argc, argv, &argi);

    if (r < 0)
        r = argc - argi > 2
                ? cli_fail(&alerts_help, EXIT_USAGE, "'%s' is not expected here; see --help", argv[argi + 2])
                : run(&conf, argi < argc ? argv[argi] : "list", argi + 1 < argc ? argv[argi + 1] : NULL);
    opt_fini(alerts_opts, &conf);
    return r;
}
