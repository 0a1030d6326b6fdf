/*
 * places.h: where a test's store is: a folder of its own, or, when ./test --long runs the file once more, a database of
 * a PostgreSQL server. What a test asks of files it asks in folders only.
 */
#ifndef TESTS_KIT_PLACES_H
#define TESTS_KIT_PLACES_H

#include "pg_server.h"
#include "test.h"

static bool on_server;

static inline char *place_new(void)
{
    return on_server ? pg_base(&server) : dir_new_quick();
}

static inline void place_free(char *place)
{
    if (on_server)
        free(place);
    else
        dir_free(place);
}

static inline int place_setup(void **unused)
{
    return on_server ? start_server(unused) : 0;
}

static inline int place_teardown(void **unused)
{
    return on_server ? end_server(unused) : 0;
}

/* Of these tests the first `both` can be on a server. By hand: MUSTER_TEST_MARKED=long. */
#define RUN_ON_BOTH(tests, both) run_on_both((tests), sizeof(tests) / sizeof((tests)[0]), (both))
static inline int run_on_both(const struct CMUnitTest *tests, size_t n, size_t both)
{
    const char *marked = getenv("MUSTER_TEST_MARKED");

    on_server = marked && strcmp(marked, "long") == 0;
    cmocka_set_test_filter(getenv("MUSTER_TEST_ONLY"));
    return _cmocka_run_group_tests("tests", tests, on_server ? both : n, place_setup, place_teardown);
}

#endif
