/* test_run.c: what the GPUs of a run did, over recorded jobs: means, peaks, energy, the rules of all, the sentence. */
#include "base/order.h"
#include "truework.h"
#include "verdict/run.h"
#include "verdict/straggling.h"

#define T0 1794768949000

static struct run_gpu *replay(const char *job, size_t seconds)
{
    struct run_gpu *g = run_gpu_new(T0, T0 + (int64_t)seconds * 1000, 1000);
    for (size_t t = 0; t < seconds; t++) {
        struct sample s = *truework_at(job, t);
        s.at_ms = T0 + (int64_t)(t + 1) * 1000;
        run_gpu_add(g, &s, &s);
    }
    return g;
}

static void a_gpu_is_summed_as_a_second_way_sums_it(void **unused)
{
    static const char *const jobs[] = {"gpt", "gpt-fp32", "idle"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        struct run_gpu *g = replay(jobs[i], 200);
        struct run_means m;
        double active = 0, peak = 0, joules = 0;
        print_message("%s\n", jobs[i]);
        run_gpu_means(g, &m);
        for (size_t t = 0; t < 200; t++) {
            const struct sample *s = truework_at(jobs[i], t);
            active += (double)s->v[M_active] / 1e4 / 200;
            peak += (double)s->v[M_tensor_active] / 1e4 * (double)s->v[M_clock_sm] / 1980e6 / 200;
            joules += (double)s->v[M_power] / 1000;
        }
        assert_near(m.mean[RUN_ACTIVE], active, 1e-9);
        assert_near(m.mean[RUN_TENSOR_PEAK], peak, 1e-9);
        assert_near(m.joules, joules, 1e-6);
        assert_near(m.mem_peak, 100.0 * (1 << 30), 1);
        assert_int_equal(m.held_ms, 200000);
        assert_int_equal(m.measured_ms, 200000);
        assert_true(isnan(m.mean[RUN_CPU])); /* was not recorded */
        run_gpu_free(g);
    }
}

/* An hour at 500 W in bins of 5 s, of which some have a counter: what is told of it, in kWh. */
static double an_hour(bool (*counter_at)(size_t bin, double joules, double *ret), bool power)
{
    struct run_gpu *g = run_gpu_new(T0, T0 + 3600000, 5000);
    struct run_means m;
    for (size_t i = 0; i < 720; i++) {
        struct sample s = {.at_ms = T0 + 5000 * (int64_t)(i + 1)};
        double joules = 7e6 + 2500 * (double)(i + 1);
        sample_set(&s, M_temp, 50000);
        if (power)
            sample_set(&s, M_power, 500000);
        if (counter_at(i, joules, &joules))
            sample_set(&s, M_energy, (int64_t)(joules * 1000));
        run_gpu_add(g, &s, &s);
    }
    run_gpu_means(g, &m);
    run_gpu_free(g);
    return m.joules / 3.6e6;
}

static bool never(size_t bin, double joules, double *ret)
{
    (void)bin;
    *ret = joules;
    return false;
}
static bool always(size_t bin, double joules, double *ret)
{
    return !never(bin, joules, ret);
}
static bool each_minute(size_t bin, double joules, double *ret) /* as the agent reads it */
{
    return !never(bin, joules, ret) && bin % 12 == 7;
}
static bool for_ten_minutes(size_t bin, double joules, double *ret) /* then it is gone */
{
    return each_minute(bin, joules, ret) && bin < 120;
}
static bool anew(size_t bin, double joules, double *ret) /* the driver is loaded again after half an hour */
{
    bool has = each_minute(bin, joules, ret);
    *ret -= bin >= 360 ? 7e6 + 2500 * 360.0 : 0;
    return has;
}

static void energy_is_counted_once_however_seldom_the_counter_is_read(void **unused)
{
    bool (*const cases[])(size_t, double, double *) = {never, always, each_minute, for_ten_minutes, anew};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("case %zu\n", i);
        assert_near(an_hour(cases[i], true), 0.5, 1e-9);
    }
    assert_near(an_hour(each_minute, false), 0.5 * 59 / 60, 1e-9); /* without power: from first to last */
    assert_true(isnan(an_hour(never, false)));
}

