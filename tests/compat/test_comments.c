/* test_comments.c: GPU Monitor's comments.json: read in both shapes, with comments, dates as typed; written back whole.
 */
#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "compat/comments.h"

#define NOW  1794733200000ll /* 2026-11-15T09:00:00Z */
#define HOUR 3600000ll

static struct comments *parse(const char *text)
{
    struct comments *c = NULL;
    struct err err = {0};

    if (comments_parse(str_of(text), &c, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    return c;
}

static void assert_written(const struct comments *c, const char *want)
{
    AUTO_BUF b = BUF_INIT(65536);

    assert_int_equal(comments_write(c, &b), 0);
    assert_string_equal(b.p, want);
}

/* predecessors.md 3.4: a list or an object with string indices, a missing host or entry is free. */
static const char both[] = "{ // who has what; edited by hand, too\n"
                           "  \"dgx1\": [ {\"name\":\"kim\",\"date\":\"2026-11-17 13:00\",\"comment\":\"see "
                           "http://wiki/x // not a comment\"},\n"
                           "              null, {\"name\":\"\",\"date\":\"\",\"comment\":\"\"} ], // dgx1:1 is free\n"
                           "  \"dgx2\": {\"3\": {\"name\":\"lee \\\"q\\\"\",\"date\":\"2d "
                           "4h\",\"comment\":\"\",\"own\":7}, \"0\": {\"name\":\"ana\",\"date\":\"tomorrow 18:00\"}},\n"
                           "  \"gone\": [ {\"name\":\"old\",\"date\":\"2020-01-01 00:00\",\"comment\":\"x\"} ]\n"
                           "}\n";

static void every_entry_is_read_in_either_shape(void **unused)
{
    static const struct {
        const char *host;
        int index;
        const char *name, *comment;
        int64_t until_ms;
        bool plain, now; /* it counts now */
    } cases[] = {
        {"dgx1", 0, "kim", "see http://wiki/x // not a comment", NOW + 52 * HOUR, true, true},
        {"dgx1", 1, "", "", 0, true, false},
        {"dgx1", 2, "", "", 0, true, false},
        {"dgx1", 3, "", "", 0, true, false},
        {"dgx2", 3, "lee \"q\"", "", NOW + 52 * HOUR, false, true},
        {"dgx2", 0, "ana", "", NOW + 33 * HOUR, false, true},
        {"dgx2", 1, "", "", 0, true, false},
        {"gone", 0, "old", "x", 1577836800000ll, true, false},
        {"nowhere", 0, "", "", 0, true, false},
    };
    struct comments *c = parse(both);

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct remark r;
        print_message("%s:%d\n", cases[i].host, cases[i].index);
        comments_get(c, cases[i].host, cases[i].index, NOW, &r);
        assert_string_equal(r.name, cases[i].name);
        assert_string_equal(r.comment, cases[i].comment);
        assert_int_equal(r.until_ms, cases[i].until_ms);
        assert_int_equal(r.plain, cases[i].plain);
        assert_int_equal(remark_at(&r, NOW).until_ms != 0, cases[i].now);
    }
    comments_free(c);
}

static void what_is_read_is_written_and_only_what_is_set_changes(void **unused)
{
    static const char whole[] =
        "{\"a\":[{\"name\":\"kim\",\"date\":\"2026-11-17 13:00\",\"comment\":\"x\"}],"
        "\"b\":{\"3\":{\"name\":\"lee\",\"date\":\"2026-11-17 13:00\",\"comment\":\"\",\"own\":7}}}\n";
    struct remark r = {.until_ms = NOW + HOUR, .name = "<img onerror>", .comment = "a;b"}, none = {0};
    struct comments *c = parse(whole);

    (void)unused;
    assert_written(c, whole);
    comments_set(c, "a", 2, &r);
    comments_set(c, "b", 3, &none);
    comments_set(c, "new", 0, &r);
    comments_set(c, "new", 5000, &r);
    assert_written(c, "{\"a\":[{\"name\":\"kim\",\"date\":\"2026-11-17 13:00\",\"comment\":\"x\"},"
                      "{\"name\":\"\",\"date\":\"\",\"comment\":\"\"},"
                      "{\"name\":\"img onerror\",\"date\":\"2026-11-15 10:00\",\"comment\":\"a b\"}],"
                      "\"b\":{\"3\":{\"name\":\"\",\"date\":\"\",\"comment\":\"\",\"own\":7}},"
                      "\"new\":[{\"name\":\"img onerror\",\"date\":\"2026-11-15 10:00\",\"comment\":\"a b\"}]}\n");
    AUTO_BUF b = BUF_INIT(65536);
    comments_write(c, &b);
    struct comments *again = parse(b.p);
    struct remark got;
    comments_get(again, "a", 2, NOW, &got);
    assert_true(remark_same(&got, &r)); /* as far as the file can tell */
    comments_free(again);
    comments_free(c);
    c = parse("");
    assert_written(c, "{}\n");
    comments_free(c);
    c = parse("[]");
    assert_written(c, "{}\n");
    comments_free(c);
}

static void what_is_none_is_refused_with_its_place(void **unused)
{
    static const struct {
        const char *text, *say;
    } cases[] = {{"{", "line 1"},          {"[1]", "not an object"},      {"7", "line 1"},
                 {"{\"a\":}", "column 6"}, {"{\"a\":[1]\n,,}", "line 2"}, {"nonsense", "line 1"}};
    AUTO_BUF large = BUF_INIT(4 << 20);

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct comments *c = NULL;
        struct err err = {0};
        assert_int_equal(comments_parse(str_of(cases[i].text), &c, &err), -EINVAL);
        print_message("%s: %s\n", cases[i].text, err.msg);
        assert_non_null(strstr(err.msg, cases[i].say));
    }
    struct comments *c = NULL;
    buf_fill(&large, ' ', COMMENTS_BYTES + 1);
    assert_int_equal(comments_parse(buf_str(&large), &c, NULL), -E2BIG);
    /* members of other kinds are nothing, and stay */
    c = parse("{\"a\":7,\"b\":[7,\"x\",{\"name\":3,\"date\":[]}],\"c\":{\"0\":[]}}");
    for (const char *host = "abc"; *host; host++)
        for (int i = -1; i < 4; i++) {
            struct remark r;
            comments_get(c, (char[]){*host, 0}, i, NOW, &r);
            assert_int_equal(r.until_ms, 0);
        }
    comments_free(c);
}

