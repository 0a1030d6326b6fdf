/* test_smi.c: nvidia-smi's CSV of a real H200, of drivers with other columns, and special values. */
#include <errno.h>

#include "base/buf.h"
#include "base/file.h"
#include "collect/smi.h"
#include "collect/smi_tables.h"

#include "test.h"

#define H200 "tests/data/h200/"

static struct buf file(const char *path)
{
    struct buf b = {0};
    struct err err = {0};
    if (file_read(path, 1 << 20, &b, &err) < 0)
        fail_msg("%s", err.msg);
    return b;
}

/* A table of GPUs, each of its lines a row. */
static void read_gpus(struct str text, struct reading *r)
{
    struct smi_table t = {0};
    struct str line;
    int64_t count;
    assert_true(str_line(&text, &line));
    assert_int_equal(smi_header(&t, line), 0);
    while (str_line(&text, &line))
        assert_int_equal(smi_row(&t, line, reading_add(r), &count, r->driver), 0);
}

/* A table of processes: how many rows it has, of which the first max are in ret. */
static size_t read_apps(struct str text, struct smi_app *ret, size_t max)
{
    struct smi_table t = {0};
    struct str line;
    size_t n = 0;
    assert_true(str_line(&text, &line));
    assert_int_equal(smi_header(&t, line), 0);
    for (; str_line(&text, &line) && n < max; n++)
        assert_int_equal(smi_app(&t, line, &ret[n]), 0);
    return n;
}

static void a_real_table_becomes_a_reading(void **unused)
{
    AUTO_BUF gpus = file(H200 "busy.query-gpu.csv");
    AUTO_BUF apps = file(H200 "busy.apps.csv");
    struct reading r = {.at_ms = 5};
    struct smi_app on[2];
    (void)unused;
    read_gpus(buf_str(&gpus), &r);
    assert_int_equal(r.n_devices, 1);
    assert_string_equal(r.driver, "580.159.04");
    const struct device_fact *f = &r.devices[0].fact;
    assert_string_equal(f->uuid, "GPU-00000000-0000-4000-8000-000000000001");
    assert_string_equal(f->name, "NVIDIA H200");
    assert_string_equal(f->pci, "0000:00:06.0");
    assert_int_equal(f->index, 0);
    assert_int_equal(f->vendor, VENDOR_NVIDIA);
    assert_false(f->lost);
    static const struct {
        enum metric m;
        int64_t v;
    } want[] = {{M_util, 2700},
                {M_mem_util, 500},
                {M_mem_total, 143771ll << 20},
                {M_mem_used, 5169ll << 20},
                {M_mem_reserved, 616ll << 20},
                {M_temp, 40000},
                {M_temp_mem, 39000},
                {M_power, 265890},
                {M_power_limit, 700000},
                {M_clock_sm, 1980000000},
                {M_clock_mem, 3201000000},
                {M_clock_sm_max, 1980000000},
                {M_pstate, 0},
                {M_throttle, 0},
                {M_pcie_gen, 5},
                {M_pcie_width, 16},
                {M_ecc_corrected, 0},
                {M_ecc_uncorrected, 0}};
    const struct sample *s = &r.devices[0].sample;
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        print_message("%s\n", metrics[want[i].m].name);
        assert_true(sample_has(s, want[i].m));
        assert_int_equal(s->v[want[i].m], want[i].v);
    }
    for (unsigned m = 0; m < M_COUNT; m++)
        n += sample_has(s, m);
    assert_int_equal(n, ARRAY_LEN(want)); /* fan and pending are [N/A]: absent, not zero */
    assert_int_equal(read_apps(buf_str(&apps), on, ARRAY_LEN(on)), 1);
    assert_int_equal(on[0].pid, 434);
    assert_int_equal(on[0].mem, 5160ll << 20);
    assert_string_equal(on[0].uuid, f->uuid);
    assert_string_equal(on[0].name, "python3");
    reading_fini(&r);
}

static void an_idle_gpu_has_no_processes_and_says_so(void **unused)
{
    AUTO_BUF gpus = file(H200 "idle.query-gpu.csv");
    AUTO_BUF apps = file(H200 "idle.apps.csv");
    struct reading r = {0};
    struct smi_app on[1];
    (void)unused;
    read_gpus(buf_str(&gpus), &r);
    assert_int_equal(read_apps(buf_str(&apps), on, ARRAY_LEN(on)), 0);
    assert_int_equal(r.devices[0].sample.v[M_throttle], 1);
    reading_fini(&r);
}

