/* What the bot says: which texts are answered at all, which requests they become, and what is made of the answers. */
#include "test.h"

#include <jansson.h>

#include "base/file.h"
#include "base/mem.h"
#include "model/alert.h"
#include "model/message.h"
#include "people/people.h"
#include "slack/dialog.h"
#include "view_fixture.h"

#define NOW_MS 1794700800000ll /* 2026-11-15 00:00 UTC */

static bool is_node(void *arg, struct str name)
{
    (void)arg;
    return str_eq(name, "dgx1") || str_eq(name, "dgx2") || str_eq(name, "gpu.lab");
}

static struct dialog *ask(const char *text, enum dialog_way way, const char *person, const struct dialog_conf *conf)
{
    return dialog_new(&(struct dialog_params){.text = str_of(text),
                                              .way = way,
                                              .person = person,
                                              .called = "U111",
                                              .now_ms = NOW_MS,
                                              .conf = conf,
                                              .name = "lab",
                                              .url = "https://gpus.lab",
                                              .is_node = is_node});
}

/* What is asked of the hub, or "" where nothing is, or "-" where nothing is said at all. */
static void first_call(struct dialog *s, char *out, size_t size)
{
    const struct dialog_call *c = s ? dialog_next_call(s) : NULL;

    snprintf(out, size, "%s%s%s%s%.*s", s ? "" : "-", c ? c->method : "", c ? " " : "", c ? c->target : "",
             c ? (int)c->body.len : 0, c ? c->body.p : "");
}

static void ordinary_talk_is_not_answered_but_exact_keywords_are(void **unused)
{
    static const struct dialog_conf bang = {.prefix = "!",
                                            .keywords = {"HOSTS", "ALL", "", "ALL_detail", "HELP", "WHERE"}};
    static const struct dialog_conf off = {.prefix = "", .keywords = {"", "", "", "", "", ""}};
    static const struct {
        const struct dialog_conf *conf;
        const char *text, *want;
    } cases[] = {
        {NULL, "HOSTS", "GET /?term=true&list=names"},
        {NULL, "  ALL\n", "GET /?term=true&list=processes"},
        {NULL, "ALL_cmd", "GET /?term=true"},
        {NULL, "ALL_detail", "GET /?term=true&detail=true"},
        {NULL, "dgx2", "GET /?term=true&list=processes&node=dgx2"},
        {NULL, "gpu.lab", "GET /?term=true&list=processes&node=gpu.lab"},
        {NULL, "WHERE dgx2", "GET /api/v1/state?node=dgx2"},
        {NULL, "WHERE", ""},
        {NULL, "HELP", ""},
        {NULL, "A", "-"}, /* the old bot answered these */
        {NULL, "ALL of you", "-"},
        {NULL, "all", "-"},
        {NULL, "HELP me", "-"},
        {NULL, "WHERE are you", "-"},
        {NULL, "free 4", "-"},
        {NULL, "dgx3", "-"},
        {NULL, "", "-"},
        {&bang, "ALL", "-"},
        {&bang, "!ALL", "GET /?term=true&list=processes"},
        {&bang, "!ALL_cmd", "-"},
        {&bang, "!dgx1", "GET /?term=true&list=processes&node=dgx1"},
        {&bang, "dgx1", "-"},
        {&off, "HOSTS", "-"},
        {&off, "dgx1", "-"},
    };
    char got[4096];

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("'%s'\n", cases[i].text);
        struct dialog *s = ask(cases[i].text, DIALOG_TALK, "kim", cases[i].conf);
        first_call(s, got, sizeof(got));
        assert_string_equal(got, cases[i].want);
        dialog_free(s);
    }
}

