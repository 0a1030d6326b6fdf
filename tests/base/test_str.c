/* Views: cutting, comparing, numbers, patterns, UTF-8. */
#include "test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

static void fields_are_cut_at_the_separator(void **unused)
{
    static const struct {
        const char *text, *fields[5];
    } cases[] = {
        {"a,b", {"a", "b"}}, {"a,", {"a", ""}}, {"", {""}}, {",", {"", ""}}, {"a,,b", {"a", "", "b"}}, {"abc", {"abc"}},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str rest = str_of(cases[i].text), field;
        size_t n = 0;
        for (; str_cut(&rest, ',', &field); n++) {
            assert_non_null(cases[i].fields[n]);
            assert_true(str_eq(field, cases[i].fields[n]));
        }
        assert_null(cases[i].fields[n]);
    }
}

static void lines_end_with_or_without_cr(void **unused)
{
    struct str rest = STR("a\r\n\nb\rc\nlast\r"), line;

    (void)unused;
    assert_true(str_line(&rest, &line) && str_eq(line, "a"));
    assert_true(str_line(&rest, &line) && str_eq(line, ""));
    assert_true(str_line(&rest, &line) && str_eq(line, "b\rc"));
    assert_true(str_line(&rest, &line) && str_eq(line, "last\r"));
    assert_false(str_line(&rest, &line));
    rest = STR("");
    assert_false(str_line(&rest, &line));
}

static void words_skip_blanks(void **unused)
{
    struct str rest = STR("  one\t two\n "), word;

    (void)unused;
    assert_true(str_word(&rest, &word) && str_eq(word, "one"));
    assert_true(str_word(&rest, &word) && str_eq(word, "two"));
    assert_false(str_word(&rest, &word));
}

static void text_is_compared_and_searched(void **unused)
{
    struct str s = STR("abcabc");

    (void)unused;
    assert_true(str_eq(str_trim(STR(" \t a b\r\n")), "a b"));
    assert_true(str_eq(str_trim(STR(" \n")), ""));
    assert_true(str_eq_nocase(STR("AbC"), "aBc"));
    assert_false(str_eq_nocase(STR("abc"), "abcd"));
    assert_false(str_eq_nocase(STR("abcd"), "abc"));
    assert_true(str_starts(s, "abc") && str_starts(s, "") && !str_starts(s, "abcabcd"));
    assert_true(str_ends(s, "bc") && str_ends(s, "") && !str_ends(s, "xabcabc"));
    assert_true(str_skip(&s, "ab") && str_eq(s, "cabc"));
    assert_false(str_skip(&s, "x"));
    assert_int_equal(str_find(STR("abcabc"), "ca"), 2);
    assert_int_equal(str_find(STR("abcabc"), "x"), -1);
    assert_int_equal(str_find(STR("a"), "ab"), -1);
    assert_int_equal(str_rfind(STR("abcabc"), "abc"), 3);
    assert_int_equal(str_rfind(STR("abc"), "abcd"), -1);
    assert_true(str_cmp(STR("a"), STR("b")) < 0 && str_cmp(STR("ab"), STR("a")) > 0 &&
                str_cmp(STR("a"), STR("a")) == 0);
    assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
    assert_true(str_eq_str((struct str){NULL, 0}, STR("")));
}

static void whole_numbers_are_whole_strings(void **unused)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t want;
    } cases[] = {
        {"0", true, 0},
        {"-1", true, -1},
        {"+7", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"--1", false, 0},
        {"3x", false, 0},
        {" 3", false, 0},
        {"3.0", false, 0},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v = 42;
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(str_int(str_of(cases[i].text), &v), cases[i].ok);
        assert_int_equal(v, cases[i].ok ? cases[i].want : 42); /* untouched when refused */
    }
    uint64_t u = 42;
    assert_true(str_uint(STR("18446744073709551615"), &u) && u == UINT64_MAX);
    assert_false(str_uint(STR("18446744073709551616"), &u));
    assert_false(str_uint(STR("-1"), &u));
    assert_true(str_hex(STR("0xFf"), &u) && u == 255);
    assert_true(str_hex(STR("ffffffffffffffff"), &u) && u == UINT64_MAX);
    assert_false(str_hex(STR("10000000000000000"), &u));
    assert_false(str_hex(STR("0x"), &u));
    assert_false(str_hex(STR("g"), &u));
    assert_false(str_hex(STR(":"), &u));
}

