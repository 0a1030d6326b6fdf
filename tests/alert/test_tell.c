/* test_tell.c: channels from muster.yaml, and messages from alerts. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>

#include "alert/notified.h"
#include "alert/notify_group.h"
#include "base/mem.h"
#include "format/note.h"
#include "notify/channel.h"
#include "people/people_build.h"

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
    size_t n = c->n;
    const struct channel *v = c->v;

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

static void a_secret_that_goes_without_tls_names_its_host(void **unused)
{
    static const struct {
        const char *text, *host; /* NULL: no secret, TLS, or this machine */
    } cases[] = {
        {"w: {type: webhook, url: \"http://hook.example/x\", secret_env: MUSTER_TEST_SECRET}", "hook.example"},
        {"w: {type: webhook, url_env: MUSTER_TEST_URL}", "hidden.example"},
        {"s: {type: slack, url: \"http://hooks.example/x\"}", "hooks.example"},
        {"m: {type: mail, url: \"smtp://mail:25\", user: u, secret_env: X, tls: off, from: a@x, to: b@x}", "mail"},
        {"m: {type: mail, url: \"smtp://mail:25\", user: u, secret_env: X, from: a@x, to: b@x}", NULL},
        {"m: {type: mail, url: \"smtp://mail:25\", tls: off, from: a@x, to: b@x}", NULL},
        {"m: {type: mail, url: \"smtp://localhost\", user: u, secret_env: X, tls: off, from: a@x, to: b@x}", NULL},
        {"w: {type: webhook, url: \"http://hook.example/x\"}", NULL},
        {"w: {type: webhook, url: \"https://hook.example/x\", secret_env: X}", NULL},
        {"w: {type: webhook, url_env: MUSTER_TEST_NONE}", NULL},
        {"c: {type: command, command: [/bin/tell], secret_env: X}", NULL},
        {"b: {type: slack-bot, to: \"#ops\"}", NULL},
    };

    (void)unused;
    setenv("MUSTER_TEST_URL", "http://hidden.example/x", 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        char host[SECRET_HOST_MAX] = "";
        print_message("%s\n", cases[i].text);
        struct channels *c = channels_from(cases[i].text, 0, &err);
        assert_string_equal(err.msg, "");
        assert_int_equal(channel_in_clear(&c->v[0], host), cases[i].host != NULL);
        assert_string_equal(host, cases[i].host ? cases[i].host : "");
        channels_free(c);
    }
    unsetenv("MUSTER_TEST_URL");
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
    size_t n = c->n;
    const struct channel *v = c->v;

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
        {"a: {type: slack, url_env: X, to: x@y}", "have 'to'"},
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
    struct message_file files[] = {{"a.png", "image/png", str_n("\0\xff\x80x", 4), "a chart"},
                                   {.name = "b.txt", .type = "text/plain", .bytes = STR("")}};
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
    assert_string_equal(back->files[0].title, "a chart");
    assert_string_equal(back->files[1].title, "");
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

/* ---- recipients ---- */

static void who_was_told_is_a_list(void **unused)
{
    AUTO_BUF b = BUF_INIT(100000);
    struct notified t = {5, STR("ops"), STR(""), STR("")}, got;

    (void)unused;
    assert_true(notified_add(&b, &t));
    assert_true(notified_add(&b, &(struct notified){6, STR("mail"), STR("kim@x"), STR("kim")}));
    t.at_ms = 9; /* notified again: still one entry */
    assert_true(notified_add(&b, &t));
    assert_string_equal(b.p, "9\tops\t\t\n6\tmail\tkim@x\tkim\n");
    assert_false(notified_add(&b, &(struct notified){6, STR("mail"), STR("a\nb"), STR("kim")}));
    struct str rest = STR("nonsense\n\n9\tops\t\t\n6\tmail\tkim@x\tkim\nx\ty\n7\tshort");
    assert_true(notified_next(&rest, &got));
    assert_true(got.at_ms == 9 && str_eq(got.channel, "ops") && !got.to.len && !got.person.len);
    assert_true(notified_next(&rest, &got));
    assert_true(got.at_ms == 6 && str_eq(got.to, "kim@x") && str_eq(got.person, "kim"));
    assert_false(notified_next(&rest, &got));
    for (int i = 0; i < TOLD_MAX + 10; i++) {
        char to[20];
        snprintf(to, sizeof(to), "p%d", i);
        assert_int_equal(notified_add(&b, &(struct notified){1, STR("mail"), str_of(to), str_of(to)}),
                         i < TOLD_MAX - 2);
    }
}