static void the_prefix_works_in_direct_messages(void **unused)
{
    static const struct dialog_conf bang = {.prefix = "!",
                                            .keywords = {"HOSTS", "ALL", "", "ALL_detail", "HELP", "WHERE"}};
    static const char *const same[][2] = {{"!free 4", "free 4"}, {"! who dgx1", "who dgx1"}, {"!", "help"}};
    static const struct {
        const char *text, *want;
    } cases[] = {{"!ALL", "GET /?term=true&list=processes"},
                 {"ALL", "GET /?term=true&list=processes"},
                 {"!dgx1", "GET /?term=true&list=processes&node=dgx1"},
                 {"!WHERE dgx1", "GET /api/v1/state?node=dgx1"}};
    char got[4096], want[4096];

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dialog *s = ask(cases[i].text, DIALOG_TO_US, "kim", &bang);
        first_call(s, got, sizeof(got));
        assert_string_equal(got, cases[i].want);
        dialog_free(s);
    }
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        struct dialog *s = ask(same[i][0], DIALOG_TO_US, "kim", &bang),
                      *t = ask(same[i][1], DIALOG_TO_US, "kim", &bang);
        first_call(s, got, sizeof(got));
        first_call(t, want, sizeof(want));
        assert_string_equal(got, want);
        dialog_free(s);
        dialog_free(t);
    }
}

static void a_list_is_a_file_with_the_old_name_and_title(void **unused)
{
    struct dialog *s = ask("ALL_cmd", DIALOG_TALK, "kim", NULL);

    (void)unused;
    dialog_add_reply(s, 0, STR("a table\n"));
    assert_null(dialog_next_call(s));
    const struct dialog_answer *a = dialog_answer(s);
    assert_int_equal(a->n_files, 1);
    assert_string_equal(a->files[0].name, "ALL_cmd.txt");
    assert_string_equal(a->files[0].title, "response: ALL_cmd");
    assert_true(str_eq(a->files[0].bytes, "a table\n"));
    assert_string_equal(a->text, "response: ALL_cmd");
    dialog_free(s);
}

static void strangers_are_told_how_to_be_known_and_read_where_that_is_open(void **unused)
{
    static const struct dialog_conf open = {.prefix = "",
                                            .keywords = {"HOSTS", "ALL", "ALL_cmd", "ALL_detail", "HELP", "WHERE"},
                                            .open = true};
    char got[4096];

    (void)unused;
    struct dialog *s = ask("HOSTS", DIALOG_TALK, NULL, NULL);
    assert_null(dialog_next_call(s));
    assert_true(dialog_answer(s)->refused && dialog_answer(s)->ephemeral);
    assert_non_null(strstr(dialog_answer(s)->text, "`slack: U111`"));
    dialog_free(s);
    s = ask("HOSTS", DIALOG_TALK, NULL, &open);
    first_call(s, got, sizeof(got));
    assert_string_equal(got, "GET /?term=true&list=names");
    dialog_free(s);
    s = ask("help", DIALOG_TO_US, NULL, NULL);
    assert_false(dialog_answer(s)->refused);
    dialog_free(s);
}

static void what_is_said_to_us_is_answered_always(void **unused)
{
    static const char *const texts[] = {"",         "help",        "HELP",  "<@U7> help", "<@U7>: hello",
                                        "what?",    "hlep please", "WHERE", "\xff\xfe",   "<@",
                                        "&amp;&lt;"};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        print_message("'%s'\n", texts[i]);
        struct dialog *s = ask(texts[i], DIALOG_TO_US, "kim", NULL);
        assert_non_null(s);
        if (!dialog_next_call(s))
            assert_true(dialog_answer(s)->text[0] != 0);
        dialog_free(s);
    }
    struct dialog *s = ask("hlep me", DIALOG_TO_US, "kim", NULL);
    assert_string_equal(dialog_answer(s)->text,
                        "I do not understand 'hlep'. Did you mean `help`? `help` lists all commands.");
    dialog_free(s);
}

static void names_cannot_mention_anybody(void **unused)
{
    struct dialog *s = ask("x <!here> & <@U2> *y*", DIALOG_TO_US, "<!channel>", NULL);
    json_t *o;

    (void)unused;
    const struct dialog_answer *a = dialog_answer(s);
    assert_null(strstr(a->blocks, "<!"));
    assert_null(strstr(a->blocks, "<@"));
    assert_non_null(o = json_loads(a->blocks, 0, NULL));
    json_decref(o);
    dialog_free(s);
    s = ask("help", DIALOG_TO_US, "<!channel>", NULL);
    assert_null(strstr(dialog_answer(s)->blocks, "<!"));
    assert_non_null(strstr(dialog_answer(s)->blocks, "&lt;!channel&gt;"));
    dialog_free(s);
}