static void a_bin_that_begins_before_the_run_counts_in_part(void **unused)
{
    struct run_gpu *g = run_gpu_new(T0 + 45000, T0 + 90000, 60000);
    struct run_means m;
    (void)unused;
    for (int i = 1; i <= 2; i++) {
        struct sample s = {.at_ms = T0 + 60000 * i};
        sample_set(&s, M_power, 100000);
        run_gpu_add(g, &s, &s);
    }
    run_gpu_means(g, &m);
    assert_near(m.joules, 4500, 1e-9);
    assert_true(isnan(m.mean[RUN_ACTIVE]));
    run_gpu_free(g);
}

static void without_its_clock_nothing_is_said_of_the_tensor_peak(void **unused)
{
    struct run_gpu *g = run_gpu_new(T0, T0 + 1000, 1000);
    struct sample s = {.at_ms = T0 + 1000};
    struct run_means m;
    (void)unused;
    sample_set(&s, M_tensor_active, 5500);
    run_gpu_add(g, &s, &s);
    run_gpu_means(g, &m);
    assert_near(m.mean[RUN_TENSOR], 0.55, 1e-9);
    assert_true(isnan(m.mean[RUN_TENSOR_PEAK]));
    run_gpu_free(g);
}

static void the_rules_speak_once_for_all_gpus(void **unused)
{
    struct run_gpu *g[3] = {replay("gpt-fp32", 200), replay("gpt", 200), replay("gpt-fp32", 200)};
    struct run_advice v[ADVICE_COUNT];
    (void)unused;
    size_t n = run_advise(g, 3, NULL, v);
    assert_int_equal(n, 1);
    assert_int_equal(v[0].a.rule, ADVICE_fp32);
    assert_int_equal(v[0].n_gpus, 2);
    assert_int_equal(v[0].gpus[0] + 2 * v[0].gpus[1] + 4 * v[0].gpus[2], 5);
    run_advice_fini(v, n);
    for (size_t i = 0; i < 3; i++)
        run_gpu_free(g[i]);
}

/* Five hours of eight GPUs that train, read two hours at a time; one is slower in some minutes, from
 * the first to the second and from the third to the fourth. */
static size_t five_hours(int slow, const size_t minutes[4], int64_t step_ms, struct run_advice v[ADVICE_COUNT])
{
    enum { GPUS = 8, MINUTES = 300, SLICE = 120 };
    struct run_gpu *g[GPUS];
    struct straggling apart = {0};
    int64_t begin = T0 / 60000 * 60000;
    for (size_t i = 0; i < GPUS; i++)
        g[i] = run_gpu_new(begin, begin + MINUTES * 60000, step_ms);
    for (size_t slice = 0; slice < MINUTES; slice += SLICE) {
        int64_t end_ms = begin + (int64_t)MIN(slice + SLICE, (size_t)MINUTES) * 60000;
        for (size_t i = 0; i < GPUS; i++)
            for (int64_t at = begin + (int64_t)slice * 60000; at < end_ms; at += step_ms) {
                size_t second = (size_t)(at - begin) / 1000;
                struct sample s = *truework_at("gpt", second / 5 + 7 * i);
                s.at_ms = at + step_ms;
                size_t at_minute = second / 60;
                if ((int)i == slow && ((at_minute >= minutes[0] && at_minute < minutes[1]) ||
                                       (at_minute >= minutes[2] && at_minute < minutes[3])))
                    s.v[M_power] = s.v[M_power] * 7 / 10;
                run_gpu_add(g[i], &s, &s);
            }
        run_follow(g, GPUS, end_ms, &apart);
    }
    size_t n = run_advise(g, GPUS, &apart, v);
    for (size_t i = 0; i < GPUS; i++)
        run_gpu_free(g[i]);
    straggling_fini(&apart);
    return n;
}