/* ---- notifications ---- */

#define MANY 500
#define HOUR 3600000ll

struct scene_of_news {
    struct alert alerts[MANY];
    char places[MANY][16];
    struct alert_change v[MANY];
    char told_to[MANY][300];
    struct channels *channels;
    struct alert_rules *rules;
    struct people *people;
    struct live *live;
    int32_t minute;
    struct buf said, passed;
};

static void on_say(void *arg, const struct message *m)
{
    struct scene_of_news *s = arg;

    buf_addf(&s->said, "%s%s%s %s | %s | %s\n", m->channel, m->to[0] ? ">" : "", m->to, message_words[m->kind],
             m->title, m->text);
}

static void on_pass(void *arg, const char *channel, const char *person)
{
    buf_addf(&((struct scene_of_news *)arg)->passed, "%s:%s ", channel, person);
}

/* Messages about the first n alerts; records recipients like the hub. */
static const char *tell_at(struct scene_of_news *s, int64_t now_ms, size_t n)
{
    struct notify_params k = {.now_ms = now_ms,
                              .minute = s->minute,
                              .channels = s->channels,
                              .rules = s->rules,
                              .people = s->people,
                              .live = s->live,
                              .passed = on_pass};

    buf_reset(&s->said);
    buf_reset(&s->passed);
    for (size_t i = 0; i < n; i++)
        s->v[i].told = s->v[i].due = false;
    alert_group_notify(&k, s->v, n, on_say, s);
    for (size_t i = 0; i < n; i++) {
        if (s->v[i].told)
            mem_copy_str(s->told_to[i], sizeof(s->told_to[i]), buf_str(&s->v[i].who).p);
        buf_fini(&s->v[i].who);
    }
    return buf_str(&s->said).p;
}

static void rules_are(struct scene_of_news *s, const char *text)
{
    struct err err = {0};
    AUTO_FREE char *own = mem_str(text);
    char path[] = "m.yaml";

    alert_rules_free(s->rules);
    s->rules = alert_rules_new();
    assert_int_equal(alert_rules_read(s->rules, &(struct opt_section){.text = own, .path = path}, &err), 0);
}

static int begin(void **state)
{
    struct scene_of_news *s = mem_zero(1, sizeof(*s));
    struct err err = {0};

    s->said = BUF_INIT(1u << 20);
    s->passed = BUF_INIT(1u << 20);
    s->channels =
        channels_from("a: {type: slack, url_env: X}\nb: {type: ntfy, url_env: X, severity: critical}\n", 0, &err);
    rules_are(s, "rules: [{name: mine, when: free, channel: b}]\n");
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
                                      .advice = "look",
                                      .told_to = s->told_to[i]};
        s->v[i] = (struct alert_change){.a = &s->alerts[i], .since_ms = 1000 + i};
    }
    *state = s;
    return 0;
}

static int end(void **state)
{
    struct scene_of_news *s = *state;

    channels_free(s->channels);
    alert_rules_free(s->rules);
    people_unref(s->people);
    live_free(s->live);
    buf_fini(&s->said);
    buf_fini(&s->passed);
    free(s);
    return 0;
}

