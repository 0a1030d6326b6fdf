/* The JSON writer: its text is read back by jansson, which is strict. */
#include "test.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/digits.h"
#include "base/json_at.h"
#include "base/mem.h"

static void commas_and_nesting_come_out_right(void **unused)
{
    AUTO_BUF b = BUF_INIT(1000);
    struct json j = json_on(&b);

    (void)unused;
    json_obj(&j, NULL);
    json_int(&j, "a", -1);
    json_uint(&j, "b", UINT64_MAX);
    json_arr(&j, "c");
    json_int(&j, NULL, 1);
    json_obj(&j, NULL);
    json_end_obj(&j);
    json_arr(&j, NULL);
    json_end_arr(&j);
    json_end_arr(&j);
    json_bool(&j, "d", true);
    json_bool(&j, "e", false);
    json_none(&j, "f");
    json_cstr(&j, "g", NULL);
    json_cstr(&j, "h", "x");
    json_raw(&j, "i", STR("[1]"));
    json_fixed(&j, "j", 9876, 10000);
    json_end_obj(&j);
    assert_string_equal(b.p, "{\"a\":-1,\"b\":18446744073709551615,\"c\":[1,{},[]],\"d\":true,\"e\":false,\"f\":null,"
                             "\"g\":null,\"h\":\"x\",\"i\":[1],\"j\":0.9876}");
}

static void any_bytes_become_a_valid_string(void **unused)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *want;
    } cases[] = {
        {"plain", 5, "\"plain\""},
        {"", 0, "\"\""},
        {"longer than eight bytes", 23, "\"longer than eight bytes\""},
        {"q\"b\\s", 5, "\"q\\\"b\\\\s\""},
        {"12345678\"", 9, "\"12345678\\\"\""},
        {"1234567\n8", 9, "\"1234567\\n8\""},
        {"\b\f\n\r\t\x01\x1f\0", 8, "\"\\b\\f\\n\\r\\t\\u0001\\u001f\\u0000\""},
        {"\x7f", 1, "\"\\u007f\""},
        {"1234567\x7f"
         "a",
         9, "\"1234567\\u007fa\""},
        {"\xe2\x80\xae", 3, "\"\\u202e\""},
        {"/", 1, "\"/\""},
        {"\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80", 9, "\"\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80\""},
        {"a\xff"
         "b",
         3,
         "\"a\xef\xbf\xbd"
         "b\""},
        {"\xe6\xbc", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(1000);
        print_message("%zu\n", i);
        json_escape(&b, str_n(cases[i].bytes, cases[i].n));
        assert_string_equal(b.p, cases[i].want);
    }
}

/* Every byte at every place in a word, so that no shortcut of the scan misses one. */
static void every_byte_at_every_place_reads_back(void **unused)
{
    (void)unused;
    for (int c = 0; c < 0x80; c++) {
        for (size_t at = 0; at < 17; at++) {
            char text[17];
            json_error_t why;
            AUTO_BUF b = BUF_INIT(1000);
            struct json j = json_on(&b);
            memset(text, 'x', sizeof(text));
            text[at] = (char)c;
            json_arr(&j, NULL);
            json_str(&j, NULL, str_n(text, sizeof(text)));
            json_end_arr(&j);
            json_t *back = json_loadb(b.p, b.len, JSON_ALLOW_NUL, &why);
            assert_non_null(back);
            json_t *s = json_array_get(back, 0);
            assert_int_equal(json_string_length(s), sizeof(text));
            assert_memory_equal(json_string_value(s), text, sizeof(text));
            json_decref(back);
        }
    }
}

