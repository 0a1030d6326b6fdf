/* test_nvml.c: the NVML collector as the agent's child uses it: what a tick gives, and what goes wrong. */
#include "nvml_scene.h"

/* ---- values ---- */

static void every_driver_gives_the_values_of_a_tick(void **unused)
{
    static const struct {
        enum metric m;
        int64_t want[LIBS]; /* -1: absent */
    } cases[] = {
        {M_util, {5000, 5000, 5000}},
        {M_mem_util, {1600, 1600, 1600}},
        {M_mem_used, {1000 * MIB, 1000 * MIB + 644939776, 1000 * MIB}},
        {M_mem_reserved, {644939776, -1, 644939776}},
        {M_mem_total, {143771 * MIB, 143771 * MIB, 143771 * MIB}},
        {M_temp, {50000, 50000, 50000}},
        {M_temp_mem, {49000, 49000, 49000}},
        {M_power, {388000, 388000, 388000}},
        {M_power_limit, {700000, 700000, 700000}},
        {M_clock_sm, {1980000000, 1980000000, 1980000000}},
        {M_clock_mem, {3201000000, 3201000000, 3201000000}},
        {M_clock_sm_max, {1980000000, 1980000000, 1980000000}},
        {M_throttle, {4, 4, 4}},
        {M_pstate, {0, 0, 0}},
        {M_enc, {1100, 1100, 1100}},
        {M_dec, {2200, 2200, 2200}},
        {M_pcie_gen, {5, 5, 5}},
        {M_pcie_width, {16, 16, 16}},
    };
    (void)unused;
    for (int lib = 0; lib < LIBS; lib++) {
        assert_int_equal(start(lib, "util 0 50\nmem 0 1048576000\nreasons 0 4\nenc 0 11\ndec 0 22", NULL), 0);
        assert_int_equal(tick(), 0);
        assert_int_equal(got.n_devices, 1);
        assert_string_equal(got.driver, "580.159.04");
        assert_string_equal(got.cuda, "13.0");
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            print_message("%s %s\n", lib_names[lib], metrics[cases[i].m].name);
            if (cases[i].want[lib] == -1)
                assert_false(has(0, cases[i].m));
            else
                assert_int_equal(value(0, cases[i].m), cases[i].want[lib]);
        }
        end_scene(NULL);
    }
}

static void every_driver_tells_who_a_device_is(void **unused)
{
    (void)unused;
    for (int lib = 0; lib < LIBS; lib++) {
        assert_int_equal(start(lib, "gpus 2\nbus 1 0xc1", NULL), 0);
        assert_int_equal(tick(), 0);
        assert_int_equal(got.n_devices, 2);
        const struct device_fact *f = &got.devices[1].fact;
        assert_string_equal(f->uuid, GPU(2));
        assert_string_equal(f->name, "NVIDIA H200");
        assert_string_equal(f->serial, "1651230000001");
        assert_string_equal(f->pci, "0000:c1:00.0");
        assert_string_equal(f->parent, "");
        assert_int_equal(f->index, 1);
        assert_int_equal(f->minor, 1);
        assert_int_equal(f->mig, -1);
        assert_int_equal(f->vendor, VENDOR_NVIDIA);
        assert_false(f->lost || f->asleep);
        end_scene(NULL);
    }
}

static void every_driver_tells_who_is_on_a_device(void **unused)
{
    char script[4096] =
        "gpus 2\nproc 0 101 1000 c\nproc 0 102 2000 c\nproc 0 102 3000 g\nproc 0 103 -1 g\nproc 1 104 5 c\n"
        "proc 0 0 77 c\n";
    (void)unused;
    for (int lib = 0; lib < LIBS; lib++) {
        assert_int_equal(start(lib, script, NULL), 0);
        assert_int_equal(tick(), 0);
        assert_int_equal(got.devices[0].n_uses, 3); /* pid 0 is nobody we can name */
        assert_int_equal(use_of(0, 101)->mem, 1000);
        assert_int_equal(use_of(0, 101)->kind, PROC_COMPUTE);
        assert_int_equal(use_of(0, 102)->mem, 3000);
        assert_int_equal(use_of(0, 102)->kind, PROC_COMPUTE | PROC_GRAPHICS);
        assert_int_equal(use_of(0, 103)->mem, -1); /* not told is not zero */
        assert_int_equal(got.devices[1].n_uses, 1);
        assert_int_equal(use_of(1, 104)->mem, 5);
        end_scene(NULL);
    }
}

