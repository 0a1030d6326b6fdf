/* test_view.c: a request's selection out of live state. */
#include "test.h"

#include <errno.h>

#include "base/mem.h"
#include "query/view.h"

#define NOW 1700000000000ll

static void a_view_has_what_was_asked_for(void **unused)
{
    static const struct {
        const char *node;
        bool all;
        int want;
        size_t n;
        const char *first;
    } cases[] = {{NULL, false, 0, 2, "dgx1"},     {NULL, true, 0, 3, "attic"},     {"dgx2", false, 0, 1, "dgx2"},
                 {"k1", false, 0, 1, "dgx1"},     {"attic", false, 0, 1, "attic"}, /* by name, though retired */
                 {"dgx3", false, -ENOENT, 77, ""}};
    struct live *l = live_new(NULL, NULL, NULL);

    (void)unused;
    live_node(l, "k1", "dgx1", NOW);
    live_node(l, "k2", "dgx2", NOW);
    live_admin(l, live_node(l, "k3", "attic", NOW), NULL, true, false);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct view_ask ask = {.node = cases[i].node, .all = cases[i].all, .demo = true, .reader = "kim"};
        const struct node_now *scratch;
        struct view v = {.n = 77};

        assert_int_equal(view_of(l, &ask, NOW, &scratch, &v), cases[i].want);
        assert_int_equal(v.n, cases[i].n);
        if (cases[i].want < 0)
            continue;
        assert_string_equal(v.nodes[0]->name, cases[i].first);
        assert_int_equal(v.at_ms, NOW);
        assert_int_equal(v.version, live_version(l));
        assert_true(v.demo);
        assert_false(v.show_cmd);
        assert_string_equal(v.reader, "kim");
    }
    live_free(l);
}

TESTS(cmocka_unit_test(a_view_has_what_was_asked_for))
