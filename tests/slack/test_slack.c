/* test_slack.c: the section, what Slack tells us, its signatures. */
#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "model/message.h"
#include "slack/conf.h"
#include "slack/sign.h"
#include "slack/slack_event.h"
#include "slack/socket.h"
#include "slack/web_answer.h"

/* ---- the section ---- */

static int read_section(const char *text, struct slack_conf *c, struct err *err)
{
    AUTO_FREE char *copy = mem_str(text);
    char path[] = "m.yaml";

    return slack_conf_read(c, &(struct opt_section){.text = copy, .path = path, .line = 9}, err);
}

static void the_section_is_read_or_refused_with_its_place(void **unused)
{
    static const struct {
        const char *text, *error; /* NULL: it is understood */
    } cases[] = {
        {"{token_file: /etc/muster/bot}", NULL},
        {"token_env: BOT\nchannel: \"#gpus\"\nprefix: \"\"\nkeywords: {all: EVERY}\napi: https://x/api/", NULL},
        {"channel: \"#gpus\"", "m.yaml:10:1: expected token_file or token_env"},
        {"token: xoxb-1-secret", "m.yaml:10:1: a secret does not belong here: name a file that holds it, token_file"},
        {"{token_env: A, token_file: b}", "m.yaml:10:1: expected one of token_file and token_env"},
        {"token_env: A\napi: ftp://x", "m.yaml:11:6: expected an address: https://..."},
        {"token_env: A\nhooks: \"https://me@x\"", "m.yaml:11:8: expected an address: https://..."},
        {"token_env: A\nkeywords: {alle: X}", "m.yaml:11:12: not understood here: hosts, all"},
        {"token_env: A\nkeywords: {all: HELP}", "m.yaml:10:1: the keywords all and help are the same word"},
        {"token_env: A\nchanel: x", "m.yaml:11:1: not understood here: token_file"},
        {"token_env: A\nchannel: [a]", "m.yaml:11:10: expected a word, or text in quotes"},
        {"[a]", "m.yaml:10:1: expected {token_file: FILE"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slack_conf *c = slack_conf_new();
        struct err err = {0};
        print_message("'%s'\n", cases[i].text);
        int r = read_section(cases[i].text, c, &err);
        assert_int_equal(r, cases[i].error ? -EINVAL : 0);
        if (cases[i].error)
            assert_memory_equal(err.msg, cases[i].error, strlen(cases[i].error));
        assert_null(strstr(err.msg, "xoxb"));
        slack_conf_free(c);
    }
}

static void what_is_not_told_is_as_documented(void **unused)
{
    struct slack_conf *c = slack_conf_new();
    AUTO_BUF b = {0};
    struct err err = {0};

    (void)unused;
    assert_false(slack_conf_has(c, SLACK_TOKEN));
    assert_string_equal(c->server.api, "https://slack.com/api");
    assert_string_equal(c->server.hooks, "https://hooks.slack.com");
    assert_string_equal(c->say.keywords[DIALOG_ALL_CMD], "ALL_cmd");
    assert_int_equal(read_section("{token_env: SLACK_TEST_BOT, keywords: {all: EVERY}}", c, &err), 0);
    assert_string_equal(c->say.keywords[DIALOG_ALL], "EVERY");
    unsetenv("SLACK_TEST_BOT");
    assert_int_equal(slack_conf_secret(c, SLACK_TOKEN, &b, &err), -ENOENT);
    setenv("SLACK_TEST_BOT", "xoxb-1\r\nX-Evil: 1", 1);
    assert_int_equal(slack_conf_secret(c, SLACK_TOKEN, &b, &err), -EINVAL);
    assert_null(strstr(err.msg, "xoxb"));
    setenv("SLACK_TEST_BOT", " xoxb-1 ", 1);
    assert_int_equal(slack_conf_secret(c, SLACK_TOKEN, &b, &err), 0);
    assert_string_equal(b.p, "xoxb-1");
    slack_conf_free(c);
}

/* ---- what Slack tells us ---- */

#define EVENT(inner) "{\"type\":\"event_callback\",\"event_id\":\"Ev1\",\"event\":{" inner "}}"
#define MESSAGE      "\"type\":\"message\",\"user\":\"U1\",\"channel\":\"C1\",\"ts\":\"17.5\""

static void events_become_what_is_heard(void **unused)
{
    static const struct {
        const char *json;
        int kind; /* -1: refused */
        const char *text;
        bool to_bot, direct;
    } cases[] = {
        {EVENT(MESSAGE ",\"text\":\"free\""), HEARD_MESSAGE, "free", false, false},
        {EVENT(MESSAGE ",\"text\":\"free\",\"channel_type\":\"im\""), HEARD_MESSAGE, "free", true, true},
        {EVENT("\"type\":\"app_mention\",\"user\":\"U1\",\"channel\":\"C1\",\"ts\":\"1.2\",\"text\":\"<@U9> free 4\""),
         HEARD_MESSAGE, "free 4", true, false},
        {EVENT(MESSAGE ",\"text\":\"a &lt;b&gt; &amp;amp; <http://dgx2.x|dgx2.x> <#C7|ops> <@U3> <!here>\""),
         HEARD_MESSAGE, "a <b> &amp; dgx2.x #ops <@U3> !here", false, false},
        {EVENT(MESSAGE ",\"text\":\"x\",\"bot_id\":\"B1\""), HEARD_NOTHING, "", false, false},
        {EVENT(MESSAGE ",\"text\":\"x\",\"subtype\":\"message_changed\""), HEARD_NOTHING, "", false, false},
        {EVENT("\"type\":\"reaction_added\",\"user\":\"U1\""), HEARD_NOTHING, "", false, false},
        {EVENT("\"type\":\"message\",\"user\":\"U1 <!\",\"channel\":\"C1\",\"ts\":\"1\",\"text\":\"x\""), -1, "", false,
         false},
        {"{\"type\":\"url_verification\",\"challenge\":\"abc\"}", HEARD_CHALLENGE, "abc", false, false},
        {"{\"type\":\"other\"}", -1, "", false, false},
        {"[]", -1, "", false, false},
        {"{", -1, "", false, false},
        {"", -1, "", false, false},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        print_message("%s\n", cases[i].json);
        AUTO_FREE struct slack_event *h = slack_event_parse(str_of(cases[i].json), &err);
        assert_int_equal(h ? (int)h->kind : -1, cases[i].kind);
        if (!h)
            continue;
        assert_string_equal(h->text, cases[i].text);
        assert_int_equal(h->to_bot, cases[i].to_bot);
        assert_int_equal(h->direct, cases[i].direct);
        if (h->kind == HEARD_MESSAGE) {
            assert_string_equal(h->user, "U1");
            assert_string_equal(h->id, "Ev1");
        }
    }
}

static void envelopes_of_every_kind_are_heard(void **unused)
{
    static const struct {
        const char *json;
        int kind;
        const char *text, *respond;
    } cases[] = {
        {"{\"envelope_id\":\"e-1\",\"type\":\"events_api\",\"payload\":" EVENT(MESSAGE ",\"text\":\"HOSTS\"") "}",
         HEARD_MESSAGE, "HOSTS", ""},
        {"{\"envelope_id\":\"e-1\",\"type\":\"slash_commands\",\"payload\":{\"command\":\"/gpus\",\"text\":\" free \","
         "\"user_id\":\"U1\",\"channel_id\":\"C1\",\"response_url\":\"https://hooks.slack.com/x\"}}",
         HEARD_COMMAND, "free", "https://hooks.slack.com/x"},
        {"{\"envelope_id\":\"e-1\",\"type\":\"interactive\",\"payload\":{\"type\":\"block_actions\",\"user\":{\"id\":"
         "\"U1\"},\"actions\":[{\"action_id\":\"a\",\"value\":\"silence x 2h\"}],\"response_url\":\"https://h/y\"}}",
         HEARD_BUTTON, "silence x 2h", "https://h/y"},
        {"{\"envelope_id\":\"e-1\",\"type\":\"interactive\",\"payload\":{\"type\":\"view_closed\"}}", HEARD_NOTHING, "",
         ""},
        {"{\"envelope_id\":\"e-1\",\"type\":\"new\"}", HEARD_NOTHING, "", ""},
        {"{\"envelope_id\":\"e 1\",\"type\":\"new\"}", -1, "", ""},
        {"{\"envelope_id\":\"e-1\",\"type\":\"slash_commands\",\"payload\":{\"text\":\"free\"}}", -1, "", ""},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        char id[SLACK_ID_MAX + 1] = "";
        print_message("%s\n", cases[i].json);
        AUTO_FREE struct slack_event *h = slack_envelope_parse(str_of(cases[i].json), id, &err);
        assert_int_equal(h ? (int)h->kind : -1, cases[i].kind);
        if (!h)
            continue;
        assert_string_equal(id, "e-1");
        assert_string_equal(h->text, cases[i].text);
        assert_string_equal(h->respond, cases[i].respond);
    }
}

static void frames_say_what_they_are(void **unused)
{
    static const struct {
        const char *json;
        enum slack_frame kind;
    } cases[] = {
        {"{\"type\":\"hello\"}", SLACK_HELLO},
        {"{\"type\":\"disconnect\",\"reason\":\"warning\"}", SLACK_WARNING},
        {"{\"type\":\"disconnect\",\"reason\":\"refresh_requested\"}", SLACK_REFRESH},
        {"{\"type\":\"disconnect\",\"reason\":\"link_disabled\"}", SLACK_DISABLED},
        {"{\"envelope_id\":\"e\",\"type\":\"hello\"}", SLACK_ENVELOPE},
        {"{\"type\":\"new\"}", SLACK_OTHER},
        {"{\"type\":", SLACK_BAD},
        {"7", SLACK_BAD},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].json);
        assert_int_equal(slack_frame_kind(str_of(cases[i].json)), cases[i].kind);
    }
}

