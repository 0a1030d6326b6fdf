/* test_mime.c: messages as mails (draw/mime.h). What a mail program makes of them: tests/notify/test_mail.py. */
#include "base/buf.h"
#include "base/mem.h"
#include "draw/mime.h"
#include "model/alert.h"
#include "test.h"

static const char *const ops[] = {"ops@example.org", NULL};

static void mail_of(struct buf *out, const struct message *m)
{
    AUTO_FREE struct message *whole = message_copy(m);

    assert_int_equal(mime_mail(out, &(struct mime_params){.m = whole,
                                                          .from = "muster@example.org",
                                                          .to = ops,
                                                          .hub = "hub1"}),
                     0);
}

/* I2, of any mail. */
static void check_lines(struct str s)
{
    size_t from = 0;

    for (size_t i = 0; i < s.len; i++) {
        assert_true((unsigned char)s.p[i] < 127);
        if (s.p[i] == '\r')
            assert_true(i + 1 < s.len && s.p[i + 1] == '\n');
        if (s.p[i] == '\n') {
            assert_true(i > 0 && s.p[i - 1] == '\r');
            assert_true(i - 1 - from <= 78);
            from = i + 1;
        }
    }
    assert_int_equal(from, s.len);
}

static size_t count(struct str s, const char *what)
{
    size_t n = 0;
    int at;

    while ((at = str_find(s, what)) >= 0) {
        n++;
        s = str_n(s.p + at + 1, s.len - (size_t)at - 1);
    }
    return n;
}

