/* Text from outside, made fit to be shown. */
#include "test.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/plain.h"
#include "model/message.h"

#define MARK "\xef\xbf\xbd"

static void every_way_replaces_what_may_not_be_shown(void **unused)
{
    static const struct {
        const char *text, *line, *lines, *json;
    } cases[] = {
        {"", "", "", ""},
        {"dgx1 é 日本 👩‍🔬 ½", "dgx1 é 日本 👩‍🔬 ½", "dgx1 é 日本 👩‍🔬 ½",
         "dgx1 é 日本 👩‍🔬 ½"},
        {"a\033[31mb", "a" MARK "[31mb", "a" MARK "[31mb", "a\\u001b[31mb"},
        {"a\033]0;x\ab", "a" MARK "]0;x" MARK "b", "a" MARK "]0;x" MARK "b", "a\\u001b]0;x\\u0007b"},
        {"a\xc2\x9b"
         "2J",
         "a" MARK "2J", "a" MARK "2J", "a\\u009b2J"},
        {"a\x7f\b", "a" MARK MARK, "a" MARK MARK, "a\\u007f\\u0008"},
        {"a\nb\tc", "a b c", "a\nb\tc", "a\nb\tc"},
        {"a\r\nb", "a" MARK " b", "a\nb", "a\nb"},
        {"a\rb", "a" MARK "b", "a" MARK "b", "a b"},
        {"a\u202eb\u2066c\u2069", "a" MARK "b" MARK "c" MARK, "a" MARK "b" MARK "c" MARK, "a\\u202eb\\u2066c\\u2069"},
        {"\u200e\u200f\u061c\u2028", MARK MARK MARK MARK, MARK MARK MARK MARK, "\\u200e\\u200f\\u061c\\u2028"},
        {"a\xff\xc3", "a" MARK MARK, "a" MARK MARK, "a\\ufffd\\ufffd"},
        {"\xed\xa0\x80", MARK MARK MARK, MARK MARK MARK, "\\ufffd\\ufffd\\ufffd"},
        {"C:\\x", "C:\\x", "C:\\x", "C:\\x"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF line = BUF_INIT(1000), lines = BUF_INIT(1000), json = BUF_INIT(1000);
        print_message("%zu\n", i);
        assert_int_equal(plain_line(&line, str_of(cases[i].text)), 0);
        assert_int_equal(plain_text(&lines, str_of(cases[i].text)), 0);
        assert_int_equal(plain_json(&json, str_of(cases[i].text)), 0);
        assert_true(str_eq(buf_str(&line), cases[i].line));
        assert_true(str_eq(buf_str(&lines), cases[i].lines));
        assert_true(str_eq(buf_str(&json), cases[i].json));
        assert_true(plain_is(buf_str(&line)));
        assert_int_equal(plain_is(str_of(cases[i].text)), strcmp(cases[i].text, cases[i].line) == 0);
    }
    AUTO_BUF csv = BUF_INIT(100);
    assert_int_equal(plain_print(&csv, STR("a,b\r\nc\rd\033\r\n")), 0);
    assert_string_equal(csv.p, "a,b\r\nc" MARK "d" MARK "\r\n");
    AUTO_BUF nul = BUF_INIT(100);
    plain_text(&nul, str_n("a\0b", 3));
    assert_string_equal(nul.p, "a" MARK "b");
}

static void what_users_write_has_no_controls_and_no_bidi_marks(void **unused)
{
    static const char *const good[] = {"", "kim", "a\tb", "\t", "ä 日本 \u200d\u3000", "=1;2", "\u05d0 \u0627"};
    static const char *const bad[] = {"a\nb",   "\r",     "\033[m", "\x7f",   "a\xc2\x85", "\u061c", "\u200e",
                                      "\u200f", "\u202a", "\u202b", "\u202c", "\u202d",    "\u202e", "\u2066",
                                      "\u2067", "\u2068", "\u2069", "\xff",   "a\t\u202e"};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(plain_typed(str_of(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        print_message("%zu\n", i);
        assert_false(plain_typed(str_of(bad[i])));
    }
}

static void of_a_hubs_json_the_escapes_are_cleaned_too(void **unused)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"{\"a\":\"x\\u001b[2J\"}", "{\"a\":\"x" MARK "[2J\"}"},
        {"\"\\u202E\\u202e\\u2067\\u009B\"", "\"" MARK MARK MARK MARK "\""},
        {"\"\\u0000\\b\\f\"", "\"" MARK MARK MARK "\""},
        {"\"a\\nb\\tc\\u000ad\"", "\"a\\nb\\tc\\u000ad\""},
        {"\"a\\rb\\u000dc\"", "\"a b c\""},
        {"\"\\\\u001b\"", "\"\\\\u001b\""}, /* a backslash, then letters */
        {"\"\\\\\\u001b\"", "\"\\\\" MARK "\""},
        {"\"\\\"\\u00e9\\/\"", "\"\\\"\\u00e9\\/\""},
        {"\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\""},
        {"\"\xe2\x80\xae\033\"", "\"" MARK MARK "\""},
        {"\"\\\033\"", "\"\\" MARK "\""}, /* no JSON, and still nothing for a terminal */
        {"\\", "\\"},
        {"\\u00", "\\u00"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = BUF_INIT(1000);
        print_message("%s\n", cases[i].want);
        assert_int_equal(plain_answer(&out, str_of(cases[i].json)), 0);
        assert_true(str_eq(buf_str(&out), cases[i].want));
    }
}

static void colours_of_our_own_stay_where_they_are_wanted(void **unused)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"\033[1mSTATE\033[0m \033[32mfree\033[0m", "\033[1mSTATE\033[0m \033[32mfree\033[0m"},
        {"\033[8mhidden", MARK "[8mhidden"},
        {"\033[31;8mx", MARK "[31;8mx"},
        {"\033[2J", MARK "[2J"},
        {"\033[1", MARK "[1"},
        {"\033[00001m", MARK "[00001m"},
        {"\033", MARK},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = BUF_INIT(1000);
        assert_int_equal(plain_tinted(&out, str_of(cases[i].text)), 0);
        assert_string_equal(out.p, cases[i].want);
    }
}

