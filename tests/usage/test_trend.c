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

static void a_mean_is_of_the_hours_with_records(void **unused)
{
    struct trend t = {.to_ms = 1000 * H};

    (void)unused;
    trend_hour(&t, 980 * H); /* no records of the hours between */
    trend_use(&t, "kim", 2);
    trend_use(&t, "kim", 1);
    trend_hour(&t, 980 * H); /* another node */
    trend_use(&t, "kim", 1);
    trend_hour(&t, 999 * H);
    trend_use(&t, "lee", 0.5);
    assert_near(mean(&t, "kim", 0), 0, 1e-9);
    assert_near(mean(&t, "lee", 0), 0.5, 1e-9);
    assert_near(mean(&t, "kim", 1), 2, 1e-9);
    assert_near(mean(&t, "lee", 2), 0.25, 1e-9);
    assert_null(trend_find(&t, "ana"));
    assert_int_equal(t.from_ms, 980 * H);
    trend_fini(&t);
}

static void a_week_is_a_plain_mean_of_its_hours(void **unused)
{
    struct trend t = {.to_ms = 5400 * H};
    double sum = 0;

    (void)unused;
    for (int h = 0; h < 400; h++) { /* the last 168 count */
        trend_hour(&t, (5000 + h) * H);
        trend_use(&t, "kim", h % 7);
        sum += h >= 400 - TREND_HOURS ? h % 7 : 0;
    }
    assert_near(mean(&t, "kim", 0), (398 % 7 + 399 % 7) / 2.0, 1e-9);
    assert_near(mean(&t, "kim", 2), sum / TREND_HOURS, 1e-9);
    trend_fini(&t);
}

static void too_many_people_are_left_out(void **unused)
{
    struct trend t = {.to_ms = 2000 * H};
    char name[16];

    (void)unused;
    trend_hour(&t, 1999 * H);
    for (int i = 0; i <= TREND_PEOPLE; i++) {
        snprintf(name, sizeof(name), "p%05d", i);
        trend_use(&t, name, 1);
    }
    assert_int_equal(t.n, TREND_PEOPLE);
    assert_near(mean(&t, "p00000", 0), 1, 1e-9);
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

TESTS(cmocka_unit_test(a_mean_is_of_the_hours_with_records), cmocka_unit_test(a_week_is_a_plain_mean_of_its_hours),
      cmocka_unit_test(too_many_people_are_left_out), cmocka_unit_test(a_price_is_that_of_the_first_model_that_fits),
      cmocka_unit_test(what_is_no_price_is_refused))