static void an_address_of_a_websocket_is_taken_apart_or_refused(void **unused)
{
    static const struct {
        const char *url, *host, *path; /* host NULL: refused */
        int port;
    } cases[] = {
        {"wss://wss-primary.slack.com/link/?ticket=a-b&app_id=c", "wss-primary.slack.com", "/link/?ticket=a-b&app_id=c",
         443},
        {"wss://127.0.0.1:8443/x", "127.0.0.1", "/x", 8443},
        {"wss://host", "host", "/", 443},
        {"ws://host/x", NULL, NULL, 0},
        {"https://host/x", NULL, NULL, 0},
        {"wss://", NULL, NULL, 0},
        {"wss:///x", NULL, NULL, 0},
        {"wss://host:0/x", NULL, NULL, 0},
        {"wss://host:65536/x", NULL, NULL, 0},
        {"wss://host:a/x", NULL, NULL, 0},
        {"wss://me@host/x", NULL, NULL, 0},
        {"wss://host/x\r\nX: 1", NULL, NULL, 0},
        {"", NULL, NULL, 0},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct socket_url u;
        print_message("'%s'\n", cases[i].url);
        assert_int_equal(socket_url_parse(str_of(cases[i].url), &u), cases[i].host != NULL);
        if (!cases[i].host)
            continue;
        assert_string_equal(u.host, cases[i].host);
        assert_string_equal(u.path, cases[i].path);
        assert_int_equal(u.port, cases[i].port);
    }
}

