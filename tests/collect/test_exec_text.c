/* test_exec_text.c: lines of custom metrics. */
#include <errno.h>

#include "base/buf.h"
#include "collect/exec.h"

#include "test.h"

static void a_line_becomes_a_value(void **unused)
{
    static const struct {
        const char *line;
        int want;
        const char *name, *device;
        int64_t v, per;
        uint8_t unit, kind;
    } cases[] = {
        {"loss 0.25", 1, "loss", "", 250, 1000, UNIT_NONE, KIND_GAUGE},
        {"  loss\t-3  ", 1, "loss", "", -3000, 1000, UNIT_NONE, KIND_GAUGE},
        {"loss 1e-7", 1, "loss", "", 1, 10000000, UNIT_NONE, KIND_GAUGE},
        {"loss 0.1234567", 1, "loss", "", 1234567, 10000000, UNIT_NONE, KIND_GAUGE},
        {"big 9000000000000000", 1, "big", "", 9000000000000000000, 1000, UNIT_NONE, KIND_GAUGE},
        {"bigger 9000000000000000000", 1, "bigger", "", 9000000000000000000, 1, UNIT_NONE, KIND_GAUGE},
        {"tokens_total 17", 1, "tokens_total", "", 17, 1, UNIT_NONE, KIND_COUNTER},
        {"work_seconds_total 1.5", 1, "work_seconds_total", "", 1500, 1000, UNIT_SECONDS, KIND_COUNTER},
        {"heap_bytes 1.5e9", 1, "heap_bytes", "", 1500000000, 1, UNIT_BYTES, KIND_GAUGE},
        {"net_bytes_per_second 10", 1, "net_bytes_per_second", "", 10000, 1000, UNIT_BYTES_S, KIND_GAUGE},
        {"hit_ratio 0.97", 1, "hit_ratio", "", 9700, 10000, UNIT_RATIO, KIND_GAUGE},
        {"a.b-c/d 1", 1, "a_b_c_d", "", 1000, 1000, UNIT_NONE, KIND_GAUGE},
        {"fps{device=\"0\"} 60", 1, "fps", "0", 60000, 1000, UNIT_NONE, KIND_GAUGE},
        {"fps{gpu=\"3\",} 60 1794700000000", 1, "fps", "3", 60000, 1000, UNIT_NONE, KIND_GAUGE},
        {"fps{ uuid = \"GPU-a\" , gpu=\"3\" }60", 1, "fps", "GPU-a", 60000, 1000, UNIT_NONE, KIND_GAUGE},
        {"DCGM_X{gpu=\"1\",UUID=\"GPU-b\",device=\"nvidia1\",modelName=\"H200\"} 5", 1, "DCGM_X", "GPU-b", 5000, 1000,
         UNIT_NONE, KIND_GAUGE},
        {"x{device=\"nvidia2\"} 1", 1, "x", "2", 1000, 1000, UNIT_NONE, KIND_GAUGE},
        {"temp_celsius{sensor=\"cpu 0\"} 41.5", 1, "temp_celsius_cpu_0", "", 41500, 1000, UNIT_CELSIUS, KIND_GAUGE},
        {"x{a=\"1\",b=\"q\\\"z\"} 1", 1, "x_1_q_z", "", 1000, 1000, UNIT_NONE, KIND_GAUGE},
        {"x{} 1", 1, "x", "", 1000, 1000, UNIT_NONE, KIND_GAUGE},
        {"x{device=\"eth0\"} 1", 1, "x_eth0", "", 1000, 1000, UNIT_NONE, KIND_GAUGE},
        {"", 0, "", "", 0, 0, 0, 0},
        {"# a comment", 0, "", "", 0, 0, 0, 0},
        {"#", 0, "", "", 0, 0, 0, 0},
        {"# EOF", 0, "", "", 0, 0, 0, 0},
        {"x NaN", 0, "", "", 0, 0, 0, 0},
        {"x +Inf", 0, "", "", 0, 0, 0, 0},
        {"x", -EINVAL, "", "", 0, 0, 0, 0},
        {"x y", -EINVAL, "", "", 0, 0, 0, 0},
        {"x 1 2 3", -EINVAL, "", "", 0, 0, 0, 0},
        {"x 1 y", -EINVAL, "", "", 0, 0, 0, 0},
        {"9x 1", -EINVAL, "", "", 0, 0, 0, 0},
        {"x=1", -EINVAL, "", "", 0, 0, 0, 0},
        {"x{a=1} 1", -EINVAL, "", "", 0, 0, 0, 0},
        {"x{a=\"1} 1", -EINVAL, "", "", 0, 0, 0, 0},
        {"x{a=\"1\\", -EINVAL, "", "", 0, 0, 0, 0},
        {"x{a=\"1\" b=\"2\"} 1", -EINVAL, "", "", 0, 0, 0, 0},
        {"x{", -EINVAL, "", "", 0, 0, 0, 0},
        {"x 1e99", -EINVAL, "", "", 0, 0, 0, 0},
        {"# TYPE x", -EINVAL, "", "", 0, 0, 0, 0},
        {"a_name_that_is_longer_than_sixty_three_characters_is_not_a_name_for_us 1", -EINVAL, "", "", 0, 0, 0, 0},
        {"x\xff 1", -EINVAL, "", "", 0, 0, 0, 0},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct exec_types types = {0};
        struct custom_reading c = {0};
        print_message("'%s'\n", cases[i].line);
        assert_int_equal(exec_line(&types, str_of(cases[i].line), &c), cases[i].want);
        if (cases[i].want != 1)
            continue;
        assert_string_equal(c.name, cases[i].name);
        assert_string_equal(c.device, cases[i].device);
        assert_int_equal(c.v, cases[i].v);
        assert_int_equal(c.per, cases[i].per);
        assert_int_equal(c.unit, cases[i].unit);
        assert_int_equal(c.kind, cases[i].kind);
    }
}

