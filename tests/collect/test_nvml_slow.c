/* test_nvml_slow.c: the dear readings, round by round, without a thread. */
#include "model/work.h"
#include "nvml_scene.h"

struct rounds {
    struct nvml lib;
    struct nvml_dev *dev;
    struct nvml_slow *slow;
};

static void rounds_start(struct rounds *r, int lib, const char *script)
{
    nvml_handle h;
    begin_scene(lib, script);
    assert_int_equal(nvml_load(&r->lib, lib_paths[lib], &why), 0);
    assert_int_equal(r->lib.init(), 0);
    assert_int_equal(r->lib.by_index(0, &h), 0);
    r->dev = nvml_dev_new();
    nvml_dev_open(r->dev, h);
    r->slow = nvml_slow_new(&r->lib, &r->dev, 1);
    nvml_slow_procs(r->slow, 0, 2);
}

static void rounds_end(struct rounds *r)
{
    assert_int_equal(nvml_slow_free(r->slow), 0);
    nvml_dev_free(r->dev);
    r->lib.shutdown();
    nvml_unload(&r->lib);
    end_scene(NULL);
}

static struct sample round_of(struct rounds *r, int64_t *ret_new_ecc)
{
    struct sample s = {0};
    nvml_slow_round(r->slow, now_ms);
    nvml_slow_take(r->slow, 0, &s, ret_new_ecc);
    return s;
}

static void busy_seconds_count_every_sample_once(void **unused)
{
    static const struct {
        int64_t ms;
        const char *then; /* what it does from then on */
        int64_t busy_us;
    } steps[] = {
        {5000, "gpm 0 0\nutil 0 100", 5000000},
        {5000, "gpm 0 0\nutil 0 0", 10000000},
        {5000, "gpm 0 0\nutil 0 25", 10000000},
        {5000, "gpm 0 0\nutil 0 100", 11250000},
        {12600, "gpm 0 0\nutil 0 50", 23850000}, /* a late round loses nothing: the driver keeps 14 s */
        {1000, "gpm 0 0\nutil 0 50", -1},        /* not due */
        {4000, "gpm 0 0\nutil 0 100", 26350000},
        {60000, "gpm 0 0\nutil 0 100", 26350000 + 70 * 200000 + 1500000}, /* what the driver forgot is not made up */
    };
    (void)unused;
    for (int lib = 0; lib < LIBS; lib++) {
        struct rounds r;
        int64_t ecc;
        rounds_start(&r, lib, "gpm 0 0\nutil 0 100");
        struct sample s = round_of(&r, &ecc);
        assert_true(sample_has(&s, M_busy));
        assert_int_equal(s.v[M_busy], 0); /* what was before us is not ours */
        for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
            later(steps[i].ms, steps[i].then);
            s = round_of(&r, &ecc);
            print_message("%s step %zu\n", lib_names[lib], i);
            assert_int_equal(sample_has(&s, M_busy), steps[i].busy_us >= 0);
            if (steps[i].busy_us >= 0)
                assert_int_equal(s.v[M_busy], steps[i].busy_us);
        }
        rounds_end(&r);
    }
}

/* Where GPM tells how long the GPU was active, that is counted, and the buffer is not asked for. */
static void busy_seconds_come_from_activity(void **unused)
{
    static const struct {
        int64_t ms;
        const char *then; /* what it does from then on */
        int64_t busy_us;
    } steps[] = {
        {1000, "util 0 100", 1000000},
        {5000, "util 0 0", 6000000},
        {5000, "util 0 25", 6000000},
        {5000, "util 0 100", 7250000},
        {2000, "util 0 100", -1},                               /* not due */
        {58000, "util 0 50", 67250000},                         /* however late a round is, nothing is lost */
        {5000, "rc nvmlGpmSampleGet 999\nutil 0 50", 67250000}, /* the driver fails: the buffer counts from here on */
        {5000, "rc nvmlGpmSampleGet 999\nutil 0 50", 69750000},
        {5000, "rc nvmlGpmSampleGet 999\nutil 0 50", 72250000},
        {5000, "util 0 50", 74750000},
        {1000, "util 0 50", 75250000}, /* its second reading after that; what the buffer told is not counted again */
        {5000, "util 0 50", 77750000},
    };
    struct rounds r;
    int64_t ecc;
    (void)unused;
    rounds_start(&r, TODAY, "util 0 100");
    struct sample s = round_of(&r, &ecc);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        later(steps[i].ms, steps[i].then);
        s = round_of(&r, &ecc);
        print_message("step %zu: %lld\n", i, sample_has(&s, M_busy) ? (long long)s.v[M_busy] : -1);
        assert_int_equal(sample_has(&s, M_busy), steps[i].busy_us >= 0);
        if (steps[i].busy_us >= 0)
            assert_int_equal(s.v[M_busy], steps[i].busy_us);
        if (i == 5)
            assert_int_equal(stub_calls("nvmlDeviceGetSamples", 0), 2); /* at the start alone: its size, and it */
    }
    rounds_end(&r);
}

