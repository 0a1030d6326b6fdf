/* What the bot says: which texts are answered at all, which requests they become, and what is made of the answers. */
#include "test.h"

#include <jansson.h>

#include "base/mem.h"
#include "people/census.h"
#include "say/say.h"

#define NOW_MS 1794700800000ll /* 2026-11-15 00:00 UTC */

static bool is_node(void *arg, struct str name)
{
    (void)arg;
    return str_eq(name, "dgx1") || str_eq(name, "dgx2") || str_eq(name, "gpu.lab");
}

static struct say *ask(const char *text, enum say_way way, const char *person, const struct say_conf *conf)
{
    return say_new(&(struct say_ask){.text = str_of(text),
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
static void first_call(struct say *s, char *out, size_t size)
{
    const struct say_call *c = s ? say_next(s) : NULL;

    snprintf(out, size, "%s%s%s%s%.*s", s ? "" : "-", c ? c->method : "", c ? " " : "", c ? c->target : "",
             c ? (int)c->body.len : 0, c ? c->body.p : "");
}

static void ordinary_talk_is_not_answered_but_exact_keywords_are(void **unused)
{
    static const struct say_conf bang = {.prefix = "!",
                                         .keywords = {"HOSTS", "ALL", "", "ALL_detail", "HELP", "WHERE"}};
    static const struct say_conf off = {.prefix = "", .keywords = {"", "", "", "", "", ""}};
    static const struct {
        const struct say_conf *conf;
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
        struct say *s = ask(cases[i].text, SAY_TALK, "kim", cases[i].conf);
        first_call(s, got, sizeof(got));
        assert_string_equal(got, cases[i].want);
        say_free(s);
    }
}

static void a_list_is_a_file_with_the_old_name_and_title(void **unused)
{
    struct say *s = ask("ALL_cmd", SAY_TALK, "kim", NULL);

    (void)unused;
    say_take(s, 0, STR("a table\n"));
    assert_null(say_next(s));
    const struct say_answer *a = say_answer(s);
    assert_int_equal(a->n_files, 1);
    assert_string_equal(a->files[0].name, "ALL_cmd.txt");
    assert_string_equal(a->files[0].title, "response: ALL_cmd");
    assert_true(str_eq(a->files[0].bytes, "a table\n"));
    assert_string_equal(a->text, "response: ALL_cmd");
    say_free(s);
}

static void strangers_are_told_how_to_be_known_and_read_where_that_is_open(void **unused)
{
    static const struct say_conf open = {.prefix = "",
                                         .keywords = {"HOSTS", "ALL", "ALL_cmd", "ALL_detail", "HELP", "WHERE"},
                                         .open = true};
    char got[4096];

    (void)unused;
    struct say *s = ask("HOSTS", SAY_TALK, NULL, NULL);
    assert_null(say_next(s));
    assert_true(say_answer(s)->refused && say_answer(s)->ephemeral);
    assert_non_null(strstr(say_answer(s)->text, "`slack: U111`"));
    say_free(s);
    s = ask("HOSTS", SAY_TALK, NULL, &open);
    first_call(s, got, sizeof(got));
    assert_string_equal(got, "GET /?term=true&list=names");
    say_free(s);
    s = ask("help", SAY_TO_US, NULL, NULL);
    assert_false(say_answer(s)->refused);
    say_free(s);
}

static void what_is_said_to_us_is_answered_always(void **unused)
{
    static const char *const texts[] = {"",         "help",        "HELP",  "<@U7> help", "<@U7>: hello",
                                        "what?",    "hlep please", "WHERE", "\xff\xfe",   "<@",
                                        "&amp;&lt;"};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        print_message("'%s'\n", texts[i]);
        struct say *s = ask(texts[i], SAY_TO_US, "kim", NULL);
        assert_non_null(s);
        if (!say_next(s))
            assert_true(say_answer(s)->text[0] != 0);
        say_free(s);
    }
    struct say *s = ask("hlep me", SAY_TO_US, "kim", NULL);
    assert_string_equal(say_answer(s)->text,
                        "I do not understand 'hlep'. Did you mean `help`? `help` lists what I do.");
    say_free(s);
}

static void names_cannot_mention_anybody(void **unused)
{
    struct say *s = ask("x <!here> & <@U2> *y*", SAY_TO_US, "<!channel>", NULL);
    json_t *o;

    (void)unused;
    const struct say_answer *a = say_answer(s);
    assert_null(strstr(a->blocks, "<!"));
    assert_null(strstr(a->blocks, "<@"));
    assert_non_null(o = json_loads(a->blocks, 0, NULL));
    json_decref(o);
    say_free(s);
    s = ask("help", SAY_TO_US, "<!channel>", NULL);
    assert_null(strstr(say_answer(s)->blocks, "<!"));
    assert_non_null(strstr(say_answer(s)->blocks, "&lt;!channel&gt;"));
    say_free(s);
}

static void a_refusal_of_the_hub_is_its_sentence(void **unused)
{
    struct say *s = ask("HOSTS", SAY_TALK, "kim", NULL);

    (void)unused;
    say_take(s, 503, STR("{\"detail\":\"tokens cannot be read just now; try again\"}"));
    assert_null(say_next(s));
    assert_string_equal(say_answer(s)->text, "Tokens cannot be read just now; try again.");
    assert_true(say_answer(s)->refused);
    say_free(s);
}

TESTS(cmocka_unit_test(ordinary_talk_is_not_answered_but_exact_keywords_are),
      cmocka_unit_test(a_list_is_a_file_with_the_old_name_and_title),
      cmocka_unit_test(strangers_are_told_how_to_be_known_and_read_where_that_is_open),
      cmocka_unit_test(what_is_said_to_us_is_answered_always), cmocka_unit_test(names_cannot_mention_anybody),
      cmocka_unit_test(a_refusal_of_the_hub_is_its_sentence))
