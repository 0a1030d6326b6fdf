/* What machines and models are called on screens. */
#include "test.h"

#include <errno.h>

#include "base/mem.h"
#include "model/fact.h"
#include "model/names.h"

static void the_first_that_fits_counts(void **unused)
{
    char *texts[] = {"gpu01 = Vision 1", "Tesla V100* = V100 = V1", "gpu0? = some"};
    static const struct {
        const char *real, *display, *brief;
    } cases[] = {{"gpu01", "Vision 1", NULL},
                 {"gpu02", "some", NULL},
                 {"Tesla V100-PCIE-16GB", "V100", "V1"},
                 {"Tesla P100", NULL, NULL}};
    struct names *all = NULL;
    const char *display, *brief;
    struct err err = {0};
    (void)unused;
    assert_int_equal(names_parse(texts, ARRAY_LEN(texts), &all, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].real);
        assert_int_equal(names_find(all, cases[i].real, &display, &brief), cases[i].display != NULL);
        assert_int_equal(display != NULL, cases[i].display != NULL);
        if (display)
            assert_string_equal(display, cases[i].display);
        assert_int_equal(brief != NULL, cases[i].brief != NULL);
        if (brief)
            assert_string_equal(brief, cases[i].brief);
    }
    names_free(all);
    assert_false(names_find(NULL, "gpu01", &display, &brief));
    assert_ptr_equal(names_keep(STR("V100")), names_keep(STR("V100")));
}

static void what_is_no_pair_is_refused(void **unused)
{
    static char *const cases[] = {"", "x", "x=", "=y", "x=\x01"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct names *all = NULL;
        struct err err = {0};
        print_message("'%s'\n", cases[i]);
        assert_int_equal(names_parse(&cases[i], 1, &all, &err), -EINVAL);
        assert_null(all);
    }
}

static void the_nth_of_a_name_is_known_as_that(void **unused)
{
    static const struct {
        const char *base, *name;
        bool is;
    } cases[] = {{"dgx1", "dgx1~2", true},   {"dgx1", "dgx1~12", true},  {"dgx1", "dgx1", false},
                 {"dgx1", "dgx2~2", false},  {"dgx1", "dgx1~", false},   {"dgx1", "dgx1~x", false},
                 {"dgx1", "dgx1~02", false}, {"dgx1", "dgx~2", false},   {"dgx1~2", "dgx1~2~2", true},
                 {"", "~2", false},          {"dgx1~2", "dgx1~2", false}};
    char big[NAME_MAX_LEN], out[NAME_MAX_LEN];

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s %s\n", cases[i].base, cases[i].name);
        assert_int_equal(name_is_nth(cases[i].base, cases[i].name), cases[i].is);
    }
    name_nth("dgx1", 2, out, sizeof(out));
    assert_string_equal(out, "dgx1~2");
    for (size_t i = 0; i + 2 < sizeof(big); i += 2)
        memcpy(big + i, "\xc3\xa9", 2);
    big[(sizeof(big) - 1) / 2 * 2] = 0;
    name_nth(big, 19000, out, sizeof(out)); /* no room: cut, but not within a letter */
    assert_true(strlen(out) < sizeof(out));
    assert_true(str_utf8_ok(str_of(out)));
    assert_true(name_is_nth(big, out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_fits_counts),
        cmocka_unit_test(what_is_no_pair_is_refused),
        cmocka_unit_test(the_nth_of_a_name_is_known_as_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