static void an_empty_gpu_is_looked_at_less_often_and_nothing_is_lost(void **unused)
{
    struct rounds r;
    int64_t ecc;
    (void)unused;
    rounds_start(&r, TODAY, "gpm 0 0\nutil 0 100");
    nvml_slow_procs(r.slow, 0, 0); /* whose work it is may be hidden from us: it counts all the same */
    round_of(&r, &ecc);
    later(5000, "gpm 0 0\nutil 0 100");
    struct sample s = round_of(&r, &ecc);
    assert_false(sample_has(&s, M_busy));
    later(5000, "gpm 0 0\nutil 0 100");
    s = round_of(&r, &ecc);
    assert_int_equal(s.v[M_busy], 10000000);
    rounds_end(&r);
}

static void busy_seconds_go_on_when_the_clock_is_set_back(void **unused)
{
    struct rounds r;
    int64_t ecc;
    (void)unused;
    rounds_start(&r, TODAY, "util 0 100");
    round_of(&r, &ecc);
    later(5000, "util 0 100");
    struct sample s = round_of(&r, &ecc);
    assert_int_equal(s.v[M_busy], 5000000);
    /* The monotonic clock goes on; the driver's and ours of the day are an hour back. */
    int64_t mono = now_ms;
    for (int i = 1; i <= 2; i++) {
        now_ms = mono - 3600000 + i * 5000;
        clock_set_for_test(now_ms);
        say("util 0 100");
        nvml_slow_round(r.slow, mono + i * 5000);
        nvml_slow_take(r.slow, 0, &s, &ecc);
    }
    assert_int_equal(s.v[M_busy], 10000000); /* the round in which it was set is not counted, the next is */
    rounds_end(&r);
}

static void busy_seconds_are_absent_without_samples(void **unused)
{
    struct rounds r;
    int64_t ecc;
    (void)unused;
    rounds_start(&r, TODAY, "samples 0 -1");
    struct sample s = round_of(&r, &ecc);
    assert_false(sample_has(&s, M_busy));
    assert_true(sample_has(&s, M_energy));
    rounds_end(&r);
}

static void dear_values_come_on_their_own_schedule(void **unused)
{
    static const struct {
        enum metric m;
        int64_t every_ms;
        bool old; /* an old driver has it */
    } cases[] = {{M_busy, 5000, true},           {M_energy, 60000, true},       {M_ecc_corrected, 60000, true},
                 {M_rows_remapped, 60000, true}, {M_rows_pending, 60000, true}, {M_pcie_replay, 60000, true},
                 {M_power_limit, 60000, true},   {M_sm_active, 5000, false},    {M_pcie_rx, 5000, true},
                 {M_nvlink_rx, 5000, true},      {M_fan, 60000, true}};
    const char *script = "util 0 80\nfan 0 40\nretired 0 3\nnvlinktx 0 2048\nnvlinkrx 0 1024";
    (void)unused;
    for (int lib = 0; lib < OLD + 1; lib++) {
        struct rounds r;
        int64_t ecc;
        int count[M_COUNT] = {0};
        rounds_start(&r, lib, script);
        for (int second = 0; second < 120; second++) {
            struct sample s = round_of(&r, &ecc);
            for (enum metric m = 0; m < M_COUNT; m++)
                count[m] += sample_has(&s, m);
            later(1000, script);
        }
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            int most = (int)(120000 / cases[i].every_ms);
            print_message("%s %s: %d times\n", lib_names[lib], metrics[cases[i].m].name, count[cases[i].m]);
            if (lib == OLD && !cases[i].old)
                most = 0;
            assert_in_range(count[cases[i].m], most - (most > 2),
                            most + (cases[i].m == M_busy)); /* rates need a round to begin */
        }
        rounds_end(&r);
    }
}

