/* Files of Dask workers: read as a stream, their highest values, their jobs and boxes. */
#include "test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "dask/job.h"
#include "dask/peaks.h"

static char dir[] = "/tmp/dask_files_XXXXXX";

static const char *put(const char *name, const char *text)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(file_write(path, 0600, text, strlen(text), NULL), 0);
    return path;
}

static int make_dir(void **unused)
{
    (void)unused;
    return mkdtemp(dir) ? 0 : -1;
}

static int clear_dir(void **unused)
{
    (void)unused;
    AUTO_FREE char *command = mem_fmt("rm -rf %s", dir);
    return system(command);
}

#define HEAD "job,dag,timestamp,total-mem,compute-util,tasks\n"

static void cells_are_numbers_or_nothing(void **unused)
{
    static const struct {
        const char *cell;
        size_t n;
        double v[4];
    } cases[] = {
        {"5", 1, {5}},
        {"30772297728, 30068703232", 2, {30772297728.0, 30068703232.0}},
        {"0,1,2", 3, {0, 1, 2}},
        {"1.5, -2e3, 6.27040863e-05", 3, {1.5, -2000, 6.27040863e-05}},
        {"1, None, nan, 4", 4, {1, NAN, NAN, 4}},
        {"", 1, {NAN}},
        {" 7 ", 1, {7}},
        {"0x10, 1.2.3, -, .", 4, {NAN, NAN, NAN, NAN}},
        {"0.529609919", 1, {0.529609919}},
        {"123456789012345678", 1, {123456789012345680.0}},
        {"inf, 1e999", 2, {NAN, NAN}},
        {"000000000000000000001", 1, {1}},
    };
    double v[SAMPLES_GPUS_MAX];
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("'%s'\n", cases[i].cell);
        assert_int_equal(samples_numbers(str_of(cases[i].cell), v), cases[i].n);
        for (size_t k = 0; k < cases[i].n; k++)
            assert_true(isnan(cases[i].v[k]) ? isnan(v[k]) : v[k] == cases[i].v[k]);
    }
}

static void records_are_read_with_quotes_line_ends_and_all(void **unused)
{
    static const char text[] = "job,dag,timestamp,\"total-mem\",tasks\r\n"
                               "0,0,1.5,\"1, 2\",\"('a\"\"b', 1)\"\r\n"
                               "\n"
                               "1,0,2.5,7,\"two\nlines\"\n"
                               "2,0,3.5,,";
    struct samples *s = NULL;
    struct str cells[3];
    struct err err = {0};
    const int ask[3] = {0, 3, 4};
    (void)unused;
    assert_int_equal(samples_open(put("a.csv", text), &s, &err), 0);
    assert_int_equal(samples_find(s, "total-mem"), 3);
    assert_int_equal(samples_find(s, "nothing"), -1);
    assert_int_equal(samples_next(s, ask, 3, cells, &err), 1);
    assert_true(str_eq(cells[1], "1, 2"));
    assert_true(str_eq(cells[2], "('a\"\"b', 1)"));
    assert_int_equal(samples_next(s, ask, 3, cells, &err), 1);
    assert_true(str_eq(cells[0], "1"));
    assert_true(str_eq(cells[2], "two\nlines"));
    assert_int_equal(samples_next(s, ask, 3, cells, &err), 1);
    assert_true(str_eq(cells[0], "2"));
    assert_int_equal(cells[1].len + cells[2].len, 0);
    assert_int_equal(samples_next(s, ask, 3, cells, &err), 0);
    samples_close(s);
}

static void what_is_no_file_of_a_worker_is_refused(void **unused)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "is not a worker's CSV: expected columns job, dag, timestamp and metrics"},
        {"a,b,c\n1,2,3\n", "is not a worker's CSV"},
        {HEAD "0,0,1,2,3\n", "bad.csv:2: a record has another number of cells than the line of names"},
        {HEAD "0,0,1,2,3,\"x\n", "bad.csv:2: quotes that do not fit"},
        {HEAD "0,0,1,2,3,x\n0,0,1,\"2\"3,4,5\n", "bad.csv:3: quotes that do not fit"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct peaks p = {0};
        struct err err = {0};
        assert_true(peaks_of(put("bad.csv", cases[i].text), "total-mem", true, NULL, NULL, &p, &err) < 0);
        print_message("%s\n", err.msg);
        assert_non_null(strstr(err.msg, cases[i].want));
    }
}