static void a_refusal_of_the_hub_is_its_sentence(void **unused)
{
    struct dialog *s = ask("HOSTS", DIALOG_TALK, "kim", NULL);

    (void)unused;
    dialog_add_reply(s, 503, STR("{\"detail\":\"tokens cannot be read just now; try again\"}"));
    assert_null(dialog_next_call(s));
    assert_string_equal(dialog_answer(s)->text, "Tokens cannot be read just now; try again.");
    assert_true(dialog_answer(s)->refused);
    dialog_free(s);
}

static void free_says_from_when_gpus_are_booked(void **unused)
{
    struct dialog *s = ask("free 1", DIALOG_TO_US, "kim", NULL);

    (void)unused;
    dialog_add_reply(s, 200,
                     STR("{\"where\":\"dgx4:5\",\"free_until\":1794823200000,\"devices\":[{\"model\":\"H200\"}]}"));
    assert_non_null(strstr(dialog_answer(s)->text, "1 free now: dgx4:5 (H200); booked from "));
    assert_non_null(strstr(dialog_answer(s)->text, "10:00"));
    dialog_free(s);
}

/* ---- ours ---- */

static void commands_become_requests_of_the_api(void **unused)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"free", "GET /api/v1/state?filter=free"},
        {"what is free?", "GET /api/v1/state?filter=free"},
        {"which gpus are available", "GET /api/v1/state?filter=free"},
        {"free 4", "GET /api/v1/free?count=4&free_for=0s"},
        {"free four gpus", "GET /api/v1/free?count=4&free_for=0s"},
        {"FREE 2x H200", "GET /api/v1/free?count=2&model=H200&free_for=0s"},
        {"free 2 h200 nvl on dgx2 with 40G", "GET /api/v1/free?count=2&model=h200%20nvl&node=dgx2&mem=40G&free_for=0s"},
        {"free 8 on one node", "GET /api/v1/free?count=8&free_for=0s&same_host=true"},
        {"free h200", "GET /api/v1/state?filter=free%20model:%22h200%22"},
        {"free dgx2", "GET /api/v1/state?filter=free%20host:dgx2"},
        {"free (model:h200 or model:b200) memfree>50%",
         "GET /api/v1/state?filter=free%20%28%28model:h200%20or%20model:b200%29%20memfree%3E50%25%29"},
        {"who", "GET /api/v1/people"},
        {"who is on dgx2?", "GET /api/v1/state?node=dgx2"},
        {"who dgx2:3", "GET /api/v1/state?node=dgx2&filter=gpu:3"},
        {"who kim", "GET /api/v1/people?filter=person:%22kim%22"},
        {"dgx2", "GET /api/v1/state?node=dgx2"},
        {"usage me", "GET /api/v1/usage?last=7d&person=kim&by=person&format=table&width=84&period=day"},
        {"usage of lee last month", "GET /api/v1/usage?last=30d&person=lee&by=person&format=table&width=84&period=day"},
        {"usage team vision last 2 weeks", "GET /api/v1/usage?last=14d&team=vision&by=person&format=table&width=84"},
        {"usage by team last 36h", "GET /api/v1/usage?last=2160m&by=team&format=table&width=84"},
        {"history dgx2:3 power last 24h",
         "GET /api/v1/history?device=dgx2:3&metric=power&from=1794614400000&points=100&agg=avg,max"},
        {"plot memory of dgx1 last hour",
         "GET /api/v1/history?device=dgx1&metric=mem_used&from=1794697200000&points=100&agg=avg,max"},
        {"history all",
         "GET /api/v1/history?device=*&metric=util&from=1794614400000&group=node&points=100&agg=avg,max"},
        {"book 2 h200 for 4h", "POST /api/v1/bookings{\"count\":2,\"model\":\"h200\",\"for\":14400000}"},
        {"book a gpu 90m", "POST /api/v1/bookings{\"count\":1,\"for\":5400000}"},
        {"reserve dgx2:0,1 until 2026-11-20 18:00 because \"a paper\"",
         "POST /api/v1/bookings{\"gpus\":\"dgx2:0,1\",\"until\":1795197600000,\"comment\":\"a paper\"}"},
        {"book 1 on dgx2 from tomorrow 9:00 for 2 days",
         "POST /api/v1/bookings{\"count\":1,\"node\":\"dgx2\",\"for\":172800000,\"from\":1794819600000}"},
        {"book 1 tomorrow 9:00 for 2 days",
         "POST /api/v1/bookings{\"count\":1,\"for\":172800000,\"from\":1794819600000}"},
        {"wait 4", "POST /api/v1/waits{\"count\":4,\"hold\":900000,\"tell\":true}"},
        {"wait for 2 h200 40G same host",
         "POST "
         "/api/v1/"
         "waits{\"count\":2,\"model\":\"h200\",\"mem\":\"40G\",\"same_host\":true,\"hold\":900000,\"tell\":true}"},
        {"release 7", "DELETE /api/v1/bookings/7"},
        {"release booking #7", "DELETE /api/v1/bookings/7"},
        {"bookings", "GET /api/v1/bookings"},
        {"alerts", "GET /api/v1/alerts"},
        {"what is wrong?", "GET /api/v1/alerts"},
        {"silence node-down dgx2 for 2h new fans", "GET /api/v1/alerts/rules"},
        {"unsilence 3", "DELETE /api/v1/silences/3"},
    };
    char got[4096];

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("'%s'\n", cases[i].text);
        struct dialog *s = ask(cases[i].text, DIALOG_TO_US, "kim", NULL);
        first_call(s, got, sizeof(got));
        assert_string_equal(got, cases[i].want);
        dialog_free(s);
    }
}