static void decimals_are_scaled_exactly(void **unused)
{
    static const struct {
        const char *text;
        int64_t scale;
        bool ok;
        int64_t want;
    } cases[] = {
        {"-1.25", 100, true, -125},
        {"1e3", 1, true, 1000},
        {"1.5E2", 10, true, 1500},
        {"25e-1", 1, true, 3}, /* half away from zero */
        {"-2.5", 1, true, -3},
        {"2.4999999999999999999999", 1, true, 2},
        {"0.005", 100, true, 1},
        {"0.0049", 100, true, 0},
        {"40321", 1 << 20, true, 40321ll << 20},
        {".5", 10, true, 5},
        {"5.", 10, true, 50},
        {"+3", 1, true, 3},
        {"0e9999", 1, true, 0},
        {"1e-9999", 1, true, 0},
        {"9223372036854775807", 1, true, INT64_MAX},
        {"-9223372036854775808", 1, true, INT64_MIN},
        {"9223372036854775807.4", 1, true, INT64_MAX},
        {"9223372036854775807.5", 1, false, 0},
        {"9007199254740993.4999", 1000, true, 9007199254740993500},
        {"0.00001e5", 1, true, 1},
        {"00000000000000000000000012", 1, true, 12},
        {"123e-5", 100000, true, 123},
        {"9223372036854775.807", 1000, true, INT64_MAX},
        {"0.000000000000000000000000000000000000000000001", 1000000, true, 0},
        {"100000000000000000000000e-20", 1, true, 1000},
        {"1e19", 1, false, 0},
        {"1e99999", 1, false, 0},
        {"", 1, false, 0},
        {".", 1, false, 0},
        {"-", 1, false, 0},
        {"1.2.3", 1, false, 0},
        {"1e", 1, false, 0},
        {"e5", 1, false, 0},
        {"nan", 1, false, 0},
        {"[N/A]", 1, false, 0},
        {"12 W", 1, false, 0},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v = 42;
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(str_fixed(str_of(cases[i].text), cases[i].scale, &v), cases[i].ok);
        assert_int_equal(v, cases[i].ok ? cases[i].want : 42);
    }
}

static void spans_and_sizes_have_units(void **unused)
{
    static const struct {
        const char *text;
        int64_t ms, bytes; /* -1: refused */
    } cases[] = {
        {"500ms", 500, -1},
        {"10", 10000, 10},
        {"10s", 10000, -1},
        {"5m", 300000, 5 << 20},
        {"1.5h", 5400000, -1},
        {"1h30m", 5400000, -1},
        {"1h 30m", 5400000, -1},
        {"2d", 2 * 86400000ll, -1},
        {"1w", 7 * 86400000ll, -1},
        {"1h30", -1, -1},
        {"-5s", -1, -1},
        {"", -1, -1},
        {"s", -1, -1},
        {"5x", -1, -1},
        {"99999999999w", -1, -1},
        {"40K", -1, 40 << 10},
        {"40G", -1, 40ll << 30},
        {"1.5GiB", -1, 3ll << 29},
        {"2TB", -1, 2ll << 40},
        {"512 MiB", -1, 512 << 20},
        {"3B", -1, 3},
        {"3GG", -1, -1},
        {"3iB", -1, -1},
        {"8E", -1, -1},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v = -1;
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(str_duration_ms(str_of(cases[i].text), &v), cases[i].ms >= 0);
        assert_int_equal(v, cases[i].ms);
        v = -1;
        assert_int_equal(str_bytes(str_of(cases[i].text), &v), cases[i].bytes >= 0);
        assert_int_equal(v, cases[i].bytes);
    }
}