static void a_hundred_processes_are_all_listed(void **unused)
{
    char script[4096];
    size_t n = 0;
    (void)unused;
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(script + n, sizeof(script) - n, "proc 0 %d %d c\n", 1000 + i, i);
    assert_int_equal(start(R535, script, NULL), 0);
    assert_int_equal(tick(), 0);
    assert_int_equal(got.devices[0].n_uses, 100);
    assert_int_equal(use_of(0, 1099)->mem, 99);
}

static void who_is_there_is_asked_when_memory_changes_and_else_more_seldom(void **unused)
{
    static const char list[] = "nvmlDeviceGetComputeRunningProcesses_v3";
    static const char one[] = "mem 0 5000\nproc 0 77 5 g", two[] = "mem 0 6000\nproc 0 77 5 g\nproc 0 78 6 c";
    (void)unused;
    assert_int_equal(start(TODAY, one, NULL), 0);
    assert_int_equal(tick(), 0);
    unsigned long before = stub_calls(list, 0);
    for (int i = 0; i < 4; i++) { /* the same memory: those who were there */
        later(1000, one);
        assert_int_equal(tick(), 0);
        assert_int_equal(got.devices[0].n_uses, 1);
        assert_int_equal(use_of(0, 77)->mem, 5);
        assert_int_equal(use_of(0, 77)->kind, PROC_GRAPHICS);
    }
    assert_int_equal(stub_calls(list, 0), before);
    later(1000, one);
    assert_int_equal(tick(), 0);
    assert_int_equal(stub_calls(list, 0), before + 1);
    later(1000, two);
    assert_int_equal(tick(), 0);
    assert_non_null(use_of(0, 78));           /* at once */
    later(1000, "mem 0 6000\nproc 0 79 6 c"); /* others with just as much memory: within 5 s */
    for (int i = 0; i < 5; i++) {
        assert_int_equal(tick(), 0);
        later(1000, "mem 0 6000\nproc 0 79 6 c");
    }
    assert_int_equal(got.devices[0].n_uses, 1);
    assert_non_null(use_of(0, 79));
    assert_int_equal(tick(), 0);
    assert_int_equal(stub_calls(list, 0), before + 3);
}

static void what_is_not_supported_is_absent_and_not_asked_again(void **unused)
{
    (void)unused;
    assert_int_equal(start(TODAY, "gpus 2\nrc nvmlDeviceGetPowerUsage 3 0\nrc nvmlDeviceGetMPS* 3 0", NULL), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tick(), 0);
        assert_false(has(0, M_power));
        assert_true(has(1, M_power));
    }
    assert_int_equal(stub_calls("nvmlDeviceGetPowerUsage", 0), 1);
    assert_int_equal(stub_calls("nvmlDeviceGetPowerUsage", 1), 3);
    assert_int_equal(stub_calls("nvmlDeviceGetMPSComputeRunningProcesses*", 0), 1);
}

static void a_list_that_is_refused_costs_nothing_else(void **unused)
{
    (void)unused;
    assert_int_equal(start(TODAY, "proc 0 7 7\nrc nvmlDeviceGet*RunningProcesses* 4", NULL), 0);
    assert_int_equal(tick(), 0);
    assert_int_equal(got.devices[0].n_uses, 0);
    assert_true(has(0, M_util));
}

static void a_value_the_driver_does_not_know_now_is_asked_for_again(void **unused)
{
    (void)unused;
    assert_int_equal(start(TODAY, "rc nvmlDeviceGetTemperature 999\npstate 0 32", NULL), 0);
    assert_int_equal(tick(), 0);
    assert_false(has(0, M_temp));
    assert_false(has(0, M_pstate));
    assert_true(has(0, M_power));
    say("temp 0 77");
    assert_int_equal(tick(), 0);
    assert_int_equal(value(0, M_temp), 77000);
    assert_int_equal(value(0, M_pstate), 0);
}

/* ---- dear values ---- */

static void process_utilisation_is_not_asked_for_an_empty_gpu(void **unused)
{
    (void)unused;
    assert_int_equal(start(TODAY, "", NULL), 0);
    tick_until(0, M_energy);
    assert_int_equal(stub_calls("nvmlDeviceGetProcessUtilization", 0), 0);
}

