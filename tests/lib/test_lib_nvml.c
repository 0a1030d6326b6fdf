/* test_lib_nvml.c: libmuster on a driver that is scripted (tests/stub): which calls it makes, and what when they fail.
 */
#include "lib/muster.h"
#include "nvml_scene.h"

static char reason[300];

static muster_sampler *begin(const char *script, struct muster_options o)
{
    muster_sampler *s = NULL;
    o.size = sizeof(o);
    begin_scene(TODAY, script);
    setenv("MUSTER_NVML_LIB", lib_paths[TODAY], 1);
    int r = muster_open(&s, &o, reason, sizeof(reason));
    if (r < 0)
        fail_msg("%s", reason);
    return s;
}

static double latest(muster_sampler *s, const char *name, int device)
{
    double v;
    int m = muster_metric_find(s, name);
    assert_true(m >= 0);
    return muster_latest(s, m, device, &v) < 0 ? (double)NAN : v;
}

static void only_the_calls_behind_the_metrics_are_made(void **unused)
{
    static const char *const never[] = {"nvmlDeviceGetPowerUsage",
                                        "nvmlDeviceGetTemperature",
                                        "nvmlDeviceGetClockInfo",
                                        "nvmlDeviceGet*RunningProcesses*",
                                        "nvmlDeviceGetEncoderUtilization",
                                        "nvmlDeviceGetPerformanceState",
                                        "nvmlDeviceGetFieldValues",
                                        "nvmlDeviceGetProcessUtilization",
                                        "nvmlDeviceGetTotalEnergyConsumption",
                                        "nvmlDeviceGetPcieThroughput",
                                        "nvmlDeviceGetSamples",
                                        "nvmlGpm*",
                                        "nvmlEventSet*",
                                        "nvmlDeviceGetCurrentClocks*Reasons"};
    (void)unused;
    muster_sampler *s =
        begin("gpus 2\nutil 0 50\nmemutil 0 16\nmem 0 1048576000\nutil 1 7", (struct muster_options){0});
    unsigned long before = stub_calls("nvmlDeviceGetUtilizationRates", 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(muster_tick(s), 0);
    assert_int_equal(stub_calls("nvmlDeviceGetUtilizationRates", 0), before + 10);
    for (size_t i = 0; i < ARRAY_LEN(never); i++) {
        print_message("%s\n", never[i]);
        assert_int_equal(stub_calls(never[i], -1), 0);
    }
    assert_near(latest(s, "total-mem", 0), 1048576000 + 644939776, 0); /* the driver's own, too */
    assert_near(latest(s, "mem-util", 0), 16, 0);
    assert_near(latest(s, "compute-util", 0), 50, 0);
    assert_near(latest(s, "compute-util", 1), 7, 0);
    assert_string_equal(muster_device_uuid(s, 1), GPU(2));
    muster_close(s);
}

static void a_metric_of_its_own_costs_its_own_call(void **unused)
{
    (void)unused;
    muster_sampler *s = begin("power 0 612345", (struct muster_options){.metrics = "power"});
    for (int i = 0; i < 10; i++)
        assert_int_equal(muster_tick(s), 0);
    assert_near(latest(s, "power", 0), 612.345, 1e-9);
    assert_int_equal(stub_calls("nvmlDeviceGetUtilizationRates", 0), 0);
    assert_int_equal(stub_calls("nvmlDeviceGetMemoryInfo*", 0), 0);
    assert_int_equal(stub_calls("nvmlDeviceGetPowerUsage", 0), 11); /* one when it was opened */
    muster_close(s);
}

static void a_slow_metric_holds_until_the_next(void **unused)
{
    (void)unused;
    muster_sampler *s = begin("energy 0 5000", (struct muster_options){.metrics = "energy,util"});
    for (int i = 0; i < 36000 && isnan(latest(s, "energy", 0)); i++) {
        assert_int_equal(muster_tick(s), 0);
        usleep(5000);
    }
    double energy = latest(s, "energy", 0);
    assert_false(isnan(energy));
    unsigned long asked = stub_calls("nvmlDeviceGetTotalEnergyConsumption", 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(muster_tick(s), 0);
    assert_near(latest(s, "energy", 0), energy, 0);
    assert_int_equal(stub_calls("nvmlDeviceGetTotalEnergyConsumption", 0), asked);
    assert_int_equal(stub_calls("nvmlDeviceGetPowerUsage", 0), 0);
    muster_close(s);
}

static void a_gpu_that_is_lost_is_absent_and_may_come_back(void **unused)
{
    muster_cursor *c;
    double v;
    (void)unused;
    muster_sampler *s = begin("gpus 2\nutil 0 50\nutil 1 60", (struct muster_options){0});
    assert_int_equal(muster_tick(s), 0);
    later(1000, "gpus 2\nutil 0 50\nutil 1 60\nlost 0");
    assert_int_equal(muster_tick(s), 0);
    assert_true(isnan(latest(s, "compute-util", 0)));
    assert_near(latest(s, "compute-util", 1), 60, 0);
    later(20000, "gpus 2\nutil 0 51\nutil 1 60");
    assert_int_equal(muster_tick(s), 0); /* sees that it is back */
    later(1000, "gpus 2\nutil 0 51\nutil 1 60");
    assert_int_equal(muster_tick(s), 0);
    assert_near(latest(s, "compute-util", 0), 51, 0);
    assert_int_equal(muster_cursor_open(s, 1, &c), 0);
    assert_int_equal(muster_cursor_next(c), 1);
    assert_int_equal(muster_cursor_metric(c, 2, 0, &v), -ENODATA); /* L8 */
    assert_int_equal(muster_cursor_metric(c, 2, 1, &v), 0);
    muster_cursor_close(c);
    muster_close(s);
}

static void a_driver_that_goes_away_is_told_and_asked_again_later(void **unused)
{
    struct muster_stats st = {.size = sizeof(st)};
    (void)unused;
    muster_sampler *s = begin("util 0 50", (struct muster_options){0});
    assert_int_equal(muster_tick(s), 0);
    later(100, "rc all 9\nnoinit 9");
    assert_int_equal(muster_tick(s), 0);
    assert_int_equal(muster_error(s, reason, sizeof(reason)), -ENODEV);
    assert_non_null(strstr(reason, "driver"));
    later(100, "util 0 52");
    assert_int_equal(muster_tick(s), 0); /* too soon to ask again */
    assert_true(isnan(latest(s, "compute-util", 0)));
    later(2000, "util 0 52");
    assert_int_equal(muster_tick(s), 0);
    assert_near(latest(s, "compute-util", 0), 52, 0);
    assert_int_equal(muster_stats(s, &st), 0);
    assert_int_equal(st.samples, 4);
    assert_int_equal(st.failed, 2);
    muster_close(s);
}

static void stopping_does_not_wait_for_a_driver_that_hangs(void **unused)
{
    (void)unused;
    muster_sampler *s = begin("util 0 50", (struct muster_options){.interval_us = 10000});
    clock_set_for_test(-1); /* a thread that waits for a deadline needs a clock that moves */
    assert_int_equal(muster_start(s, reason, sizeof(reason)), 0);
    say("util 0 50\nhang nvmlDeviceGetUtilizationRates");
    unsigned long asked = stub_calls("nvmlDeviceGetUtilizationRates", 0);
    int64_t n = -1;
    /* Until it does hang: in the next call, or in one that had begun. */
    for (int same = 0; same < 1000 && stub_calls("nvmlDeviceGetUtilizationRates", 0) == asked;
         same = muster_count(s) == n ? same + 1 : 0) {
        n = muster_count(s);
        usleep(5000);
    }
    n = muster_count(s);
    assert_int_equal(muster_label(s, "job", "2"), 0); /* L3 */
    assert_int_equal(muster_stop(s), -ETIMEDOUT);
    assert_int_equal(muster_count(s), n); /* what there is can be read */
    assert_int_equal(muster_start(s, reason, sizeof(reason)), -ETIMEDOUT);
    assert_non_null(strstr(reason, "has not returned"));
    assert_int_equal(muster_tick(s), -ETIMEDOUT);
    say("util 0 50"); /* let it out, so that nothing is left hanging in this process */
    for (int i = 0; i < 36000 && muster_count(s) == n; i++)
        usleep(5000);
    usleep(100000);
    muster_close(s);
}

/* L4: each reading takes three intervals, so two moments of the grid pass during it. */
static void ticks_that_a_slow_driver_holds_up_are_skipped_and_counted(void **unused)
{
    struct muster_stats st = {.size = sizeof(st)};
    double t[4], v[4];
    (void)unused;
    muster_sampler *s =
        begin("util 0 50\nslow nvmlDeviceGetUtilizationRates 35", (struct muster_options){.interval_us = 10000});
    clock_set_for_test(-1);
    assert_int_equal(muster_start(s, reason, sizeof(reason)), 0);
    for (int i = 0; i < 36000 && muster_count(s) < 4; i++)
        usleep(5000);
    assert_int_equal(muster_stop(s), 0);
    assert_int_equal(muster_stats(s, &st), 0);
    assert_true(st.samples >= 4 && st.skipped >= 2 * (st.samples - 1));
    assert_true(st.slowest_us >= 35000);
    assert_int_equal(muster_read(s, 2, 0, 0, 4, t, v, NULL), 4);
    for (int i = 1; i < 4; i++)
        assert_true(t[i] - t[i - 1] >= 0.035); /* none is made up for */
    muster_close(s);
}

static void no_driver_is_said_clearly(void **unused)
{
    muster_sampler *s = NULL;
    struct muster_options o = {.size = sizeof(o)};
    (void)unused;
    begin_scene(TODAY, "noinit 9");
    setenv("MUSTER_NVML_LIB", lib_paths[TODAY], 1);
    assert_int_equal(muster_open(&s, &o, reason, sizeof(reason)), -ENODEV);
    assert_non_null(strstr(reason, "'replay'"));
    later(0, "gpus 0");
    assert_int_equal(muster_open(&s, &o, reason, sizeof(reason)), -ENODEV);
    assert_non_null(strstr(reason, "no GPU"));
    setenv("MUSTER_NVML_LIB", "/nonexistent.so", 1);
    assert_int_equal(muster_open(&s, &o, reason, sizeof(reason)), -ENODEV);
    assert_non_null(strstr(reason, "cannot load NVIDIA's library"));
    assert_null(s);
}

SCENES(SCENE(only_the_calls_behind_the_metrics_are_made), SCENE(a_metric_of_its_own_costs_its_own_call),
       SCENE(a_slow_metric_holds_until_the_next), SCENE(a_gpu_that_is_lost_is_absent_and_may_come_back),
       SCENE(a_driver_that_goes_away_is_told_and_asked_again_later), SCENE(no_driver_is_said_clearly),
       SCENE(ticks_that_a_slow_driver_holds_up_are_skipped_and_counted),
       SCENE(stopping_does_not_wait_for_a_driver_that_hangs))