static void t1_five_hundred_nodes_are_one_message(void **state)
{
    struct scene_of_news *s = *state;

    assert_string_equal(tell_at(s, 1000 + TELL_GROUP_MS - 1, MANY), "");
    assert_false(s->v[0].told || s->v[0].due);
    s->v[7].since_ms = 1000 + TELL_GROUP_MS; /* more arrive: the others wait for them */
    assert_string_equal(tell_at(s, 1000 + TELL_GROUP_MS, MANY), "");
    assert_string_equal(
        tell_at(s, 1000 + TELL_GROUP_MS + TELL_CALM_MS, MANY),
        "a fired | [critical] node-down: 500 nodes: dgx1, dgx2, dgx3, dgx4, dgx5, dgx6, dgx7, dgx8, dgx9, "
        "dgx10 and 490 more | look\n"
        "b fired | [critical] node-down: 500 nodes: dgx1, dgx2, dgx3, dgx4, dgx5, dgx6, dgx7, dgx8, dgx9, "
        "dgx10 and 490 more | look\n");
    for (int i = 0; i < MANY; i++)
        assert_true(s->v[i].told && s->v[i].due);
    for (int i = 0; i < MANY; i++) {
        s->alerts[i].resolved_ms = 1000 + 7200000 - i;
        s->v[i].kind = MESSAGE_RESOLVED;
        s->v[i].since_ms = 7300000 + i * 100; /* they return within a minute */
    }
    mem_copy_str(s->told_to[0], sizeof(s->told_to[0]), "5\ta\t\t\n"); /* T4: b was not notified about this one */
    for (int64_t now_ms = 7300000; now_ms < 7300000 + 49900 + TELL_RETURN_MS; now_ms += 100)
        assert_string_equal(tell_at(s, now_ms, (size_t)MIN((now_ms - 7300000) / 100 + 1, MANY)), "");
    assert_string_equal(tell_at(s, 7300000 + 49900 + TELL_RETURN_MS, MANY),
                        "a resolved | [resolved] node-down: 500 nodes, after up to 2 h: dgx1, dgx2, dgx3, dgx4, dgx5, "
                        "dgx6, dgx7, dgx8, dgx9, dgx10 and 490 more | \n"
                        "b resolved | [resolved] node-down: 499 nodes, after up to 1 h 59 m: dgx1, dgx2, dgx3, dgx4, "
                        "dgx5, dgx6, dgx7, dgx8, dgx9, dgx10 and 489 more | \n");
}

static void t7_through_a_channel_with_each_every_alert_is_a_message_at_once(void **state)
{
    struct scene_of_news *s = *state;
    struct err err = {0};

    channels_free(s->channels);
    s->channels =
        channels_from("a: {type: slack, url_env: X, each: on}\nb: {type: ntfy, url_env: X, severity: critical, "
                      "each: off}\n",
                      0, &err);
    assert_string_equal(tell_at(s, 1002, 2), ""); /* b waits for other alerts: it gets both then */
    assert_string_equal(tell_at(s, 1002 + TELL_GROUP_MS, 2),
                        "a fired | [critical] node-down: it is down | look\n"
                        "a fired | [critical] node-down: it is down | look\n"
                        "b fired | [critical] node-down: 2 nodes: dgx499, dgx500 | it is down\nit is down\nlook\n");
    s->alerts[0].severity = s->alerts[1].severity = SEV_WARNING; /* only a accepts these */
    assert_string_equal(tell_at(s, 1002, 2), "a fired | [warning] node-down: it is down | look\n"
                                             "a fired | [warning] node-down: it is down | look\n");
}

/* As written by `muster vesta settings`: a resolved node-down uses the given texts and is sent immediately. */
static void one_that_is_over_says_its_own_text(void **state)
{
    struct scene_of_news *s = *state;
    struct err err = {0};
    struct node_now *n;

    channels_free(s->channels);
    s->channels = channels_from("a: {type: slack, url_env: X, each: on}\n", 0, &err);
    rules_are(s, "node-down: {text: 'lost {}', resolved_text: '{} is back, lost for {lost_th} s'}\n");
    s->live = live_new(&state_rule_default, NULL, NULL);
    n = live_node(s->live, "key-up", "dgx500", 500);
    live_node(s->live, "key-also", "dgx499", 500)->state = n->state = NODE_UP;
    s->alerts[0].node = "key-up";
    s->alerts[1].node = "key-also";
    for (int i = 0; i < 2; i++) {
        mem_copy_str(s->told_to[i], sizeof(s->told_to[i]), "5\ta\t\t\n");
        s->alerts[i].resolved_ms = 61000;
        s->v[i].kind = MESSAGE_RESOLVED;
        s->v[i].since_ms = 61000;
    }
    assert_string_equal(tell_at(s, 61000, 2), "a resolved | dgx499 is back, lost for 60 s | \n"
                                              "a resolved | dgx500 is back, lost for 60 s | \n");
    n->state = NODE_DOWN; /* not back: taken out of use, or down again */
    assert_string_equal(tell_at(s, 61000, 1), "a resolved | [resolved] node-down: dgx500, after 1 m | it was: it is "
                                              "down\n");
    s->alerts[0].node = "key-gone";
    assert_string_equal(tell_at(s, 61000, 1), "a resolved | [resolved] node-down: dgx500, after 1 m | it was: it is "
                                              "down\n");
    mem_copy_str(s->told_to[0], sizeof(s->told_to[0]), "");
    assert_string_equal(tell_at(s, 61000 + TELL_LATEST_MS, 1), ""); /* T4 */
}