/* ---- signatures ---- */

static void only_slack_itself_signs_and_only_now(void **unused)
{
    /* the example of Slack's own documentation */
    static const char secret[] = "8f742231b10e8888abcd99yyyzzz85a5",
                      body[] =
                          "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id="
                          "G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-"
                          "collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%"
                          "2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121."
                          "803a0bc887a14d10d2c447fce8b6703c",
                      good[] = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    static const struct {
        const char *at, *signature;
        int64_t now_s;
        int want;
    } cases[] = {
        {"1531420618", good, 1531420618, 0},
        {"1531420618", good, 1531420618 + 300, 0},
        {"1531420618", good, 1531420618 + 301, -EACCES},
        {"1531420618", good, 1531420618 - 301, -EACCES},
        {"1531420619", good, 1531420618, -EACCES},
        {"-1", good, 0, -EACCES},
        {"99999999999999999999", good, 0, -EACCES},
        {"", good, 0, -EACCES},
        {"1531420618", "", 1531420618, -EACCES},
        {"1531420618", "v0=a2", 1531420618, -EACCES},
        {"1531420618", "v0=A2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503", 1531420618, -EACCES},
    };
    AUTO_BUF ret = BUF_INIT(100);
    (void)unused;
    slack_sign(STR(secret), STR("1531420618"), str_of(body), &ret);
    assert_string_equal(ret.p, good);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        print_message("%s %s\n", cases[i].at, cases[i].signature);
        assert_int_equal(slack_sign_check(STR(secret), str_of(cases[i].at), str_of(cases[i].signature), str_of(body),
                                          cases[i].now_s * 1000, &err),
                         cases[i].want);
        assert_null(strstr(err.msg, secret));
    }
    assert_int_equal(slack_sign_check(STR(secret), STR("1531420618"), STR(good), STR("token=other"), 1531420618000,
                                      &(struct err){0}),
                     -EACCES);
}

/* ---- what is sent ---- */

static void a_message_is_escaped_and_cut_at_a_letter(void **unused)
{
    static const struct {
        const char *title, *text, *want;
    } cases[] = {{"a", "<b> & c", "a\n&lt;b&gt; &amp; c"}, {"a", "", "a"}, {"", "b", "b"}, {"", "", ""}};
    AUTO_BUF out = BUF_INIT(1u << 20), much = BUF_INIT(1u << 20);

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf_reset(&out);
        message_slack(&(struct message){.title = cases[i].title, .text = cases[i].text}, &out);
        assert_int_equal(out.len, strlen(cases[i].want));
        assert_memory_equal(buf_str(&out).p, cases[i].want, out.len);
    }
    for (int i = 0; i < 30000; i++)
        buf_adds(&much, "ä");
    buf_reset(&out);
    message_slack(&(struct message){.title = "x", .text = much.p}, &out);
    assert_true(out.len < 40000 && str_ends(buf_str(&out), "ä…"));
}

