/* test_replay.c: traces read by their header, asked at any moment, and shown as GPUs. */
#include <errno.h>

#include "base/clock.h"
#include "base/file.h"
#include "collect/collect.h"
#include "collect/replay.h"
#include "model/work.h"

#include "test.h"

#define TRACE "data/h200-trace.csv"

static struct replay *load(const char *text)
{
    struct replay *r = NULL;
    struct err err = {0};
    if (replay_load(&r, str_of(text), "t.csv", &err) < 0)
        fail_msg("%s", err.msg);
    return r;
}

static void cells_become_samples_by_their_header(void **unused)
{
    struct sample s;
    struct replay *r = load("junk,procs,power_mw,t,gpu_util,muster_node_cpu_ratio,throttle_mask,temp_c\r\n"
                            "x,,612450,100.5,87,0.25,0x4,\n"
                            "y,12:1024;13,[N/A],101.5,88.5,1,8,61.5\n\n");
    (void)unused;
    assert_int_equal(replay_length_ms(r), 2000);
    replay_at(r, 0, &s);
    assert_int_equal(s.v[M_power], 612450);
    assert_int_equal(s.v[M_util], 8700);
    assert_int_equal(s.v[M_cpu], 2500);
    assert_int_equal(s.v[M_throttle], 4);
    assert_false(sample_has(&s, M_temp));
    assert_false(sample_has(&s, M_mem_used)); /* no column: absent */
    assert_false(sample_has(&s, M_mem_total));
    replay_at(r, 1999, &s);
    assert_false(sample_has(&s, M_power));
    assert_int_equal(s.v[M_util], 8850);
    assert_int_equal(s.v[M_temp], 61500);
    replay_free(r);
}

static void a_trace_loops_and_its_counters_go_on(void **unused)
{
    struct sample s;
    struct replay *r = load("t,gpu_util,energy_mj,mem_used_b,mem_free_b,mem_reserved_b\n"
                            "0,100,1000,1,2,3\n1,0,2000,4,1,\n2,50,3000,6,,0\n");
    static const struct {
        int64_t t_ms, util, energy, busy_us, total; /* total -1: absent */
    } cases[] = {
        {0, 10000, 1000, 0, 6},
        {500, 10000, 1000, 500000, 6},
        {1000, 0, 2000, 1000000, 5},
        {2000, 5000, 3000, 1000000, -1},
        {2999, 5000, 3000, 1499500, -1},
        {3000, 10000, 4000, 1500000, 6},
        {33000, 10000, 34000, 16500000, 6},
        {-1, 5000, 0, -500, -1},
    };
    (void)unused;
    assert_int_equal(replay_length_ms(r), 3000);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("at %lld\n", (long long)cases[i].t_ms);
        replay_at(r, cases[i].t_ms, &s);
        assert_int_equal(s.at_ms, cases[i].t_ms);
        assert_int_equal(s.v[M_util], cases[i].util);
        assert_int_equal(s.v[M_energy], cases[i].energy);
        assert_int_equal(s.v[M_busy], cases[i].busy_us);
        assert_int_equal(sample_has(&s, M_mem_total) ? s.v[M_mem_total] : -1, cases[i].total);
    }
    replay_at(r, INT64_MAX, &s); /* counters past what fits are absent, not wrong */
    assert_false(sample_has(&s, M_energy) && s.v[M_energy] < 0);
    replay_free(r);
}

static void processes_know_since_when_they_run(void **unused)
{
    struct replay_use u[4];
    struct replay *r = load("t,gpu_util,procs\n0,0,\n1,0,7:100\n2,0,7:200;8:1\n3,0,7:200;8:1\n4,0,8\n5,0,7:9\n");
    (void)unused;
    assert_int_equal(replay_uses(r, 0, u, 4), 0);
    assert_int_equal(replay_uses(r, 3500, u, 4), 2);
    assert_int_equal(u[0].pid, 7);
    assert_int_equal(u[0].mem, 200);
    assert_int_equal(u[0].since_ms, 1000);
    assert_int_equal(u[1].since_ms, 2000);
    assert_int_equal(replay_uses(r, 4000, u, 4), 1);
    assert_int_equal(u[0].mem, -1);
    assert_int_equal(replay_uses(r, 6000 * 10 + 5000, u, 4), 1); /* came back after a gap, ten laps on */
    assert_int_equal(u[0].since_ms, 65000);
    assert_int_equal(replay_uses(r, 3500, u, 1), 2); /* says how many there are */
    replay_free(r);
}

static void a_bad_trace_names_its_line(void **unused)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "t.csv: a trace without rows"},
        {"t,gpu_util\n", "t.csv: a trace without rows"},
        {"gpu_util\n1\n", "t.csv:1: no column 't' (seconds)"},
        {"t,what\n1,1\n", "t.csv:1: no column that is a known metric"},
        {"t,gpu_util\n1,x\n", "t.csv:2: column 'gpu_util': 'x' is not a number"},
        {"t,gpu_util\n1,1\n\n1,1\n", "t.csv:4: time does not ascend"},
        {"t,gpu_util\n-1,1\n", "t.csv:2: time does not ascend"},
        {"t,gpu_util\n1\n", "t.csv:2: fewer cells than columns"},
        {"t,gpu_util\n1,1,1\n", "t.csv:2: more cells than columns"},
        {"t,gpu_util\n,1\n", "t.csv:2: no time"},
        {"t,gpu_util,procs\n1,1,a:1\n", "t.csv:2: processes are not 'pid:bytes;...'"},
        {"t,gpu_util,procs\n1,1,1:x\n", "t.csv:2: processes are not 'pid:bytes;...'"},
        {"t,gpu_util\n99999999999999999999,1\n", "t.csv:2: column 't': '99999999999999999999' is not a number"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct replay *r = NULL;
        struct err err = {0};
        print_message("%s\n", cases[i].want);
        assert_int_equal(replay_load(&r, str_of(cases[i].text), "t.csv", &err), -EINVAL);
        assert_string_equal(err.msg, cases[i].want);
        assert_null(r);
    }
}