static void t1_nobody_waits_for_ever(void **state)
{
    struct scene_of_news *s = *state;

    s->v[1].since_ms = 1000 + TELL_LONGEST_MS; /* more and more arrive */
    assert_string_equal(tell_at(s, 999 + TELL_LONGEST_MS, 2), "");
    assert_string_not_equal(tell_at(s, 1000 + TELL_LONGEST_MS, 2), "");
    s->v[0].kind = s->v[1].kind = MESSAGE_RESOLVED;
    s->v[1].since_ms = 1000 + TELL_LATEST_MS;
    assert_string_equal(tell_at(s, 999 + TELL_LATEST_MS, 2), "");
    assert_string_not_equal(tell_at(s, 1000 + TELL_LATEST_MS, 2), "");
}

static void channels_get_what_they_take(void **state)
{
    struct scene_of_news *s = *state;

    s->alerts[0].severity = SEV_WARNING; /* below the severity of b */
    s->alerts[1].rule = "mine";          /* for b only, whatever its severity */
    s->alerts[1].severity = SEV_INFO;
    s->v[2].kind = MESSAGE_RESOLVED;
    s->alerts[2].resolved_ms = 61000;
    mem_copy_str(s->told_to[2], sizeof(s->told_to[2]), "5\ta\t\t\n5\tgone\t\t\n5\tb\t\t\n");
    s->v[3].silenced = true;
    s->alerts[4].rule = "gone"; /* its rule no longer exists, and no channel accepts its severity */
    s->alerts[4].severity = SEV_INFO;
    assert_string_equal(tell_at(s, 99000, 5),
                        "a fired | [warning] node-down: it is down | look\n"
                        "b fired | [info] mine: it is down | look\n"
                        "a resolved | [resolved] node-down: dgx498, after 1 m | it was: it is down\n"
                        "b resolved | [resolved] node-down: dgx498, after 1 m | it was: it is down\n");
    assert_true(s->v[0].told && s->v[1].told && s->v[2].told);
    assert_false(s->v[3].told || s->v[4].told);
    assert_string_equal(s->told_to[0], "99000\ta\t\t\n");
    assert_string_equal(s->told_to[1], "99000\tb\t\t\n");
    s->v[0].silenced = true; /* T2: a silenced alert does not make others due */
    assert_string_equal(tell_at(s, 99000, 1), "");
    assert_true(s->v[0].due); /* but its waiting time is over */
}

static void what_was_over_before_it_was_told_is_told_once(void **state)
{
    struct scene_of_news *s = *state;

    for (int i = 0; i < 2; i++) {
        s->v[i].kind = MESSAGE_NOTICE;
        s->alerts[i].resolved_ms = 5000 + i * 1000;
    }
    assert_string_equal(tell_at(s, 99000, 1), "a notice | [critical] node-down: it is down, over after 4 s | look\n"
                                              "b notice | [critical] node-down: it is down, over after 4 s | look\n");
    tell_at(s, 99000, 2);
    assert_int_equal(strncmp(s->said.p,
                             "a notice | [critical] node-down: 2 nodes, over after up to 5 s: dgx499, dgx500",
                             strlen("a notice | [critical] node-down: 2 nodes, over after up to 5 s: dgx499, dgx500")),
                     0);
}

/* ---- reminders ---- */