static void rates_and_activity_come_from_gpm_or_else_from_older_calls(void **unused)
{
    static const struct {
        enum metric m;
        int64_t today, old; /* -1: absent */
    } cases[] = {
        {M_active, 8000, -1},
        {M_sm_active, 7200, -1},
        {M_sm_occupancy, 4000, -1},
        {M_tensor_active, 4800, -1},
        {M_hmma_active, 4800, -1},
        {M_imma_active, 0, -1},
        {M_dfma_active, 0, -1},
        {M_fp64_active, 80, -1},
        {M_fp32_active, 400, -1},
        {M_fp16_active, 0, -1},
        {M_int_active, 2000, -1},
        {M_dram_active, 2600, -1},
        {M_work, 4800, -1},
        {M_pcie_tx, 1024 * 1024, 1024000},
        {M_pcie_rx, 512 * 1024, 512000},
        {M_nvlink_tx, 2048 * 1024, 2048 * 1024},
        {M_nvlink_rx, 1024 * 1024, 1024 * 1024},
        {M_util, -1, -1},
    };
    const char *script = "util 0 80\nnvlinktx 0 2048\nnvlinkrx 0 1024";
    (void)unused;
    for (int lib = 0; lib < OLD + 1; lib++) {
        struct rounds r;
        int64_t ecc;
        rounds_start(&r, lib, script);
        round_of(&r, &ecc);
        later(5000, script);
        struct sample s = round_of(&r, &ecc);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            int64_t want = lib == TODAY ? cases[i].today : cases[i].old;
            print_message("%s %s\n", lib_names[lib], metrics[cases[i].m].name);
            assert_int_equal(sample_has(&s, cases[i].m), want >= 0);
            if (want >= 0)
                assert_int_equal(s.v[cases[i].m], want);
        }
        rounds_end(&r);
    }
}

static void flops_need_a_known_model_and_a_clock(void **unused)
{
    static const struct {
        const char *name;
        int64_t mhz[2];                                 /* at the ticks between two readings; 0: no tick */
        int64_t gflops;                                 /* -1: absent */
    } cases[] = {{"NVIDIA H200", {1400, 1600}, 389284}, /* 0.48 x 132 x 4096 x 1.5 GHz */
                 {"NVIDIA H200", {0, 0}, -1},
                 {"NVIDIA A100-SXM4-80GB", {1400, 1600}, -1}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rounds r;
        int64_t ecc;
        rounds_start(&r, TODAY, "util 0 80");
        mem_copy_str(r.dev->fact.name, sizeof(r.dev->fact.name), cases[i].name);
        nvml_slow_clock(r.slow, 0, 300000000); /* of before the first reading: not of this span */
        round_of(&r, &ecc);
        later(5000, "util 0 80");
        for (size_t k = 0; k < 2; k++)
            if (cases[i].mhz[k])
                nvml_slow_clock(r.slow, 0, cases[i].mhz[k] * 1000000);
        struct sample s = round_of(&r, &ecc);
        print_message("%s\n", cases[i].name);
        assert_int_equal(s.v[M_work], 4800);
        assert_int_equal(sample_has(&s, M_flops), cases[i].gflops >= 0);
        if (cases[i].gflops >= 0)
            assert_int_equal(s.v[M_flops], cases[i].gflops);
        rounds_end(&r);
    }
}

