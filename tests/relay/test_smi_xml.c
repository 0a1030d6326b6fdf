/* test_smi_xml.c: nvidia-smi -q -x of a real H200, and of other machines when their recordings lie in ../shared. */
#include <errno.h>

#include "base/file.h"
#include "relay/smi_xml.h"

#include "test.h"

#define H200   "tests/data/h200/"
#define OTHERS "shared/fixtures/nvidia-smi/" /* beside the repository, or above a work tree of it */

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

static void read_file(const char *path, struct reading *r)
{
    AUTO_BUF text = {0};
    struct err err = {0};
    if (file_read(path, 1 << 20, &text, &err) < 0 || smi_xml(buf_str(&text), r, &err) < 0)
        fail_msg("%s", err.msg);
}

/* Recordings of other machines are not ours to copy: where they are not, the test is skipped. */
static void read_other(const char *name, struct reading *r)
{
    char path[256];
    snprintf(path, sizeof(path), "../" OTHERS "%s", name);
    if (access(path, R_OK) != 0)
        snprintf(path, sizeof(path), "../../" OTHERS "%s", name);
    if (access(path, R_OK) != 0)
        skip();
    read_file(path, r);
}

static void a_busy_h200(void **unused)
{
    static const struct want want[] = {{M_util, 2700},
                                       {M_mem_util, 500},
                                       {M_enc, 0},
                                       {M_dec, 0},
                                       {M_mem_total, 143771ll << 20},
                                       {M_mem_reserved, 616ll << 20},
                                       {M_mem_used, 5169ll << 20},
                                       {M_temp, 40000},
                                       {M_temp_mem, 39000},
                                       {M_power, 265890},
                                       {M_power_limit, 700000},
                                       {M_clock_sm, 1980000000},
                                       {M_clock_mem, 3201000000},
                                       {M_clock_sm_max, 1980000000},
                                       {M_clock_mem_max, 3201000000},
                                       {M_pstate, 0},
                                       {M_pcie_tx, 2175000},
                                       {M_pcie_rx, 5194000},
                                       {M_pcie_replay, 0},
                                       {M_pcie_gen, 5},
                                       {M_pcie_width, 16},
                                       {M_ecc_corrected, 0},
                                       {M_ecc_uncorrected, 0},
                                       {M_rows_remapped, 0},
                                       {M_rows_pending, 0},
                                       {M_throttle, 0}};
    struct reading r = {0};
    (void)unused;
    read_file(H200 "busy.xml", &r);
    assert_int_equal(r.n_devices, 1);
    assert_string_equal(r.driver, "580.159.04");
    assert_string_equal(r.cuda, "13.0");
    const struct device_fact *f = &r.devices[0].fact;
    assert_string_equal(f->uuid, "GPU-00000000-0000-4000-8000-000000000001");
    assert_string_equal(f->name, "NVIDIA H200");
    assert_string_equal(f->serial, "0000000000001");
    assert_string_equal(f->pci, "0000:00:06.0");
    assert_int_equal(f->minor, 0);
    assert_int_equal(f->mig, -1);
    check(&r.devices[0].sample, want, ARRAY_LEN(want));
    assert_int_equal(r.devices[0].n_uses, 1);
    assert_int_equal(r.devices[0].uses[0].pid, 434);
    assert_int_equal(r.devices[0].uses[0].kind, PROC_COMPUTE);
    assert_int_equal(r.devices[0].uses[0].mem, 5160ll << 20);
    assert_string_equal(r.devices[0].uses[0].known->name, "python3");
    reading_reset(&r);
    read_file(H200 "idle.xml", &r);
    assert_int_equal(r.devices[0].sample.v[M_throttle], 1);
    assert_int_equal(r.devices[0].n_uses, 0);
    assert_true(r.devices[0].uses_known);
    reading_fini(&r);
}

static void an_a100_with_instances(void **unused)
{
    struct reading r = {0};
    (void)unused;
    read_other("a100-sxm4-mig.xml", &r);
    assert_int_equal(r.n_devices, 3);
    assert_string_equal(r.driver, "510.47.03");
    assert_string_equal(r.devices[0].fact.uuid, "GPU-27b94a00-ed54-5c24-b1fd-1054085de32a");
    assert_false(sample_has(&r.devices[0].sample, M_util)); /* N/A while MIG is on */
    assert_int_equal(r.devices[0].sample.v[M_power], 66920);
    assert_int_equal(r.devices[0].sample.v[M_power_limit], 400000);
    assert_int_equal(r.devices[0].sample.v[M_throttle], 0);
    for (int i = 1; i < 3; i++) {
        const struct device_fact *f = &r.devices[i].fact;
        assert_string_equal(f->parent, r.devices[0].fact.uuid);
        assert_string_equal(f->uuid, i == 1 ? "MIG-GPU-27b94a00-ed54-5c24-b1fd-1054085de32a/1/0"
                                            : "MIG-GPU-27b94a00-ed54-5c24-b1fd-1054085de32a/2/0");
        assert_int_equal(f->mig, i - 1);
        assert_int_equal(r.devices[i].sample.v[M_mem_total], 19968ll << 20);
        assert_int_equal(r.devices[i].sample.v[M_mem_used], 19ll << 20);
        assert_false(sample_has(&r.devices[i].sample, M_power));
    }
    reading_fini(&r);
}