static void fixed_point_is_an_exact_decimal(void **unused)
{
    static const struct {
        int64_t v, per;
        const char *want;
    } cases[] = {
        {9876, 10000, "0.9876"},
        {10000, 10000, "1"},
        {1, 10000, "0.0001"},
        {500, 10000, "0.05"},
        {123000, 10000, "12.3"},
        {-9876, 10000, "-0.9876"},
        {99999999999999, 10000, "9999999999.9999"},
        {1, 1000000, "0.000001"},
        {120, 100000, "0.0012"},
        {20, 10000000, "0.000002"},
        {-5, 1000, "-0.005"},
        {-1500, 1000, "-1.5"},
        {0, 100, "0"},
        {7, 1, "7"},
        {612450, 1000, "612.45"},
        {INT64_MIN, 1, "-9223372036854775808"},
        {INT64_MIN, 1000, "-9223372036854775.808"},
        {INT64_MAX, 1000000000, "9223372036.854775807"},
        {1, 1ll << 30, "0.000000000931322574"},
        {3, 1024, "0.0029296875"},
        {1, 3, "0.333333333333333333"},
        {1ll << 40, 1ll << 41, "0.5"},
        {268435454, 268435455, "0.999999996274709687"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(100);
        assert_int_equal(buf_fixed(&b, cases[i].v, cases[i].per), 0);
        assert_string_equal(b.p, cases[i].want);
    }
}

/* As printf has it, zeros at the end and a point before nothing left out. */
static void want_decimal(int64_t v, unsigned places, char out[64])
{
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v, per = digit_tens[places];
    int n = snprintf(out, 64, "%s%llu", v < 0 ? "-" : "", (unsigned long long)(u / per));

    if (u % per == 0)
        return;
    n += snprintf(out + n, 64 - (size_t)n, ".%0*llu", (int)places, (unsigned long long)(u % per));
    while (out[n - 1] == '0')
        out[--n] = 0;
}

static void check_decimal(int64_t v)
{
    for (unsigned places = 0; places <= 8; places++) {
        char want[64], got[DECIMAL_MAX + 2];
        want_decimal(v, places, want);
        memset(got, '#', sizeof(got));
        char *end = decimal_put(got, v, places);
        assert_true(end <= got + DECIMAL_MAX && got[DECIMAL_MAX] == '#');
        *end = 0;
        assert_string_equal(got, want);
    }
}

static void numbers_are_as_printf_writes_them(void **unused)
{
    uint64_t random = 1;

    (void)unused;
    for (int64_t v = 0; v < 20000; v++)
        check_decimal(v);
    for (size_t i = 0; i < 19; i++)
        for (int64_t near = -2; near <= 2; near++) {
            check_decimal((int64_t)digit_tens[i] + near);
            check_decimal(near - (int64_t)digit_tens[i]);
        }
    for (int i = 0; i < 100000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        check_decimal((int64_t)(random >> (i & 63)));
    }
    check_decimal(INT64_MIN);
    check_decimal(INT64_MAX);
    char text[DIGITS_MAX + 1] = "";
    *digits_put(text, UINT64_MAX) = 0;
    assert_string_equal(text, "18446744073709551615");
    for (uint32_t v = 0; v < 100000000; v += 9973) { /* 10486 and 103 are exact for what they divide */
        snprintf(text, sizeof(text), "%08u", v);
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(digits_of(v) >> 8 * i & 255, text[i] - '0');
    }
}

static void a_text_in_an_array_is_what_escaping_it_gives(void **unused)
{
    static const char odd[] = {'"', '\\', '\n', 0x1f, 0x20, 0x7f, (char)0x80, (char)0xff, 'x'};

    (void)unused;
    for (size_t size = 1; size <= 41; size += size < 20 ? 1 : 7)
        for (size_t len = 0; len < size; len++)
            for (size_t at = 0; at <= len; at++) {
                char array[41], got[TEXT_ROOM(41) + 1];
                AUTO_BUF want = BUF_INIT(1000);
                memset(array, (int)(unsigned char)odd[(at + len) % sizeof(odd)], sizeof(array)); /* behind its end */
                memset(array, 'a', len);
                array[len] = 0;
                if (at < len)
                    array[at] = odd[(size + len) % sizeof(odd)];
                memset(got, '#', sizeof(got));
                json_escape(&want, str_of(array));
                char *end = json_array_at(got, array, size);
                assert_int_equal(got[TEXT_ROOM(size)], '#');
                *end = 0;
                assert_string_equal(got, want.p);
            }
}

static void a_full_buffer_is_one_error_at_the_end(void **unused)
{
    AUTO_BUF b = BUF_INIT(20);
    struct json j = json_on(&b);

    (void)unused;
    json_arr(&j, NULL);
    for (int i = 0; i < 100; i++)
        json_cstr(&j, NULL, "text");
    json_end_arr(&j);
    assert_int_equal(b.err, -EMSGSIZE);
    assert_true(b.len <= 20);
}

static void json_with_gaps_is_filled_in(void **unused)
{
    AUTO_BUF b = BUF_INIT(200);
    AUTO_BUF small = BUF_INIT(10);
    static const char *volatile none;

    (void)unused;
    json_print(&b, "{'a':%s,%s:[%lld,%.*s],'c':%s}", "it's \"1\"\n", "k'", -3ll, 7, "{\"x\":1} and more", none);
    assert_string_equal(b.p, "{\"a\":\"it's \\\"1\\\"\\n\",\"k'\":[-3,{\"x\":1}],\"c\":null}");
    json_print(&small, "{'a':%s}", "longer than there is room");
    assert_int_equal(small.err, -EMSGSIZE);
    buf_reset(&b);
    buf_float(&b, 240, 10);
    buf_addc(&b, ' ');
    buf_float(&b, 245, 10);
    assert_string_equal(b.p, "24.0 24.5");
}

TESTS(cmocka_unit_test(commas_and_nesting_come_out_right), cmocka_unit_test(any_bytes_become_a_valid_string),
      cmocka_unit_test(every_byte_at_every_place_reads_back), cmocka_unit_test(fixed_point_is_an_exact_decimal),
      cmocka_unit_test(numbers_are_as_printf_writes_them),
      cmocka_unit_test(a_text_in_an_array_is_what_escaping_it_gives),
      cmocka_unit_test(a_full_buffer_is_one_error_at_the_end), cmocka_unit_test(json_with_gaps_is_filled_in))