static void a_record_without_end_is_refused_and_not_kept(void **unused)
{
    AUTO_BUF text = BUF_INIT(4u << 20);
    struct peaks p = {0};
    struct err err = {0};
    (void)unused;
    buf_adds(&text, HEAD "0,0,1,\"");
    buf_fill(&text, '1', 3u << 20);
    assert_int_equal(peaks_of(put("long.csv", text.p), "total-mem", false, NULL, NULL, &p, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "longer than 1 MiB"));
}

static void peaks_are_the_highest_of_each_gpu_and_job(void **unused)
{
    static const char text[] = HEAD "3,0,1,\"5, -1\",1,x\n"
                                    "10,0,2,\"7, -3\",2,x\n"
                                    "3,0,3,\"4, 9, 1\",None,x\n"
                                    "b,0,4,\"1, None\",0,x\n";
    const char *path = put("worker_0.csv", text);
    struct peaks p = {0};
    struct err err = {0};
    (void)unused;
    assert_int_equal(peaks_of(path, "total-mem", true, NULL, NULL, &p, &err), 0);
    assert_int_equal(p.n, 3);
    assert_string_equal(p.v[0].job, "3");
    assert_int_equal(p.v[0].n, 3);
    assert_true(p.v[0].v[0] == 5 && p.v[0].v[1] == 9 && p.v[0].v[2] == 1);
    assert_string_equal(p.v[1].job, "10");
    assert_true(p.v[1].v[1] == -3);
    assert_string_equal(p.v[2].job, "b");
    assert_true(p.v[2].v[0] == 1 && isnan(p.v[2].v[1]));
    peaks_fini(&p);
    assert_int_equal(peaks_of(path, "total-mem", false, NULL, NULL, &p, &err), 0);
    assert_int_equal(p.n, 1);
    assert_true(p.v[0].v[0] == 7 && p.v[0].v[1] == 9);
    peaks_fini(&p);
    assert_int_equal(peaks_of(path, "power", false, NULL, NULL, &p, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "has no metric 'power'; it has total-mem, compute-util, tasks"));
}

static void many_jobs_are_told_apart(void **unused)
{
    AUTO_BUF text = BUF_INIT(16u << 20);
    struct peaks p = {0};
    (void)unused;
    buf_adds(&text, HEAD);
    for (int round = 0; round < 2; round++)
        for (int i = 4999; i >= 0; i--)
            buf_addf(&text, "%d,0,1,%d,0,x\n", i, i * 10 + round);
    assert_int_equal(peaks_of(put("many.csv", text.p), "total-mem", true, NULL, NULL, &p, NULL), 0);
    assert_int_equal(p.n, 5000);
    for (size_t i = 0; i < p.n; i++)
        assert_true(p.v[i].number == (int64_t)i && p.v[i].v[0] == (double)i * 10 + 1);
    peaks_fini(&p);
}

static void a_job_is_taken_out_of_a_file(void **unused)
{
    static const char text[] = HEAD "0,0,0.5,1,1,x\n"
                                    "1,0,1.5,\"1, 2\",5,x\n"
                                    "1,0,?,\"9, 9\",5,x\n"
                                    "1,0,2.5,\"3, 4, 5\",None,x\n"
                                    "2,0,3.5,1,1,x\n4,0,3.5,1,1,x\n5,0,3.5,1,1,x\n";
    static const char *const metrics[] = {"total-mem", "compute-util"};
    const char *path = put("worker_0.csv", text);
    struct dask_job j = {0};
    struct err err = {0};
    (void)unused;
    assert_int_equal(job_read(path, "1", metrics, 2, NULL, NULL, &j, &err), 0);
    assert_int_equal(j.n, 2); /* one of them has no time */
    assert_true(j.t[1] == 2.5);
    assert_int_equal(j.metrics[0].gpus, 3);
    assert_true(j.metrics[0].v[1][0] == 2 && j.metrics[0].v[1][1] == 4);
    assert_true(isnan(j.metrics[0].v[2][0]) && j.metrics[0].v[2][1] == 5);
    assert_true(j.metrics[1].v[0][0] == 5 && isnan(j.metrics[1].v[0][1]));
    assert_string_equal(j.metrics[0].unit, "bytes");
    job_fini(&j);
    assert_int_equal(job_read(path, NULL, metrics, 1, NULL, NULL, &j, &err), 0);
    assert_int_equal(j.n, 6);
    job_fini(&j);
    assert_int_equal(job_read(path, "7", metrics, 1, NULL, NULL, &j, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "has no job '7'; its jobs are 0-2, 4-5"));
    static const char *const none[] = {"job"};
    assert_int_equal(job_read(path, "1", none, 1, NULL, NULL, &j, &err), -ENOENT);
}

