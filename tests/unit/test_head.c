/* The head of an HTTP request: what is taken, and what could be read in two ways and is not. */
#include "test.h"

#include "base/buf.h"
#include "base/mem.h"
#include "hub/head.h"

#define H11 "Host: h\r\n"

static void a_head_is_taken_or_refused(void **unused)
{
    static const struct {
        const char *bytes;
        int want;
        int64_t length;
    } cases[] = {
        {"GET / HTTP/1.1\r\n" H11 "\r\n", 0, 0},
        {"GET / HTTP/1.0\r\n\r\n", 0, 0},
        {"GET / HTTP/1.1\r\n\r\n", -400, 0},            /* no Host */
        {"GET / HTTP/1.1\r\n" H11 H11 "\r\n", -400, 0}, /* two */
        {"POST / HTTP/1.1\r\n" H11 "Content-Length: 12\r\n\r\n", 0, 12},
        {"POST / HTTP/1.1\r\n" H11 "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", -400, 0}, /* the same, twice */
        {"POST / HTTP/1.1\r\n" H11 "Content-Length: 5\r\ncontent-length: 6\r\n\r\n", -400, 0},
        {"POST / HTTP/1.1\r\n" H11 "Content-Length: 5, 5\r\n\r\n", -400, 0},
        {"POST / HTTP/1.1\r\n" H11 "Content-Length: +5\r\n\r\n", -400, 0},
        {"POST / HTTP/1.1\r\n" H11 "Content-Length: -5\r\n\r\n", -400, 0},
        {"POST / HTTP/1.1\r\n" H11 "Content-Length: 0x5\r\n\r\n", -400, 0},
        {"POST / HTTP/1.1\r\n" H11 "Content-Length:\r\n\r\n", -400, 0},
        {"POST / HTTP/1.1\r\n" H11 "Content-Length: 99999999999999999999\r\n\r\n", -400, 0},
        {"POST / HTTP/1.1\r\n" H11 "Transfer-Encoding: chunked\r\n\r\n", 0, -1},
        {"POST / HTTP/1.1\r\n" H11 "Transfer-Encoding: gzip, chunked\r\n\r\n", -501, 0},
        {"POST / HTTP/1.1\r\n" H11 "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", -400, 0},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", -400, 0},
        {"POST / HTTP/1.1\r\n" H11 "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n", -415, 0},
        {"GET / HTTP/1.1\r\n" H11 "Expect: everything\r\n\r\n", -417, 0},
        {"GET / HTTP/2.0\r\n" H11 "\r\n", -505, 0},
        {"GET / FTP/1.1\r\n" H11 "\r\n", -400, 0},
        {"GET /\r\n" H11 "\r\n", -400, 0},
        {"GET  / HTTP/1.1\r\n" H11 "\r\n", -400, 0},
        {"GET /a b HTTP/1.1\r\n" H11 "\r\n", -400, 0},
        {" GET / HTTP/1.1\r\n" H11 "\r\n", -400, 0},
        {"G\x01T / HTTP/1.1\r\n" H11 "\r\n", -400, 0},
        {"GET / HTTP/1.1\n" H11 "\r\n", -400, 0}, /* bare LF */
        {"GET / HTTP/1.1\r\nHost: h\n\r\n", -400, 0},
        {"GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n", -400, 0}, /* bare CR */
        {"GET / HTTP/1.1\r\nHost : h\r\n\r\n", -400, 0},      /* blank before colon */
        {"GET / HTTP/1.1\r\n" H11 " folded\r\n\r\n", -400, 0},
        {"GET / HTTP/1.1\r\n" H11 ": empty\r\n\r\n", -400, 0},
        {"GET / HTTP/1.1\r\n" H11 "no colon\r\n\r\n", -400, 0},
        {"GET / HTTP/1.1\r\n" H11 "X: a\x01z\r\n\r\n", -400, 0},
        {"GET / HTTP/1.1\r\n" H11 "X: \xc3\xa9\r\n\r\n", 0, 0}, /* UTF-8 is fine */
        {"", -400, 0},
        {"\r\n\r\n", -400, 0},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct head h;
        struct err err = {0};
        print_message("'%s'\n", cases[i].bytes);
        assert_int_equal(head_parse(str_of(cases[i].bytes), &h, &err), cases[i].want);
        if (cases[i].want == 0)
            assert_int_equal(h.length, cases[i].length);
        else
            assert_true(err.msg[0]);
    }
}

static void headers_are_found_whatever_their_case(void **unused)
{
    struct head h;
    (void)unused;
    assert_int_equal(head_parse(STR("PATCH /x?y=z HTTP/1.1\r\nhOsT: a \r\nAccept-Encoding: br;q=1, gzip;q=0.5\r\n"
                                    "Connection: keep-alive, Close\r\nexpect: 100-Continue\r\n\r\n"),
                                &h, NULL),
                     0);
    assert_true(str_eq(h.method, "PATCH") && str_eq(h.target, "/x?y=z"));
    assert_true(str_eq(head_get(&h, "Host"), "a"));
    assert_int_equal(head_get(&h, "X").len, 0);
    assert_true(h.gzip_ok && h.expect_continue);
    assert_false(h.keep_alive);
}

static void gzip_is_used_only_when_it_is_asked_for(void **unused)
{
    static const struct {
        const char *accept;
        bool want;
    } cases[] = {{"gzip", true},         {"GZIP", true}, {"gzip;q=0", false},          {"gzip; q=0.0", false},
                 {"br, deflate", false}, {"*", false},   {"identity, gzip;q=1", true}, {"xgzip", false}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct head h;
        char text[128];
        snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n" H11 "Accept-Encoding: %s\r\n\r\n", cases[i].accept);
        print_message("%s\n", cases[i].accept);
        assert_int_equal(head_parse(str_of(text), &h, NULL), 0);
        assert_int_equal(h.gzip_ok, cases[i].want);
    }
}

static void too_much_head_is_refused(void **unused)
{
    struct head h;
    struct err err = {0};
    AUTO_BUF b = BUF_INIT(1 << 20);
    (void)unused;
    buf_adds(&b, "GET / HTTP/1.1\r\nHost: h\r\n");
    for (int i = 0; i < HEADERS_MAX; i++)
        buf_addf(&b, "X-%d: y\r\n", i);
    buf_adds(&b, "\r\n");
    assert_int_equal(head_parse(buf_str(&b), &h, &err), -431);
    buf_reset(&b);
    buf_adds(&b, "GET /");
    buf_fill(&b, 'a', TARGET_MAX);
    buf_adds(&b, " HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(head_parse(buf_str(&b), &h, &err), -414);
    buf_reset(&b);
    buf_adds(&b, "GET / HTTP/1.1\r\nHost: h\r\nX: ");
    buf_fill(&b, 'a', HEAD_MAX);
    buf_adds(&b, "\r\n\r\n");
    assert_int_equal(head_parse(buf_str(&b), &h, &err), -431);
}

TESTS(cmocka_unit_test(a_head_is_taken_or_refused), cmocka_unit_test(headers_are_found_whatever_their_case),
      cmocka_unit_test(gzip_is_used_only_when_it_is_asked_for), cmocka_unit_test(too_much_head_is_refused))