static void headers_are_folded_and_encoded(void **unused)
{
    static const struct {
        const char *value, *want;
    } cases[] = {
        {"plain words", "S: plain words\r\n"},
        {"", "S: \r\n"},
        {"  two   blanks\tand\na line ", "S: two blanks and a line\r\n"},
        {"k\xc3\xa4m", "S: =?utf-8?Q?k=C3=A4m?=\r\n"},
        {"=?utf-8?Q?x?=", "S: =?utf-8?Q?=3D=3Futf-8=3FQ=3Fx=3F=3D?=\r\n"},
        {"bad \xff byte", "S: =?utf-8?Q?bad_=EF=BF=BD_byte?=\r\n"},
        {"one two three four five six seven eight nine ten eleven twelve thirteen fourteen",
         "S: one two three four five six seven eight nine ten eleven twelve thirteen\r\n fourteen\r\n"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(4096);
        mime_header(&b, "S", str_of(cases[i].value));
        assert_string_equal(b.p, cases[i].want);
    }
    AUTO_BUF umlauts = BUF_INIT(4096), out = BUF_INIT(8192);
    for (int i = 0; i < 100; i++)
        buf_adds(&umlauts, "\xc3\xa4");
    mime_header(&out, "Subject", buf_str(&umlauts));
    check_lines(buf_str(&out));
    assert_int_equal(count(buf_str(&out), "=C3=A4"), 100); /* no character is cut in two */
}

static void i1_no_header_can_be_added(void **unused)
{
    static const char *const evil[] = {"x\r\nBcc: all@example.org",
                                       "x\nBcc: all@example.org",
                                       "x\r\n\r\nBcc: body",
                                       "x\rBcc: y",
                                       "x\342\200\250Bcc: y",
                                       "\r\nBcc: y",
                                       "x\001Bcc: y",
                                       "x\x7f\r\n Bcc: y"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(evil); i++) {
        AUTO_BUF b = BUF_INIT(MIME_MAX);
        struct message_file f = {.name = evil[i], .type = evil[i], .bytes = STR("x")};
        mail_of(&b, &(struct message){.id = 7,
                                      .channel = evil[i],
                                      .rule = evil[i],
                                      .title = evil[i],
                                      .n_files = 1,
                                      .files = &f});
        check_lines(buf_str(&b));
        int end = str_find(buf_str(&b), "\r\n\r\n");
        assert_int_equal(str_find(str_n(b.p, (size_t)end), "\r\nBcc"), -1);
        assert_int_equal(count(str_n(b.p, (size_t)end), "\r\nSubject:"), 1);
    }
}

static void i3_a_second_copy_is_the_same(void **unused)
{
    struct message m = {.id = 7, .created_ms = 1794757793753, .channel = "a", .title = "x", .alerts = "3,2"};
    AUTO_BUF a = BUF_INIT(MIME_MAX), b = BUF_INIT(MIME_MAX);

    (void)unused;
    mail_of(&a, &m);
    mail_of(&b, &m);
    assert_string_equal(a.p, b.p);
    assert_true(str_starts(buf_str(&a), "Date: Sun, 15 Nov 2026 15:49:53 +0000\r\n"));
    buf_reset(&b);
    m.channel = "b";
    mail_of(&b, &m);
    assert_string_not_equal(a.p, b.p);
}

static struct str header(const struct buf *b, const char *name)
{
    AUTO_FREE char *start = mem_fmt("\r\n%s: ", name);
    int at = str_find(buf_str(b), start);

    assert_true(at >= 0);
    struct str rest = str_n(b->p + at + strlen(start), b->len - (size_t)at - strlen(start)), line;
    assert_true(str_line(&rest, &line));
    return line;
}

static void i4_what_is_over_refers_to_what_was_told(void **unused)
{
    AUTO_BUF fired = BUF_INIT(MIME_MAX), over = BUF_INIT(MIME_MAX), part = BUF_INIT(MIME_MAX);

    (void)unused;
    mail_of(&fired, &(struct message){.id = 7, .channel = "a", .title = "x", .alerts = "12,11,13"});
    mail_of(&over,
            &(struct message){.id = 8, .kind = MESSAGE_RESOLVED, .channel = "a", .title = "x", .alerts = "13,11"});
    mail_of(&part, &(struct message){.id = 9, .kind = MESSAGE_RESOLVED, .channel = "a", .title = "x", .alerts = "12"});
    assert_true(str_eq_str(header(&fired, "Message-ID"), header(&over, "In-Reply-To")));
    assert_true(str_starts(header(&over, "Message-ID"), "<message-8."));
    /* of one of the group alone: a name both mails refer to */
    assert_true(str_eq_str(header(&part, "In-Reply-To"), header(&fired, "References")));
}

static void parts_are_where_programs_look_for_them(void **unused)
{
    struct message_file files[] = {{.name = "chart.png", .type = "image/png", .bytes = STR("\x89PNG\r\n.\n")},
                                   {.name = "a b.csv", .type = "text/csv", .bytes = STR("x,y\n")}};
    struct message m =
        {.id = 7,
         .channel = "a",
         .title = "report",
         .text = "long lines = are \xc3\xa4 cut and blanks at the end \nof them are kept, which is what the encoding "
                 "is for, as everybody knows",
         .html = "<p><img src=\"cid:chart.png\"></p>",
         .n_files = 2,
         .files = files};
    AUTO_BUF b = BUF_INIT(MIME_MAX);
    int at = 0;

    (void)unused;
    mail_of(&b, &m);
    check_lines(buf_str(&b));
    static const char *const order[] = {"multipart/mixed",
                                        "multipart/alternative",
                                        "text/plain",
                                        "lines =3D are =C3=A4 cut and blanks at the end=20\r\n",
                                        "multipart/related",
                                        "text/html",
                                        "cid:chart.png@muster",
                                        "image/png",
                                        "inline",
                                        "Content-ID: <chart.png@muster>",
                                        "text/csv",
                                        "attachment",
                                        "filename=\"a-b.csv\""};
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        int next = str_find(str_n(b.p + at, b.len - (size_t)at), order[i]);
        print_message("%s\n", order[i]);
        assert_true(next >= 0);
        at += next;
    }
}

static void an_alert_has_html_of_its_own(void **unused)
{
    AUTO_FREE struct message *m = message_copy(&(struct message){.id = 7,
                                                                 .severity = SEV_CRITICAL,
                                                                 .channel = "a",
                                                                 .rule = "r&s",
                                                                 .title = "<b>",
                                                                 .text = "x\n<script>"});
    AUTO_BUF b = BUF_INIT(65536);

    (void)unused;
    mime_html(&b, m, "hub<1>");
    assert_true(str_find(buf_str(&b), "&lt;b&gt;") > 0 && str_find(buf_str(&b), "&lt;script&gt;") > 0);
    assert_true(str_find(buf_str(&b), "r&amp;s") > 0 && str_find(buf_str(&b), "hub&lt;1&gt;") > 0);
    assert_int_equal(str_find(buf_str(&b), "<script"), -1);
    assert_int_equal(str_find(buf_str(&b), "http"), -1);
}

TESTS(cmocka_unit_test(headers_are_folded_and_encoded), cmocka_unit_test(i1_no_header_can_be_added),
      cmocka_unit_test(i3_a_second_copy_is_the_same), cmocka_unit_test(i4_what_is_over_refers_to_what_was_told),
      cmocka_unit_test(parts_are_where_programs_look_for_them), cmocka_unit_test(an_alert_has_html_of_its_own))