static void old_and_new_layouts(void **unused)
{
    static const struct {
        const char *file;
        size_t devices;
        int64_t power, temp, used, ecc; /* -1 absent */
    } cases[] = {
        {"tesla-p100.xml", 1, 26160, 38000, 0, 0},      {"gtx-1660-ti.xml", 1, 8930, 40000, 0, -1},
        {"quadro-p400.xml", 1, -1, 33000, -2, -1},      {"rtx-3080-v13.xml", 1, 139620, 27000, -2, -1},
        {"a100-sxm4-v12.xml", 5, 67030, 27000, -2, -2},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reading r = {0};
        print_message("%s\n", cases[i].file);
        read_other(cases[i].file, &r);
        assert_int_equal(r.n_devices, cases[i].devices);
        const struct sample *s = &r.devices[0].sample;
        assert_true(r.devices[0].fact.uuid[0] && r.devices[0].fact.pci[0] && r.devices[0].fact.name[0]);
        assert_int_equal(sample_has(s, M_power) ? s->v[M_power] : -1, cases[i].power);
        assert_int_equal(sample_has(s, M_temp) ? s->v[M_temp] : -1, cases[i].temp);
        if (cases[i].used != -2)
            assert_int_equal(sample_has(s, M_mem_used) ? s->v[M_mem_used] : -1, cases[i].used);
        if (cases[i].ecc != -2)
            assert_int_equal(sample_has(s, M_ecc_corrected) ? s->v[M_ecc_corrected] : -1, cases[i].ecc);
        assert_true(sample_has(s, M_mem_total));
        reading_fini(&r);
    }
}

static void processes_of_an_instance_are_its_own(void **unused)
{
    struct reading r = {0};
    (void)unused;
    assert_int_equal(
        smi_xml(STR("<nvidia_smi_log><gpu id=\"00000000:05:00.0\"><product_name>A</product_name><mig_devices>"
                    "<mig_device><index>0</index><gpu_instance_id>7</gpu_instance_id><compute_instance_id>0</"
                    "compute_instance_id></mig_device>"
                    "<mig_device><index>1</index><gpu_instance_id>8</gpu_instance_id><compute_instance_id>1</"
                    "compute_instance_id><uuid>MIG-x</uuid></mig_device></mig_devices><uuid>GPU-a</uuid><processes>"
                    "<process_info><gpu_instance_id>8</gpu_instance_id><compute_instance_id>1</compute_instance_id>"
                    "<pid>5</pid><type>C+G</type><process_name>/usr/bin/a &amp; b</process_name><used_memory>3 MiB</"
                    "used_memory></process_info>"
                    "<process_info><gpu_instance_id>N/A</gpu_instance_id><pid>6</pid><type>G</type><process_name>X</"
                    "process_name><used_memory>N/A</used_memory></process_info>"
                    "<process_info><pid>none</pid></process_info>"
                    "</processes></gpu></nvidia_smi_log>"),
                &r, NULL),
        0);
    assert_int_equal(r.n_devices, 3);
    assert_string_equal(r.devices[1].fact.uuid, "MIG-GPU-a/7/0");
    assert_string_equal(r.devices[2].fact.uuid, "MIG-x");
    assert_int_equal(r.devices[2].n_uses, 1);
    assert_int_equal(r.devices[2].uses[0].kind, PROC_COMPUTE | PROC_GRAPHICS);
    assert_string_equal(r.devices[2].uses[0].known->name, "a & b");
    assert_int_equal(r.devices[0].n_uses, 1);
    assert_int_equal(r.devices[0].uses[0].pid, 6);
    assert_int_equal(r.devices[0].uses[0].mem, -1);
    assert_int_equal(r.devices[1].n_uses, 0);
    reading_fini(&r);
}

static void bad_text_names_its_line(void **unused)
{
    static const struct {
        const char *text;
        int want;
        const char *msg;
    } cases[] = {
        {"", -EINVAL, "nvidia-smi's XML: line 1: no element found"},
        {"<nvidia_smi_log>\n<gpu>\n</nvidia_smi_log>", -EINVAL, "nvidia-smi's XML: line 3: mismatched tag"},
        {"<html></html>", -EINVAL, "nvidia-smi's XML: line 1: it does not begin with <nvidia_smi_log>"},
        {"<!DOCTYPE a [<!ENTITY b \"c\">]>\n<a>&b;</a>", -EINVAL,
         "nvidia-smi's XML: line 1: it declares an entity, which nvidia-smi never does"},
        {"NVIDIA-SMI has failed because it couldn't communicate\n", -ENODEV,
         "nvidia-smi: NVIDIA-SMI has failed because it couldn't communicate"},
        {"No devices were found\n", -ENODEV, "nvidia-smi: No devices were found"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reading r = {0};
        struct err err = {0};
        print_message("%s\n", cases[i].msg);
        assert_int_equal(smi_xml(str_of(cases[i].text), &r, &err), cases[i].want);
        assert_string_equal(err.msg, cases[i].msg);
        reading_fini(&r);
    }
    AUTO_BUF deep = BUF_INIT(1 << 20);
    struct reading r = {0};
    struct err err = {0};
    for (int i = 0; i < 10000; i++)
        buf_adds(&deep, "<a>");
    assert_int_equal(smi_xml(buf_str(&deep), &r, &err), -EINVAL);
    assert_string_equal(err.msg, "nvidia-smi's XML: line 1: elements too deep in one another");
    buf_reset(&deep);
    buf_adds(&deep, "<nvidia_smi_log>");
    for (int i = 0; i <= DEVICES_MAX; i++)
        buf_adds(&deep, "<gpu/>");
    assert_int_equal(smi_xml(buf_str(&deep), &r, &err), -EINVAL);
    assert_string_equal(err.msg, "nvidia-smi's XML: line 1: more GPUs than fit");
    reading_fini(&r);
}

TESTS(cmocka_unit_test(a_busy_h200), cmocka_unit_test(an_a100_with_instances), cmocka_unit_test(old_and_new_layouts),
      cmocka_unit_test(processes_of_an_instance_are_its_own), cmocka_unit_test(bad_text_names_its_line))