static void what_is_missing_is_asked_for(void **unused)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"book", "How many or which GPUs, and for how long? Examples: `book 2 h200 for 4h`, `book dgx2:0,1 until "
                 "friday 18:00`."},
        {"book 2", "For how long, or until when? Example: `book 2 for 4h`."},
        {"book 2 for ever",
         "I do not understand the time after 'for'. Examples: 4h, 2 days, tomorrow 9:00, 2026-11-20 14:00."},
        {"silence node-down", "Which alerts, for how long and why? Example: `silence node-down dgx2 for 2h new fans`. "
                              "`alerts` lists active alerts."},
        {"silence node-down for 2h", "A reason is required: `silence node-down for 2h new fans`."},
        {"release", "Which booking? Example: `release 7`. `bookings` lists them."},
        {"history dgx9 power", "There is no node 'dgx9'. Example: `history dgx2:3 power last 24h`."},
        {"bok 2 for 4h",
         "I do not understand 'bok'. Did you mean `book N [filter] for 4h [from ...]`? `help` lists all "
         "commands."},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("'%s'\n", cases[i].text);
        struct dialog *s = ask(cases[i].text, DIALOG_TO_US, "kim", NULL);
        assert_null(dialog_next_call(s));
        assert_string_equal(dialog_answer(s)->text, cases[i].want);
        assert_true(dialog_answer(s)->refused);
        dialog_free(s);
    }
}

static void nobody_acts_who_is_not_known(void **unused)
{
    static const struct dialog_conf open = {.prefix = "", .keywords = {"", "", "", "", "", ""}, .open = true};
    static const char *const texts[] = {"book 2 for 4h", "wait 1", "release 1", "silence x for 1h y", "unsilence 1"};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        print_message("'%s'\n", texts[i]);
        struct dialog *s = ask(texts[i], DIALOG_TO_US, NULL, &open);
        assert_null(dialog_next_call(s));
        assert_non_null(strstr(dialog_answer(s)->text, "I do not know which muster user you are"));
        dialog_free(s);
    }
}

/* ---- answers ---- */

static struct str file(const char *path, struct buf *b)
{
    struct err err = {0};

