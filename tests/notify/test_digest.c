/* test_digest.c: several messages as one (notify/digest.h). */
#include "base/mem.h"
#include "model/alert.h"
#include "notify/digest.h"
#include "test.h"

#define TODAY_MS 1794700800000 /* 2026-11-15 00:00 */

static void messages(struct message **v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char title[40], alerts[40];
        snprintf(title, sizeof(title), "[info] rule: n%zu", i);
        snprintf(alerts, sizeof(alerts), "%zu", 100 + i);
        v[i] = message_copy(&(struct message){.id = 7 + (int64_t)i,
                                              .created_ms = TODAY_MS + (int64_t)i * 60000,
                                              .severity = i == 1 ? SEV_CRITICAL : SEV_INFO,
                                              .channel = "a",
                                              .to = "kim@x",
                                              .rule = "rule",
                                              .title = title,
                                              .text = i == 0 ? "one\ntwo" : "",
                                              .html = "<b>",
                                              .blocks = "[]",
                                              .alerts = alerts});
    }
}

static void all_are_in_it_in_their_order(void **unused)
{
    struct message *v[4];
    struct zone *utc = zone_utc();
    size_t taken = 0;

    (void)unused;
    messages(v, 4);
    AUTO_FREE struct message *three = digest_of((const struct message *const *)v, 3, 60000, utc, &taken);
    assert_int_equal(taken, 3);
    assert_string_equal(three->title, "[critical] 3 messages since 2026-11-15 00:00 UTC");
    assert_string_equal(three->text,
                        "00:00 [info] rule: n0\n  one\n  two\n00:01 [info] rule: n1\n00:02 [info] rule: n2");
    assert_string_equal(three->alerts, "100,101,102");
    assert_string_equal(three->to, "kim@x");
    assert_string_equal(three->html, "");
    assert_int_equal(three->id, 7);
    assert_int_equal(three->kind, MESSAGE_NOTICE);
    assert_true(digest_accepts(three));

    /* one of a digest and another: four, not two */
    const struct message *more[] = {three, v[3]};
    AUTO_FREE struct message *four = digest_of(more, 2, 60000, utc, &taken);
    assert_int_equal(taken, 2);
    assert_string_equal(four->title, "[critical] 4 messages since 2026-11-15 00:00 UTC");
    assert_non_null(strstr(four->text, "\n00:03 [info] rule: n3"));
    for (size_t i = 0; i < 4; i++)
        free(v[i]);
    zone_free(utc);
}

static void what_does_not_fit_stays(void **unused)
{
    struct message *v[4];
    struct zone *utc = zone_utc();
    size_t taken = 0;

    (void)unused;
    messages(v, 4);
    AUTO_FREE struct message *two = digest_of((const struct message *const *)v, 4, 60, utc, &taken);
    assert_int_equal(taken, 2);
    assert_true(strlen(two->text) <= 60);
    AUTO_FREE struct message *one = digest_of((const struct message *const *)v, 4, 5, utc, &taken);
    assert_int_equal(taken, 1);
    assert_string_equal(one->title, v[0]->title);
    assert_string_equal(one->html, "<b>");
    for (size_t i = 0; i < 4; i++)
        free(v[i]);
    zone_free(utc);
}

static void answers_and_reports_stand_for_themselves(void **unused)
{
    static const struct message_file file = {.name = "a", .type = "b"};
    static const struct {
        struct message m;
        bool takes;
    } cases[] = {{{.kind = MESSAGE_FIRED, .thread = ""}, true},
                 {{.kind = MESSAGE_RESOLVED, .thread = ""}, true},
                 {{.kind = MESSAGE_REMINDER, .thread = ""}, true},
                 {{.kind = MESSAGE_NOTICE, .thread = ""}, true},
                 {{.kind = MESSAGE_REPORT, .thread = ""}, false},
                 {{.kind = MESSAGE_ANSWER, .thread = ""}, false},
                 {{.kind = MESSAGE_FIRED, .thread = "1.2"}, false},
                 {{.kind = MESSAGE_FIRED, .thread = "", .n_files = 1, .files = &file}, false}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(digest_accepts(&cases[i].m), cases[i].takes);
}

TESTS(cmocka_unit_test(all_are_in_it_in_their_order), cmocka_unit_test(what_does_not_fit_stays),
      cmocka_unit_test(answers_and_reports_stand_for_themselves))
