/* test_trusted_clock.c: which time old data goes by when the clock jumps. */
#include "test.h"

#include "base/mem.h"
#include "hub/trusted_clock.h"

#define T0    1700000000000ll
#define HOUR  3600000ll
#define YEAR  (365 * 24 * HOUR)
#define NEVER (-1)

static void what_is_believed(void **unused)
{
    static const struct {
        const char *say;
        int64_t newest; /* before the start; NEVER: a new hub */
        struct {
            int64_t mono, off, want; /* minutes since start, jump of the clock in ms, what is believed less T0 */
        } v[6];
    } cases[] = {
        {"a clock that goes right", NEVER, {{0, 0, 0}, {60, 0, HOUR}, {6000, 0, 100 * HOUR}}},
        {"pulled right in small steps", NEVER, {{1, 200000, 260000}, {2, 400000, 520000}, {3, 100000, 280000}}},
        {"an hour ahead for a moment", NEVER, {{10, 0, 600000}, {11, HOUR, 660000}, {12, 0, 720000}}},
        {"a year ahead for ten minutes",
         NEVER,
         {{10, 0, 600000}, {11, YEAR, 660000}, {20, YEAR, 1200000}, {21, 0, 1260000}}},
        {"an hour ahead for good: believed after an hour",
         NEVER,
         {{10, 0, 600000}, {11, HOUR, 660000}, {70, HOUR, 4200000}, {71, HOUR, 71 * 60000 + HOUR}}},
        {"an hour back: not known", NEVER, {{10, -HOUR, -T0}, {69, -HOUR, -T0}, {70, -HOUR, 10 * 60000}}},
        {"in 1970 and back", NEVER, {{1, -T0, -T0}, {2, 0, 120000}}},
        {"jumping about: never believed",
         NEVER,
         {{1, HOUR, 60000}, {40, 2 * HOUR, 40 * 60000}, {80, 3 * HOUR, 80 * 60000}, {120, 2 * HOUR, 120 * 60000}}},
        {"started after a weekend: an hour later",
         T0 - 60 * HOUR,
         {{1, 0, 60000 - 60 * HOUR}, {59, 0, 59 * 60000 - 60 * HOUR}, {61, 0, 61 * 60000}}},
        {"started a year ahead, set right after a minute", T0 - HOUR, {{0, YEAR, -HOUR}, {1, 0, 60000 - HOUR}}},
        {"started with a clock behind what was seen",
         T0 + 9 * HOUR,
         {{1, 0, -T0}, {2, 10 * HOUR, 120000 + 9 * HOUR}, {3, 9 * HOUR, 180000 + 9 * HOUR}}},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct trusted_clock s = {0};
        print_message("%s\n", cases[i].say);
        assert_int_equal(trusted_clock_at(&s, T0, 0), 0); /* not begun: nothing goes by age */
        trusted_clock_begin(&s, cases[i].newest == NEVER ? 0 : cases[i].newest,
                            T0 + (cases[i].v[0].mono ? 0 : cases[i].v[0].off), 5000);
        for (size_t k = 0; k < ARRAY_LEN(cases[i].v) && (!k || cases[i].v[k].mono); k++) {
            int64_t up = cases[i].v[k].mono * 60000;
            assert_int_equal(trusted_clock_at(&s, T0 + up + cases[i].v[k].off, 5000 + up) - T0, cases[i].v[k].want);
        }
    }
}

static void a_doubt_says_how_much(void **unused)
{
    struct trusted_clock s = {0};

    (void)unused;
    trusted_clock_begin(&s, 0, T0, 0);
    assert_int_equal(trusted_clock_doubt(&s), 0);
    trusted_clock_at(&s, T0 + YEAR, 0);
    assert_int_equal(trusted_clock_doubt(&s), YEAR);
    trusted_clock_at(&s, T0 - HOUR, 0);
    assert_int_equal(trusted_clock_doubt(&s), -HOUR);
    trusted_clock_at(&s, T0, 0);
    assert_int_equal(trusted_clock_doubt(&s), 0);
}

TESTS(cmocka_unit_test(what_is_believed), cmocka_unit_test(a_doubt_says_how_much))