static void the_slow_thread_brings_its_values_to_the_tick_once(void **unused)
{
    (void)unused;
    assert_int_equal(start(TODAY, "", NULL), 0);
    tick_until(0, M_energy);
    assert_true(has(0, M_util));
    assert_int_equal(tick(), 0);
    assert_false(has(0, M_energy)); /* not fresh any more */
    assert_true(has(0, M_util));
    later(60000, "");
    tick_until(0, M_energy);
}

static void a_dear_call_that_hangs_does_not_hold_up_the_tick(void **unused)
{
    (void)unused;
    assert_int_equal(start(TODAY, "util 0 1\nhang nvmlDeviceGetTotalEnergyConsumption", NULL), 0);
    for (int i = 0; i < 36000 && stub_calls("nvmlDeviceGetTotalEnergyConsumption", 0) == 0; i++)
        usleep(5000);
    assert_int_equal(stub_calls("nvmlDeviceGetTotalEnergyConsumption", 0), 1);
    for (int i = 1; i <= 40; i++) {
        later(1000, "util 0 2\nhang nvmlDeviceGetTotalEnergyConsumption");
        assert_int_equal(tick(), 0);
        assert_int_equal(value(0, M_util), 200);
        assert_false(has(0, M_energy));
    }
    assert_non_null(strstr(got.devices[0].fact.note, "does not return"));
    say("util 0 2");
    tick_until(0, M_energy);
    assert_string_equal(got.devices[0].fact.note, "");
}

static void a_thread_that_cannot_be_ended_asks_for_a_new_process(void **unused)
{
    static struct collector *kept; /* a stuck collector is never freed */
    (void)unused;
    assert_int_equal(start(TODAY, "gpus 2\nhang nvmlDeviceGetTotalEnergyConsumption", NULL), 0);
    for (int i = 0; i < 36000 && stub_calls("nvmlDeviceGetTotalEnergyConsumption", 0) == 0; i++)
        usleep(5000);
    later(1000, "gpus 2\nlost 1\nhang nvmlDeviceGetTotalEnergyConsumption");
    clock_set_for_test(-1); /* it waits for the thread, but not for ever */
    assert_int_equal(tick(), -ESTALE);
    assert_int_equal(tick(), -ESTALE);
    kept = nvml;
    collector_nvml.close(kept); /* must not wait, nor free what the thread uses */
    nvml = NULL;
    say("gpus 2");
    usleep(300000); /* let the thread end before the library goes */
    stub = NULL;
}

/* ---- GPUs and drivers that go wrong ---- */

static void a_lost_gpu_stays_in_the_list_and_comes_back_as_itself(void **unused)
{
    (void)unused;
    assert_int_equal(start(TODAY, "gpus 3", NULL), 0);
    assert_int_equal(tick(), 0);
    later(1000, "gpus 3\nlost 1");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tick(), 0);
        assert_int_equal(got.n_devices, 3);
        assert_string_equal(got.devices[1].fact.uuid, GPU(2));
        assert_true(got.devices[1].fact.lost);
        assert_false(has(1, M_util) || has(1, M_mem_total));
        assert_true(has(0, M_util) && has(2, M_util));
        assert_false(got.devices[0].fact.lost || got.devices[2].fact.lost);
        assert_string_equal(got.devices[1].fact.note, "GPU is lost");
    }
    later(20000, "gpus 3");
    assert_int_equal(tick(), 0); /* looks, and finds it */
    assert_int_equal(tick(), 0);
    assert_string_equal(got.devices[1].fact.uuid, GPU(2));
    assert_false(got.devices[1].fact.lost);
    assert_true(has(1, M_util));
}

static void a_gpu_the_driver_no_longer_counts_is_lost(void **unused)
{
    (void)unused;
    assert_int_equal(start(TODAY, "gpus 2", NULL), 0);
    assert_int_equal(tick(), 0);
    later(1000, "gpus 2\ngone 0");
    assert_int_equal(tick(), 0);
    assert_int_equal(tick(), 0);
    assert_int_equal(got.n_devices, 2);
    for (size_t i = 0; i < 2; i++) {
        bool first = strcmp(got.devices[i].fact.uuid, GPU(1)) == 0;
        assert_int_equal(got.devices[i].fact.lost, first);
        assert_int_equal(has(i, M_util), !first);
    }
    later(20000, "gpus 2");
    tick();
    assert_int_equal(tick(), 0);
    assert_int_equal(got.n_devices, 2);
    assert_false(got.devices[0].fact.lost || got.devices[1].fact.lost);
}