/* ---- answers of the Web API ---- */

static void an_answer_says_what_to_do_next(void **unused)
{
    static const struct {
        int status;
        const char *body;
        int64_t after_ms;
        enum slack_outcome how;
        int64_t wait_ms;
        const char *error;
    } cases[] = {
        {200, "{\"ok\":true,\"user\":{\"id\":\"U1\"}}", 0, SLACK_DONE, 0, ""},
        {200, "{\"ok\":false,\"error\":\"msg_too_long\"}", 0, SLACK_REFUSED, 0, "Slack reports msg_too_long"},
        {200, "{\"ok\":false,\"error\":\"ratelimited\"}", 0, SLACK_AGAIN, 30000, "Slack reports ratelimited"},
        {200, "{\"ok\":false,\"error\":\"ratelimited\"}", 7000, SLACK_AGAIN, 7000, "Slack reports ratelimited"},
        {429, "{\"ok\":false,\"error\":\"ratelimited\"}", 7000, SLACK_AGAIN, 7000, "Slack limits the rate of requests"},
        {200, "{\"ok\":false,\"error\":\"invalid_auth\"}", 0, SLACK_AGAIN, 60000,
         "Slack reports invalid_auth: is it the token of this app, and complete?"},
        {200, "{\"ok\":false,\"error\":\"xoxb-1 is bad\"}", 0, SLACK_AGAIN, 0,
         "Slack reports an error without a reason"},
        {200, "{\"ok\":false}", 0, SLACK_AGAIN, 0, "Slack reports an error without a reason"},
        {200, "{\"ok\":1}", 0, SLACK_AGAIN, 0, "the response is not from Slack: it has no \"ok\""},
        {200, "<html>", 0, SLACK_AGAIN, 0, "the response is not from Slack: it has no \"ok\""},
        {200, "", 0, SLACK_AGAIN, 0, "the response is not from Slack: it has no \"ok\""},
        {503, "{\"ok\":true}", 0, SLACK_AGAIN, 0, "it answers with status 503"},
        {302, "", 0, SLACK_AGAIN, 0, "it answers with a redirect (302), which is not followed"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slack_result r;
        print_message("%d %s\n", cases[i].status, cases[i].body);
        slack_answer_read(cases[i].status, str_of(cases[i].body), cases[i].after_ms, &r);
        assert_int_equal(r.how, cases[i].how);
        assert_int_equal(r.wait_ms, cases[i].wait_ms);
        assert_string_equal(r.error, cases[i].error);
        assert_string_equal(slack_text(json_object_get(r.body, "user"), "id"), r.how == SLACK_DONE ? "U1" : "");
        json_decref(r.body);
    }
}

static void an_address_to_answer_to_that_is_gone_is_given_up(void **unused)
{
    static const struct {
        int status;
        const char *body;
        enum slack_outcome how;
    } cases[] = {{200, "ok", SLACK_DONE},        {404, "expired_url", SLACK_REFUSED},
                 {404, "<html>", SLACK_REFUSED}, {400, "invalid_payload", SLACK_REFUSED},
                 {429, "", SLACK_AGAIN},         {500, "server_error", SLACK_AGAIN}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slack_result r;
        print_message("%d %s\n", cases[i].status, cases[i].body);
        slack_answer_plain(cases[i].status, str_of(cases[i].body), 0, &r);
        assert_int_equal(r.how, cases[i].how);
        assert_null(r.body);
    }
}

TESTS(cmocka_unit_test(a_message_is_escaped_and_cut_at_a_letter),
      cmocka_unit_test(an_address_of_a_websocket_is_taken_apart_or_refused),
      cmocka_unit_test(an_answer_says_what_to_do_next),
      cmocka_unit_test(an_address_to_answer_to_that_is_gone_is_given_up),
      cmocka_unit_test(the_section_is_read_or_refused_with_its_place),
      cmocka_unit_test(what_is_not_told_is_as_documented), cmocka_unit_test(events_become_what_is_heard),
      cmocka_unit_test(envelopes_of_every_kind_are_heard), cmocka_unit_test(frames_say_what_they_are),
      cmocka_unit_test(only_slack_itself_signs_and_only_now))
