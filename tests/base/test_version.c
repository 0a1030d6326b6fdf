/* test_version.c: texts of builds, and which of them differ. */
#include "base/mem.h"
#include "base/version.h"

#include "test.h"

static void a_text_names_version_commit_and_format(void **unused)
{
    static const struct {
        const char *text, *version, *commit;
        int format;
    } table[] = {
        {"0.1.0+13362185 format 9", "0.1.0", "13362185", 9},
        {"0.1.0+13362185-dirty wire 1", "0.1.0", "13362185-dirty", 1},
        {"0.1.0 format 9", "0.1.0", "", 9},
        {"0.1.0", "0.1.0", "", 0},
        {"0.1.0+13362185", "0.1.0", "13362185", 0},
        {"0.1.0+", "0.1.0", "", 0},
        {"vesta", NULL, "", 0},
        {"", NULL, "", 0},
        {"0.1.0.0.0.0.0.0.0.0", NULL, "", 0},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct build b = {0};
        print_message("'%s'\n", table[i].text);
        assert_int_equal(build_parse(table[i].text, &b), table[i].version != NULL);
        if (!table[i].version)
            continue;
        assert_string_equal(b.version, table[i].version);
        assert_string_equal(b.commit, table[i].commit);
        assert_int_equal(b.format, table[i].format);
    }
}

static void builds_differ_in_what_both_know(void **unused)
{
    static const struct {
        const char *a, *b;
        bool differ;
    } table[] = {
        {"0.1.0+13362185 wire 1", "0.1.0+13362185 wire 1", false},
        {"0.1.0+13362185 wire 1", "0.1.0+2602feff wire 1", true},
        {"0.1.0+13362185 wire 1", "0.2.0+13362185 wire 1", true},
        {"0.1.0+13362185 wire 1", "0.1.0+13362185 wire 2", true},
        {"0.1.0+13362185 wire 1", "0.1.0 wire 1", false}, /* built without git */
        {"0.1.0+13362185 wire 1", "0.1.0", true},         /* built before commits were sent */
        {"0.1.0+13362185 wire 1", "0.1.0+13362185-dirty wire 1", true},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct build a, b;
        print_message("'%s' '%s'\n", table[i].a, table[i].b);
        assert_true(build_parse(table[i].a, &a) && build_parse(table[i].b, &b));
        assert_int_equal(build_differs(&a, &b), table[i].differ);
        assert_int_equal(build_differs(&b, &a), table[i].differ);
    }
}

static void ours_are_such_texts(void **unused)
{
    struct build hub, agent;

    (void)unused;
    assert_true(build_parse(muster_hub_build, &hub) && build_parse(muster_agent_build, &agent));
    assert_string_equal(hub.version, MUSTER_VERSION);
    assert_string_equal(hub.commit, muster_commit);
    assert_int_equal(hub.format, MUSTER_FORMAT);
    assert_string_equal(agent.commit, muster_commit);
    assert_int_equal(agent.format, MUSTER_WIRE);
}

TESTS(cmocka_unit_test(a_text_names_version_commit_and_format), cmocka_unit_test(builds_differ_in_what_both_know),
      cmocka_unit_test(ours_are_such_texts))