/* Evaluates every ten minutes, each alert from its start on; returns the messages with their time in hours. */
static const char *reminders(struct scene_of_news *s, size_t n, int64_t hours, struct buf *out)
{
    buf_reset(out);
    for (int64_t at = 0; at <= hours * HOUR; at += HOUR / 6) {
        size_t some = 0;
        while (some < n && s->v[some].since_ms <= at)
            some++;
        const char *said = tell_at(s, at, some);
        for (size_t i = 0; i < n; i++)
            s->v[i].kind = s->told_to[i][0] ? MESSAGE_REMINDER : MESSAGE_FIRED;
        if (said[0])
            buf_addf(out, "%.1f %s", (double)at / HOUR, said);
    }
    return buf_str(out).p;
}

static void fires_at(struct scene_of_news *s, size_t i, int64_t hour)
{
    s->v[i].since_ms = s->alerts[i].since_ms = s->alerts[i].fired_ms = hour * HOUR - 60000;
    s->v[i].kind = MESSAGE_FIRED;
    s->told_to[i][0] = 0;
    s->alerts[i].advice = "";
}

static void t5_one_reminder_of_all_that_still_fires(void **state)
{
    struct scene_of_news *s = *state;
    AUTO_BUF out = BUF_INIT(1u << 20);

    rules_are(s, "node-down: {channel: a}\n");
    fires_at(s, 0, 1);
    fires_at(s, 1, 4); /* later: on the schedule of the first from then on */
    assert_string_equal(reminders(s, 2, 10, &out),
                        "1.0 a fired | [critical] node-down: it is down | \n"
                        "4.0 a fired | [critical] node-down: it is down | \n"
                        "5.0 a reminder | [critical] node-down, still, for up to 4 h 1 m: 2 nodes: dgx499, dgx500 | "
                        "it is down\nit is down\n"
                        "9.0 a reminder | [critical] node-down, still, for up to 8 h 1 m: 2 nodes: dgx499, dgx500 | "
                        "it is down\nit is down\n");
    s->v[0].silenced = true; /* T2 */
    fires_at(s, 1, 1);
    assert_string_equal(reminders(s, 2, 6, &out),
                        "1.0 a fired | [critical] node-down: it is down | \n"
                        "5.0 a reminder | [critical] node-down, still, for 4 h 1 m: it is down | \n");
}

static void reminders_come_as_often_as_the_rule_says(void **state)
{
    static const struct {
        const char *rules;
        int32_t severity;
        size_t want; /* within four days */
    } cases[] = {{"{}", SEV_CRITICAL, 23},
                 {"{}", SEV_WARNING, 3},
                 {"{}", SEV_INFO, 0},
                 {"node-down: {remind: off}", SEV_CRITICAL, 0},
                 {"node-down: {remind: 2d}", SEV_CRITICAL, 1},
                 {"node-down: {remind: 2d}", SEV_INFO, 1}};
    struct scene_of_news *s = *state;
    AUTO_BUF out = BUF_INIT(1u << 20);

    channels_free(s->channels);
    s->channels = channels_from("a: {type: slack, url_env: X, severity: info}", 0, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = 0;
        print_message("%s %d\n", cases[i].rules, (int)cases[i].severity);
        rules_are(s, cases[i].rules);
        fires_at(s, 0, 1);
        s->alerts[0].severity = cases[i].severity;
        reminders(s, 1, 96, &out);
        for (const char *at = out.p; (at = strstr(at, "a reminder")); at++)
            n++;
        assert_int_equal(n, cases[i].want);
    }
}

static void t5_quiet_hours_have_no_reminders(void **state)
{
    struct scene_of_news *s = *state;
    AUTO_BUF out = BUF_INIT(1u << 20);

    channels_free(s->channels);
    s->channels =
        channels_from("a: {type: slack, url_env: X}\nb: {type: slack, url_env: X, quiet: \"22:00-07:00\"}\n", 0, NULL);
    s->minute = 23 * 60;
    fires_at(s, 0, 0);
    reminders(s, 1, 5, &out);
    assert_non_null(strstr(out.p, "\nb fired")); /* the outbox keeps it until morning */
    assert_non_null(strstr(out.p, "4.0 a reminder"));
    assert_null(strstr(out.p, "b reminder"));
    s->minute = 7 * 60; /* each has its own time: b is reminded in the morning, a after another four hours */
    assert_non_null(strstr(tell_at(s, 6 * HOUR, 1), "b reminder"));
    assert_null(strstr(s->said.p, "a reminder"));
}