static void a_gpu_lost_before_the_start_is_known_from_the_kernel(void **unused)
{
    char root[128], path[256];
    (void)unused;
    snprintf(root, sizeof(root), "%s/lost", folder);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/0000:1%d:00.0", root, i);
        assert_int_equal(file_mkdirs(path, 0755, NULL), 0);
        snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/0000:1%d:00.0/information", root, i);
        write_file(path, i ? "Model: \t\t NVIDIA H200\nGPU UUID: \t " GPU(2) "\nDevice Minor: \t 1\n" : "");
    }
    assert_int_equal(start(TODAY, "gpus 2\nlost 1", root), 0);
    assert_int_equal(tick(), 0);
    assert_int_equal(got.n_devices, 2);
    assert_string_equal(got.devices[1].fact.uuid, GPU(2));
    assert_string_equal(got.devices[1].fact.name, "NVIDIA H200");
    assert_true(got.devices[1].fact.lost);
}

static void a_gpu_that_knows_nothing_any_more_is_lost(void **unused)
{
    (void)unused;
    assert_int_equal(start(TODAY, "gpus 2", NULL), 0);
    later(1000, "gpus 2\nrc nvmlDevice* 999 1");
    assert_int_equal(tick(), 0);
    assert_true(got.devices[1].fact.lost);
    assert_false(got.devices[0].fact.lost);
}

static void library_and_driver_that_differ_need_a_new_process(void **unused)
{
    (void)unused;
    assert_int_equal(start(TODAY, "mismatch", NULL), -ESTALE);
    assert_non_null(strstr(why.msg, "mismatch"));
    end_scene(NULL);
    assert_int_equal(start(TODAY, "", NULL), 0);
    assert_int_equal(tick(), 0);
    say("rc nvmlDeviceGetUtilizationRates 18");
    assert_int_equal(tick(), -ESTALE);
}

static void a_driver_that_goes_is_let_go_and_found_again(void **unused)
{
    static const struct {
        const char *script;
    } ways[] = {{"rc nvmlDevice* 9"}, {"rc nvmlDevice* 999"}, {"rc nvmlDeviceGetMemoryInfo* 1"}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        print_message("%s\n", ways[i].script);
        assert_int_equal(start(TODAY, "", NULL), 0);
        assert_int_equal(tick(), 0);
        later(1000, ways[i].script);
        assert_int_equal(tick(), -ENODEV);
        assert_non_null(strstr(why.msg, "driver"));
        assert_int_equal(stub_calls("nvmlShutdown", -1), 1);
        later(5000, "noinit 9");
        assert_int_equal(tick(), -ENODEV);
        assert_non_null(strstr(why.msg, "Driver Not Loaded"));
        later(5000, "driver 590.1");
        assert_int_equal(tick(), 0);
        assert_string_equal(got.driver, "590.1");
        assert_string_equal(got.devices[0].fact.uuid, GPU(1));
        assert_true(has(0, M_util));
        end_scene(NULL);
    }
}

static void an_open_that_fails_says_why(void **unused)
{
    struct collect_conf conf = {.nvml_lib = "/nowhere/libnvidia-ml.so.1"};
    struct collector *c = NULL;
    (void)unused;
    assert_int_equal(collector_nvml.open(&c, &conf, &why), -ENODEV);
    assert_non_null(strstr(why.msg, "/nowhere/libnvidia-ml.so.1"));
    conf.nvml_lib = "libm.so.6";
    assert_int_equal(collector_nvml.open(&c, &conf, &why), -ENOSYS);
    assert_non_null(strstr(why.msg, "nvmlInit_v2"));
    assert_null(c);
    assert_true(collector_nvml.present(&conf));
    assert_int_equal(start(TODAY, "noinit 9", NULL), -ENODEV);
    assert_non_null(strstr(why.msg, "Driver Not Loaded"));
    collector_nvml.close(NULL);
}

static void a_node_without_gpus_is_read_as_empty(void **unused)
{
    (void)unused;
    assert_int_equal(start(TODAY, "gpus 0", NULL), 0);
    assert_int_equal(tick(), 0);
    assert_int_equal(got.n_devices, 0);
    later(15000, "gpus 2");
    assert_int_equal(tick(), 0); /* looks, and finds them */
    assert_int_equal(tick(), 0);
    assert_int_equal(got.n_devices, 2);
}