    if (file_read(path, 1u << 20, b, &err) < 0)
        fail_msg("%s", err.msg);
    return buf_str(b);
}

static void answers_are_as_the_golden_files(void **unused)
{
    static const char people[] = "[{\"person\":\"kim\",\"gpus\":3,\"idle\":1,\"memory\":32212254720,\"since\":"
                                 "1794697200000,\"devices\":[{\"node\":"
                                 "\"dgx1\",\"index\":0},{\"node\":\"dgx1\",\"index\":1},{\"node\":\"dgx2\",\"index\":4}"
                                 "]},{\"person\":\"<!here>\","
                                 "\"gpus\":1,\"idle\":0,\"memory\":0,\"devices\":[{\"node\":\"a&b\",\"index\":0}]}]";
    static const char held[] = "{\"id\":7,\"person\":\"kim\",\"where\":\"dgx2:0,1\",\"from\":1794700800000,\"until\":"
                               "1794715200000}";
    static const char wrong[] =
        "{\"rows\":[{\"id\":17,\"rule\":\"node-down\",\"severity\":\"critical\",\"place\":\"dgx6\",\"text\":\"dgx6 is "
        "away\","
        "\"advice\":\"is it "
        "on?\",\"since\":1794697200000},{\"rule\":\"hot\",\"severity\":\"warning\",\"place\":\"dgx2:3\","
        "\"text\":\"dgx2:3 is hot\",\"since\":1794697200000,\"silenced\":{\"by\":\"lee\"}}]}";
    static const struct {
        const char *name, *text, *bodies[3]; /* one with a slash is a file */
    } cases[] = {
        {"free", "free", {"tests/golden/state.json"}},
        {"free-4",
         "free 2",
         {"{\"where\":\"dgx2:0,1\",\"devices\":[{\"model\":\"NVIDIA H200\"},{\"model\":\"NVIDIA H200\"}]}"}},
        {"who", "who", {people}},
        {"who-node", "who dgx1", {"tests/golden/state.json"}},
        {"book", "book 2 for 4h", {held}},
        {"wait", "wait 4", {"{\"id\":8,\"ahead\":2}"}},
        {"alerts", "alerts", {wrong}},
        {"silence",
         "silence hot dgx2:3 for 2h new fans",
         {"{\"rows\":[{\"rule\":\"hot\"}]}", "{\"id\":3,\"rule\":\"hot\",\"node\":\"dgx2:3\",\"until\":1794708000000,"
                                             "\"by\":\"kim\",\"reason\":\"new fans\"}"}},
        {"usage", "usage me", {"PERIOD  HELD\n```<x>   3 h\n", "PNG"}},
        {"usage-none", "usage me", {"PERIOD  HELD\n", "PNG"}},
        {"bookings",
         "bookings",
         {"{\"rows\":[{\"id\":7,\"person\":\"kim\",\"where\":\"dgx2:0\",\"from\":1794700800000,\"until\":1794715200000}"
          "]}"}},
        {"history",
         "history dgx2:3 power",
         {"{\"series\":[{\"agg\":\"avg\",\"unit\":\"watts\",\"v\":[100,null,300]},{\"agg\":\"max\",\"unit\":\"watts\","
          "\"v\":["
          "612]}]}",
          "PNG"}},
        {"help", "help", {NULL}},
        {"where-host", "WHERE dgx1", {"tests/golden/state.json"}},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = BUF_INIT(1u << 20);
        char path[80];
        struct dialog *s = ask(cases[i].text, DIALOG_TO_US, "kim", NULL);
        print_message("'%s'\n", cases[i].text);
        for (size_t k = 0; dialog_next_call(s); k++) {
            AUTO_BUF b = {0};
            const char *body = cases[i].bodies[k];
            assert_non_null(body);
            dialog_add_reply(s, 200, str_starts(str_of(body), "tests/") ? file(body, &b) : str_of(body));
        }
        json_t *o;
        dialog_json(&out, dialog_answer(s));
        assert_non_null(o = json_loadb(out.p, out.len, 0, NULL));
        json_decref(o);
        snprintf(path, sizeof(path), "say-%s.json", cases[i].name);
        assert_golden(path, &out);
        dialog_free(s);
    }
}