/* ---- persons ---- */

static void persons_are(struct scene_of_news *s, const char *people)
{
    struct err err = {0};
    struct opt_section p = {(char *)people, "m.yaml", 0};

    people_unref(s->people);
    s->people = NULL;
    assert_int_equal(people_new(&(struct people_src){.people = &p}, &s->people, &err), 0);
    channels_free(s->channels);
    s->channels = channels_from("p: {type: webhook, url_env: X, to: person}\n", 0, &err);
}

static void of_gpu(struct scene_of_news *s, size_t i, const char *rule, const char *place, const char *person)
{
    s->alerts[i].rule = rule;
    s->alerts[i].severity = SEV_INFO;
    s->alerts[i].subject = "gpu:x";
    s->alerts[i].place = place;
    s->alerts[i].person = person;
    s->alerts[i].text = "said to everybody";
    s->alerts[i].since_ms = -2 * HOUR;
}

static void persons_are_told_what_concerns_them(void **state)
{
    struct scene_of_news *s = *state;

    persons_are(s, "kim: {mail: kim@x}\nlee: {mail: lee@x}\n");
    of_gpu(s, 0, "gpu-idle", "dgx2:4", "kim, lee");
    of_gpu(s, 1, "gpu-idle", "dgx2:3", "kim");
    of_gpu(s, 2, "gpu-hot", "dgx2:5", "kim"); /* not one of theirs */
    assert_string_equal(tell_at(s, 99000, 3),
                        "p>kim fired | [info] gpu-idle: you hold dgx2:3 and dgx2:4, idle for 2 h 1 m | look\n"
                        "p>lee fired | [info] gpu-idle: you hold dgx2:4, idle for 2 h 1 m | look\n");
    assert_string_equal(s->told_to[0], "99000\tp\tkim\tkim\n99000\tp\tlee\tlee\n");
    s->v[0].kind = s->v[1].kind = MESSAGE_REMINDER;
    rules_are(s, "gpu-idle: {remind: 1h}\n");
    persons_are(s, "kim: {mail: kim@x}\nlee: {tell: no}\n"); /* T6: both opted out */
    assert_string_equal(tell_at(s, 99000 + HOUR, 2), "p>kim reminder | [info] gpu-idle, still: you hold dgx2:3 and "
                                                     "dgx2:4, idle for 3 h 1 m | look\n");
    s->v[0].kind = s->v[1].kind = MESSAGE_RESOLVED; /* they ended it themselves */
    assert_string_equal(tell_at(s, 9 * HOUR, 2), "");
    assert_true(s->v[0].due);
}

static void taker_and_booker_are_told_each_his_part(void **state)
{
    struct scene_of_news *s = *state;

    persons_are(s, "kim: {mail: kim@x}\n");
    of_gpu(s, 0, "booking-taken", "dgx2:3", "lee, pat, kim");
    assert_string_equal(tell_at(s, 99000, 1),
                        "p>kim fired | [info] booking-taken: dgx2:3, which you have booked, is used by lee and pat | "
                        "look\n"
                        "p>lee fired | [info] booking-taken: you are on dgx2:3, which kim has booked | look\n"
                        "p>pat fired | [info] booking-taken: you are on dgx2:3, which kim has booked | look\n");
    of_gpu(s, 1, "booking-taken", "dgx2:9", "lee, ann");
    s->alerts[0].subject = s->alerts[1].subject = "booking:1";
    tell_at(s, 99000, 2);
    assert_non_null(strstr(s->said.p, "p>lee fired | [info] booking-taken: 2 bookings: dgx2:3, dgx2:9 | you are on "
                                      "dgx2:3, which kim has booked\nyou are on dgx2:9, which ann has booked\nlook\n"));
    s->v[0].kind = MESSAGE_RESOLVED;
    s->alerts[0].resolved_ms = 0;
    assert_string_equal(tell_at(s, 99000, 1), /* the GPUs are kim's again: kim is notified, the others know */
                        "p>kim resolved | [resolved] booking-taken: dgx2:3, after 2 h | it was: said to everybody\n");
}

