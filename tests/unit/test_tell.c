/* test_tell.c: channels out of muster.yaml, and messages out of alerts. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "alert/channel.h"
#include "alert/note.h"
#include "alert/tell.h"
#include "base/mem.h"

static struct channels *channels_from(const char *text, int want, struct err *err)
{
    struct channels *c = channels_new();
    AUTO_FREE char *copy = mem_str(text);
    char path[] = "m.yaml";

    assert_int_equal(channels_read(c, &(struct opt_section){.text = copy, .path = path}, err), want);
    return c;
}

static void channels_are_read(void **unused)
{
    struct err err = {0};
    struct channels *c =
        channels_from("ops: {type: slack, url_file: /etc/x, severity: critical, quiet: \"22:00-7:30\"}\n"
                      "hook: {type: webhook, url: \"https://h/x\", secret_env: S}\n"
                      "prog: {type: command, command: [/bin/tell, -v]}\n",
                      0, &err);
    size_t n;
    const struct channel *v = channels_all(c, &n);

    (void)unused;
    assert_int_equal(n, 3);
    assert_string_equal(v[0].name, "ops");
    assert_int_equal(v[0].severity, SEV_CRITICAL);
    assert_int_equal(v[1].severity, SEV_WARNING);
    assert_string_equal(v[2].argv[1], "-v");
    assert_null(v[2].argv[2]);
    static const struct {
        int32_t minute;
        bool quiet;
    } cases[] = {{22 * 60, true}, {23 * 60, true},  {0, true},    {449, true},
                 {450, false},    {12 * 60, false}, {1319, false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(channel_quiet(&v[0], cases[i].minute), cases[i].quiet);
    assert_false(channel_quiet(&v[1], 0));
    channels_free(c);
}

static void mail_and_bot_are_read(void **unused)
{
    struct err err = {0};
    struct channels *c = channels_from("m: {type: mail, url: \"smtps://h:465\", user: u, secret_file: /s, from: a@x, "
                                       "to: [b@x, c@x], ca_file: /c}\n"
                                       "p: {type: mail, url: \"smtp://localhost\", from: a@x, to: person, tls: off}\n"
                                       "b: {type: slack-bot, to: \"#ops\"}\n"
                                       "q: {type: slack-bot, to: person}\n"
                                       "r: {type: slack-bot}\n",
                                       0, &err);
    size_t n;
    const struct channel *v = channels_all(c, &n);

    (void)unused;
    assert_int_equal(n, 5);
    assert_string_equal(v[0].to[1], "c@x");
    assert_null(v[0].to[2]);
    assert_false(v[0].to_person || v[0].plain);
    assert_string_equal(v[0].ca_file, "/c");
    assert_true(v[1].to_person && v[1].plain && !v[1].to[0]);
    assert_string_equal(v[2].to[0], "#ops");
    assert_true(v[3].to_person && !v[4].to_person && !v[4].to[0]);
    channels_free(c);
}

static void addresses_are_plain_ones(void **unused)
{
    static const struct {
        const char *s;
        bool ok;
    } cases[] = {{"kim@example.org", true}, {"a+b@x", true},    {"kim", false},   {"@x", false},
                 {"kim@", false},           {"a@b@c", false},   {"a b@x", false}, {"a@x\r\nBcc: y@z", false},
                 {"<a@x>", false},          {"\"a\"@x", false}, {"a,b@x", false}, {"k\xc3\xa4m@x", false}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(mail_address_ok(str_of(cases[i].s)), cases[i].ok);
}

static void mistakes_are_said_without_secrets(void **unused)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"[a]", "expected names of channels"},
        {"a: 7", "expected {type: slack"},
        {"a: {type: pigeon}", "expected slack, slack-bot"},
        {"a: {type: slack}", "expected one of url_file"},
        {"a: {type: slack, url: hidden}", "expected an address"},
        {"a: {type: slack, url: \"https://x/hid den\"}", "expected an address"},
        {"a: {type: slack, url: \"https://x/hidden\", url_env: X}", "expected one of url_file"},
        {"a: {type: slack, hidden: 1}", "not understood here"},
        {"a: {type: slack, url_env: X, quiet: 25:00-1:00}", "expected quiet hours"},
        {"a: {type: command, command: tell}", "whole path"},
        {"a: {type: command, url_env: X}", "a command needs command"},
        {"'a,b': {type: slack, url_env: X}", "expected the name"},
        {"a: {type: slack, url_env: X, to: x@y}", "to is of mail"},
        {"a: {type: slack, url_env: X, user: hidden}", "of mail alone"},
        {"a: {type: mail, url: \"https://hidden\", from: a@x, to: b@x}", "expected an address: smtps://"},
        {"a: {type: mail, url_env: X, to: b@x}", "needs from and to"},
        {"a: {type: mail, url_env: X, from: a@x}", "needs from and to"},
        {"a: {type: mail, url_env: X, from: \"a@x>hid\", to: b@x}", "expected a mail address"},
        {"a: {type: mail, url_env: X, from: a@x, to: [b@x, hid]}", "expected mail addresses"},
        {"a: {type: mail, url_env: X, from: a@x, to: []}", "expected whom"},
        {"a: {type: mail, url_env: X, from: a@x, to: b@x, user: u}", "go together"},
        {"a: {type: mail, url_env: X, from: a@x, to: b@x, secret_env: S}", "go together"},
        {"a: {type: mail, url_env: X, from: a@x, to: b@x, tls: 7}", "expected on or off"},
        {"a: {type: mail, url: \"smtps://h\", from: a@x, to: b@x, tls: off}", "has TLS"},
        {"a: {type: slack-bot, url_env: X}", "has to alone"},
        {"a: {type: slack-bot, to: [a, b]}", "one place"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        print_message("%s\n", cases[i].text);
        channels_free(channels_from(cases[i].text, -EINVAL, &err));
        if (!strstr(err.msg, cases[i].want))
            fail_msg("no '%s' in '%s'", cases[i].want, err.msg);
        assert_null(strstr(err.msg, "hid"));
        assert_int_equal(strncmp(err.msg, "m.yaml:1:", 9), 0);
    }
}

static void addresses_come_from_the_environment(void **unused)
{
    struct err err = {0};
    struct channels *c = channels_from("a: {type: slack, url_env: TELL_TEST_URL}", 0, &err);
    const struct channel *a = channels_find(c, "a");
    AUTO_BUF url = {0};

    (void)unused;
    unsetenv("TELL_TEST_URL");
    assert_int_equal(channel_url(a, &url, &err), -ENOENT);
    setenv("TELL_TEST_URL", "hidden", 1);
    assert_int_equal(channel_url(a, &url, &err), -EINVAL);
    assert_null(strstr(err.msg, "hidden"));
    setenv("TELL_TEST_URL", "https://x/hidden\n", 1);
    assert_int_equal(channel_url(a, &url, &err), 0);
    assert_string_equal(url.p, "https://x/hidden");
    unsetenv("TELL_TEST_URL");
    channels_free(c);
}

static void bodies_are_as_channels_take_them(void **unused)
{
    struct message m = {.id = 3,
                        .created_ms = 5,
                        .kind = MESSAGE_RESOLVED,
                        .severity = SEV_WARNING,
                        .channel = "a",
                        .rule = "r",
                        .title = "x < y & \"z\"",
                        .text = "do",
                        .alerts = "1,2"};
    static const struct {
        enum channel_type type;
        const char *want;
    } cases[] = {{CHANNEL_SLACK, "{\"text\":\"x &lt; y &amp; \\\"z\\\"\\ndo\"}"},
                 {CHANNEL_NTFY, "x < y & \"z\"\ndo"},
                 {CHANNEL_WEBHOOK,
                  "{\"id\":3,\"at\":5,\"channel\":\"a\",\"kind\":\"resolved\",\"severity\":\"warning\","
                  "\"rule\":\"r\",\"title\":\"x < y & \\\"z\\\"\",\"text\":\"do\",\"alerts\":[1,2]}\n"}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(10000);
        channel_body(&(struct channel){.type = cases[i].type}, &m, &b);
        assert_string_equal(b.p, cases[i].want);
    }
    AUTO_BUF b = BUF_INIT(10000);
    message_write(&m, &b);
    AUTO_FREE struct message *back = message_read(buf_str(&b), NULL);
    assert_non_null(back);
    assert_string_equal(back->alerts, "1,2");
    assert_int_equal(back->kind, MESSAGE_RESOLVED);
    assert_null(message_read(STR("{\"id\":1}"), NULL));
    assert_null(message_read(STR("7"), NULL));
}

static void a_message_keeps_its_files_and_to_whom_it_goes(void **unused)
{
    struct message_file files[] = {{"a.png", "image/png", str_n("\0\xff\x80x", 4)}, {"b.txt", "text/plain", STR("")}};
    struct message m = {.id = 3, .channel = "a", .to = "kim@x", .person = "kim", .n_files = 2, .files = files};
    AUTO_BUF b = BUF_INIT(10000);

    (void)unused;
    message_write(&m, &b);
    AUTO_FREE struct message *back = message_read(buf_str(&b), NULL);
    assert_non_null(back);
    assert_string_equal(back->to, "kim@x");
    assert_string_equal(back->person, "kim");
    assert_string_equal(back->html, "");
    assert_int_equal(back->n_files, 2);
    assert_string_equal(back->files[0].name, "a.png");
    assert_int_equal(back->files[0].bytes.len, 4);
    assert_memory_equal(back->files[0].bytes.p, "\0\xff\x80x", 4);
    assert_string_equal(back->files[1].type, "text/plain");
    assert_int_equal(back->files[1].bytes.len, 0);
    static const char *const bad[] = {
        "{\"id\":1,\"channel\":\"a\",\"files\":[1]}",
        "{\"id\":1,\"channel\":\"a\",\"files\":[{\"bytes\":\"A\"}]}",
        "{\"id\":1,\"channel\":\"a\",\"files\":[{},{},{},{},{}]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_null(message_read(str_of(bad[i]), NULL));
}

/* ---- telling ---- */

