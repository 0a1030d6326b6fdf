/* The head of an HTTP request: what is taken, and what could be read in two ways and is not. */
#include "test.h"

#include "base/buf.h"
#include "base/mem.h"
#include "http/chunks.h"
#include "http/head.h"

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

/* ---- chunked bodies ---- */

#define CHUNKS(text)                                                                                                   \
    {                                                                                                                  \
        text, sizeof(text) - 1                                                                                         \
    }

static int take_chunks(struct str in, size_t step, struct chunks *c, size_t *used)
{
    int r = 0;
    *used = 0;
    for (size_t have = MIN(step, in.len); r == 0; have = MIN(have + step, in.len)) {
        size_t n;
        r = chunks_take(c, str_n(in.p + *used, have - *used), &n);
        *used += n;
        if (have == in.len)
            break;
    }
    return r;
}

static void chunks_are_taken_strictly_however_they_are_cut(void **unused)
{
    static const struct {
        struct str in;
        int want;
        const char *body;
        size_t rest; /* bytes behind it, which are the next request's */
    } cases[] = {
        {CHUNKS("0\r\n\r\n"), 1, "", 0},
        {CHUNKS("5\r\nhello\r\n0\r\n\r\nGET /"), 1, "hello", 5},
        {CHUNKS("5;a=b\r\nhello\r\nA;\"x y\"\r\n0123456789\r\n000\r\n\r\n"), 1, "hello0123456789", 0},
        {CHUNKS("1\r\n\n\r\n1\r\n\0\r\n0\r\nTrailer: x\r\nother:\r\n\r\n"), 1, NULL, 0},
        {CHUNKS(""), 0, NULL, 0},
        {CHUNKS("5"), 0, NULL, 0},
        {CHUNKS("5\r\nhel"), 0, NULL, 0},
        {CHUNKS("0\r\n\r"), 0, NULL, 0},
        {CHUNKS("5\nhello\r\n0\r\n\r\n"), -400, NULL, 0},        /* a bare LF */
        {CHUNKS("5\rhello\r\n0\r\n\r\n"), -400, NULL, 0},        /* a bare CR */
        {CHUNKS("5;a\nb\r\nhello\r\n0\r\n\r\n"), -400, NULL, 0}, /* the same in an extension */
        {CHUNKS("5;a\rb\r\nhello\r\n0\r\n\r\n"), -400, NULL, 0},
        {CHUNKS("5;a\0b\r\nhello\r\n0\r\n\r\n"), -400, NULL, 0},
        {CHUNKS("5\0\r\nhello\r\n0\r\n\r\n"), -400, NULL, 0},
        {CHUNKS("\r\n"), -400, NULL, 0},
        {CHUNKS(";a\r\n"), -400, NULL, 0},
        {CHUNKS("0x5\r\nhello\r\n"), -400, NULL, 0},
        {CHUNKS("0X5\r\nhello\r\n"), -400, NULL, 0},
        {CHUNKS("+5\r\nhello\r\n"), -400, NULL, 0},
        {CHUNKS("-1\r\n"), -400, NULL, 0},
        {CHUNKS(" 5\r\nhello\r\n"), -400, NULL, 0},
        {CHUNKS("5 \r\nhello\r\n"), -400, NULL, 0},
        {CHUNKS("5\t;a\r\nhello\r\n"), -400, NULL, 0},
        {CHUNKS("5_\r\nhello\r\n"), -400, NULL, 0},
        {CHUNKS("g\r\n"), -400, NULL, 0},
        {CHUNKS("123456789\r\n"), -400, NULL, 0},
        {CHUNKS("ffffffff\r\n"), -413, NULL, 0},
        {CHUNKS("5\r\nhelloX"), -400, NULL, 0},
        {CHUNKS("5\r\nhello\n0\r\n\r\n"), -400, NULL, 0},
        {CHUNKS("5\r\nhello\rX"), -400, NULL, 0},
        {CHUNKS("0\r\nno colon\r\n\r\n"), -400, NULL, 0},
        {CHUNKS("0\r\nName : x\r\n\r\n"), -400, NULL, 0},
        {CHUNKS("0\r\n folded\r\n\r\n"), -400, NULL, 0},
        {CHUNKS("0\r\nA: b\nC: d\r\n\r\n"), -400, NULL, 0},
        {CHUNKS("0\r\nA: b\0\r\n\r\n"), -400, NULL, 0},
        {CHUNKS("0\r\nContent-Length: 5\r\n\r\n"), -400, NULL, 0},
        {CHUNKS("0\r\ntransfer-encoding: chunked\r\n\r\n"), -400, NULL, 0},
        {CHUNKS("0\r\nHost: x\r\n\r\n"), -400, NULL, 0},
        {CHUNKS("0\r\n\n"), -400, NULL, 0},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t step = 1; step < 8; step++) {
            struct chunks c;
            size_t used;
            print_message("case %zu, %zu bytes at a time\n", i, step);
            chunks_init(&c, 100);
            assert_int_equal(take_chunks(cases[i].in, step, &c, &used), cases[i].want);
            if (cases[i].body)
                assert_true(str_eq(buf_str(&c.body), cases[i].body));
            if (cases[i].want == 1)
                assert_int_equal(cases[i].in.len - used, cases[i].rest);
            chunks_fini(&c);
        }
}

static void too_many_chunks_or_trailers_are_refused(void **unused)
{
    AUTO_BUF b = BUF_INIT(1 << 20);
    struct chunks c;
    size_t used;
    (void)unused;
    chunks_init(&c, 10);
    assert_int_equal(chunks_take(&c, STR("a\r\n0123456789\r\n1\r\n"), &used), -413);
    chunks_fini(&c);
    chunks_init(&c, 10);
    buf_adds(&b, "1;");
    buf_fill(&b, 'a', 1100);
    assert_int_equal(chunks_take(&c, buf_str(&b), &used), -400);
    chunks_fini(&c);
    chunks_init(&c, 10);
    buf_reset(&b);
    buf_adds(&b, "0\r\n");
    for (int i = 0; i <= HEADERS_MAX; i++)
        buf_adds(&b, "A: b\r\n");
    assert_int_equal(chunks_take(&c, buf_str(&b), &used), -431);
    chunks_fini(&c);
}

TESTS(cmocka_unit_test(chunks_are_taken_strictly_however_they_are_cut),
      cmocka_unit_test(too_many_chunks_or_trailers_are_refused), cmocka_unit_test(a_head_is_taken_or_refused),
      cmocka_unit_test(headers_are_found_whatever_their_case), cmocka_unit_test(gzip_is_used_only_when_it_is_asked_for),
      cmocka_unit_test(too_much_head_is_refused))
