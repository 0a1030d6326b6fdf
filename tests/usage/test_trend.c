/* Who to ask for a GPU, and what one costs. */
#include "test.h"

#include <errno.h>

#include "usage/tariff.h"
#include "usage/trend.h"

#define H 3600000ll

static double mean(const struct trend *t, const char *name, size_t which)
{
    const struct trend_person *p = trend_find(t, name);
    return p ? trend_mean(t, p, which) : 0;
}

static void a_mean_is_of_the_time_with_records(void **unused)
{
    struct trend t = {0};
    int64_t at_ms = 1000 * H;

    (void)unused;
    trend_use(&t, "kim", 0.75);
    trend_use(&t, "kim", 1.25);
    trend_step(&t, at_ms - 60000, at_ms);
    for (size_t k = 0; k < TRENDS; k++)
        assert_near(mean(&t, "kim", k), 2, 1e-5); /* of a minute: there are no records of more */
    trend_step(&t, at_ms, at_ms + H);
    trend_reset(&t);
    trend_step(&t, at_ms + H, at_ms + 2 * H);
    assert_near(mean(&t, "kim", 0), 1, 0.01);
    assert_near(mean(&t, "kim", 2), 2 * (H + 60000.0) / (2 * H + 60000.0), 1e-4);
    trend_use(&t, "kim", 4); /* unknown for ten hours, then for one */
    trend_step(&t, at_ms + 12 * H, at_ms + 13 * H);
    assert_near(mean(&t, "kim", 0), 4, 1e-4);
    assert_near(mean(&t, "kim", 1), (2 * (H + 60000.0) + 4 * H) / (3 * H + 60000.0), 1e-4);
    assert_null(trend_find(&t, "ana"));
    assert_int_equal(t.from_ms, at_ms - 60000);
    trend_fini(&t);
}

static void a_week_is_a_plain_mean_of_its_hours(void **unused)
{
    struct trend t = {0};
    double sum = 0;

    (void)unused;
    for (int h = 0; h < 400; h++) { /* the last 168 count */
        trend_reset(&t);
        trend_use(&t, "kim", h % 7);
        trend_step(&t, (5000 + h) * H, (5001 + h) * H);
        sum += h >= 400 - 168 ? h % 7 : 0;
    }
    assert_near(mean(&t, "kim", 2), sum / 168, 1e-4);
    trend_fini(&t);
}

static void many_short_steps_are_one_long_one(void **unused)
{
    struct trend a = {0}, b = {0};
    int64_t at_ms = 700 * H + 1234567;

    (void)unused;
    trend_use(&a, "kim", 3);
    trend_use(&b, "kim", 3);
    for (int i = 0; i < 200; i++)
        trend_step(&a, at_ms + i * 60000, at_ms + (i + 1) * 60000);
    trend_step(&b, at_ms, at_ms + 200 * 60000);
    for (size_t k = 0; k < TRENDS; k++)
        assert_near(mean(&a, "kim", k), mean(&b, "kim", k), 1e-4);
    trend_fini(&a);
    trend_fini(&b);
}

static void who_stops_is_forgotten_in_time(void **unused)
{
    struct trend t = {0};
    int64_t now_ms = 2000 * H;

    (void)unused;
    trend_use(&t, "kim", 4);
    trend_step(&t, now_ms - 7 * 24 * H, now_ms);
    trend_reset(&t);
    trend_step(&t, now_ms, now_ms + 24 * H);
    now_ms += 24 * H;
    assert_near(mean(&t, "kim", 1), 0, 1e-4);
    assert_near(mean(&t, "kim", 2), 4 * 6.0 / 7, 1e-3);
    trend_step(&t, now_ms, now_ms + 10 * 24 * H);
    assert_null(trend_find(&t, "kim"));
    trend_use(&t, "lee", 1);
    trend_step(&t, now_ms - H, now_ms); /* the clock was set back */
    assert_near(mean(&t, "lee", 0), 0.5, 0.51);
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

TESTS(cmocka_unit_test(a_mean_is_of_the_time_with_records), cmocka_unit_test(a_week_is_a_plain_mean_of_its_hours),
      cmocka_unit_test(many_short_steps_are_one_long_one), cmocka_unit_test(who_stops_is_forgotten_in_time),
      cmocka_unit_test(a_price_is_that_of_the_first_model_that_fits), cmocka_unit_test(what_is_no_price_is_refused))