#define MANY 500

struct scene_of_news {
    struct alert alerts[MANY];
    char places[MANY][16];
    struct news v[MANY];
    struct channels *channels;
    struct alert_rules *rules;
    struct buf said;
};

static void on_say(void *arg, const struct message *m)
{
    buf_addf(arg, "%s %s | %s | %s\n", m->channel, message_words[m->kind], m->title, m->text);
}

static const char *tell_at(struct scene_of_news *s, int64_t now_ms, size_t n)
{
    struct tell_ask k = {now_ms, s->channels, s->rules};

    buf_reset(&s->said);
    tell(&k, s->v, n, on_say, &s->said);
    return buf_str(&s->said).p;
}

static int begin(void **state)
{
    struct scene_of_news *s = mem_zero(1, sizeof(*s));
    struct err err = {0};
    AUTO_FREE char *own = mem_str("rules: [{name: mine, when: free, channel: b}]\n");
    char path[] = "m.yaml";

    s->said = BUF_INIT(1u << 20);
    s->channels =
        channels_from("a: {type: slack, url_env: X}\nb: {type: ntfy, url_env: X, severity: critical}\n", 0, &err);
    s->rules = alert_rules_new();
    assert_int_equal(alert_rules_read(s->rules, &(struct opt_section){.text = own, .path = path}, &err), 0);
    for (int i = 0; i < MANY; i++) {
        snprintf(s->places[i], sizeof(s->places[i]), "dgx%d", MANY - i);
        s->alerts[i] = (struct alert){.id = i + 1,
                                      .severity = SEV_CRITICAL,
                                      .since_ms = 1000,
                                      .fired_ms = 1000,
                                      .rule = "node-down",
                                      .subject = "node:x",
                                      .node = "",
                                      .place = s->places[i],
                                      .device = "",
                                      .person = "",
                                      .text = "it is down",
                                      .advice = "look"};
        s->v[i] = (struct news){.a = &s->alerts[i], .since_ms = 1000 + i};
    }
    *state = s;
    return 0;
}