static void a_straggler_is_told_for_as_long_as_it_was_one(void **unused)
{
    static const struct {
        const char *what;
        size_t slow[4];
        double minutes; /* 0: it is not told */
        bool now;
    } cases[] = {{"all of the time but its first minutes", {20, 300}, 280, true},
                 {"it recovers before the end", {15, 295}, 280, false},
                 {"for a while", {100, 160}, 60, false},
                 {"over the end of what is read at once", {110, 130}, 20, false},
                 {"a minute", {100, 101}, 0, false},
                 {"the last minutes", {296, 300}, 4, true},
                 {"again after a break", {50, 80, 200, 300}, 130, true},
                 {"again for a while", {50, 80, 200, 220}, 50, false},
                 {"never", {0}, 0, false}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int64_t step_ms = 5000; step_ms <= 60000; step_ms += 55000) {
            struct run_advice v[ADVICE_COUNT];
            size_t n = five_hours(5, cases[i].slow, step_ms, v);
            print_message("%s, every %d s: %s\n", cases[i].what, (int)(step_ms / 1000), n ? v[0].a.evidence : "-");
            assert_int_equal(n, cases[i].minutes > 0);
            if (n) {
                assert_int_equal(v[0].a.rule, ADVICE_straggler);
                assert_int_equal(v[0].n_gpus, 1);
                assert_int_equal(v[0].gpus[5], 1);
                assert_near((double)v[0].a.ms / 60000, cases[i].minutes, 4);
                assert_near(v[0].a.lost, 0.3,
                            cases[i].minutes > 10 ? 0.05 : 0.15); /* three minutes are asked together */
                assert_int_equal(v[0].a.now, cases[i].now);
                size_t end = MAX(cases[i].slow[1], cases[i].slow[3]);
                assert_near((double)(v[0].a.to_ms - T0 / 60000 * 60000) / 60000, end, cases[i].now ? 0 : 3);
            }
            run_advice_fini(v, n);
        }
}

static void all_is_the_mean_over_time_and_the_highest_peak(void **unused)
{
    struct run_means v[2] = {{.mem_peak = 1, .mem_total = 8, .power_peak = NAN, .joules = 10, .held_ms = 1000},
                             {.mem_peak = 3, .mem_total = 8, .power_peak = NAN, .joules = NAN, .held_ms = 3000}},
                     all;
    (void)unused;
    for (size_t k = 0; k < RUN_VALUES; k++)
        v[0].mean[k] = v[1].mean[k] = NAN;
    v[0].mean[RUN_ACTIVE] = 0.2;
    v[1].mean[RUN_ACTIVE] = 0.6;
    v[1].mean[RUN_WORK] = 0.5;
    run_means_all(v, 2, &all);
    assert_near(all.mean[RUN_ACTIVE], 0.5, 1e-12);
    assert_near(all.mean[RUN_WORK], 0.5, 1e-12);
    assert_true(isnan(all.mean[RUN_FLOPS]));
    assert_true(isnan(all.power_peak));
    assert_near(all.mem_peak, 3, 0);
    assert_near(all.joules, 10, 0);
    run_means_all(NULL, 0, &all);
    assert_true(isnan(all.mean[RUN_ACTIVE]));
    assert_true(isnan(all.joules));
}

static int64_t known_of(const int64_t (*v)[2], size_t n)
{
    struct known_span k = {0, 3600000, KNOWN_GAP_MS, 0, 0};
    for (size_t i = 0; i < n; i++)
        known_span_add(&k, v[i][0] * 1000, v[i][1] * 1000);
    return known_span_ms(&k) / 1000;
}

/* Of an hour: in seconds. */
static void time_without_data_is_not_known(void **unused)
{
    (void)unused;
    assert_int_equal(known_of(NULL, 0), 0);
    assert_int_equal(known_of((const int64_t[][2]){{0, 3600}}, 1), 3600);
    assert_int_equal(known_of((const int64_t[][2]){{60, 120}, {240, 3500}}, 2), 3600);   /* short gaps count */
    assert_int_equal(known_of((const int64_t[][2]){{0, 600}}, 1), 600);                  /* it hangs since */
    assert_int_equal(known_of((const int64_t[][2]){{-60, 600}, {1800, 3600}}, 2), 2400); /* it came back */
    assert_int_equal(known_of((const int64_t[][2]){{1800, 1860}, {1830, 1890}, {1890, 4000}}, 3), 1800);
}

