/* test.h: cmocka with what its headers forget, and doubles. A test's name is a sentence; cases are rows of a table. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

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

#endif
