/* test_labels.c: labels as text: added, joined, bounded, written as JSON. */
#include "test.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/labels.h"

static void labels_are_sorted_and_each_is_there_once(void **unused)
{
    AUTO_FREE char *labels = NULL;

    (void)unused;
    labels_add(&labels, STR("team"), STR("vision"));
    labels_add(&labels, STR("rack"), STR("a=1"));
    labels_add(&labels, STR("rack"), STR("b2"));
    labels_add(&labels, STR("racks"), STR("<img onerror=\"x\">"));
    assert_string_equal(labels, "rack=a=1\nracks=<img onerror=\"x\">\nteam=vision\n");
    AUTO_FREE char *all = labels_join("a=1\nteam=sound\n", labels), *none = labels_join(NULL, "");
    assert_string_equal(all, "a=1\nrack=a=1\nracks=<img onerror=\"x\">\nteam=sound\n");
    assert_null(none);
    AUTO_BUF out = BUF_INIT(4096);
    struct json j = json_on(&out);
    labels_json(&j, NULL, labels);
    assert_string_equal(out.p, "{\"rack\":\"a=1\",\"racks\":\"<img onerror=\\\"x\\\">\",\"team\":\"vision\"}");
}

static void what_cannot_be_a_label_is_left_out(void **unused)
{
    AUTO_FREE char *labels = NULL;
    char text[LABEL_VALUE_MAX + 1];

    (void)unused;
    memset(text, 'x', sizeof(text));
    labels_add(&labels, STR(""), STR("x"));
    labels_add(&labels, STR("-a"), STR("x"));
    labels_add(&labels, STR("a b"), STR("x"));
    labels_add(&labels, STR("a\"b"), STR("x"));
    labels_add(&labels, STR("a=b"), STR("x"));
    labels_add(&labels, str_n(text, LABEL_NAME_MAX + 1), STR("x"));
    labels_add(&labels, STR("a"), STR(""));
    labels_add(&labels, STR("a"), STR("x\ny=z"));
    labels_add(&labels, STR("a"), STR("x\ty"));
    labels_add(&labels, STR("a"), STR("x\xff"));
    labels_add(&labels, STR("a"), STR("x\u202ey"));
    labels_add(&labels, STR("a"), str_n(text, sizeof(text)));
    assert_null(labels);
    labels_add(&labels, str_n(text, LABEL_NAME_MAX), str_n(text, LABEL_VALUE_MAX));
    assert_int_equal(strlen(labels), LABEL_NAME_MAX + LABEL_VALUE_MAX + 2);
}

static void there_are_never_more_than_fit(void **unused)
{
    AUTO_FREE char *labels = NULL;
    char name[LABEL_NAME_MAX + 1], value[LABEL_VALUE_MAX];
    struct str rest, one, is;
    size_t n = 0;

    (void)unused;
    memset(value, 'v', sizeof(value));
    for (int i = 0; i < 2 * LABELS_MAX; i++) {
        snprintf(name, sizeof(name), "%064d", 99 - i);
        labels_add(&labels, str_of(name), str_n(value, sizeof(value)));
    }
    rest = str_of(labels);
    while (labels_next(&rest, &one, &is)) {
        assert_int_equal(one.len, LABEL_NAME_MAX);
        assert_int_equal(is.len, LABEL_VALUE_MAX);
        n++;
    }
    assert_int_equal(n, LABELS_MAX);
    assert_true(str_starts(str_of(labels + LABEL_NAME_MAX - 2), "76=")); /* the first that came stay */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_sorted_and_each_is_there_once),
        cmocka_unit_test(what_cannot_be_a_label_is_left_out),
        cmocka_unit_test(there_are_never_more_than_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
