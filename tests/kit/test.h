/* test.h: cmocka with what its headers forget, and doubles. A test's name is a sentence; cases are rows of a table. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define assert_near(a, b, tol) assert_true(fabs((double)(a) - (double)(b)) <= (tol))

/* Every test file ends with TESTS(cmocka_unit_test(name), ...). */
#define TESTS(...)                                                                                                     \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                                               \
        cmocka_set_test_filter(getenv("MUSTER_TEST_ONLY")); /* a pattern; NULL: all */                                 \
        return cmocka_run_group_tests(tests, NULL, NULL);                                                              \
    }

/*
 * For a file whose tests start somebody's server: the first runs in ./test, all the others in ./test --long, which says
 * so by MUSTER_TEST_MARKED; by hand MUSTER_TEST_ONLY=pattern picks from all of them.
 */
#define RUN_SOME(tests, setup, teardown) run_some((tests), sizeof(tests) / sizeof((tests)[0]), (setup), (teardown))
static inline int run_some(const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup,
                           CMFixtureFunction teardown)
{
    const char *only = getenv("MUSTER_TEST_ONLY"), *marked = getenv("MUSTER_TEST_MARKED");

    cmocka_set_test_filter(only);
    if (marked && strcmp(marked, "long") == 0)
        return _cmocka_run_group_tests("long", tests + 1, n - 1, setup, teardown);
    return _cmocka_run_group_tests("tests", tests, only ? n : 1, setup, teardown);
}

#endif
