/* test_work.c: work and flops of jobs whose operations were counted. */
#include "truework.h"

static void flops_are_near_what_was_counted(void **unused)
{
    /* tf32 and fp8 run in the same pipes as bf16 and show as it: exempt, and said so wherever flops are explained. */
    static const struct {
        const char *job;
        double least, most; /* of the estimate, as a share of what was counted */
    } cases[] = {{"bf16", 0.85, 1.15}, {"gpt", 0.85, 1.15},      {"gpt-stall", 0.85, 1.15}, {"small", 0.85, 1.15},
                 {"fp32", 0.85, 1.15}, {"gpt-fp32", 0.85, 1.15}, {"tf32", 1.9, 2.4},        {"fp8", 0.45, 0.6}};
    (void)unused;
    truework_load();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double sum = 0, counted = 0;
        int n = 0;
        for (size_t k = 0; k < n_truework; k++) {
            const struct truework_row *r = &truework[k];
            if (strcmp(r->job, cases[i].job) != 0)
                continue;
            assert_true(sample_has(&r->s, M_flops));
            sum += (double)r->s.v[M_flops] / 1000;
            counted = r->tflops;
            n++;
        }
        print_message("%s: estimated %.1f, counted %.1f TFLOP/s\n", cases[i].job, sum / n, counted);
        assert_true(n > 4);
        assert_true(sum / n >= counted * cases[i].least && sum / n <= counted * cases[i].most);
    }
}

static void memory_bound_jobs_have_no_flops(void **unused)
{
    static const char *const jobs[] = {"copy", "gemv"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        assert_false(sample_has(truework_at(jobs[i], 0), M_flops));
}

static void work_is_the_busiest_part(void **unused)
{
    static const struct {
        const char *job;
        int64_t least, most;
    } cases[] = {{"idle", 0, 0},           {"spin", 0, 10},      {"bf16", 9000, 9400}, {"gpt", 5400, 5800},
                 {"gpt-fp32", 6500, 6800}, {"copy", 8800, 9000}, {"gemv", 7400, 7700}, {"small", 900, 1250}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].job);
        assert_in_range(truework_at(cases[i].job, 2)->v[M_work], cases[i].least, cases[i].most);
    }
}

static void what_is_not_known_is_not_zero(void **unused)
{
    static const enum metric parts[] = {M_tensor_active, M_fp64_active, M_fp32_active,
                                        M_fp16_active,   M_int_active,  M_dram_active};
    static const enum metric pipes[] = {M_tensor_active, M_hmma_active, M_imma_active, M_dfma_active,
                                        M_fp64_active,   M_fp32_active, M_dram_active};
    const struct gpu_peak *h200 = gpu_peak_of("NVIDIA H200");
    int64_t v = -7;
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct sample s = *truework_at("bf16", 0);
        bits_clear(&s.have, parts[i]);
        assert_false(work_of(&s, &v));
    }
    for (size_t i = 0; i < ARRAY_LEN(pipes); i++) {
        struct sample s = *truework_at("bf16", 0);
        bits_clear(&s.have, pipes[i]);
        assert_false(flops_of(h200, 132, 1980000000, &s, &v));
    }
    assert_false(flops_of(NULL, 132, 1980000000, truework_at("bf16", 0), &v));
    assert_false(flops_of(h200, 0, 1980000000, truework_at("bf16", 0), &v));
    assert_false(flops_of(h200, 132, 0, truework_at("bf16", 0), &v));
    assert_int_equal(v, -7);
}

static void models_are_known_by_how_their_name_begins(void **unused)
{
    static const struct {
        const char *name;
        int sms; /* 0: not known */
    } cases[] = {{"NVIDIA H200", 132},        {"NVIDIA H200 NVL", 0},
                 {"NVIDIA H100 NVL", 0},      {"NVIDIA H200 MIG 1g.18gb", 132},
                 {"NVIDIA H100 PCIe", 114},   {"NVIDIA H100 80GB HBM3", 132},
                 {"NVIDIA GH200 480GB", 132}, {"NVIDIA H20", 0},
                 {"NVIDIA H100", 0},          {"NVIDIA A100-SXM4-80GB", 0},
                 {"NVIDIA B200", 0},          {"", 0}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct gpu_peak *p = gpu_peak_of(cases[i].name);
        print_message("'%s'\n", cases[i].name);
        assert_int_equal(p ? p->sms : 0, cases[i].sms);
    }
}

static void sms_and_operations_and_clock_make_the_peaks_that_are_published(void **unused)
{
    static const struct { /* dense, TFLOP/s; MHz */
        const char *name;
        double bf16, int8, dfma, fp32, fp64, tensor_mhz, mhz;
    } cases[] = {{"NVIDIA H200", 989.5, 1979, 67, 67, 34, 1830, 1980},
                 {"NVIDIA GH200 480GB", 0, 0, 66.9, 66.9, 33.5, 0, 1980},
                 {"NVIDIA H100 80GB HBM3", 989.4, 1978.9, 66.9, 66.9, 33.5, 1830, 1980},
                 {"NVIDIA H100 PCIe", 756, 1513, 51.2, 51.2, 25.6, 1620, 1755}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct gpu_peak *p = gpu_peak_of(cases[i].name);
        print_message("%s\n", cases[i].name);
        assert_non_null(p);
        double tensor = p->sms * cases[i].tensor_mhz / 1e6, plain = p->sms * cases[i].mhz / 1e6;
        if (cases[i].bf16 > 0) {
            assert_near(p->hmma * tensor / cases[i].bf16, 1, 0.01);
            assert_near(p->imma * tensor / cases[i].int8, 1, 0.01);
        }
        assert_near(p->dfma * plain / cases[i].dfma, 1, 0.02); /* data sheets have whole numbers */
        assert_near(p->fp32 * plain / cases[i].fp32, 1, 0.02);
        assert_near(p->fp64 * plain / cases[i].fp64, 1, 0.02);
    }
}

TESTS(cmocka_unit_test(sms_and_operations_and_clock_make_the_peaks_that_are_published),
      cmocka_unit_test(flops_are_near_what_was_counted), cmocka_unit_test(memory_bound_jobs_have_no_flops),
      cmocka_unit_test(work_is_the_busiest_part), cmocka_unit_test(what_is_not_known_is_not_zero),
      cmocka_unit_test(models_are_known_by_how_their_name_begins))
