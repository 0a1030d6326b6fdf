/* Who to ask for a GPU, and what one costs. */
#include "test.h"

#include <errno.h>

#include "usage/tariff.h"
#include "usage/trend.h"

static void an_average_goes_towards_what_is_used(void **unused)
{
    struct trend t = {0};

    (void)unused;
    trend_use(&t, "kim", 0.75);
    trend_use(&t, "kim", 1.25);
    trend_use(&t, "lee", 1);
    assert_true(trend_step(&t, 1000000, 60000));
    const struct trend_person *kim = trend_find(&t, "kim");
    assert_near(kim->used, 2, 1e-9);
    assert_near(kim->ema[0], 2 * (1 - exp(-60.0 / 7200)), 1e-9);
    assert_near(kim->ema[2], 2 * (1 - exp(-60.0 / 604800)), 1e-9);
    assert_false(trend_step(&t, 1000000 + 29999, 0)); /* too soon */
    double before = kim->ema[1];
    assert_true(trend_step(&t, 1000000 + 7200000, 0));
    kim = trend_find(&t, "kim");
    assert_near(kim->ema[1], before + (1 - exp(-7200.0 / 86400)) * (2 - before), 1e-9);
    assert_null(trend_find(&t, "ana"));
    trend_fini(&t);
}

static void two_short_steps_are_one_long_one(void **unused)
{
    struct trend a = {0}, b = {0};

    (void)unused;
    trend_use(&a, "kim", 3);
    trend_use(&b, "kim", 3);
    trend_step(&a, 1000, 0);
    trend_step(&b, 1000, 0);
    for (int i = 1; i <= 10; i++)
        trend_step(&a, 1000 + i * 60000, 0);
    trend_step(&b, 1000 + 600000, 0);
    for (int k = 0; k < TRENDS; k++)
        assert_near(trend_find(&a, "kim")->ema[k], trend_find(&b, "kim")->ema[k], 1e-9);
    trend_fini(&a);
    trend_fini(&b);
}

static void who_stops_is_forgotten_in_time(void **unused)
{
    struct trend t = {0};
    int64_t now_ms = 1000;

    (void)unused;
    trend_use(&t, "kim", 4);
    trend_step(&t, now_ms, 7 * 86400000ll);
    trend_reset(&t);
    trend_step(&t, now_ms += 86400000, 0);
    assert_true(trend_find(&t, "kim")->ema[0] < 0.001);
    assert_true(trend_find(&t, "kim")->ema[2] > 1);
    trend_step(&t, now_ms += 60 * 86400000ll, 0);
    assert_null(trend_find(&t, "kim"));
    trend_use(&t, "lee", 1);
    trend_step(&t, now_ms - 86400000, 0); /* the clock was set back: nothing moves, and it goes on from there */
    assert_near(trend_find(&t, "lee")->ema[0], 0, 1e-9);
    trend_fini(&t);
}

static void a_price_is_that_of_the_first_model_that_fits(void **unused)
{
    char *list[] = {(char *)"h200=2.50", (char *)"*A100*80GB*=1.8", (char *)" A100 = 1 "};
    struct tariff t, copy;
    struct err err = {0};

    (void)unused;
    assert_int_equal(tariff_parse(list, 3, "EUR", "380.5", &t, &err), 0);
    tariff_copy(&copy, &t);
    tariff_fini(&t);
    assert_int_equal(tariff_price(&copy, "NVIDIA H200"), 2500000);
    assert_int_equal(tariff_price(&copy, "NVIDIA A100-SXM4-80GB"), 1800000);
    assert_int_equal(tariff_price(&copy, "NVIDIA A100-PCIE-40GB"), 1000000);
    assert_int_equal(tariff_price(&copy, "RTX 4090"), -1);
    assert_int_equal(copy.co2_mg, 380500);
    assert_string_equal(copy.currency, "EUR");
    tariff_fini(&copy);
}

static void what_is_no_price_is_refused(void **unused)
{
    static const char *const bad[] = {"H200", "=3", "H200=", "H200=x", "H200=-1", "H200=1e30", ""};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char *one[] = {(char *)bad[i]};
        struct tariff t;
        struct err err = {0};
        print_message("'%s'\n", bad[i]);
        assert_int_equal(tariff_parse(one, 1, NULL, NULL, &t, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "usage.price"));
        tariff_fini(&t);
    }
    struct tariff t;
    struct err err = {0};
    assert_int_equal(tariff_parse(NULL, 0, NULL, "much", &t, &err), -EINVAL);
    tariff_fini(&t);
}

TESTS(cmocka_unit_test(an_average_goes_towards_what_is_used), cmocka_unit_test(two_short_steps_are_one_long_one),
      cmocka_unit_test(who_stops_is_forgotten_in_time), cmocka_unit_test(a_price_is_that_of_the_first_model_that_fits),
      cmocka_unit_test(what_is_no_price_is_refused))