static void t6_who_wants_nothing_is_told_nothing(void **state)
{
    static const struct {
        const char *people, *want;
    } cases[] = {{"kim: {mail: k@x}", "p>kim"},
                 {"kim: {tell: yes}", "p>kim"},
                 {"kim: {tell: no}", ""},
                 {"kim: {tell: [gpu-idle, wait]}", "p>kim"},
                 {"kim: {tell: booking-unused}", ""},
                 {"kim: {tell: []}", ""}};
    struct scene_of_news *s = *state;

    of_gpu(s, 0, "gpu-idle", "dgx2:4", "kim");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].people);
        persons_are(s, cases[i].people);
        tell_at(s, 99000, 1);
        assert_int_equal(strncmp(buf_str(&s->said).p, cases[i].want, strlen(cases[i].want)), 0);
        assert_int_equal(s->v[0].told, cases[i].want[0] != 0);
    }
    rules_are(s, "gpu-idle: {person: no}\n");
    persons_are(s, "kim: {mail: k@x}");
    assert_string_equal(tell_at(s, 99000, 1), "");
    rules_are(s, "rules: [{name: mine, when: free, person: yes}]\n"); /* a user-defined rule with its own text */
    s->alerts[0].rule = "mine";
    assert_string_equal(tell_at(s, 99000, 1), "p>kim fired | [info] mine: said to everybody | look\n");
}

static void what_happened_is_told_without_an_end(void **state)
{
    struct scene_of_news *s = *state;

    for (int i = 0; i < MANY; i++) {
        s->alerts[i].notice = 1;
        s->v[i].kind = MESSAGE_NOTICE;
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
    s->v[0].kind = MESSAGE_RESOLVED;
    assert_string_equal(tell_at(s, 99000, 1),
                        "a resolved | [resolved] node-down: dgx500, after 1 m | it was: lost `dgx500`\n"
                        "b resolved | [resolved] node-down: dgx500, after 1 m | it was: lost `dgx500`\n");
    s->v[0].kind = MESSAGE_FIRED;
    assert_non_null(strstr(tell_at(s, 99000, 2), "a fired | [critical] node-down: 2 nodes: dgx499, dgx500 | "));
}

TESTS(cmocka_unit_test(channels_are_read), cmocka_unit_test(a_secret_that_goes_without_tls_names_its_host),
      cmocka_unit_test(mail_and_bot_are_read), cmocka_unit_test(addresses_are_plain_ones),
      cmocka_unit_test(mistakes_are_said_without_secrets), cmocka_unit_test(addresses_come_from_the_environment),
      cmocka_unit_test(bodies_are_as_channels_take_them),
      cmocka_unit_test(a_message_keeps_its_files_and_to_whom_it_goes), cmocka_unit_test(who_was_told_is_a_list),
      cmocka_unit_test_setup_teardown(t1_five_hundred_nodes_are_one_message, begin, end),
      cmocka_unit_test_setup_teardown(t7_through_a_channel_with_each_every_alert_is_a_message_at_once, begin, end),
      cmocka_unit_test_setup_teardown(one_that_is_over_says_its_own_text, begin, end),
      cmocka_unit_test_setup_teardown(t1_nobody_waits_for_ever, begin, end),
      cmocka_unit_test_setup_teardown(channels_get_what_they_take, begin, end),
      cmocka_unit_test_setup_teardown(what_was_over_before_it_was_told_is_told_once, begin, end),
      cmocka_unit_test_setup_teardown(t5_one_reminder_of_all_that_still_fires, begin, end),
      cmocka_unit_test_setup_teardown(reminders_come_as_often_as_the_rule_says, begin, end),
      cmocka_unit_test_setup_teardown(t5_quiet_hours_have_no_reminders, begin, end),
      cmocka_unit_test_setup_teardown(persons_are_told_what_concerns_them, begin, end),
      cmocka_unit_test_setup_teardown(taker_and_booker_are_told_each_his_part, begin, end),
      cmocka_unit_test_setup_teardown(t6_who_wants_nothing_is_told_nothing, begin, end),
      cmocka_unit_test_setup_teardown(one_alert_in_somebodys_words_is_these_words_alone, begin, end),
      cmocka_unit_test_setup_teardown(what_happened_is_told_without_an_end, begin, end))