static int end(void **state)
{
    struct scene_of_news *s = *state;

    channels_free(s->channels);
    alert_rules_free(s->rules);
    buf_fini(&s->said);
    free(s);
    return 0;
}

static void t1_five_hundred_nodes_are_one_message(void **state)
{
    struct scene_of_news *s = *state;

    assert_string_equal(tell_at(s, 1000 + TELL_GROUP_MS - 1, MANY), "");
    assert_false(s->v[0].told);
    assert_string_equal(
        tell_at(s, 1000 + TELL_GROUP_MS, MANY),
        "a fired | [critical] node-down: 500 nodes: dgx1, dgx2, dgx3, dgx4, dgx5, dgx6, dgx7, dgx8, dgx9, "
        "dgx10 and 490 more | look\n"
        "b fired | [critical] node-down: 500 nodes: dgx1, dgx2, dgx3, dgx4, dgx5, dgx6, dgx7, dgx8, dgx9, "
        "dgx10 and 490 more | look\n");
    for (int i = 0; i < MANY; i++)
        assert_true(s->v[i].told);
    for (int i = 0; i < MANY; i++)
        s->alerts[i].resolved_ms = 1000 + 7200000 - i;
    s->alerts[0].severity = SEV_WARNING;
    assert_string_equal(tell_at(s, 9000000, MANY),
                        "a resolved | [resolved] node-down: 500 nodes, after up to 2 h: dgx1, dgx2, dgx3, dgx4, dgx5, "
                        "dgx6, dgx7, dgx8, dgx9, dgx10 and 490 more | \n"
                        "b resolved | [resolved] node-down: 499 nodes, after up to 1 h 59 m: dgx1, dgx2, dgx3, dgx4, "
                        "dgx5, dgx6, dgx7, dgx8, dgx9, dgx10 and 489 more | \n");
}