static void order_units_and_aliases_do_not_matter(void **unused)
{
    static const struct {
        const char *text;
        int64_t util, used, power, throttle; /* -1 absent */
    } cases[] = {
        {"name, memory.used [MiB], utilization.gpu [%]\nA, 100 MiB, 7 %\n", 700, 100 << 20, -1, -1},
        {"name, memory.used [MiB], utilization.gpu [%]\nA, 100, 7\n", 700, 100 << 20, -1, -1},
        {"memory.used, name, power.draw\n100, A, 12.345\n", -1, 100 << 20, 12345, -1},
        {"name,power.draw [W],new.thing\nA,[N/A],x\n", -1, -1, -1, -1},
        {"name, clocks_throttle_reasons.active\nA, 0x0000000000000004\n", -1, -1, -1, 4},
        {"name, clocks_event_reasons.active, clocks_throttle_reasons.active\nA, 0x8, [N/A]\n", -1, -1, -1, 8},
        {"name, memory.used [GiB]\nA, 2\n", -1, 2ll << 30, -1, -1},
        {"name, power.draw [W]\nA, 500 mW\n", -1, -1, 500, -1},
        {"name, power.draw [furlongs]\nA, 500\n", -1, -1, -1, -1}, /* better absent than wrong */
        {"name, power.draw [W], power.draw.average [W]\nA, [N/A], 3\n", -1, -1, 3000, -1},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reading r = {0};
        print_message("%s", cases[i].text);
        read_gpus(str_of(cases[i].text), &r);
        assert_int_equal(r.n_devices, 1);
        const struct sample *s = &r.devices[0].sample;
        assert_int_equal(sample_has(s, M_util) ? s->v[M_util] : -1, cases[i].util);
        assert_int_equal(sample_has(s, M_mem_used) ? s->v[M_mem_used] : -1, cases[i].used);
        assert_int_equal(sample_has(s, M_power) ? s->v[M_power] : -1, cases[i].power);
        assert_int_equal(sample_has(s, M_throttle) ? s->v[M_throttle] : -1, cases[i].throttle);
        reading_fini(&r);
    }
}

static void special_values_are_absent(void **unused)
{
    static const char *const words[] = {"[N/A]",
                                        "N/A",
                                        "[Not Supported]",
                                        "[Not Found]",
                                        "[Insufficient Permissions]",
                                        "[Unknown Error]",
                                        "[GPU requires reset]",
                                        "ERR!",
                                        "",
                                        "-",
                                        "Requested functionality has been deprecated",
                                        "nan",
                                        "1 2",
                                        "0x5",
                                        "P2",
                                        "--5",
                                        "1.2.3",
                                        "99999999999999999999999",
                                        "[GPU is lost]",
                                        "5 %%",
                                        "7 apples"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        int64_t v = 77;
        print_message("'%s'\n", words[i]);
        assert_false(smi_value(str_of(words[i]), STR("%"), M_util, &v));
        assert_false(smi_value(str_of(words[i]), STR("W"), M_power, &v));
        assert_false(smi_value(str_of(words[i]), STR(""), M_mem_used, &v));
        assert_int_equal(v, 77);
    }
}

static void a_lost_gpu_is_lost_not_missing(void **unused)
{
    struct reading r = {0};
    (void)unused;
    read_gpus(STR("index, uuid, pci.bus_id, utilization.gpu [%], remapped_rows.correctable, "
                  "retired_pages.dbe, retired_pages.pending\n"
                  "0, GPU-a, 00000000:05:00.0, [GPU is lost], 3, 4, Yes\n"
                  "1, GPU-b, 00000000:06:00.0, [GPU requires reset], [N/A], [N/A], No\n"
                  "2, GPU-c, 00000000:07:00.0, 50, [N/A], [N/A], [N/A]\n"),
              &r);
    assert_int_equal(r.n_devices, 3);
    assert_true(r.devices[0].fact.lost);
    assert_string_equal(r.devices[0].fact.note, "the driver has lost it");
    assert_int_equal(r.devices[0].sample.v[M_rows_remapped], 7);
    assert_int_equal(r.devices[0].sample.v[M_rows_pending], 1);
    assert_false(r.devices[1].fact.lost);
    assert_string_equal(r.devices[1].fact.note, "needs a reset");
    assert_int_equal(r.devices[1].sample.v[M_rows_pending], 0);
    assert_true(sample_has(&r.devices[1].sample, M_rows_pending));
    assert_false(sample_has(&r.devices[2].sample, M_rows_pending));
    assert_false(sample_has(&r.devices[2].sample, M_rows_remapped));
    assert_string_equal(r.devices[2].fact.note, "");
    reading_fini(&r);
}