static void return_codes_are_judged(void **unused)
{
    static const struct {
        int rc;
        enum nvml_verdict want;
    } cases[] = {{0, NVML_GOOD},    {3, NVML_ABSENT},   {4, NVML_ABSENT},    {13, NVML_ABSENT},    {25, NVML_ABSENT},
                 {6, NVML_NOT_NOW}, {10, NVML_NOT_NOW}, {15, NVML_LOST},     {16, NVML_LOST},      {18, NVML_STALE},
                 {9, NVML_DEAD},    {1, NVML_DEAD},     {999, NVML_NOT_NOW}, {12345, NVML_NOT_NOW}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("code %d\n", cases[i].rc);
        assert_int_equal(nvml_judge(cases[i].rc), cases[i].want);
    }
}

/* ---- events ---- */

static void an_xid_is_an_event_told_once(void **unused)
{
    (void)unused;
    for (int lib = 0; lib < LIBS; lib++) {
        with_events = true;
        assert_int_equal(start(lib, "gpus 2", NULL), 0);
        assert_int_equal(tick(), 0);
        say("gpus 2\nxid 1 79");
        const struct node_event *e = tick_until_event(EVENT_XID);
        assert_int_equal(e->code, 79);
        assert_int_equal(e->slot, 2);
        assert_int_equal(e->at_ms, now_ms);
        assert_int_equal(strncmp(e->text, "Xid 79: ", 8), 0);
        say("gpus 2\nxid 1 79\nxid 0 12345");
        e = tick_until_event(EVENT_XID);
        assert_int_equal(e->code, 12345);
        assert_int_equal(e->slot, 1);
        assert_string_equal(e->text, "Xid 12345");
        assert_int_equal(got.n_events, 1);
        end_scene(NULL);
    }
}

static void a_double_bit_error_is_looked_at_at_once(void **unused)
{
    (void)unused;
    with_events = true;
    assert_int_equal(start(TODAY, "ecc_unc 0 1", NULL), 0);
    tick_until(0, M_ecc_uncorrected);
    say("ecc_unc 0 3\nevent 0 2 0");
    const struct node_event *e = tick_until_event(EVENT_ECC);
    assert_int_equal(e->code, 2);
    assert_int_equal(e->slot, 1);
}

/* ---- MIG ---- */

static void mig_instances_are_devices_with_a_parent(void **unused)
{
    const char *script =
        "gpus 2\nutil 1 60\nmig 1 2\nmigmem 1 0 1000\nmigmem 1 1 2000\nproc 1 50 300 c 1\nproc 1 60 400 c 2";
    (void)unused;
    assert_int_equal(start(TODAY, script, NULL), 0);
    assert_int_equal(tick(), 0);
    assert_int_equal(got.n_devices, 4);
    assert_string_equal(got.devices[1].fact.uuid, GPU(2));
    assert_non_null(strstr(got.devices[1].fact.note, "MIG"));
    assert_false(has(1, M_util) || has(1, M_busy));
    assert_true(has(1, M_power) && has(1, M_mem_total));
    assert_int_equal(got.devices[1].n_uses, 0); /* they are with the instances */
    for (size_t i = 0; i < 2; i++) {
        const struct device_reading *d = &got.devices[2 + i];
        assert_int_equal(strncmp(d->fact.uuid, "MIG-", 4), 0);
        assert_string_equal(d->fact.parent, GPU(2));
        assert_string_equal(d->fact.name, "NVIDIA H200 MIG 1g.18gb");
        assert_int_equal(d->fact.mig, i);
        assert_int_equal(d->fact.index, 1);
        assert_int_equal(value(2 + i, M_mem_used), 1000 * (i + 1));
        assert_int_equal(value(2 + i, M_mem_total), 16384 * MIB);
        assert_false(has(2 + i, M_power) || has(2 + i, M_temp));
        assert_int_equal(d->n_uses, 1);
        assert_int_equal(d->uses[0].pid, i ? 60 : 50);
    }
    for (int i = 0; i < 36000 && !has(2, M_util); i++) { /* the driver has none for an instance: GPM has */
        later(1000, script);
        assert_int_equal(tick(), 0);
        usleep(5000);
    }
    assert_int_equal(value(2, M_util), 6000);
    assert_int_equal(value(2, M_active), 6000);
    assert_int_equal(value(2, M_sm_active), 5400);
    assert_int_equal(value(2, M_work), 3600);
    assert_true(has(2, M_flops)); /* of its 16 multiprocessors, at its GPU's clock */
    assert_in_range(value(2, M_flops), 30000, 50000);
}