static void names_are_cleaned_as_the_form_did(void **unused)
{
    static const struct {
        const char *in, *out;
    } cases[] = {{"kim", "kim"},
                 {" kim ", "kim"},
                 {"Robert'); DROP TABLE", "Robert    DROP TABLE"},
                 {"<img onerror>", "img onerror"},
                 {"a-b_c.d,e+f/g#h&i", "a-b_c.d,e+f/g#h&i"},
                 {"J\xc3\xb6rg", "J\xc3\xb6rg"},
                 {"\"'<>", ""},
                 {"a\nb", "a b"},
                 {"a\u202eb", "a b"}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[BOOKING_PERSON_MAX], five[6];
        comments_clean(str_of(cases[i].in), out, sizeof(out));
        assert_string_equal(out, cases[i].out);
        comments_clean(str_of(cases[i].in), five, sizeof(five));
        assert_true(strlen(five) <= 5 && str_utf8_ok(str_of(five)));
    }
    struct booking h = {.person = "<>", .comment = "", .until_ms = NOW + 59999};
    assert_string_equal(remark_of(&h).name, "somebody");
    assert_int_equal(remark_of(&h).until_ms, NOW);
    assert_int_equal(remark_of(NULL).until_ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_read_in_either_shape),
        cmocka_unit_test(what_is_read_is_written_and_only_what_is_set_changes),
        cmocka_unit_test(what_is_none_is_refused_with_its_place),
        cmocka_unit_test(names_are_cleaned_as_the_form_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
