/* test_amd_json.c: what AMD's tools print: rocm-smi's recordings of other machines when they lie in ../shared, and
 * amd-smi's shapes, of which there is no recording. */
#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "relay/amd_json.h"

#include "test.h"

#define OTHERS "shared/fixtures/rocm-smi/" /* beside the repository, or above a work tree of it */

struct want {
    enum metric m;
    int64_t v;
};

static void check(const struct sample *s, const struct want *want, size_t n)
{
    size_t have = 0;
    for (size_t i = 0; i < n; i++) {
        print_message("%s\n", metrics[want[i].m].name);
        assert_true(sample_has(s, want[i].m));
        assert_int_equal(s->v[want[i].m], want[i].v);
    }
    for (unsigned m = 0; m < M_COUNT; m++)
        have += sample_has(s, m);
    assert_int_equal(have, n);
}

static void read_other(const char *name, struct reading *r)
{
    AUTO_BUF text = {0};
    struct err err = {0};
    char path[160];
    snprintf(path, sizeof(path), "../" OTHERS "%s", name);
    if (access(path, R_OK) < 0)
        snprintf(path, sizeof(path), "../../" OTHERS "%s", name);
    if (access(path, R_OK) < 0)
        skip();
    if (file_read(path, 1 << 20, &text, &err) < 0 || amd_json(buf_str(&text), r, &err) < 0)
        fail_msg("%s", err.msg);
}

static void an_mi100_of_rocm_5_7(void **unused)
{
    static const struct want want[] = {{M_util, 0},
                                       {M_mem_util, 0},
                                       {M_mem_total, 34342961152},
                                       {M_mem_used, 6782976},
                                       {M_temp, 31000},
                                       {M_temp_mem, 30000},
                                       {M_power, 39000},
                                       {M_power_limit, 290000},
                                       {M_clock_sm, 300000000},
                                       {M_clock_mem, 1200000000},
                                       {M_pcie_replay, 0}};
    struct reading r = {0};
    (void)unused;
    read_other("mi100_rocm571.json", &r);
    assert_int_equal(r.n_devices, 6);
    assert_string_equal(r.driver, "6.2.4");
    assert_string_equal(r.devices[0].fact.name, "Arcturus GL-XL [Instinct MI100]");
    assert_string_equal(r.devices[0].fact.pci, "0000:1e:00.0");
    assert_string_equal(r.devices[0].fact.uuid, ""); /* N/A: whoever knows the machine makes one */
    assert_int_equal(r.devices[0].fact.vendor, VENDOR_AMD);
    check(&r.devices[0].sample, want, ARRAY_LEN(want));
    reading_fini(&r);
}

static void an_mi50_and_a_desktop_card(void **unused)
{
    struct reading r = {0};
    (void)unused;
    read_other("vega-20-WKS-GL-XE.json", &r);
    assert_string_equal(r.devices[0].fact.name, "Radeon Instinct MI50 32GB");
    assert_string_equal(r.devices[0].fact.uuid, "amd-2f048617326b1ea");
    assert_string_equal(r.devices[0].fact.serial, "692024000810");
    assert_int_equal(r.devices[0].sample.v[M_power], 26000);
    assert_int_equal(r.devices[0].sample.v[M_fan], 0);
    reading_reset(&r);
    read_other("rx6700xt_rocm612.json", &r);
    assert_int_equal(r.n_devices, 1);
    assert_string_equal(r.devices[0].fact.name, "Navi 22 [Radeon RX 6700/6700 XT / 6800M]");
    assert_string_equal(r.devices[0].fact.serial, "");
    assert_int_equal(r.devices[0].sample.v[M_mem_used], 1572745216);
    assert_int_equal(r.devices[0].sample.v[M_clock_sm], 0);
    reading_reset(&r);
    read_other("rx6700xt_rocm430.json", &r);
    assert_string_equal(r.devices[0].fact.name, ""); /* 0x1002 is no name */
    reading_fini(&r);
}