static void a_driver_that_refuses_activity_is_said_to(void **unused)
{
    static const struct {
        const char *script, *note; /* NULL: none */
        int lib;
    } cases[] = {{"", NULL, TODAY},
                 {"rc nvmlGpmSampleGet 4", NO_WORK_RIGHTS, TODAY},
                 {"rc nvmlGpmQueryDeviceSupport 4", NO_WORK_RIGHTS, TODAY},
                 {"rc nvmlGpmMetricsGet 4", NO_WORK_RIGHTS, TODAY},
                 {"gpm 0 0\narch 0 8", NO_WORK_MODEL, TODAY},
                 {"gpm 0 0", NO_WORK_DRIVER, TODAY}, /* a vGPU of a Hopper, say */
                 {"rc nvmlDeviceGetArchitecture 3\ngpm 0 0", NO_WORK_DRIVER, TODAY},
                 {"", NO_WORK_DRIVER, OLD}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rounds r;
        int64_t ecc;
        char script[256];
        struct sample s = {0};
        snprintf(script, sizeof(script), "util 0 80\n%s", cases[i].script);
        rounds_start(&r, cases[i].lib, script);
        for (int k = 0; k < 3; k++) {
            s = round_of(&r, &ecc);
            later(5000, script);
        }
        const char *note = nvml_slow_no_gpm(r.slow, 0);
        print_message("'%s': %s\n", cases[i].script, note ? note : "-");
        assert_int_equal(note == NULL, cases[i].note == NULL);
        if (note)
            assert_string_equal(note, cases[i].note);
        for (enum metric m = 0; m < M_COUNT; m++)
            if (m == M_active || m == M_sm_active || m == M_tensor_active || m == M_work || m == M_fp32_active)
                assert_int_equal(sample_has(&s, m), cases[i].note == NULL); /* absent, never 0 */
        rounds_end(&r);
    }
}

static void a_reading_of_activity_is_two_calls(void **unused)
{
    struct rounds r;
    int64_t ecc;
    (void)unused;
    rounds_start(&r, TODAY, "util 0 80");
    for (int second = 0; second < 60; second++) {
        round_of(&r, &ecc);
        later(1000, "util 0 80");
    }
    /* 16 values or one cost the same number of calls, and none is made for the clock. */
    assert_in_range(stub_calls("nvmlGpmSampleGet", 0), 12, 14);
    assert_in_range(stub_calls("nvmlGpmMetricsGet", -1), 11, 13);
    assert_int_equal(stub_calls("nvmlDeviceGetClockInfo", 0), 0);
    rounds_end(&r);
}

static void without_nvlink_its_rate_is_absent_not_zero(void **unused)
{
    struct rounds r;
    int64_t ecc;
    (void)unused;
    rounds_start(&r, TODAY, "nvlinktx 0 -1");
    round_of(&r, &ecc);
    later(5000, "nvlinktx 0 -1");
    struct sample s = round_of(&r, &ecc);
    assert_true(sample_has(&s, M_pcie_tx));
    assert_false(sample_has(&s, M_nvlink_tx) || sample_has(&s, M_nvlink_rx));
    rounds_end(&r);
}

static void pages_count_where_rows_are_not_remapped(void **unused)
{
    struct rounds r;
    int64_t ecc;
    (void)unused;
    rounds_start(&r, TODAY, "rows_corr 0 -1\nretired 0 3\nrows_pending 0 1");
    struct sample s = round_of(&r, &ecc);
    assert_int_equal(s.v[M_rows_remapped], 3);
    assert_int_equal(s.v[M_rows_pending], 1);
    rounds_end(&r);
}

static void rows_that_cannot_be_remapped_are_told(void **unused)
{
    struct rounds r;
    int64_t ecc;
    (void)unused;
    rounds_start(&r, TODAY, "rows_corr 0 4\nrows_failure 0 1\nrows_none 0 2");
    struct sample s = round_of(&r, &ecc);
    assert_int_equal(s.v[M_rows_remapped], 4);
    assert_int_equal(s.v[M_rows_failed], 1);
    assert_int_equal(s.v[M_rows_spent], 2);
    rounds_end(&r);
    rounds_start(&r, OLD, "rows_corr 0 -1\nretired 0 3");
    s = round_of(&r, &ecc);
    assert_false(sample_has(&s, M_rows_failed) || sample_has(&s, M_rows_spent));
    rounds_end(&r);
}

static void new_uncorrected_errors_are_counted_once(void **unused)
{
    struct rounds r;
    int64_t ecc;
    (void)unused;
    rounds_start(&r, TODAY, "ecc_unc 0 7");
    struct sample s = round_of(&r, &ecc);
    assert_int_equal(s.v[M_ecc_uncorrected], 7);
    assert_int_equal(ecc, 0); /* old news */
    later(60000, "ecc_unc 0 9");
    round_of(&r, &ecc);
    assert_int_equal(ecc, 2);
    later(60000, "ecc_unc 0 9");
    round_of(&r, &ecc);
    assert_int_equal(ecc, 0);
    later(1000, "ecc_unc 0 10");
    nvml_slow_ecc_now(r.slow, 0);
    round_of(&r, &ecc);
    assert_int_equal(ecc, 1);
    rounds_end(&r);
}

