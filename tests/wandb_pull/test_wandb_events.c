/* test_wandb_events.c: samples out of an answer as it came, the same as the JSON library would give. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "wandb_pull/events.h"

#include "test.h"

static void gather(void *arg, struct str sample)
{
    struct buf *b = arg;
    if (!sample.p)
        buf_reset(b);
    else
        buf_addf(b, "<%.*s>", STR_ARG(sample));
}

#define RUN(events) "{\"data\":{\"project\":{\"run\":{\"events\":" events "}}}}"

static void an_answer_is_its_samples_or_one_sentence(void **unused)
{
    static const struct {
        const char *body;
        int64_t want;
        const char *samples;
    } cases[] = {
        {RUN("[\"{\\\"a\\\":1}\",\"{}\"]"), 2, "<{\"a\":1}><{}>"},
        {RUN("[]"), 0, ""},
        {RUN("null"), 0, ""},
        {" { \"data\" : { \"x\":[1,{\"y\":\"}\"}], \"project\" : {\"run\" : { \"events\" : [ \"a\" , \"b\" ] , "
         "\"z\":null} } } , \"w\":-1.5e3 } ",
         2, "<a><b>"},
        {RUN("[\"\\u00e9\\u4e2d\\n\\/\\\\\"]"), 1, "<\xc3\xa9\xe4\xb8\xad\n/\\>"},
        {RUN("[\"a\",\"\\ud83d\\ude00\"]"), 2, "<a><\xf0\x9f\x98\x80>"}, /* by the library, from the first on */
        {RUN("[\"a\",1,null,\"b\"]"), 2, "<a><b>"},
        {"{\"data\":{\"project\":{\"run\":{}}}}", 0, ""},
        {"{\"data\":{\"project\":{\"run\":{\"other\":1}}}}", 0, ""},
        {"{\"data\":{\"project\":{\"r\\u0075n\":{\"events\":[\"a\"]}}}}", 1, "<a>"},
        {"{\"data\":{\"project\":{\"run\":null}}}", -ENOENT, ""},
        {"{\"data\":{\"project\":null}}", -ENOENT, ""},
        {"{\"data\":{\"project\":{\"run\":{\"events\":[\"a\"]}}},\"errors\":[{\"message\":\"half\"}]}", -EPROTO, NULL},
        {"{\"errors\":[],\"data\":{\"project\":{\"run\":{\"events\":[\"a\"]}}}}", 1, "<a>"},
        {"{\"errors\":[{\"message\":\"no\"}],\"data\":null}", -EPROTO, NULL},
        {"{\"error\":\"no\"}", -EPROTO, NULL},
        {RUN("[\"a\""), -EBADMSG, NULL},
        {RUN("[\"a\",]"), -EBADMSG, NULL},
        {RUN("[\"a\"]") "x", -EBADMSG, NULL},
        {RUN("{}"), -EBADMSG, NULL},
        {"<html>", -EBADMSG, NULL},
        {"", -EBADMSG, NULL},
        {"{", -EBADMSG, NULL},
        {"{\"data\":{\"project\":{\"run\":{\"events\":[\"a\\", -EBADMSG, NULL},
        {"{\"data\":{\"project\":{\"run\":{\"events\":[\"\\u12", -EBADMSG, NULL},
    };
    AUTO_BUF room = BUF_INIT(1 << 20);
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF got = BUF_INIT(4096);
        struct err err = {0};
        print_message("%s\n", cases[i].body);
        buf_adds(&got, "");
        assert_int_equal(events_read("Ask", str_of(cases[i].body), &room, gather, &got, &err), cases[i].want);
        assert_int_equal(err.msg[0] != 0, cases[i].want < 0);
        if (cases[i].samples)
            assert_string_equal(buf_str(&got).p, cases[i].samples);
    }
}

static void a_byte_of_zero_ends_it(void **unused)
{
    const struct str cases[] = {STR("{\"x\":[\0]}"), STR("{\"x\":\0}"), STR("{\"x\":{\"y\":tr\0ue}}"), STR("\0"),
                                STR("{\"data\":{\"x\":[1,\0")};
    AUTO_BUF room = BUF_INIT(1 << 20);
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF got = BUF_INIT(4096);
        struct err err = {0};
        print_message("%zu\n", i);
        assert_int_equal(events_read("Ask", cases[i], &room, gather, &got, &err), -EBADMSG);
        assert_true(err.msg[0] != 0);
    }
}

TESTS(cmocka_unit_test(an_answer_is_its_samples_or_one_sentence), cmocka_unit_test(a_byte_of_zero_ends_it))