/* metric, behind static: the same GPUs. Shapes of amd-smi 24 (a list) and 26 (a list under gpu_data). */
#define STATIC                                                                                                         \
    "[{\"gpu\": 0, \"asic\": {\"market_name\": \"AMD Instinct MI300X\", \"asic_serial\": \"0x6F1F0A2B3C4D5E6F\"}, "    \
    "\"bus\": {\"bdf\": \"0000:83:00.0\"}, \"limit\": {\"max_power\": {\"value\": 750, \"unit\": \"W\"}}, "            \
    "\"driver\": {\"name\": \"amdgpu\", \"version\": \"6.8.5\"}}, {\"gpu\": 1, \"asic\": \"N/A\"}]"
#define METRIC                                                                                                         \
    "{\"gpu_data\": [{\"gpu\": 0, \"usage\": {\"gfx_activity\": {\"value\": 93, \"unit\": \"%\"}, "                    \
    "\"umc_activity\": {\"value\": 12, \"unit\": \"%\"}, \"mm_activity\": \"N/A\"}, "                                  \
    "\"power\": {\"socket_power\": {\"value\": 612, \"unit\": \"W\"}}, "                                               \
    "\"clock\": {\"gfx_0\": {\"clk\": {\"value\": 2100, \"unit\": \"MHz\"}}}, "                                        \
    "\"temperature\": {\"edge\": \"N/A\", \"hotspot\": {\"value\": 61, \"unit\": \"C\"}, "                             \
    "\"mem\": {\"value\": 55, \"unit\": \"C\"}}, \"pcie\": {\"width\": 16}, "                                          \
    "\"energy\": {\"total_energy_consumption\": {\"value\": 1234.5, \"unit\": \"J\"}}, "                               \
    "\"mem_usage\": {\"total_vram\": {\"value\": 196592, \"unit\": \"MB\"}, "                                          \
    "\"used_vram\": {\"value\": 1024, \"unit\": \"MB\"}}}, {\"gpu\": 1, \"usage\": \"N/A\"}]}"

static void amd_smis_texts_add_up(void **unused)
{
    static const struct want want[] = {{M_util, 9300},           {M_mem_util, 1200},      {M_mem_total, 196592ll << 20},
                                       {M_mem_used, 1024 << 20}, {M_temp, 61000},         {M_temp_mem, 55000},
                                       {M_power, 612000},        {M_power_limit, 750000}, {M_energy, 1234500},
                                       {M_clock_sm, 2100000000}, {M_pcie_width, 16}};
    struct reading r = {0};
    struct err err = {0};
    (void)unused;
    assert_int_equal(amd_json(STR("/dev/kfd: Permission denied\n" STATIC "\n"), &r, &err), 0);
    assert_int_equal(amd_json(STR(METRIC), &r, &err), 0);
    assert_int_equal(r.n_devices, 2);
    assert_string_equal(r.devices[0].fact.name, "AMD Instinct MI300X");
    assert_string_equal(r.devices[0].fact.uuid, "amd-6f1f0a2b3c4d5e6f");
    assert_string_equal(r.devices[0].fact.pci, "0000:83:00.0");
    assert_string_equal(r.driver, "6.8.5");
    check(&r.devices[0].sample, want, ARRAY_LEN(want));
    check(&r.devices[1].sample, NULL, 0);
    reading_fini(&r);
}

static void what_is_no_json_of_gpus_is_refused(void **unused)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "there is no JSON in it"},
        {"ERROR: GPU[0] : sclk clock is unsupported", "there is no JSON in it"},
        {"{}", "it names no GPU"},
        {"[]", "it names no GPU"},
        {"[1, \"x\", {\"gpu\": -1}, {\"gpu\": \"0\"}]", "it names no GPU"},
        {"{\"cardx\": {}, \"card-1\": {}, \"card1\": 7}", "it names no GPU"},
        {"{\"card0\": {\"GPU use (%)\": \"1", "no JSON: line 1: unexpected newline near end of input"},
    };
    struct reading r = {0};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        print_message("'%s'\n", cases[i].text);
        assert_int_equal(amd_json(str_of(cases[i].text), &r, &err), -EINVAL);
        if (i < ARRAY_LEN(cases) - 1)
            assert_string_equal(err.msg, cases[i].why);
        assert_int_equal(r.n_devices, 0);
    }
    reading_fini(&r);
}

TESTS(cmocka_unit_test(an_mi100_of_rocm_5_7), cmocka_unit_test(an_mi50_and_a_desktop_card),
      cmocka_unit_test(amd_smis_texts_add_up), cmocka_unit_test(what_is_no_json_of_gpus_is_refused))
