/* test_smtp.c: what the hub and its sender of mails say to each other (net/smtp.h). The sending itself, against a
 * server: tests/notify/test_mail.py. */
#include "net/smtp.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "test.h"

static void a_question_comes_back_as_it_was(void **unused)
{
    static const char *const to[] = {"a@x", "b@x", NULL};
    struct smtp_request k = {.url = "smtps://h:465",
                             .user = "u v",
                             .password = "p w ",
                             .from = "m@x",
                             .to = to,
                             .mail = STR("Subject: x\r\n\r\nmail\nto you\n"),
                             .timeout_ms = 5000};
    struct smtp_request_text t = {0};
    AUTO_BUF b = BUF_INIT(SMTP_ASK_MAX);

    (void)unused;
    assert_int_equal(smtp_request_write(&b, &k), 0);
    assert_int_equal(smtp_request_read(b.p, b.len, &t), 0);
    assert_string_equal(t.k.url, "smtps://h:465");
    assert_string_equal(t.k.user, "u v");
    assert_string_equal(t.k.password, "p w ");
    assert_string_equal(t.k.to[1], "b@x");
    assert_null(t.k.to[2]);
    assert_null(t.k.ca_file);
    assert_false(t.k.plain);
    assert_true(str_eq_str(t.k.mail, k.mail));
    assert_int_equal(t.k.timeout_ms, 5000);
}

static void what_is_no_question_is_refused(void **unused)
{
    static const char *const cases[] = {"",
                                        "mail\n",
                                        "url x\nfrom a\nto b\ntimeout 1\n",
                                        "url x\nfrom a\ntimeout 1\nmail\n",
                                        "url x\nfrom a\nto b\ntimeout 0\nmail\n",
                                        "url x\nfrom a\nto b\ntimeout 1\nwhat is\nmail\n",
                                        "url\nfrom a\nto b\ntimeout 1\nmail\n"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *copy = mem_str(cases[i]);
        struct smtp_request_text t;
        assert_int_equal(smtp_request_read(copy, strlen(copy), &t), -EBADMSG);
    }
    AUTO_BUF many = BUF_INIT(65536);
    struct smtp_request_text t;
    buf_adds(&many, "url x\nfrom a\ntimeout 1\n");
    for (int i = 0; i <= SMTP_TO_MAX; i++)
        buf_adds(&many, "to b\n");
    buf_adds(&many, "mail\n");
    assert_int_equal(smtp_request_read(many.p, many.len, &t), -EBADMSG);
}

static void m3_each_receiver_is_accounted_for(void **unused)
{
    struct smtp_result r = {.to = {SMTP_TAKEN, SMTP_NEVER, SMTP_LATER}, .error = "b@x: 550 no"}, back = {0};
    AUTO_BUF b = BUF_INIT(65536);

    (void)unused;
    smtp_result_write(&b, &r, 3);
    assert_int_equal(smtp_result_read(buf_str(&b), 3, &back), 0);
    assert_int_equal(back.n_taken + 10 * back.n_never + 100 * back.n_later, 111);
    assert_int_equal(back.to[1], SMTP_NEVER);
    assert_string_equal(back.error, "b@x: 550 no");
    assert_int_equal(smtp_result_read(buf_str(&b), 2, &back), -EBADMSG);
    assert_int_equal(smtp_result_read(STR("to gone\n"), 1, &back), -EBADMSG);
    assert_int_equal(smtp_result_read(STR(""), 1, &back), -EBADMSG);
}

TESTS(cmocka_unit_test(a_question_comes_back_as_it_was), cmocka_unit_test(what_is_no_question_is_refused),
      cmocka_unit_test(m3_each_receiver_is_accounted_for))
