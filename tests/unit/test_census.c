/* test_census.c: who is who (src/people). */
#include "test.h"

#include "people/census.h"

#include <string.h>

static void an_empty_census_leaves_every_login_as_it_is(void **unused)
{
    struct census *c = census_empty();
    const struct census *both[] = {c, NULL};
    const char *names[4];
    size_t n;
    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(census_person(both[i], "dgx1", "kim", 1004), "kim");
        assert_string_equal(census_person(both[i], NULL, "", -1), "");
        assert_false(census_ignored(both[i], NULL, "root", 0));
        assert_int_equal(census_groups(both[i], GROUP_TEAM, "kim", 0, names, 4), 0);
        assert_false(census_in(both[i], GROUP_TEAM, "vision", "kim", 0));
        assert_null(census_find(both[i], "kim"));
        census_persons(both[i], &n);
        assert_int_equal(n, 0);
        census_companies(both[i], &n);
        assert_int_equal(n, 0);
        census_group_names(both[i], GROUP_PROJECT, &n);
        assert_int_equal(n, 0);
        assert_null(census_company(both[i], "acme"));
        assert_null(census_company_of_node(both[i], "dgx1", 0));
        assert_true(census_next_change(both[i], 0) == INT64_MAX);
    }
    struct census *again = census_ref(c);
    census_unref(c);
    assert_string_equal(census_person(again, NULL, "lee", -1), "lee"); /* still there: one owner is left */
    census_unref(again);
    census_unref(NULL);
}

static void an_assignment_is_a_step_function_of_days(void **unused)
{
    static const struct company_step steps[] = {{100, 2}, {110, 4}, {120, 0}};
    struct company co = {.name = "acme", .n_steps = 3, .steps = steps};
    static const struct {
        int32_t day, nodes;
    } cases[] = {{99, 0}, {100, 2}, {109, 2}, {110, 4}, {119, 4}, {120, 0}, {5000, 0}};
    int32_t first, end;
    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(company_nodes_on(&co, cases[i].day), cases[i].nodes);
    assert_true(company_period(&co, &first, &end));
    assert_int_equal(first, 100);
    assert_int_equal(end, 120);
    co.n_steps = 2;
    assert_true(company_period(&co, &first, &end));
    assert_int_equal(end, INT32_MAX);
    co.n_steps = 0;
    assert_false(company_period(&co, &first, &end));
    assert_int_equal(company_nodes_on(&co, 100), 0);
}

TESTS(cmocka_unit_test(an_empty_census_leaves_every_login_as_it_is),
      cmocka_unit_test(an_assignment_is_a_step_function_of_days))
