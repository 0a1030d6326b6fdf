/* test_lib.c: libmuster as programs use it (lib/muster.h L1 to L9), on the built-in recording. */
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "lib/muster.h"
#include "test.h"

#define START_MS 1800000000000
#if defined(__has_feature)
#define THREAD_SANITIZER __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#else
#define THREAD_SANITIZER 0
#endif
static char why[300];
static char folder[] = "/tmp/muster-lib-XXXXXX";

static muster_sampler *open_it(struct muster_options o)
{
    muster_sampler *s = NULL;
    o.size = sizeof(o);
    why[0] = 0;
    if (muster_open(&s, &o, why, sizeof(why)) < 0)
        fail_msg("%s", why);
    assert_non_null(s);
    return s;
}

static const char *path_of(const char *name)
{
    static char path[200];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void tick_at(muster_sampler *s, int64_t ms)
{
    clock_set_for_test(START_MS + ms);
    assert_int_equal(muster_tick(s), 0);
}

/* ---- opening ---- */

static void what_cannot_be_is_refused_with_a_sentence(void **unused)
{
    static const struct {
        struct muster_options o;
        int want;
        const char *says;
    } cases[] = {
        {{.size = 3}, -EINVAL, "sizeof(struct muster_options)"},
        {{.collector = "replay", .interval_us = 9999}, -EINVAL, "10 ms to 60 s"},
        {{.collector = "replay", .interval_us = 60000001}, -EINVAL, "10 ms to 60 s"},
        {{.collector = "rocm"}, -EINVAL, "unknown collector 'rocm'"},
        {{.collector = "replay:0"}, -EINVAL, "1 to 64 GPUs"},
        {{.collector = "replay:/nonexistent.csv"}, -ENOENT, "/nonexistent.csv"},
        {{.collector = "replay", .metrics = "utl"}, -EINVAL, "did you mean 'util'?"},
        {{.collector = "replay", .metrics = "compute_util"}, -EINVAL, "did you mean 'compute-util'?"},
        {{.collector = "replay", .metrics = "ram_used"}, -EINVAL, "of the machine"},
        {{.collector = "replay:2", .devices = "0,5"}, -ENODEV, "no GPU '5'"},
        {{.collector = "replay:2", .devices = "own:0"}, -EINVAL, "own:"},
        {{.collector = "auto"}, -ENODEV, "no GPU found on this machine: there is no NVIDIA driver"},
        {{.collector = "nvml"}, -ENODEV, "collector 'replay'"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct muster_options o = cases[i].o;
        muster_sampler *s = NULL;
        if (cases[i].want == -ENODEV && !o.devices && access("/dev/nvidiactl", F_OK) == 0)
            continue; /* a machine with a driver */
        o.size = o.size ? o.size : sizeof(o);
        print_message("%s\n", cases[i].says);
        assert_int_equal(muster_open(&s, &o, why, sizeof(why)), cases[i].want);
        assert_non_null(strstr(why, cases[i].says));
        assert_null(s);
        char cut[8];
        assert_int_equal(muster_open(&s, &o, cut, sizeof(cut)), cases[i].want);
        assert_true(strlen(cut) < sizeof(cut));
        assert_int_equal(muster_open(&s, &o, NULL, 0), cases[i].want);
    }
}

static void columns_stand_in_dask_metrics_order(void **unused)
{
    static const struct {
        const char *metrics, *header;
    } cases[] = {
        {NULL, "job,dag,timestamp,total-mem,mem-util,compute-util\n"},
        {"compute-util,total-mem", "job,dag,timestamp,total-mem,compute-util\n"},
        {"tasks,compute-util,mem-util,total-mem", "job,dag,timestamp,total-mem,mem-util,compute-util,tasks\n"},
        {"power, temp,tasks,mem-used-percent,mem-util,power",
         "job,dag,timestamp,mem-util,tasks,power,temp,mem-used-percent\n"},
        {"job,dag,timestamp,tasks", "job,dag,timestamp,tasks\n"},
        {"util,mem_util,mem_used", "job,dag,timestamp,util,mem_util,mem_used\n"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        muster_sampler *s = open_it((struct muster_options){.collector = "replay", .metrics = cases[i].metrics});
        char *text;
        size_t n;
        assert_int_equal(muster_csv_text(s, 0, 10, 1, &text, &n, NULL), 0);
        assert_string_equal(text, cases[i].header);
        assert_int_equal(n, strlen(text));
        muster_free(text);
        muster_close(s);
    }
}

static void devices_are_those_asked_for(void **unused)
{
    static const struct {
        const char *devices, *visible;
        int n, index[4];
    } cases[] = {
        {NULL, NULL, 4, {0, 1, 2, 3}},  {"all", "1", 4, {0, 1, 2, 3}},   {"2,0", NULL, 2, {0, 2}},
        {"own", NULL, 4, {0, 1, 2, 3}}, {"own", "3,1", 2, {1, 3}},       {"own:1", "3,1", 1, {3}},
        {"own:1", NULL, 1, {0}},        {"own", "2,-1,3", 1, {2}},       {" 3 ,3", NULL, 1, {3}},
        {"GPU-c3817c01", NULL, 1, {0}}, {"own", "GPU-c3817c01", 1, {0}},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (cases[i].visible)
            setenv("CUDA_VISIBLE_DEVICES", cases[i].visible, 1);
        else
            unsetenv("CUDA_VISIBLE_DEVICES");
        print_message("%s of %s\n", cases[i].devices, cases[i].visible);
        muster_sampler *s = open_it((struct muster_options){.collector = "replay:4", .devices = cases[i].devices});
        assert_int_equal(muster_devices(s), cases[i].n);
        for (int k = 0; k < cases[i].n; k++)
            assert_int_equal(muster_device_index(s, k), cases[i].index[k]);
        assert_int_equal(muster_device_index(s, cases[i].n), -EINVAL);
        assert_null(muster_device_uuid(s, -1));
        assert_string_equal(muster_device_name(s, 0), "Replay of an H200 recording");
        muster_close(s);
    }
    setenv("CUDA_VISIBLE_DEVICES", "9", 1);
    struct muster_options o = {.size = sizeof(o), .collector = "replay:4", .devices = "own"};
    muster_sampler *none;
    assert_int_equal(muster_open(&none, &o, why, sizeof(why)), -ENODEV);
    assert_non_null(strstr(why, "CUDA_VISIBLE_DEVICES is '9'"));
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* ---- the old format ---- */

/* A recording of two rows a second apart, written for this test. */
static void write_trace(const char *path)
{
    static const char trace[] = "t,gpu_util,mem_util,mem_used_b,mem_free_b,power_mw\n"
                                "0,4,1,31138250752,2861749248,70125\n"
                                "1,,0,30068703232,3931296768,612000\n";
    assert_int_equal(file_write(path, 0600, trace, sizeof(trace) - 1, NULL), 0);
}

static void write_scenario(muster_sampler *s, int devices)
{
    tick_at(s, 0);
    assert_int_equal(muster_label(s, "job", "1"), 0);
    assert_int_equal(muster_label(s, "tasks", "inc-1, inc-2"), 0);
    assert_int_equal(muster_value(s, "queue", -1, 2.5), 0);
    for (int i = 0; i < devices; i++)
        assert_int_equal(muster_value(s, "mine", i, i * 10), 0);
    tick_at(s, 529);
    assert_int_equal(muster_label(s, "dag", "3"), 0);
    assert_int_equal(muster_label(s, "tasks", NULL), 0);
    assert_int_equal(muster_label(s, "phase", "say \"hi\""), 0);
    assert_int_equal(muster_text(s, "mine", 0, "n/a"), 0);
    assert_int_equal(muster_value(s, "queue", -1, NAN), 0);
    tick_at(s, 1500);
    tick_at(s, 12345678);
}

static void check_golden(const char *collector, int devices, const char *want)
{
    AUTO_BUF got = {0};
    struct err err;
    clock_set_for_test(START_MS);
    muster_sampler *s =
        open_it((struct muster_options){.collector = collector,
                                        .metrics = "tasks,power,mem-used-percent,compute-util,mem-util,total-mem"});
    write_scenario(s, devices);
    assert_int_equal(muster_note(s, "worker", "tcp://10.0.0.1:\"4\""), 0);
    if (muster_write_csv(s, path_of("worker_0.csv"), why, sizeof(why)) < 0)
        fail_msg("%s", why);
    assert_int_equal(file_read(path_of("worker_0.csv"), 1 << 20, &got, &err), 0);
    assert_string_equal(got.p, want);
    buf_fini(&got);
    assert_int_equal(file_read(path_of("worker_0.json"), 1 << 20, &got, &err), 0);
    assert_non_null(strstr(got.p, "\"notes\":{\"worker\":\"tcp://10.0.0.1:\\\"4\\\"\"}"));
    assert_non_null(strstr(got.p, "\"start\":\"2027-01-15T08:00:00.000Z\""));
    assert_non_null(strstr(got.p, "{\"name\":\"power\",\"kind\":\"metric\",\"unit\":\"watts\",\"per_device\":true}"));
    muster_close(s);
    clock_set_for_test(-1);
}

static void the_csv_is_as_dask_metrics_wrote_it(void **unused)
{
    char one[220], two[220];
    (void)unused;
    write_trace(path_of("trace.csv"));
    snprintf(one, sizeof(one), "replay:%s", path_of("trace.csv"));
    snprintf(two, sizeof(two), "replay:%s:2", path_of("trace.csv"));
    check_golden(one, 1,
                 "job,dag,timestamp,total-mem,mem-util,compute-util,tasks,power,mem-used-percent,phase,queue,mine\n"
                 "0,0,0.0,31138250752,1,4,,70.125,92,,,\n"
                 "1,0,0.529,31138250752,1,4,\"inc-1, inc-2\",70.125,92,,2.5,0\n"
                 "1,3,1.5,30068703232,0,,,612,88,\"say \"\"hi\"\"\",,n/a\n"
                 "1,3,12345.678,30068703232,0,,,612,88,\"say \"\"hi\"\"\",,n/a\n");
    /* Two GPUs play the same recording at places of their own: these of this file's name. */
    clock_set_for_test(START_MS);
    muster_sampler *s = open_it((struct muster_options){.collector = two, .metrics = "compute-util,total-mem"});
    write_scenario(s, 2);
    char *text;
    size_t n;
    int64_t next = 0;
    assert_int_equal(muster_csv_text(s, 1, 1, 0, &text, &n, &next), 1);
    assert_int_equal(next, 2);
    struct str rest = str_n(text, n), cell;
    assert_true(str_cut(&rest, '"', &cell)); /* job,dag,timestamp, */
    assert_true(str_eq(cell, "1,0,0.529,"));
    assert_true(str_cut(&rest, '"', &cell)); /* two numbers */
    assert_int_equal(str_find(cell, ", "), 11);
    assert_non_null(strstr(text, ",\"0, 10\"\n"));
    muster_free(text);
    muster_close(s);
    clock_set_for_test(-1);
}

static void timestamps_have_ten_digits_at_most(void **unused)
{
    static const struct {
        int64_t ms;
        const char *want;
    } cases[] = {{1000, "1.0"},
                 {999, "0.999"},
                 {21303, "21.303"},
                 {9999999, "9999.999"},
                 {10000001, "10000.001"},
                 {1000000001, "1000000.001"},
                 {10000000009, "10000000.01"}};
    char *text;
    size_t n;
    (void)unused;
    clock_set_for_test(START_MS);
    muster_sampler *s = open_it((struct muster_options){.collector = "replay", .metrics = "tasks"});
    tick_at(s, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char row[64];
        tick_at(s, cases[i].ms);
        assert_int_equal(muster_csv_text(s, (int64_t)i + 1, 1, 0, &text, &n, NULL), 1);
        snprintf(row, sizeof(row), "0,0,%s,\n", cases[i].want);
        assert_string_equal(text, row);
        muster_free(text);
    }
    muster_close(s);
    clock_set_for_test(-1);
}

static void numbers_do_not_speak_the_programs_language(void **unused)
{
    static const double values[] = {0.1, 1e300, -2.5e-7, 1.0 / 3, 123456789012345678.0, INFINITY};
    char *text;
    size_t n;
    (void)unused;
    setlocale(LC_NUMERIC, "de_DE.UTF-8"); /* where it is installed: a comma for the point */
    muster_sampler *s = open_it((struct muster_options){.collector = "replay", .metrics = "tasks"});
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        assert_int_equal(muster_value(s, "x", -1, values[i]), 0);
        assert_int_equal(muster_tick(s), 0);
    }
    setlocale(LC_NUMERIC, "C");
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        assert_int_equal(muster_csv_text(s, (int64_t)i, 1, 0, &text, &n, NULL), 1);
        assert_true(strtod(strrchr(text, ',') + 1, NULL) == values[i]);
        muster_free(text);
    }
    muster_close(s);
}

static void a_file_that_cannot_be_written_is_told_and_leaves_nothing(void **unused)
{
    (void)unused;
    muster_sampler *s = open_it((struct muster_options){.collector = "replay"});
    assert_int_equal(muster_tick(s), 0);
    assert_int_equal(muster_write_csv(s, "/nonexistent/x.csv", why, sizeof(why)), -ENOENT);
    assert_non_null(strstr(why, "cannot write '/nonexistent/x.csv'"));
    assert_int_equal(mkdir(path_of("d.csv"), 0700), 0); /* a folder has the name */
    assert_true(muster_write_csv(s, path_of("d.csv"), why, sizeof(why)) < 0);
    assert_int_equal(rmdir(path_of("d.csv")), 0);
    muster_close(s);
}

/* ---- labels, values, reading ---- */

static void labels_and_values_are_in_force_from_then_on(void **unused)
{
    muster_cursor *c;
    double v;
    (void)unused;
    muster_sampler *s = open_it((struct muster_options){.collector = "replay:2"});
    assert_int_equal(muster_tick(s), 0);
    assert_int_equal(muster_label(s, "job", "a"), 0);
    assert_int_equal(muster_value(s, "loss", -1, 0.5), 0);
    assert_int_equal(muster_text(s, "state", 1, "train\ning"), 0);
    assert_int_equal(muster_tick(s), 0);
    assert_int_equal(muster_label(s, "job", "b"), 0);
    assert_int_equal(muster_label(s, "job", "c"), 0); /* two between samples: the later one */
    assert_int_equal(muster_tick(s), 0);
    assert_int_equal(muster_count(s), 3);
    assert_int_equal(muster_cursor_open(s, 0, &c), 0);
    assert_int_equal(muster_cursor_number(c), -EINVAL);
    assert_int_equal(muster_cursor_next(c), 1);
    assert_string_equal(muster_cursor_label(c, "job"), "0");
    assert_string_equal(muster_cursor_label(c, "dag"), "0");
    assert_null(muster_cursor_label(c, "phase"));
    assert_int_equal(muster_cursor_value(c, "loss", -1, &v), -ENODATA);
    assert_int_equal(muster_cursor_next(c), 1);
    assert_int_equal(muster_cursor_number(c), 1);
    assert_string_equal(muster_cursor_label(c, "job"), "a");
    assert_int_equal(muster_cursor_value(c, "loss", -1, &v), 0);
    assert_near(v, 0.5, 0);
    assert_null(muster_cursor_text(c, "loss", -1));
    assert_null(muster_cursor_text(c, "state", 0));
    assert_string_equal(muster_cursor_text(c, "state", 1), "train ing");
    assert_int_equal(muster_cursor_value(c, "state", 1, &v), -ENODATA);
    assert_int_equal(muster_cursor_metric(c, 0, 1, &v), 0);
    assert_int_equal(muster_cursor_metric(c, 0, 2, &v), -EINVAL);
    assert_int_equal(muster_cursor_metric(c, 3, 0, &v), -EINVAL);
    assert_int_equal(muster_cursor_next(c), 1);
    assert_string_equal(muster_cursor_label(c, "job"), "c");
    assert_true(muster_cursor_wall(c) > 1.7e9);
    assert_true(muster_cursor_time(c) >= 0 && muster_cursor_time(c) < 60);
    assert_int_equal(muster_cursor_next(c), 0);
    assert_int_equal(muster_tick(s), 0);
    assert_int_equal(muster_cursor_next(c), 1); /* there is more by now */
    assert_int_equal(muster_clear(s), 0);
    assert_int_equal(muster_cursor_next(c), -ESTALE);
    muster_cursor_close(c);
    assert_int_equal(muster_count(s), 0);
    assert_int_equal(muster_latest(s, 0, 0, &v), -ENODATA);
    muster_close(s);
}

static void names_that_cannot_be_are_refused(void **unused)
{
    char name[100], value[9000];
    (void)unused;
    muster_sampler *s = open_it((struct muster_options){.collector = "replay:2"});
    memset(name, 'n', sizeof(name) - 1);
    name[99] = 0;
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = 0;
    assert_int_equal(muster_label(s, NULL, "x"), -EINVAL);
    assert_int_equal(muster_label(s, "", "x"), -EINVAL);
    assert_int_equal(muster_label(s, "a\nb", "x"), -EINVAL);
    assert_int_equal(muster_label(s, "\xff", "x"), -EINVAL);
    assert_int_equal(muster_label(s, name, "x"), -EINVAL);
    assert_int_equal(muster_label(s, "x", value), -EMSGSIZE);
    assert_int_equal(muster_label(s, "timestamp", "x"), -EEXIST);
    assert_int_equal(muster_label(s, "total-mem", "x"), -EEXIST);
    assert_int_equal(muster_value(s, "one", -1, 1), 0);
    assert_int_equal(muster_value(s, "one", 0, 1), -EINVAL);
    assert_int_equal(muster_label(s, "one", "x"), -EINVAL);
    assert_int_equal(muster_value(s, "x", 2, 1), -EINVAL);
    assert_int_equal(muster_value(s, "x", -2, 1), -EINVAL);
    assert_int_equal(muster_text(s, "one", -1, value), -EMSGSIZE);
    for (int i = 0; i < 100; i++) {
        char n[16];
        snprintf(n, sizeof(n), "v%d", i);
        assert_int_equal(muster_value(s, n, 1, 1), i < 63 ? 0 : -ENOSPC);
        snprintf(n, sizeof(n), "l%d", i);
        assert_int_equal(muster_label(s, n, "x"), i < 16 ? 0 : -ENOSPC);
        assert_int_equal(muster_note(s, n, "x"), i < 64 ? 0 : -ENOSPC);
    }
    for (int i = 0; i < 16; i++) { /* as long as may be: it fits */
        char n[16];
        snprintf(n, sizeof(n), "l%d", i);
        value[8191] = 0;
        assert_int_equal(muster_label(s, n, value), 0);
    }
    assert_int_equal(muster_tick(s), 0);
    assert_int_equal(muster_count(s), 1);
    muster_close(s);
}

struct peak {
    size_t n;
    char job[8][16];
    double v[8][4];
};

static int note_peak(void *arg, const char *job, const double *peaks, int n)
{
    struct peak *p = arg;
    assert_true(n <= 4 && p->n < 8);
    mem_copy_str(p->job[p->n], 16, job ? job : "(all)");
    memcpy(p->v[p->n++], peaks, (size_t)n * sizeof(*peaks));
    return 0;
}

static void peaks_are_the_highest_of_each_job(void **unused)
{
    struct peak p = {0};
    double want[3][2] = {{0}}, v;
    (void)unused;
    clock_set_for_test(START_MS);
    muster_sampler *s = open_it((struct muster_options){.collector = "replay:2", .mem_limit = 3});
    for (int i = 0; i < 300; i++) {
        char job[8];
        int j = i % 100 / 40; /* each of the jobs comes back */
        snprintf(job, sizeof(job), "%d", j + 8);
        assert_int_equal(muster_label(s, "job", job), 0);
        assert_int_equal(muster_value(s, "own", -1, -i), 0);
        tick_at(s, i * 1000);
        for (int d = 0; d < 2; d++)
            if (muster_latest(s, 2, d, &v) == 0)
                want[j][d] = fmax(want[j][d], v);
    }
    assert_int_equal(muster_peaks(s, "compute-util", 1, note_peak, &p), 0);
    assert_int_equal(p.n, 3);
    for (int j = 0; j < 3; j++) {
        assert_int_equal(atoll(p.job[j]), j + 8);
        assert_near(p.v[j][0], want[j][0], 0);
        assert_near(p.v[j][1], want[j][1], 0);
    }
    p.n = 0;
    assert_int_equal(muster_peaks(s, "compute-util", 0, note_peak, &p), 0);
    assert_int_equal(p.n, 1);
    assert_string_equal(p.job[0], "(all)");
    assert_near(p.v[0][0], fmax(fmax(want[0][0], want[1][0]), want[2][0]), 0);
    p.n = 0;
    assert_int_equal(muster_peaks(s, "own", 1, note_peak, &p), 0);
    assert_near(p.v[0][0], 0, 0);
    assert_near(p.v[2][0], -80, 0);
    assert_int_equal(muster_peaks(s, "power", 1, note_peak, &p), -ENOENT);
    assert_int_equal(muster_peaks(s, "job", 1, note_peak, &p), -ENOENT);
    muster_close(s);
    clock_set_for_test(-1);
}

/* The same run with everything in memory and with blocks of a few samples: CSV and columns agree. */
static void what_was_on_disk_is_what_was_in_memory(void **unused)
{
    char *text[3];
    size_t n[3];
    const uint64_t limits[] = {0, 1, 17};
    (void)unused;
    for (int k = 0; k < 3; k++) {
        clock_set_for_test(START_MS);
        muster_sampler *s = open_it((struct muster_options){.collector = "replay:3",
                                                            .metrics = "total-mem,power,util,energy,tasks",
                                                            .mem_limit = limits[k]});
        for (int i = 0; i < 400; i++) {
            char t[32];
            snprintf(t, sizeof(t), "t-%d", i / 3);
            assert_int_equal(muster_label(s, "tasks", t), 0);
            if (i == 100)
                assert_int_equal(muster_value(s, "late", 2, 1), 0);
            tick_at(s, i * 700);
        }
        struct muster_stats st = {.size = sizeof(st)};
        assert_int_equal(muster_stats(s, &st), 0);
        assert_int_equal(st.samples, 400);
        assert_int_equal(st.spilled > 0, limits[k] > 0);
        assert_int_equal(st.dropped, 0);
        assert_int_equal(muster_csv_text(s, 0, 1000, 1, &text[k], &n[k], NULL), 400);
        double t[400], v[400];
        int64_t next = 0;
        assert_int_equal(muster_read(s, 1, 1, 0, 150, t, v, &next), 150);
        assert_int_equal(next, 150);
        assert_int_equal(muster_read(s, 1, 1, next, 400, t + 150, v + 150, &next), 250);
        assert_near(t[399], 399 * 0.7, 1e-9);
        assert_int_equal(muster_read(s, 1, 1, 400, 10, NULL, v, &next), 0);
        assert_int_equal(muster_read(s, 9, 1, 0, 10, NULL, v, &next), -EINVAL);
        muster_close(s);
    }
    assert_string_equal(text[0], text[1]);
    assert_string_equal(text[0], text[2]);
    for (int k = 0; k < 3; k++)
        muster_free(text[k]);
    clock_set_for_test(-1);
}

/* ---- the thread ---- */

static void wait_for(muster_sampler *s, int64_t n)
{
    for (int i = 0; i < 36000 && muster_count(s) < n; i++)
        usleep(5000);
    assert_true(muster_count(s) >= n);
}

static void the_thread_samples_until_it_is_stopped(void **unused)
{
    struct muster_stats st = {.size = sizeof(st)};
    double v;
    (void)unused;
    muster_sampler *s = open_it((struct muster_options){.collector = "replay", .interval_us = 10000});
    assert_int_equal(muster_stop(s), 0);
    assert_int_equal(muster_start(s, why, sizeof(why)), 0);
    assert_int_equal(muster_start(s, why, sizeof(why)), 0);
    wait_for(s, 5);
    assert_int_equal(muster_tick(s), -EBUSY);
    assert_int_equal(muster_latest(s, 0, 0, &v), 0);
    assert_int_equal(muster_stop(s), 0);
    int64_t n = muster_count(s);
    usleep(50000);
    assert_int_equal(muster_count(s), n);
    assert_int_equal(muster_start(s, why, sizeof(why)), 0);
    wait_for(s, n + 3);
    assert_int_equal(muster_stop(s), 0);
    assert_int_equal(muster_stats(s, &st), 0);
    assert_int_equal(st.samples, muster_count(s));
    assert_int_equal(st.failed, 0);
    assert_int_equal(muster_error(s, why, sizeof(why)), 0);
    /* L4: every sample is on the grid or late by less than a tick: two are never closer than the grid allows for both.
     */
    double t[64];
    int64_t k = muster_read(s, 0, 0, 0, 64, t, (double[64]){0}, NULL);
    for (int64_t i = 1; i < k; i++)
        assert_true(t[i] > t[i - 1]);
    muster_close(s);
    muster_close(NULL);
}

struct crowd {
    muster_sampler *s;
    atomic_bool stop;
    int me;
};

static void *set_things(void *arg)
{
    struct crowd *c = arg;
    char name[16], text[32];

    for (int i = 0; !atomic_load(&c->stop); i++) {
        snprintf(name, sizeof(name), "own%d", c->me);
        snprintf(text, sizeof(text), "%d", i);
        muster_label(c->s, "job", text);
        muster_label(c->s, "tasks", text);
        muster_value(c->s, name, i % 2, i);
        muster_note(c->s, name, text);
        if (i % 16 == 0)
            usleep(1000);
    }
    return NULL;
}

static void *read_things(void *arg)
{
    struct crowd *c = arg;
    struct muster_stats st = {.size = sizeof(st)};

    while (!atomic_load(&c->stop)) {
        struct peak p = {0};
        char *text;
        size_t n;
        double v;
        muster_stats(c->s, &st);
        muster_latest(c->s, 0, 1, &v);
        if (muster_csv_text(c->s, 0, 50, 1, &text, &n, NULL) >= 0)
            muster_free(text);
        muster_peaks(c->s, "total-mem", 0, note_peak, &p);
        if (muster_about(c->s, &text) == 0)
            muster_free(text);
        muster_cursor *cur;
        if (muster_cursor_open(c->s, 3, &cur) == 0) {
            for (int i = 0; i < 100 && muster_cursor_next(cur) == 1; i++)
                muster_cursor_label(cur, "job");
            muster_cursor_close(cur);
        }
        if (c->me == 3)
            muster_clear(c->s);
        usleep(3000);
    }
    return NULL;
}

/* L2; run with THREAD=1 this is the thread sanitizer's. */
static void any_thread_may_call_anything(void **unused)
{
    enum { THREADS = 4 };
    struct crowd c[THREADS] = {{0}};
    pthread_t t[THREADS];
    (void)unused;
    muster_sampler *s = open_it((struct muster_options){.collector = "replay:2", .interval_us = 10000, .mem_limit = 5});
    assert_int_equal(muster_start(s, why, sizeof(why)), 0);
    for (int i = 0; i < THREADS; i++) {
        c[i].s = s;
        c[i].me = i;
        pthread_create(&t[i], NULL, i < 2 ? set_things : read_things, &c[i]);
    }
    for (int i = 0; i < 20; i++) {
        usleep(20000);
        assert_int_equal(muster_stop(s), 0);
        assert_int_equal(muster_start(s, NULL, 0), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        atomic_store(&c[i].stop, true);
        pthread_join(t[i], NULL);
    }
    assert_int_equal(muster_error(s, why, sizeof(why)), 0);
    muster_close(s);
}

static void two_samplers_do_not_know_of_each_other(void **unused)
{
    (void)unused;
    muster_sampler *a = open_it((struct muster_options){.collector = "replay:2", .interval_us = 10000});
    muster_sampler *b = open_it(
        (struct muster_options){.collector = "replay:3", .interval_us = 20000, .metrics = "power", .mem_limit = 2});
    assert_int_equal(muster_label(a, "job", "of a"), 0);
    assert_int_equal(muster_start(a, NULL, 0), 0);
    assert_int_equal(muster_start(b, NULL, 0), 0);
    wait_for(a, 5);
    wait_for(b, 5);
    assert_int_equal(muster_devices(a), 2);
    assert_int_equal(muster_devices(b), 3);
    muster_close(a);
    int64_t n = muster_count(b);
    wait_for(b, n + 2);
    muster_cursor *c;
    assert_int_equal(muster_cursor_open(b, 0, &c), 0);
    assert_int_equal(muster_cursor_next(c), 1);
    assert_string_equal(muster_cursor_label(c, "job"), "0");
    muster_cursor_close(c);
    muster_close(b);
}

static int in_child(muster_sampler *s, muster_cursor *c)
{
    struct muster_stats st = {.size = sizeof(st)};
    double v;
    char *text;

    if (muster_start(s, why, sizeof(why)) != -ECHILD || !strstr(why, "fork"))
        return 1;
    if (muster_stop(s) != -ECHILD || muster_tick(s) != -ECHILD || muster_count(s) != -ECHILD)
        return 2;
    if (muster_label(s, "job", "x") != -ECHILD || muster_value(s, "x", -1, 1) != -ECHILD ||
        muster_text(s, "x", -1, "") != -ECHILD || muster_note(s, "x", "") != -ECHILD)
        return 3;
    if (muster_cursor_next(c) != -ECHILD || muster_cursor_open(s, 0, &c) != -ECHILD || muster_clear(s) != -ECHILD)
        return 4;
    if (muster_latest(s, 0, 0, &v) != -ECHILD || muster_stats(s, &st) != -ECHILD || muster_error(s, NULL, 0) != -ECHILD)
        return 5;
    if (muster_devices(s) || muster_metrics(s) || muster_device_uuid(s, 0) || muster_about(s, &text) != -ECHILD ||
        muster_write_csv(s, "/tmp/never", NULL, 0) != -ECHILD || muster_read(s, 0, 0, 0, 1, NULL, &v, NULL) != -ECHILD)
        return 6;
    muster_close(s);
    if (THREAD_SANITIZER) /* it knows no threads after a fork */
        return 0;
    struct muster_options o = {.size = sizeof(o), .collector = "replay", .interval_us = 10000};
    if (muster_open(&s, &o, NULL, 0) < 0 || muster_start(s, NULL, 0) < 0) /* one of its own works */
        return 7;
    for (int i = 0; i < 36000 && muster_count(s) < 2; i++)
        usleep(5000);
    int r = muster_count(s) < 2 ? 8 : 0;
    muster_close(s);
    return r;
}

static void a_forks_copy_is_dead_and_harmless(void **unused)
{
    int status;
    (void)unused;
    if (getenv("UNDER_QEMU"))
        skip(); /* qemu 7 gives up when the child of a program with threads starts one (tools/cross) */
    muster_sampler *s = open_it((struct muster_options){.collector = "replay", .interval_us = 10000, .mem_limit = 2});
    muster_cursor *c;
    assert_int_equal(muster_start(s, NULL, 0), 0);
    wait_for(s, 6);
    assert_int_equal(muster_cursor_open(s, 0, &c), 0);
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(in_child(s, c));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    wait_for(s, muster_count(s) + 2);
    assert_int_equal(muster_cursor_next(c), 1);
    muster_cursor_close(c);
    muster_close(s);
}

static void *no_signals;
static void on_signal(int unused)
{
    (void)unused;
    if (!pthread_equal(pthread_self(), *(pthread_t *)no_signals))
        _exit(99);
}

/* L6 */
static void signals_stay_with_the_program(void **unused)
{
    pthread_t self = pthread_self();
    struct sigaction was, mine = {.sa_handler = on_signal}, after;
    (void)unused;
    no_signals = &self;
    sigaction(SIGUSR1, &mine, &was);
    muster_sampler *s = open_it((struct muster_options){.collector = "replay", .interval_us = 10000});
    assert_int_equal(muster_start(s, NULL, 0), 0);
    for (int i = 0; i < 50; i++)
        kill(getpid(), SIGUSR1);
    wait_for(s, 3);
    sigaction(SIGUSR1, NULL, &after);
    assert_true(after.sa_handler == on_signal);
    muster_close(s);
    sigaction(SIGUSR1, &was, NULL);
}

static void a_spill_folder_that_is_not_there_is_told_once_it_matters(void **unused)
{
    (void)unused;
    muster_sampler *s =
        open_it((struct muster_options){.collector = "replay", .mem_limit = 3, .spill_dir = "/nonexistent/spill"});
    for (int i = 0; i < 3; i++)
        assert_int_equal(muster_tick(s), 0);
    assert_int_equal(muster_error(s, why, sizeof(why)), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(muster_tick(s), 0);
    assert_int_equal(muster_error(s, why, sizeof(why)), -ENOENT);
    assert_non_null(strstr(why, "cannot keep samples in '/nonexistent/spill'"));
    struct muster_stats st = {.size = sizeof(st)};
    assert_int_equal(muster_stats(s, &st), 0);
    assert_int_equal(st.samples, 13);
    assert_int_equal(st.dropped + muster_count(s), 13);
    assert_int_equal(muster_clear(s), 0);
    assert_int_equal(muster_error(s, why, sizeof(why)), 0);
    muster_close(s);
}

static void a_caller_of_an_older_time_is_served_what_it_knows(void **unused)
{
    struct {
        uint32_t size, interval_us;
        int64_t samples, canary;
    } old = {.size = 16, .canary = 77};
    (void)unused;
    muster_sampler *s = open_it((struct muster_options){.collector = "replay"});
    assert_int_equal(muster_tick(s), 0);
    assert_int_equal(muster_stats(s, (struct muster_stats *)(void *)&old), 0);
    assert_int_equal(old.samples, 1);
    assert_int_equal(old.canary, 77); /* L9 */
    assert_int_equal(muster_api(), MUSTER_API);
    assert_string_equal(muster_version(), MUSTER_VERSION);
    assert_string_equal(muster_metric_unit(s, 0), "bytes");
    assert_string_equal(muster_metric_unit(s, 2), "percent");
    assert_int_equal(muster_metric_find(s, "mem-util"), 1);
    assert_int_equal(muster_metric_find(s, "power"), -ENOENT);
    muster_close(s);
}

static int make_folder(void **unused)
{
    (void)unused;
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("MUSTER_NVML_LIB");
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **unused)
{
    (void)unused;
    unlink(path_of("trace.csv"));
    unlink(path_of("worker_0.csv"));
    unlink(path_of("worker_0.json"));
    return rmdir(folder); /* and nothing else was left in it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_is_refused_with_a_sentence),
        cmocka_unit_test(columns_stand_in_dask_metrics_order),
        cmocka_unit_test(devices_are_those_asked_for),
        cmocka_unit_test(the_csv_is_as_dask_metrics_wrote_it),
        cmocka_unit_test(timestamps_have_ten_digits_at_most),
        cmocka_unit_test(numbers_do_not_speak_the_programs_language),
        cmocka_unit_test(a_file_that_cannot_be_written_is_told_and_leaves_nothing),
        cmocka_unit_test(labels_and_values_are_in_force_from_then_on),
        cmocka_unit_test(names_that_cannot_be_are_refused),
        cmocka_unit_test(peaks_are_the_highest_of_each_job),
        cmocka_unit_test(what_was_on_disk_is_what_was_in_memory),
        cmocka_unit_test(the_thread_samples_until_it_is_stopped),
        cmocka_unit_test(any_thread_may_call_anything),
        cmocka_unit_test(two_samplers_do_not_know_of_each_other),
        cmocka_unit_test(a_forks_copy_is_dead_and_harmless),
        cmocka_unit_test(signals_stay_with_the_program),
        cmocka_unit_test(a_spill_folder_that_is_not_there_is_told_once_it_matters),
        cmocka_unit_test(a_caller_of_an_older_time_is_served_what_it_knows),
    };
    cmocka_set_test_filter(getenv("MUSTER_TEST_ONLY"));
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