static void json_of_ours_shows_no_control_and_nothing_that_turns_text_round(void **unused)
{
    AUTO_BUF out = BUF_INIT(1000);

    (void)unused;
    json_escape(&out, STR("a\u202eb\u2069\xc2\x9b\xc2\xa0é\033"));
    assert_string_equal(out.p, "\"a\\u202eb\\u2069\\u009b\xc2\xa0é\\u001b\"");
}

static void a_message_is_cleaned_whichever_way_it_goes(void **unused)
{
    struct message m = {.channel = "c",
                        .to = "",
                        .person = "",
                        .thread = "",
                        .rule = "r",
                        .title = "dgx1\u202e is\ndown",
                        .text = "one\033[2J\ntwo\u2066",
                        .html = "",
                        .blocks = "",
                        .alerts = ""};
    struct message *copy = message_copy(&m);

    (void)unused;
    assert_string_equal(copy->title, "dgx1" MARK " is down");
    assert_string_equal(copy->text, "one" MARK "[2J\ntwo" MARK);
    assert_string_equal(copy->channel, "c");
    free(copy);
}

TESTS(cmocka_unit_test(every_way_replaces_what_may_not_be_shown),
      cmocka_unit_test(what_users_write_has_no_controls_and_no_bidi_marks),
      cmocka_unit_test(of_a_hubs_json_the_escapes_are_cleaned_too),
      cmocka_unit_test(colours_of_our_own_stay_where_they_are_wanted),
      cmocka_unit_test(json_of_ours_shows_no_control_and_nothing_that_turns_text_round),
      cmocka_unit_test(a_message_is_cleaned_whichever_way_it_goes))
