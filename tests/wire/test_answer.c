/* test_answer: the hub's answer, written and read back. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "test.h"
#include "wire/wire.h"

static void an_answer_comes_back(void **unused)
{
    AUTO_BUF out = BUF_INIT(1 << 20);
    static struct answer a, got;
    struct err err = {0};
    (void)unused;

    a = (struct answer){.n_stored = ANSWER_KEYS,
                        .n_need = 64,
                        .time_ms = 1794700803555,
                        .interval_ms = 5000,
                        .phase_ms = 0,
                        .retry_ms = 1,
                        .token = "mst_0123456789"};
    for (size_t i = 0; i < a.n_stored; i++) {
        a.stored[i].run = 0x0123456789abcdefull * (i + 1);
        a.stored[i].number = i ? i : UINT64_MAX;
    }
    for (size_t i = 0; i < a.n_need; i++)
        a.need[i] = i + 1;
    assert_int_equal(answer_write(&out, &a), 0);
    assert_int_equal(answer_parse(buf_str(&out), &got, &err), 0);
    assert_memory_equal(&a, &got, sizeof(a));
}

static void what_is_not_said_stays_unsaid(void **unused)
{
    AUTO_BUF out = BUF_INIT(1 << 20);
    static struct answer a, got;
    struct err err = {0};
    (void)unused;

    a = (struct answer){.phase_ms = -1};
    assert_int_equal(answer_write(&out, &a), 0);
    assert_int_equal(out.len, 0);
    assert_int_equal(answer_parse(STR(""), &got, &err), 0);
    assert_memory_equal(&a, &got, sizeof(a));
}

static void lines_are_read_or_refused(void **unused)
{
    static const struct {
        const char *text;
        int want;
        size_t stored;
        int64_t interval;
    } cases[] = {
        {"stored 00000000000000ff 7\n", 0, 1, 0},
        {"stored 00000000000000ff 7\r\nstored 00000000000000fe 8", 0, 2, 0},
        {"color blue\n\n  \ninterval 1000\n", 0, 0, 1000},
        {"interval 1000\ninterval 5000\n", 0, 0, 5000},
        {"stored ff 7\n", -EBADMSG, 0, 0},
        {"stored 0x000000000000ff 7\n", -EBADMSG, 0, 0},
        {"stored 00000000000000ff\n", -EBADMSG, 0, 0},
        {"stored 00000000000000ff -1\n", -EBADMSG, 0, 0},
        {"stored 00000000000000ff 7 8\n", -EBADMSG, 0, 0},
        {"need 1\n", -EBADMSG, 0, 0},
        {"interval soon\n", -EBADMSG, 0, 0},
        {"interval -5\n", -EBADMSG, 0, 0},
        {"interval 99999999999\n", -EBADMSG, 0, 0},
        {"time 99999999999999999\n", -EBADMSG, 0, 0},
        {"retry\n", -EBADMSG, 0, 0},
        {"token \x01\x02\n", -EBADMSG, 0, 0},
        {"token two words\n", -EBADMSG, 0, 0},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        static struct answer got;
        struct err err = {0};
        print_message("%s\n", cases[i].text);
        got = (struct answer){0};
        assert_int_equal(answer_parse(str_of(cases[i].text), &got, &err), cases[i].want);
        assert_int_equal(got.n_stored, cases[i].stored);
        assert_int_equal(got.interval_ms, cases[i].interval);
    }
}

static void a_token_that_does_not_fit_is_refused(void **unused)
{
    AUTO_BUF text = BUF_INIT(1024);
    static struct answer got;
    struct err err = {0};
    (void)unused;

    buf_adds(&text, "token ");
    buf_fill(&text, 'x', sizeof(got.token) - 1);
    assert_int_equal(answer_parse(buf_str(&text), &got, &err), 0);
    buf_addc(&text, 'x');
    assert_int_equal(answer_parse(buf_str(&text), &got, &err), -EBADMSG);
}

static void more_keys_than_fit_are_left_for_the_next_time(void **unused)
{
    AUTO_BUF text = BUF_INIT(1 << 20);
    static struct answer got;
    struct err err = {0};
    (void)unused;

    for (int i = 0; i < ANSWER_KEYS + 5; i++)
        buf_addf(&text, "stored 0000000000000001 %d\nneed 0000000000000002\n", i);
    assert_int_equal(answer_parse(buf_str(&text), &got, &err), 0);
    assert_int_equal(got.n_stored, ANSWER_KEYS);
    assert_int_equal(got.n_need, 64);
}

static void a_refusal_is_the_sentence_of_its_problem(void **unused)
{
    static const struct {
        const char *body, *want;
    } cases[] = {
        {"{\"type\":\"about:blank\",\"status\":401,\"detail\":\"this \\\"token\\\" is\\nnot known\"}\n",
         "this \"token\" is not known"},
        {"{\"detail\":\"a \\u00e9 b\",\"status\":401}", "a ? b"},
        {"{\"detail\":\"cut", "cut"},
        {"{\"detail\":\"cut\\", "cut\\"},
        {"{\"detail\":\"cut\\u00", "cut?"},
        {"{\"status\":401}", "{\"status\":401}"},
        {"<html>login</html>", "<html>login</html>"},
        {"", ""},
    };
    (void)unused;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = BUF_INIT(1024);
        print_message("%s\n", cases[i].body);
        answer_refusal(str_of(cases[i].body), &out);
        assert_string_equal(buf_str(&out).p, cases[i].want);
    }
}

TESTS(cmocka_unit_test(a_refusal_is_the_sentence_of_its_problem), cmocka_unit_test(an_answer_comes_back),
      cmocka_unit_test(what_is_not_said_stays_unsaid), cmocka_unit_test(lines_are_read_or_refused),
      cmocka_unit_test(a_token_that_does_not_fit_is_refused),
      cmocka_unit_test(more_keys_than_fit_are_left_for_the_next_time))