static void a_rule_that_is_none_silences_nothing(void **unused)
{
    struct dialog *s = ask("silence nodedown for 2h x", DIALOG_TO_US, "kim", NULL);

    (void)unused;
    dialog_add_reply(s, 200, STR("{\"rows\":[{\"rule\":\"node-down\"},{\"rule\":\"hot\"}]}"));
    assert_null(dialog_next_call(s));
    assert_string_equal(dialog_answer(s)->text, "There is no rule and no node 'nodedown'. Did you mean node-down?");
    dialog_free(s);
    s = ask("silence node-* for 2h x", DIALOG_TO_US, "kim", NULL);
    dialog_add_reply(s, 200, STR("{\"rows\":[{\"rule\":\"node-down\"}]}"));
    assert_non_null(dialog_next_call(s));
    assert_true(str_eq(dialog_next_call(s)->body, "{\"rule\":\"node-*\",\"for\":\"120m\",\"reason\":\"x\"}"));
    dialog_add_reply(s, 403, STR("{\"detail\":\"no\"}"));
    assert_string_equal(dialog_answer(s)->text, "No.");
    dialog_free(s);
}

static void an_alert_is_silenced_by_its_number(void **unused)
{
    static const char rows[] =
        "{\"rows\":[{\"id\":16,\"rule\":\"x\"},{\"id\":17,\"rule\":\"hot\",\"place\":\"dgx2:3\",\"person\":"
        "\"kim\"},{\"id\":18,\"rule\":\"low\",\"place\":\"\",\"person\":\"lee\"}]}";
    static const struct {
        const char *text, *want; /* NULL: refused */
    } cases[] = {
        {"silence #17 for 1h by a button",
         "{\"rule\":\"hot\",\"node\":\"dgx2:3\",\"for\":\"60m\",\"reason\":\"by a button\"}"},
        {"silence #18 for 8h x", "{\"rule\":\"low\",\"person\":\"lee\",\"for\":\"480m\",\"reason\":\"x\"}"},
        {"silence #99 for 8h x", NULL},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("'%s'\n", cases[i].text);
        struct dialog *s = ask(cases[i].text, DIALOG_TO_US, "kim", NULL);
        assert_string_equal(dialog_next_call(s)->target, "/api/v1/alerts?state=all");
        dialog_add_reply(s, 200, str_of(rows));
        if (cases[i].want)
            assert_true(str_eq(dialog_next_call(s)->body, cases[i].want));
        else
            assert_true(dialog_answer(s)->refused);
        dialog_free(s);
    }
}

static void what_a_channel_is_told_has_buttons_that_silence_it(void **unused)
{
    struct message m = {.kind = MESSAGE_FIRED,
                        .severity = SEV_CRITICAL,
                        .channel = "ops",
                        .rule = "node-down",
                        .title = "dgx2 <!here> is away",
                        .text = "is it on?",
                        .blocks = "",
                        .alerts = "17"};
    AUTO_BUF one = BUF_INIT(65536);
    AUTO_BUF many = BUF_INIT(65536);
    AUTO_BUF over = BUF_INIT(65536);

    (void)unused;
    dialog_message_json(&one, &m);
    assert_string_equal(one.p, "[{\"type\":\"section\",\"text\":{\"type\":\"mrkdwn\",\"text\":\"dgx2 &lt;!here&gt; is "
                               "away\"}},{\"type\":"
                               "\"section\",\"text\":{\"type\":\"mrkdwn\",\"text\":\"is it "
                               "on?\"}},{\"type\":\"context\",\"elements\":[{\"type\":"
                               "\"mrkdwn\",\"text\":\"critical, rule "
                               "node-down\"}]},{\"type\":\"actions\",\"elements\":[{\"type\":\"button\",\"text\":"
                               "{\"type\":\"plain_text\",\"text\":\"silence 1 "
                               "h\"},\"action_id\":\"say-0\",\"value\":\"silence #17 for 1h by a "
                               "button\"},{\"type\":\"button\",\"text\":{\"type\":\"plain_text\",\"text\":\"silence 8 "
                               "h\"},\"action_id\":\"say-1\","
                               "\"value\":\"silence #17 for 8h by a button\"}]}]");
    m.alerts = "17,18";
    dialog_message_json(&many, &m);
    assert_non_null(strstr(many.p, "\"silence node-down 1 h\""));
    assert_non_null(strstr(many.p, "\"silence node-down for 1h by a button\""));
    m.kind = MESSAGE_RESOLVED;
    dialog_message_json(&over, &m);
    assert_null(strstr(over.p, "button"));
}