static void a_program_may_have_commas_in_its_name(void **unused)
{
    struct smi_app on[3];
    (void)unused;
    size_t n = read_apps(STR("gpu_bus_id, pid, process_name, used_gpu_memory [MiB]\n"
                             "00000000:06:00.0, 7, /opt/a,b, c, d, [N/A]\n"
                             "00000000:05:00.0, 8, x, 1 MiB\n"),
                         on, ARRAY_LEN(on));
    assert_int_equal(n, 2);
    assert_string_equal(on[0].pci, "0000:06:00.0");
    assert_int_equal(on[0].pid, 7);
    assert_int_equal(on[0].mem, -1);
    assert_string_equal(on[0].name, "/opt/a,b, c, d");
    assert_int_equal(on[1].mem, 1 << 20);
    assert_string_equal(on[1].name, "x");
}

static void what_is_no_row_is_refused(void **unused)
{
    static const char *const rows[] = {"GPU-b", "a, b, c", "", "Unable to determine the device handle for GPU 0"};
    struct smi_table t = {0};
    struct reading r = {0};
    int64_t count;
    (void)unused;
    assert_int_equal(smi_header(&t, STR("hello")), -EINVAL);
    assert_int_equal(smi_header(&t, STR("uuid, name")), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("'%s'\n", rows[i]);
        struct device_reading *g = reading_add(&r);
        assert_int_equal(smi_row(&t, str_of(rows[i]), g, &count, r.driver), -EINVAL);
    }
    reading_fini(&r);
}

static void words_of_failure_are_known(void **unused)
{
    static const struct {
        const char *line;
        int want;
    } cases[] = {
        {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure", -ENODEV},
        {"No devices were found", -ENODEV},
        {"Failed to initialize NVML: Driver/library version mismatch", -ENODEV},
        {"Unable to determine the device handle for GPU 0000:05:00.0: Unknown Error", -ENODEV},
        {"Field \"x.y\" is not a valid field to query.", 0},
        {"hello", 0},
    };
    struct str field;
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].line);
        assert_int_equal(smi_failure(str_of(cases[i].line)), cases[i].want);
        bool named = smi_unknown_field(str_of(cases[i].line), &field);
        assert_int_equal(named, cases[i].line[0] == 'F' && cases[i].line[1] == 'i');
        assert_true(!named || str_eq(field, "x.y"));
    }
}

/* A machine over ssh prints its tables line by line, and may print for ever. */
static void tables_without_end_are_capped(UNUSED void **unused)
{
    struct smi_tables t = {0};
    char line[100];

    smi_tables_gpu(&t, str_of("uuid"));
    smi_tables_app(&t, str_of("gpu_uuid, pid, process_name, used_gpu_memory [MiB]"), 1);
    for (int i = 0; i < 3 * PROCS_MAX; i++) {
        snprintf(line, sizeof(line), "GPU-%d", i);
        smi_tables_gpu(&t, str_of(line));
        snprintf(line, sizeof(line), "GPU-0, %d, python, 100 MiB", i + 1);
        smi_tables_app(&t, str_of(line), 1);
        assert_true(t.coming.n_devices <= DEVICES_MAX && t.now.n_devices <= DEVICES_MAX);
        assert_int_equal(t.n_seen, MIN(i + 1, PROCS_MAX));
    }
    assert_int_equal(t.now.n_devices, DEVICES_MAX);
    smi_tables_fini(&t);
}

TESTS(cmocka_unit_test(a_real_table_becomes_a_reading), cmocka_unit_test(an_idle_gpu_has_no_processes_and_says_so),
      cmocka_unit_test(order_units_and_aliases_do_not_matter), cmocka_unit_test(special_values_are_absent),
      cmocka_unit_test(a_lost_gpu_is_lost_not_missing), cmocka_unit_test(a_program_may_have_commas_in_its_name),
      cmocka_unit_test(what_is_no_row_is_refused), cmocka_unit_test(words_of_failure_are_known),
      cmocka_unit_test(tables_without_end_are_capped))