static void a_gap_is_neither_held_nor_active(void **unused)
{
    struct run_gpu *g = run_gpu_new(T0, T0 + 3600000, 5000);
    struct run_means m;
    (void)unused;
    for (int64_t i = 0; i < 720; i++) {
        struct sample s = {.at_ms = T0 + (i + 1) * 5000};
        sample_set(&s, M_active, 5000);
        if (i < 120 || i >= 600) /* 10 minutes at both ends */
            run_gpu_add(g, &s, &s);
    }
    run_gpu_means(g, &m);
    assert_int_equal(m.held_ms, 20 * 60000);
    assert_int_equal(m.measured_ms, 20 * 60000);
    assert_int_equal(m.data_to_ms, T0 + 3600000);
    run_gpu_free(g);
}

static void a_run_in_one_sentence(void **unused)
{
    struct run_means m = {.joules = 9.8 * 3.6e6};
    AUTO_BUF b = BUF_INIT(1000);
    (void)unused;
    for (size_t k = 0; k < RUN_VALUES; k++)
        m.mean[k] = NAN;
    m.mean[RUN_ACTIVE] = 0.71;
    m.mean[RUN_TENSOR_PEAK] = 0.38;
    struct run_sentence t = {.what = "4 x H200",
                             .ms = 312 * 60000,
                             .m = &m,
                             .money = &(struct run_money){true, 12.4, "EUR"}};
    run_sentence(&b, &t);
    assert_string_equal(b.p,
                        "4 x H200 for 5 h 12 m: active 71 %, waited 29 %, 38 % of the tensor peak; 9.8 kWh, 12.40 EUR");
    buf_reset(&b);
    t.unknown_ms = 600000;
    run_sentence(&b, &t);
    assert_string_equal(b.p, "4 x H200 for 5 h 12 m, and 10 m without data: active 71 %, waited 29 %, 38 % of the "
                             "tensor peak; 9.8 kWh, 12.40 EUR");
    buf_reset(&b);
    t.no_data = "no data since 09:02: the driver of dgx5 is not responding";
    t.withheld = true;
    run_sentence(&b, &t);
    assert_string_equal(b.p,
                        "4 x H200 for 5 h 12 m: no data since 09:02: the driver of dgx5 is not responding; 9.8 kWh, "
                        "12.40 EUR");
    buf_reset(&b);
    m.mean[RUN_ACTIVE] = m.joules = NAN;
    m.mean[RUN_UTIL] = 0.5;
    run_sentence(&b, &(struct run_sentence){.what = "1 x A100",
                                            .ms = 60000,
                                            .m = &m,
                                            .why = "efficiency is not measured: GPUs before Hopper do not tell it"});
    assert_string_equal(b.p, "1 x A100 for 1 m: efficiency is not measured: GPUs before Hopper do not tell it, "
                             "utilisation 50 % (not efficiency)");
}

TESTS(cmocka_unit_test(a_gpu_is_summed_as_a_second_way_sums_it),
      cmocka_unit_test(energy_is_counted_once_however_seldom_the_counter_is_read),
      cmocka_unit_test(a_bin_that_begins_before_the_run_counts_in_part),
      cmocka_unit_test(without_its_clock_nothing_is_said_of_the_tensor_peak),
      cmocka_unit_test(the_rules_speak_once_for_all_gpus),
      cmocka_unit_test(a_straggler_is_told_for_as_long_as_it_was_one),
      cmocka_unit_test(all_is_the_mean_over_time_and_the_highest_peak), cmocka_unit_test(a_run_in_one_sentence),
      cmocka_unit_test(time_without_data_is_not_known), cmocka_unit_test(a_gap_is_neither_held_nor_active))