static void a_long_list_is_a_file_and_a_message_stays_within_limits(void **unused)
{
    AUTO_BUF body = BUF_INIT(8u << 20);
    struct dialog *s = ask("alerts", DIALOG_TO_US, "kim", NULL);
    size_t i;
    json_t *b;

    (void)unused;
    buf_adds(&body, "{\"rows\":[");
    for (i = 0; i < 500; i++)
        buf_addf(&body,
                 "%s{\"rule\":\"node-down\",\"severity\":\"critical\",\"place\":\"n%zu\",\"text\":\"n%zu is away\"}",
                 i ? "," : "", i, i);
    buf_adds(&body, "]}");
    dialog_add_reply(s, 200, buf_str(&body));
    const struct dialog_answer *a = dialog_answer(s);
    json_t *o = json_loads(a->blocks, 0, NULL);
    assert_true(json_array_size(o) > 3 && json_array_size(o) <= 50);
    json_array_foreach (o, i, b) {
        json_t *t = json_object_get(json_object_get(b, "text"), "text");
        assert_true(json_string_length(t) <= 3000);
    }
    json_decref(o);
    assert_int_equal(a->n_files, 1);
    assert_string_equal(a->files[0].name, "alerts.txt");
    assert_true(str_find(a->files[0].bytes, "n499 is away") > 0);
    dialog_free(s);
}

static void a_list_past_the_limit_is_cut_at_a_line_and_says_so(void **unused)
{
    AUTO_BUF body = BUF_INIT(8u << 20);
    struct dialog *s = ask("HOSTS", DIALOG_TALK, "kim", NULL);

    (void)unused;
    while (body.len < 2u * DIALOG_BYTES_MAX)
        buf_adds(&body, "a-host-with-a-name\n");
    dialog_add_reply(s, 200, buf_str(&body));
    const struct dialog_answer *a = dialog_answer(s);
    assert_true(a->files[0].bytes.len < DIALOG_BYTES_MAX + 100);
    assert_true(str_ends(a->files[0].bytes, "a-host-with-a-name\n... truncated: the web page has the whole list\n"));
    dialog_free(s);
}

TESTS(cmocka_unit_test(ordinary_talk_is_not_answered_but_exact_keywords_are),
      cmocka_unit_test(the_prefix_works_in_direct_messages),
      cmocka_unit_test(a_list_is_a_file_with_the_old_name_and_title),
      cmocka_unit_test(strangers_are_told_how_to_be_known_and_read_where_that_is_open),
      cmocka_unit_test(free_says_from_when_gpus_are_booked), cmocka_unit_test(what_is_said_to_us_is_answered_always),
      cmocka_unit_test(names_cannot_mention_anybody), cmocka_unit_test(a_refusal_of_the_hub_is_its_sentence),
      cmocka_unit_test(commands_become_requests_of_the_api), cmocka_unit_test(what_is_missing_is_asked_for),
      cmocka_unit_test(nobody_acts_who_is_not_known), cmocka_unit_test(answers_are_as_the_golden_files),
      cmocka_unit_test(a_rule_that_is_none_silences_nothing), cmocka_unit_test(an_alert_is_silenced_by_its_number),
      cmocka_unit_test(what_a_channel_is_told_has_buttons_that_silence_it),
      cmocka_unit_test(a_long_list_is_a_file_and_a_message_stays_within_limits),
      cmocka_unit_test(a_list_past_the_limit_is_cut_at_a_line_and_says_so))