static void channels_get_what_they_take(void **state)
{
    struct scene_of_news *s = *state;

    s->alerts[0].severity = SEV_WARNING; /* below what b takes */
    s->alerts[1].rule = "mine";          /* for b alone, whatever it is */
    s->alerts[1].severity = SEV_INFO;
    s->alerts[2].resolved_ms = 61000;
    s->v[3].silenced = true;
    s->alerts[4].rule = "gone"; /* of a rule that is not there any more, and nobody's severity */
    s->alerts[4].severity = SEV_INFO;
    assert_string_equal(tell_at(s, 99000, 5), "a fired | [warning] node-down: it is down | look\n"
                                              "b fired | [info] mine: it is down | look\n"
                                              "a resolved | [resolved] node-down: dgx498, after 1 m | it is down\n"
                                              "b resolved | [resolved] node-down: dgx498, after 1 m | it is down\n");
    assert_true(s->v[0].told && s->v[1].told && s->v[2].told);
    assert_false(s->v[3].told || s->v[4].told);
    s->v[0].silenced = true; /* T2: what is silenced makes nothing due, either */
    assert_string_equal(tell_at(s, 99000, 1), "");
}

static void what_happened_is_told_without_an_end(void **state)
{
    struct scene_of_news *s = *state;

    for (int i = 0; i < MANY; i++) {
        s->alerts[i].notice = 1;
        s->alerts[i].resolved_ms = s->alerts[i].fired_ms;
        s->alerts[i].rule = "node-new";
        s->alerts[i].text = "it is new";
    }
    assert_string_equal(tell_at(s, 99000, 1), "a notice | [critical] node-new: it is new | look\n"
                                              "b notice | [critical] node-new: it is new | look\n");
    assert_string_equal(tell_at(s, 99000, MANY),
                        "a notice | [critical] node-new: 500 nodes: dgx1, dgx2, dgx3, dgx4, dgx5, dgx6, dgx7, dgx8, "
                        "dgx9, dgx10 and 490 more | look\n"
                        "b notice | [critical] node-new: 500 nodes: dgx1, dgx2, dgx3, dgx4, dgx5, dgx6, dgx7, dgx8, "
                        "dgx9, dgx10 and 490 more | look\n");
}

static void one_alert_in_somebodys_words_is_these_words_alone(void **state)
{
    struct scene_of_news *s = *state;
    struct err err = {0};
    AUTO_FREE char *own = mem_str("node-down: {text: 'lost `{}`'}\n");
    char path[] = "m.yaml";

    assert_int_equal(alert_rules_read(s->rules, &(struct opt_section){.text = own, .path = path}, &err), 0);
    s->alerts[0].text = "lost `dgx500`";
    assert_string_equal(tell_at(s, 99000, 1), "a fired | lost `dgx500` | \nb fired | lost `dgx500` | \n");
    s->alerts[0].resolved_ms = 61000;
    assert_string_equal(tell_at(s, 99000, 1), "a resolved | [resolved] node-down: dgx500, after 1 m | lost `dgx500`\n"
                                              "b resolved | [resolved] node-down: dgx500, after 1 m | lost `dgx500`\n");
    s->alerts[0].resolved_ms = 0;
    assert_non_null(strstr(tell_at(s, 99000, 2), "a fired | [critical] node-down: 2 nodes: dgx499, dgx500 | "));
}

TESTS(cmocka_unit_test(channels_are_read), cmocka_unit_test(mail_and_bot_are_read),
      cmocka_unit_test(addresses_are_plain_ones), cmocka_unit_test(mistakes_are_said_without_secrets),
      cmocka_unit_test(addresses_come_from_the_environment), cmocka_unit_test(bodies_are_as_channels_take_them),
      cmocka_unit_test(a_message_keeps_its_files_and_to_whom_it_goes),
      cmocka_unit_test_setup_teardown(t1_five_hundred_nodes_are_one_message, begin, end),
      cmocka_unit_test_setup_teardown(channels_get_what_they_take, begin, end),
      cmocka_unit_test_setup_teardown(one_alert_in_somebodys_words_is_these_words_alone, begin, end),
      cmocka_unit_test_setup_teardown(what_happened_is_told_without_an_end, begin, end))