static void what_never_changes_is_asked_for_once(void **unused)
{
    struct rounds r;
    int64_t ecc;
    int told = 0;
    (void)unused;
    rounds_start(&r, TODAY, "");
    for (int minute = 0; minute < 5; minute++) {
        struct sample s = round_of(&r, &ecc);
        told += sample_has(&s, M_clock_sm_max) && sample_has(&s, M_power_default);
        later(60000, "");
    }
    assert_int_equal(told, 5);
    assert_int_equal(stub_calls("nvmlDeviceGetMaxClockInfo", 0), 1);
    assert_int_equal(stub_calls("nvmlDeviceGetPowerManagementDefaultLimit", 0), 1);
    rounds_end(&r);
}

static void a_process_alone_used_what_was_used(void **unused)
{
    struct rounds r;
    int64_t ecc, then;
    (void)unused;
    rounds_start(&r, TODAY, "proc 0 11 1\nutil 0 60");
    nvml_slow_procs(r.slow, 0, 1);
    then = now_ms;
    round_of(&r, &ecc);
    assert_int_equal(nvml_slow_sm(r.slow, 0, 11, then), -1);
    later(5000, "proc 0 11 1\nutil 0 60");
    round_of(&r, &ecc);
    assert_int_equal(nvml_slow_sm(r.slow, 0, 11, then), 6000);
    assert_int_equal(nvml_slow_sm(r.slow, 0, 11, now_ms), -1); /* it has come since */
    int asked = stub_calls("nvmlDeviceGetProcessUtilization", 0);
    for (int i = 0; i < 12; i++) {
        later(5000, "proc 0 11 1\nutil 0 60");
        round_of(&r, &ecc);
    }
    assert_int_equal(stub_calls("nvmlDeviceGetProcessUtilization", 0), asked);
    nvml_slow_procs(r.slow, 0, 2); /* a second one: now the driver is asked whose it is */
    for (int i = 0; i < 2; i++) {
        later(5000, "proc 0 11 1\nprocutil 0 11 40 5\nutil 0 60");
        round_of(&r, &ecc);
    }
    assert_int_equal(nvml_slow_sm(r.slow, 0, 11, then), 4000);
    rounds_end(&r);
}

static void a_process_that_did_nothing_used_zero_and_a_new_one_is_unknown(void **unused)
{
    struct rounds r;
    int64_t ecc, then;
    (void)unused;
    rounds_start(&r, TODAY, "proc 0 11 1\nprocutil 0 11 40 5");
    then = now_ms;
    round_of(&r, &ecc);
    assert_int_equal(nvml_slow_sm(r.slow, 0, 11, then), -1);
    later(5000, "proc 0 11 1\nprocutil 0 11 40 5");
    round_of(&r, &ecc);
    assert_int_equal(nvml_slow_sm(r.slow, 0, 11, then), 4000);
    assert_int_equal(nvml_slow_sm(r.slow, 0, 12, then), 0);
    assert_int_equal(nvml_slow_sm(r.slow, 0, 13, now_ms), -1);
    rounds_end(&r);
}

SCENES(SCENE(busy_seconds_count_every_sample_once), SCENE(busy_seconds_come_from_activity),
       SCENE(a_process_alone_used_what_was_used), SCENE(what_never_changes_is_asked_for_once),
       SCENE(an_empty_gpu_is_looked_at_less_often_and_nothing_is_lost),
       SCENE(busy_seconds_go_on_when_the_clock_is_set_back), SCENE(busy_seconds_are_absent_without_samples),
       SCENE(dear_values_come_on_their_own_schedule), SCENE(rates_and_activity_come_from_gpm_or_else_from_older_calls),
       SCENE(flops_need_a_known_model_and_a_clock), SCENE(a_driver_that_refuses_activity_is_said_to),
       SCENE(a_reading_of_activity_is_two_calls), SCENE(without_nvlink_its_rate_is_absent_not_zero),
       SCENE(pages_count_where_rows_are_not_remapped), SCENE(rows_that_cannot_be_remapped_are_told),
       SCENE(new_uncorrected_errors_are_counted_once),
       SCENE(a_process_that_did_nothing_used_zero_and_a_new_one_is_unknown))
