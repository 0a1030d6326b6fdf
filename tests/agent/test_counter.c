/* Counters of a collector process that is replaced go on, per device. */
#include "agent/counter.h"

#include "base/mem.h"
#include "model/fact.h"
#include "test.h"

static void values_never_fall_across_collectors(void **unused)
{
    static const struct {
        bool restart;
        const char *uuid;
        int64_t v, want;
    } steps[] = {
        {false, "a", 100, 100}, {false, "b", 7, 7},
        {false, "a", 250, 250}, {true, "a", 10, 260},  /* a new one begins at 0 */
        {false, "a", 30, 280},  {true, "a", 500, 780}, /* also when it has counted past the last by now */
        {false, "b", 1, 8},                            /* not seen in between */
        {false, "b", 0, 8},                            /* fell without a restart: begun anew all the same */
        {false, "b", 5, 13},    {true, "c", 3, 3},
    };
    struct counters *c = counters_new();

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (steps[i].restart)
            counters_restart(c);
        print_message("step %zu\n", i);
        assert_int_equal(counters_take(c, steps[i].uuid, steps[i].v), steps[i].want);
    }
    counters_free(c);
}

static void many_devices_take_bounded_memory(void **unused)
{
    struct counters *c = counters_new();
    char uuid[UUID_MAX];

    (void)unused;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 5000; i++) {
            snprintf(uuid, sizeof(uuid), "MIG-%d", i);
            assert_int_equal(counters_take(c, uuid, 5), 5); /* forgotten ones begin anew, and that is all */
        }
    counters_free(c);
}

TESTS(cmocka_unit_test(values_never_fall_across_collectors), cmocka_unit_test(many_devices_take_bounded_memory))