static void yes_and_no_have_many_words(void **unused)
{
    bool v = false;

    (void)unused;
    assert_true(str_bool(STR("Yes"), &v) && v);
    assert_true(str_bool(STR("off"), &v) && !v);
    assert_true(str_bool(STR("1"), &v) && v);
    assert_true(str_bool(STR("FALSE"), &v) && !v);
    assert_false(str_bool(STR("2"), &v));
    assert_false(str_bool(STR(""), &v));
}

static void patterns_match_as_in_a_shell(void **unused)
{
    static const struct {
        const char *pattern, *text;
        bool want;
    } cases[] = {
        {"*", "", true},
        {"*", "abc", true},
        {"a*c", "abbc", true},
        {"a*c", "abcd", false},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[!a-c]x", "dx", true},
        {"[!a-c]x", "ax", false},
        {"[]]", "]", true},
        {"[a", "[a", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"*a*b*c", "xaybzc", true},
        {"*a*b*c", "xaybz", false},
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"gpu-[0-9][0-9]", "gpu-07", true},
        {"**a**", "bab", true},
        {"[a-]", "-", true},
        {"a\\", "a\\", true},
        {"?", "\xc3\xa9", false},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("'%s' '%s'\n", cases[i].pattern, cases[i].text);
        assert_int_equal(str_glob(str_of(cases[i].pattern), str_of(cases[i].text)), cases[i].want);
    }
}

static void near_names_are_found(void **unused)
{
    static const struct {
        const char *typed, *meant;
        int want;
    } cases[] = {
        {"foo", "for", 1}, {"histroy", "history", 1}, {"lss", "ls", 1}, {"inter", "interval", 4},
        {"a", "b", -1},    {"zzz", "abc", -1},        {"", "a", -1},    {"ls", "top", -1},
        {"ab", "xy", -1},  {"node", "node", 0},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("'%s' '%s'\n", cases[i].typed, cases[i].meant);
        assert_int_equal(str_near(str_of(cases[i].typed), str_of(cases[i].meant)), cases[i].want);
    }
}

static void utf8_is_checked_and_measured(void **unused)
{
    static const struct {
        const char *text;
        bool ok;
        int width;
    } cases[] = {
        {"plain", true, 5},
        {"", true, 0},
        {"a\tb", true, 2},
        {"a\nb", false, 2},
        {"\x7f", false, 0},
        {"\xc2\x85", false, 0},         /* C1 */
        {"\xc3\xa9", true, 1},          /* e acute */
        {"e\xcc\x81", true, 1},         /* e, combining acute */
        {"\xe6\xbc\xa2", true, 2},      /* a wide character */
        {"\xf0\x9f\x98\x80", true, 2},  /* emoji */
        {"\xc0\x80", false, 2},         /* overlong NUL */
        {"\xe0\x80\xaf", false, 3},     /* overlong */
        {"\xed\xa0\x80", false, 3},     /* surrogate */
        {"\xf4\x90\x80\x80", false, 4}, /* past U+10FFFF */
        {"\xff", false, 1},
        {"\xe6\xbc", false, 2}, /* cut */
        {"\xef\xbf\xbd", true, 1},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%zu\n", i);
        assert_int_equal(str_utf8_ok(str_of(cases[i].text)), cases[i].ok);
        assert_int_equal(str_width(str_of(cases[i].text)), cases[i].width);
    }
    assert_false(str_utf8_ok(str_n("a\0b", 3)));
    uint32_t c = 0;
    assert_int_equal(str_utf8(STR("\xf0\x9f\x98\x80x"), &c), 4);
    assert_int_equal(c, 0x1f600);
}

TESTS(cmocka_unit_test(fields_are_cut_at_the_separator), cmocka_unit_test(lines_end_with_or_without_cr),
      cmocka_unit_test(words_skip_blanks), cmocka_unit_test(text_is_compared_and_searched),
      cmocka_unit_test(whole_numbers_are_whole_strings), cmocka_unit_test(decimals_are_scaled_exactly),
      cmocka_unit_test(spans_and_sizes_have_units), cmocka_unit_test(yes_and_no_have_many_words),
      cmocka_unit_test(patterns_match_as_in_a_shell), cmocka_unit_test(near_names_are_found),
      cmocka_unit_test(utf8_is_checked_and_measured))