static void the_recorded_h200_comes_back_as_it_was(void **unused)
{
    struct replay *r = NULL;
    struct err err = {0};
    struct replay_use u;
    struct sample s, before;
    (void)unused;
    if (replay_load_file(&r, TRACE, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(replay_length_ms(r), 295100);
    replay_at(r, 0, &before);
    assert_int_equal(before.v[M_power], 78631);
    assert_int_equal(before.v[M_mem_total], 644939776 + 150109880320);
    assert_int_equal(before.v[M_clock_sm], 345000000);
    size_t with = 0;
    for (int64_t t = 100; t < 2 * 295100; t += 100) { /* two laps: counters never fall */
        replay_at(r, t, &s);
        assert_true(s.v[M_energy] >= before.v[M_energy]);
        assert_true(s.v[M_busy] >= before.v[M_busy]);
        assert_in_range(s.v[M_util], 0, 10000);
        with += replay_uses(r, t, &u, 1) > 0;
        before = s;
    }
    assert_true(with > 2951);
    replay_free(r);
}

/* ---- the collector ---- */

static void a_trace_is_shown_as_gpus(void **unused)
{
    struct collect_conf conf = {.tick_ms = 1000, .replay = TRACE ":3:7"};
    struct collector *c = NULL;
    struct reading a = {.at_ms = 1000000}, b = {.at_ms = 1000000};
    struct err err = {0};
    (void)unused;
    clock_set_for_test(1000000);
    assert_true(collector_replay.present(&conf));
    assert_int_equal(collector_replay.open(&c, &conf, &err), 0);
    assert_int_equal(collector_replay.read(c, &a, &err), 0);
    assert_string_equal(a.devices[0].fact.note, NO_WORK_TRACE); /* there is no such column */
    assert_int_equal(a.n_devices, 3);
    for (size_t i = 0; i < 3; i++) {
        struct device_fact *f = &a.devices[i].fact;
        assert_int_equal(strlen(f->uuid), strlen("GPU-00000000-0000-4000-8000-000000000001"));
        assert_int_equal(f->index, i);
        assert_true(sample_has(&a.devices[i].sample, M_power));
        for (size_t k = 0; k < a.devices[i].n_uses; k++) {
            struct raw_use *use = &a.devices[i].uses[k];
            assert_non_null(use->known);
            assert_int_equal(use->known->pid, use->pid);
            assert_true(use->known->start_ms <= 1000000);
        }
    }
    assert_string_not_equal(a.devices[0].fact.uuid, a.devices[1].fact.uuid);
    assert_true(a.devices[0].sample.v[M_power] != a.devices[1].sample.v[M_power]); /* each at its own place */
    collector_replay.close(c);
    assert_int_equal(collector_replay.open(&c, &conf, &err), 0); /* the same again is the same */
    assert_int_equal(collector_replay.read(c, &b, &err), 0);
    assert_string_equal(a.devices[2].fact.uuid, b.devices[2].fact.uuid);
    assert_memory_equal(&a.devices[2].sample, &b.devices[2].sample, sizeof(struct sample));
    collector_replay.close(c);
    conf.replay = TRACE ":3:8"; /* another seed, other GPUs */
    reading_reset(&b);
    assert_int_equal(collector_replay.open(&c, &conf, &err), 0);
    assert_int_equal(collector_replay.read(c, &b, &err), 0);
    assert_string_not_equal(a.devices[0].fact.uuid, b.devices[0].fact.uuid);
    collector_replay.close(c);
    reading_fini(&a);
    reading_fini(&b);
    clock_set_for_test(-1);
}

static void what_cannot_be_replayed_says_why(void **unused)
{
    static const struct {
        const char *replay, *want;
        int code;
    } cases[] = {{"/nonexistent/x.csv", "cannot open '/nonexistent/x.csv': No such file or directory", -ENOENT},
                 {TRACE ":0", "a replay shows 1 to 64 GPUs, not 0", -EINVAL},
                 {TRACE ":65:1", "a replay shows 1 to 64 GPUs, not 65", -EINVAL},
                 {"", "no trace to replay was named", -EINVAL}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct collect_conf conf = {.replay = cases[i].replay};
        struct collector *c = NULL;
        struct err err = {0};
        assert_int_equal(collector_replay.open(&c, &conf, &err), cases[i].code);
        assert_string_equal(err.msg, cases[i].want);
        assert_null(c);
    }
    assert_false(collector_replay.present(&(struct collect_conf){0}));
}

TESTS(cmocka_unit_test(cells_become_samples_by_their_header), cmocka_unit_test(a_trace_loops_and_its_counters_go_on),
      cmocka_unit_test(processes_know_since_when_they_run), cmocka_unit_test(a_bad_trace_names_its_line),
      cmocka_unit_test(the_recorded_h200_comes_back_as_it_was), cmocka_unit_test(a_trace_is_shown_as_gpus),
      cmocka_unit_test(what_cannot_be_replayed_says_why))