static void mig_instances_that_come_and_go_are_followed(void **unused)
{
    (void)unused;
    assert_int_equal(start(TODAY, "", NULL), 0);
    assert_int_equal(tick(), 0);
    assert_int_equal(got.n_devices, 1);
    static const struct {
        const char *script;
        size_t n;
    } steps[] = {{"mig 0 3", 4}, {"mig 0 1", 2}, {"", 1}};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        print_message("'%s'\n", steps[i].script);
        later(30000, steps[i].script);
        for (int k = 0; k < 36000 && got.n_devices != steps[i].n; k++) {
            assert_int_equal(tick(), 0);
            usleep(5000);
        }
        assert_int_equal(got.n_devices, steps[i].n);
        assert_int_equal(has(0, M_util), steps[i].n == 1);
        for (size_t k = 0; k < got.n_devices; k++)
            assert_false(got.devices[k].fact.lost); /* taken away on purpose is not lost */
    }
}

/* ---- sleep ---- */

static void put_pci(const char *root, int gpu, const char *status, const char *d3)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/0000:1%d:00.0", root, gpu);
    assert_int_equal(file_mkdirs(path, 0755, NULL), 0);
    snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/0000:1%d:00.0/information", root, gpu);
    write_file(path, gpu ? "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-\?\?\?\?\?\?\?\?-\?\?\?\?\n"
                         : "Model: \t\t NVIDIA H200\nGPU UUID: \t " GPU(1) "\nDevice Minor: \t 0\n");
    snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/0000:1%d:00.0/power", root, gpu);
    char text[64];
    snprintf(text, sizeof(text), "Runtime D3 status:          %s\n", d3);
    write_file(path, text);
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/0000:1%d:00.0/power", root, gpu);
    assert_int_equal(file_mkdirs(path, 0755, NULL), 0);
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/0000:1%d:00.0/power/runtime_status", root, gpu);
    snprintf(text, sizeof(text), "%s\n", status);
    write_file(path, text);
}

static void sleeping_gpus_are_listed_and_not_woken(void **unused)
{
    char root[128];
    (void)unused;
    snprintf(root, sizeof(root), "%s/asleep", folder);
    put_pci(root, 0, "suspended", "Disabled by default");
    put_pci(root, 1, "suspended", "Disabled by default");
    assert_int_equal(start(TODAY, "gpus 2\nutil 0 1", root), 0);
    for (int i = 0; i < 3; i++) {
        later(1000, "gpus 2\nutil 0 1");
        assert_int_equal(tick(), 0);
        assert_int_equal(got.n_devices, 1);
        assert_string_equal(got.devices[0].fact.uuid, GPU(1));
        assert_true(got.devices[0].fact.asleep);
        assert_string_equal(why.msg, "1 GPUs are asleep and were not seen awake yet");
        assert_false(has(0, M_util) || has(0, M_mem_total));
    }
    assert_int_equal(stub_calls("*", -1), 0);

    put_pci(root, 0, "active", "Disabled by default");
    later(1000, "gpus 2\nutil 0 1");
    assert_int_equal(tick(), 0);
    assert_int_equal(got.n_devices, 1);
    assert_string_equal(got.devices[0].fact.uuid, GPU(1));
    assert_false(got.devices[0].fact.asleep);
    assert_int_equal(value(0, M_util), 100);
    assert_int_equal(stub_calls("*", 1), 0);
    assert_int_equal(stub_calls("nvmlDeviceGetHandleByIndex_v2", -1), 0);

    put_pci(root, 1, "active", "Disabled by default");
    later(10000, "gpus 2\nutil 0 1");
    assert_int_equal(tick(), 0); /* looks, and finds it */
    assert_int_equal(tick(), 0);
    assert_string_equal(why.msg, "");
    assert_int_equal(got.n_devices, 2);
    assert_string_equal(got.devices[1].fact.uuid, GPU(2));
    assert_true(has(1, M_util));

    put_pci(root, 0, "suspended", "Disabled by default");
    later(5000, "gpus 2\nutil 0 1"); /* one that may not sleep is not looked at each time */
    assert_int_equal(tick(), 0);
    unsigned long before = stub_calls("*", 0);
    assert_int_equal(tick(), 0);
    assert_true(got.devices[0].fact.asleep);
    assert_string_equal(got.devices[0].fact.uuid, GPU(1));
    assert_int_equal(stub_calls("*", 0), before);
    assert_true(has(1, M_util));
}