static void boxes_have_quartiles_whiskers_and_outliers(void **unused)
{
    double v[] = {100, NAN, 1, 2, 3, 4, 5, 6, 7, -40};
    double same[] = {5, 5, 5};
    double none[] = {NAN};
    size_t n = ARRAY_LEN(v);
    struct box b;
    (void)unused;
    assert_true(box_of(v, &n, &b));
    assert_int_equal(n, 9);
    assert_true(b.q1 == 2 && b.median == 4 && b.q3 == 6);
    assert_true(b.low == 1 && b.high == 7);
    assert_int_equal(b.n_below, 1);
    assert_int_equal(b.n_above, 1);
    assert_true(b.below[0] == -40 && b.above[0] == 100);
    n = 3;
    assert_true(box_of(same, &n, &b));
    assert_true(b.low == 5 && b.high == 5 && b.n_above + b.n_below == 0);
    n = 1;
    assert_false(box_of(none, &n, &b));
    double two[] = {1, 2};
    n = 2;
    assert_true(box_of(two, &n, &b));
    assert_true(b.q1 == 1.25 && b.median == 1.5 && b.q3 == 1.75);
}

static void a_files_number_is_the_workers(void **unused)
{
    struct worker_files w = {0};
    struct samples_about about;
    struct err err = {0};
    char sub[64], unit[32];
    (void)unused;
    snprintf(sub, sizeof(sub), "%s/w", dir);
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_int_equal(worker_files_find(sub, &w, &err), -ENOENT);
    put("w/worker_10.csv", HEAD);
    put("w/worker_2.csv", HEAD);
    put("w/worker_0.csv", HEAD);
    put("w/worker_x.csv", "not one");
    put("w/notes.txt", "nor this");
    assert_int_equal(worker_files_find(sub, &w, &err), 0);
    assert_int_equal(w.n, 3);
    assert_int_equal(w.v[0].number, 0);
    assert_int_equal(w.v[1].number, 2);
    assert_int_equal(w.v[2].number, 10);
    samples_about(w.v[0].path, &about);
    assert_string_equal(about.name, "");
    put("w/worker_0.json",
        "{\"name\":\"tcp://a:1\",\"host\":\"dgx1\",\"columns\":[{\"name\":\"loss\",\"unit\":\"watts\"}]}");
    samples_about(w.v[0].path, &about);
    assert_string_equal(about.name, "tcp://a:1");
    assert_string_equal(about.host, "dgx1");
    assert_string_equal(samples_unit(w.v[0].path, "loss", unit), "watts");
    assert_string_equal(samples_unit(w.v[0].path, "compute-util", unit), "%");
    assert_string_equal(samples_unit(w.v[1].path, "loss", unit), "");
    worker_files_fini(&w);
    put("w/other_2.csv", HEAD);
    assert_int_equal(worker_files_find(sub, &w, &err), -EEXIST);
    assert_non_null(strstr(err.msg, "are both of worker 2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_numbers_or_nothing),
        cmocka_unit_test(records_are_read_with_quotes_line_ends_and_all),
        cmocka_unit_test(what_is_no_file_of_a_worker_is_refused),
        cmocka_unit_test(a_record_without_end_is_refused_and_not_kept),
        cmocka_unit_test(peaks_are_the_highest_of_each_gpu_and_job),
        cmocka_unit_test(many_jobs_are_told_apart),
        cmocka_unit_test(a_job_is_taken_out_of_a_file),
        cmocka_unit_test(boxes_have_quartiles_whiskers_and_outliers),
        cmocka_unit_test(a_files_number_is_the_workers),
    };
    return cmocka_run_group_tests(tests, make_dir, clear_dir);
}