static void prometheus_text_is_read_with_its_types(void **unused)
{
    struct exec_types types = {0};
    struct exec_bad bad = {0};
    struct reading r = {0};
    (void)unused;
    exec_text(&types,
              STR("# HELP steps Steps done.\n# TYPE steps counter\nsteps 12\n"
                  "# TYPE odd_total gauge\nodd_total 3\n"
                  "# TYPE lat histogram\nlat_bucket{le=\"1\"} 4\nlat_sum 2.5\nlat_count 4\nlat 9\n"
                  "latency 7\n"
                  "bad line here\nanother bad\r\n"
                  "steps 13\nsteps{gpu=\"0\"} 1\n# EOF\n"),
              &r, &bad);
    assert_int_equal(r.n_custom, 4);
    assert_string_equal(r.custom[0].name, "steps");
    assert_int_equal(r.custom[0].kind, KIND_COUNTER);
    assert_int_equal(r.custom[0].v, 13); /* as it came last */
    assert_int_equal(r.custom[1].kind, KIND_GAUGE);
    assert_string_equal(r.custom[2].name, "latency");
    assert_string_equal(r.custom[3].device, "0");
    assert_int_equal(bad.n, 2);
    assert_string_equal(bad.first, "bad line here");
    reading_fini(&r);
}

static void text_without_end_is_capped(void **unused)
{
    struct exec_types types = {0};
    struct exec_bad bad = {0};
    struct reading r = {0};
    AUTO_BUF text = BUF_INIT(1 << 20);
    (void)unused;
    for (int i = 0; i < 10000; i++)
        buf_addf(&text, "# TYPE m%d counter\nm%d %d\n", i, i, i);
    exec_text(&types, buf_str(&text), &r, &bad);
    assert_true(r.n_custom > CUSTOM_MAX && r.n_custom < 10000);
    assert_int_equal(types.n, EXEC_TYPES_MAX);
    assert_int_equal(bad.n, 0);
    reading_fini(&r);
}

TESTS(cmocka_unit_test(a_line_becomes_a_value), cmocka_unit_test(prometheus_text_is_read_with_its_types),
      cmocka_unit_test(text_without_end_is_capped))