static void an_idle_gpu_that_may_sleep_is_let_go(void **unused)
{
    char root[128];
    (void)unused;
    snprintf(root, sizeof(root), "%s/rest", folder);
    put_pci(root, 0, "active", "Enabled (fine-grained)");
    assert_int_equal(start(TODAY, "", root), 0);
    for (int i = 0; i <= 60; i++) {
        assert_int_equal(stub_calls("nvmlShutdown", -1), 0);
        assert_int_equal(tick(), 0);
        assert_true(has(0, M_util));
        later(1000, "");
    }
    assert_int_equal(stub_calls("nvmlShutdown", -1), 1);
    unsigned long before = stub_calls("*", -1);
    for (int i = 0; i < 60; i++) { /* it falls asleep, and stays */
        assert_int_equal(tick(), 0);
        assert_int_equal(got.n_devices, 1);
        assert_string_equal(got.devices[0].fact.uuid, GPU(1));
        assert_false(has(0, M_util));
        assert_int_equal(got.devices[0].fact.asleep, i > 5);
        if (i == 5)
            put_pci(root, 0, "suspended", "Enabled (fine-grained)");
        later(1000, "");
    }
    assert_int_equal(stub_calls("*", -1), before);
    put_pci(root, 0, "active", "Enabled (fine-grained)");
    assert_int_equal(tick(), 0);
    assert_true(has(0, M_util));
    assert_false(got.devices[0].fact.asleep || got.devices[0].fact.lost);
}

static void a_busy_gpu_and_a_server_are_not_let_go(void **unused)
{
    static const struct {
        const char *d3, *script;
    } cases[] = {{"Enabled (fine-grained)", "util 0 1"},
                 {"Enabled (fine-grained)", "proc 0 5 5"},
                 {"Disabled by default", ""},
                 {"?", ""}};
    char root[128];
    (void)unused;
    snprintf(root, sizeof(root), "%s/work", folder);
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        put_pci(root, 0, "active", cases[k].d3);
        assert_int_equal(start(TODAY, cases[k].script, root), 0);
        for (int i = 0; i < 100; i++) {
            assert_int_equal(tick(), 0);
            assert_true(has(0, M_util));
            later(1000, cases[k].script);
        }
        assert_int_equal(stub_calls("nvmlShutdown", -1), 0);
        end_scene(NULL);
    }
}

SCENES(SCENE(every_driver_gives_the_values_of_a_tick), SCENE(every_driver_tells_who_a_device_is),
       SCENE(every_driver_tells_who_is_on_a_device), SCENE(a_hundred_processes_are_all_listed),
       SCENE(who_is_there_is_asked_when_memory_changes_and_else_more_seldom),
       SCENE(what_is_not_supported_is_absent_and_not_asked_again), SCENE(a_list_that_is_refused_costs_nothing_else),
       SCENE(a_value_the_driver_does_not_know_now_is_asked_for_again),
       SCENE(process_utilisation_is_not_asked_for_an_empty_gpu),
       SCENE(the_slow_thread_brings_its_values_to_the_tick_once),
       SCENE(a_dear_call_that_hangs_does_not_hold_up_the_tick),
       SCENE(a_thread_that_cannot_be_ended_asks_for_a_new_process),
       SCENE(a_lost_gpu_stays_in_the_list_and_comes_back_as_itself), SCENE(a_gpu_the_driver_no_longer_counts_is_lost),
       SCENE(a_gpu_lost_before_the_start_is_known_from_the_kernel), SCENE(a_gpu_that_knows_nothing_any_more_is_lost),
       SCENE(library_and_driver_that_differ_need_a_new_process), SCENE(a_driver_that_goes_is_let_go_and_found_again),
       SCENE(an_open_that_fails_says_why), SCENE(a_node_without_gpus_is_read_as_empty), SCENE(return_codes_are_judged),
       SCENE(an_xid_is_an_event_told_once), SCENE(a_double_bit_error_is_looked_at_at_once),
       SCENE(mig_instances_are_devices_with_a_parent), SCENE(mig_instances_that_come_and_go_are_followed),
       SCENE(sleeping_gpus_are_listed_and_not_woken), SCENE(an_idle_gpu_that_may_sleep_is_let_go),
       SCENE(a_busy_gpu_and_a_server_are_not_let_go))
