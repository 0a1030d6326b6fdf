/* test_commands.c: commands beside us (piped.h), and the two collectors that use them: exec, and smi with a script in
 * nvidia-smi's place. Nothing here is timed: a test waits for what it wants to see, and fails when that never comes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/file.h"
#include "collect/collect.h"
#include "collect/piped.h"

#include "test.h"

#define LONG_MS 180000 /* bounds a failing test alone */

static char dir[64];

static int set_up(void **unused)
{
    (void)unused;
    snprintf(dir, sizeof(dir), "/tmp/muster-cmd-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **unused)
{
    AUTO_FREE char *cmd = mem_fmt("rm -rf %s", dir);
    (void)unused;
    piped_end_all();
    return system(cmd);
}

static char *path_of(const char *name)
{
    return mem_fmt("%s/%s", dir, name);
}

static char *put(const char *name, const char *text, mode_t mode)
{
    char *path = path_of(name);
    assert_int_equal(file_write(path, mode, text, strlen(text), NULL), 0);
    return path;
}

/* Ended; whether its parent noticed is not ours to say. */
static bool gone(pid_t pid)
{
    char text[512];
    AUTO_FREE char *path = mem_fmt("/proc/%d/stat", (int)pid);
    int n = file_read_small(path, text, sizeof(text));
    return n <= 0 || str_find(str_n(text, (size_t)n), ") Z ") >= 0;
}

/* The pid a script wrote to a file of this name; waits for it. */
static pid_t pid_in(const char *name)
{
    AUTO_FREE char *path = path_of(name);
    char text[32];
    int64_t pid, until = clock_mono_ms() + LONG_MS;
    for (;;) {
        int n = file_read_small(path, text, sizeof(text));
        if (n > 0 && text[n - 1] == '\n' && str_int(str_trim(str_n(text, (size_t)n)), &pid))
            return (pid_t)pid;
        assert_true(clock_mono_ms() < until);
        poll(NULL, 0, 2);
    }
}

/* ---- piped ---- */

static int read_all(struct piped *p)
{
    int64_t until = clock_mono_ms() + LONG_MS;
    int r;
    while ((r = piped_read(p)) == 0) {
        assert_true(clock_mono_ms() < until);
        poll(NULL, 0, 2);
    }
    return r;
}

static void what_a_command_prints_comes_in_lines(void **unused)
{
    const char *argv[] = {"/bin/sh", "-c", "echo one; cat; echo two >&2; printf three; exit 3", NULL};
    struct piped p;
    size_t at = 0;
    struct str line;
    char words[40];
    (void)unused;
    assert_int_equal(piped_start(&p, argv, 4096, NULL), 0);
    assert_int_equal(read_all(&p), 1);
    assert_true(piped_line(&p, &at, &line));
    assert_true(str_eq(line, "one"));
    piped_consumed(&p, at);
    at = 0;
    assert_true(piped_line(&p, &at, &line)); /* no input, no errors' words; the last line needs no end */
    assert_true(str_eq(line, "three"));
    assert_false(piped_line(&p, &at, &line));
    assert_string_equal(piped_words(p.status, words), "exit status 3");
    piped_stop(&p);
    piped_stop(&p);
}

static void a_command_that_cannot_be_run_says_so(void **unused)
{
    const char *argv[] = {"/nonexistent/x", NULL};
    struct piped p;
    char words[40];
    (void)unused;
    assert_int_equal(piped_start(&p, argv, 4096, NULL), 0);
    assert_int_equal(read_all(&p), 1);
    assert_string_equal(piped_words(p.status, words), "it cannot be run");
    piped_stop(&p);
}

static void output_is_capped(void **unused)
{
    const char *argv[] = {"/bin/sh", "-c", "while :; do echo yes; done", NULL};
    struct piped p;
    (void)unused;
    assert_int_equal(piped_start(&p, argv, 4096, NULL), 0);
    assert_int_equal(read_all(&p), -ENOBUFS);
    assert_true(p.out.len <= 4096);
    pid_t pid = p.pid;
    piped_stop(&p);
    piped_end_all();
    assert_true(gone(pid));
}

static void stopping_a_command_stops_what_it_started(void **unused)
{
    AUTO_FREE char *script =
        mem_fmt("sh -c 'echo $$ > %s/inner; trap \"\" TERM; while :; do sleep 1; done' & wait", dir);
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    struct piped p;
    (void)unused;
    assert_int_equal(piped_start(&p, argv, 4096, NULL), 0);
    pid_t outer = p.pid, inner = pid_in("inner");
    piped_stop(&p);
    int64_t until = clock_mono_ms() + LONG_MS;
    while (!gone(outer) || !gone(inner)) { /* asked, the outer one ends; the inner one ignores that, and is made to */
        piped_end_all();
        assert_true(clock_mono_ms() < until);
    }
}

/* ---- exec ---- */

static void read_until(const struct collector_ops *ops, struct collector *c, struct reading *r, struct err *err,
                       bool (*seen)(const struct reading *, const struct err *))
{
    int64_t until = clock_mono_ms() + LONG_MS;
    do {
        assert_true(clock_mono_ms() < until);
        poll(NULL, 0, 2);
        reading_reset(r);
        *err = (struct err){0};
        err->code = ops->read(c, r, err);
    } while (!seen(r, err));
}

static bool any_custom(const struct reading *r, const struct err *err)
{
    (void)err;
    return r->n_custom > 0;
}

static bool any_words(const struct reading *r, const struct err *err)
{
    (void)r;
    return err->msg[0] != 0;
}

static struct collector *exec_of(const char *entry)
{
    const char *list[] = {entry, NULL};
    struct collect_conf conf = {.tick_ms = 100, .exec = list};
    struct collector *c = NULL;
    struct err err = {0};
    assert_true(collector_exec.present(&conf));
    if (collector_exec.open(&c, &conf, &err) < 0)
        fail_msg("%s", err.msg);
    return c;
}

static void a_command_is_run_again_when_it_ends(void **unused)
{
    AUTO_FREE char *entry = mem_fmt("@100ms echo run >> %s/runs; echo runs $(wc -l < %s/runs)", dir, dir);
    struct collector *c = exec_of(entry);
    struct reading r = {0};
    struct err err;
    (void)unused;
    for (int i = 1; i <= 3; i++) {
        read_until(&collector_exec, c, &r, &err, any_custom);
        assert_int_equal(r.n_custom, 1);
        assert_string_equal(r.custom[0].name, "runs");
        assert_int_equal(r.custom[0].v, i * 1000);
    }
    collector_exec.close(c);
    reading_fini(&r);
}

static void a_command_that_goes_on_is_kept(void **unused)
{
    AUTO_FREE char *entry = mem_fmt("echo $$ > %s/pid; while read x; do echo v $x; done < %s/fifo", dir, dir);
    AUTO_FREE char *fifo = path_of("fifo");
    struct reading r = {0};
    struct err err;
    (void)unused;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    struct collector *c = exec_of(entry);
    collector_exec.read(c, &r, &err);
    FILE *f = fopen(fifo, "w"); /* waits for the command */
    assert_non_null(f);
    for (int i = 0; i < 3; i++) {
        fprintf(f, "%d\n", i);
        fflush(f);
        read_until(&collector_exec, c, &r, &err, any_custom);
        assert_int_equal(r.custom[0].v, i * 1000);
    }
    pid_t pid = pid_in("pid");
    assert_false(gone(pid));
    collector_exec.close(c);
    piped_end_all();
    assert_true(gone(pid));
    fclose(f);
    reading_fini(&r);
}

static void a_file_is_read_when_it_was_written(void **unused)
{
    AUTO_FREE char *path = put("m.prom", "# TYPE a counter\na 1\nbad\n", 0600);
    AUTO_FREE char *entry = mem_fmt("@100ms %s", path);
    struct collector *c = exec_of(entry);
    struct reading r = {0};
    struct err err;
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    (void)unused;
    read_until(&collector_exec, c, &r, &err, any_custom);
    assert_int_equal(r.custom[0].v, 1);
    assert_int_equal(r.custom[0].kind, KIND_COUNTER);
    AUTO_FREE char *words = mem_fmt("'%.60s': 1 line skipped, first: 'bad'", path);
    assert_string_equal(err.msg, words);
    free(put("m.prom", "a 2\n", 0600));
    utimensat(AT_FDCWD, path, old, 0);
    read_until(&collector_exec, c, &r, &err, any_custom);
    assert_int_equal(r.custom[0].v, 2000);
    assert_string_equal(err.msg, "");
    assert_int_equal(unlink(path), 0);
    read_until(&collector_exec, c, &r, &err, any_words);
    assert_int_equal(r.n_custom, 0);
    collector_exec.close(c);
    reading_fini(&r);
}

static void what_goes_wrong_with_a_command_is_a_remark(void **unused)
{
    static const struct {
        const char *entry, *want;
    } cases[] = {
        {"exit 3", "'exit 3': exit status 3"},
        {"file:/nonexistent/x", "'/nonexistent/x': No such file or directory"},
        {"file:/tmp", "'/tmp': not a regular file"},
        {"echo what is this", "'echo what is this': 1 line skipped, first: 'what is this'"},
        {"while :; do echo x 1; done", "'while :; do echo x 1; done': it prints too much"},
        {"kill -9 $$", "'kill -9 $$': killed by signal 9"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct collector *c = exec_of(cases[i].entry);
        struct reading r = {0};
        struct err err;
        print_message("%s\n", cases[i].entry);
        read_until(&collector_exec, c, &r, &err, any_words);
        assert_int_equal(err.code, 0);
        assert_string_equal(err.msg, cases[i].want);
        collector_exec.close(c);
        reading_fini(&r);
    }
}

static void an_entry_that_makes_no_sense_is_refused(void **unused)
{
    static const char *const entries[] = {"", "@", "@x echo", "@1ms echo", "@10s", "file:", "@99d echo"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
        const char *list[] = {entries[i], NULL};
        struct collect_conf conf = {.exec = list};
        struct collector *c = NULL;
        struct err err = {0};
        print_message("'%s'\n", entries[i]);
        assert_int_equal(collector_exec.open(&c, &conf, &err), -EINVAL);
        assert_true(err.msg[0]);
    }
    assert_false(collector_exec.present(&(struct collect_conf){0}));
}

/* ---- smi ---- */

#define FAKE                                                                                                           \
    "#!/bin/sh\n"                                                                                                      \
    "case \"$*\" in\n"                                                                                                 \
    "*compute-apps*) echo $$ > DIR/apps; echo 'gpu_uuid, pid, used_gpu_memory [MiB]'\n"                                \
    "  while :; do echo 'GPU-b, 77, 100'; sleep 0.05; done;;\n"                                                        \
    "*remapped_rows.pending*) echo 'Field \"remapped_rows.pending\" is not a valid field to query.'; exit 2;;\n"       \
    "*retired_pages.sbe*) echo 'Field \"retired_pages.sbe\" is not a valid field to query.'; exit 2;;\n"               \
    "esac\n"                                                                                                           \
    "echo $$ > DIR/gpus; echo 'index, count, uuid, name, driver_version, utilization.gpu [%], memory.used [MiB]'\n"    \
    "i=0; while [ ! -e DIR/end ]; do i=$((i + 1))\n"                                                                   \
    "echo \"0, 2, GPU-a, Fake, 1.2.3, $i, 10\"; sleep 0.02; echo \"1, 2, GPU-b, Fake, 1.2.3, [N/A], 20\"; sleep "      \
    "0.02\n"                                                                                                           \
    "done; echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18\n"

static char *fake_smi(const char *text)
{
    AUTO_BUF b = BUF_INIT(65536);
    struct str rest = str_of(text);
    for (int at; (at = str_find(rest, "DIR")) >= 0; rest = str_n(rest.p + at + 3, rest.len - (size_t)at - 3))
        buf_addf(&b, "%.*s%s", at, rest.p, dir);
    buf_addstr(&b, rest);
    return put("nvidia-smi", b.p, 0700);
}

static bool two_with_values(const struct reading *r, const struct err *err)
{
    if (err->code < 0 && err->code != -EAGAIN)
        fail_msg("%s", err->msg);
    return r->n_devices == 2 && sample_has(&r->devices[0].sample, M_util) && r->devices[1].n_uses == 1;
}

static bool failed(const struct reading *r, const struct err *err)
{
    (void)r;
    return err->code < 0 && err->code != -EAGAIN;
}

static void nvidia_smi_is_kept_running_and_read(void **unused)
{
    AUTO_FREE char *path = fake_smi(FAKE);
    struct collect_conf conf = {.tick_ms = 1000, .smi_path = path};
    struct collector *c = NULL;
    struct reading r = {0};
    struct err err = {0};
    (void)unused;
    assert_true(collector_smi.present(&conf));
    assert_int_equal(collector_smi.open(&c, &conf, &err), 0);
    int64_t last = 0;
    for (int i = 0; i < 3; i++) { /* two fields that this version does not know were left out meanwhile */
        read_until(&collector_smi, c, &r, &err, two_with_values);
        assert_true(r.devices[0].sample.v[M_util] > last);
        last = r.devices[0].sample.v[M_util];
    }
    assert_string_equal(r.driver, "1.2.3");
    assert_int_equal(r.devices[0].sample.v[M_mem_used], 10 << 20);
    assert_false(sample_has(&r.devices[1].sample, M_util));
    assert_int_equal(r.devices[1].uses[0].pid, 77);
    assert_int_equal(r.devices[1].uses[0].mem, 100 << 20);
    assert_null(r.devices[1].uses[0].known); /* its pid is of this machine: /proc knows more */
    assert_int_equal(r.devices[0].n_uses, 0);
    pid_t gpus = pid_in("gpus"), apps = pid_in("apps");
    reading_reset(&r);
    collector_smi.read(c, &r, &err);
    reading_reset(&r);
    assert_int_equal(collector_smi.read(c, &r, &err), 0); /* asked again at once: the devices, but no old values */
    assert_int_equal(r.n_devices, 2);
    assert_int_equal(pid_in("gpus"), gpus); /* still the same process */
    free(put("end", "", 0600));
    read_until(&collector_smi, c, &r, &err, failed);
    assert_int_equal(err.code, -ENODEV);
    assert_string_equal(err.msg, "Failed to initialize NVML: Driver/library version mismatch");
    collector_smi.close(c);
    piped_end_all();
    assert_true(gone(gpus) && gone(apps));
    reading_fini(&r);
}

static void an_nvidia_smi_that_fails_says_what_it_said(void **unused)
{
    static const struct {
        const char *script;
        int code;
        const char *words;
    } cases[] = {
        {"#!/bin/sh\necho \"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\"; exit 9\n",
         -ENODEV, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."},
        {"#!/bin/sh\necho 'No devices were found'; exit 6\n", -ENODEV, "No devices were found"},
        {"#!/bin/sh\nexit 3\n", -EIO, " ended (exit status 3)"},
        {"#!/bin/sh\nprintf 'odd\\033[31m'; exit 1\n", -EIO, " ended (exit status 1): odd [31m"},
        {"#!/bin/sh\necho 'Field \"never.asked\" is not a valid field to query.'; exit 2\n", -EIO,
         " ended (exit status 2): Field \"never.asked\" is not a valid field to query."},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *path = fake_smi(cases[i].script);
        struct collect_conf conf = {.tick_ms = 100, .smi_path = path};
        struct collector *c = NULL;
        struct reading r = {0};
        struct err err = {0};
        assert_int_equal(collector_smi.open(&c, &conf, &err), 0);
        read_until(&collector_smi, c, &r, &err, failed);
        assert_int_equal(err.code, cases[i].code);
        assert_non_null(strstr(err.msg, cases[i].words));
        collector_smi.close(c);
        reading_fini(&r);
    }
    assert_false(collector_smi.present(&(struct collect_conf){.smi_path = "/nonexistent/nvidia-smi"}));
    assert_false(collector_smi.present(&(struct collect_conf){.smi_path = "no-such-nvidia-smi"}));
    assert_true(collector_smi.present(&(struct collect_conf){.smi_path = "sh"}));
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
TESTS(WITH(what_a_command_prints_comes_in_lines), WITH(a_command_that_cannot_be_run_says_so), WITH(output_is_capped),
      WITH(stopping_a_command_stops_what_it_started), WITH(a_command_is_run_again_when_it_ends),
      WITH(a_command_that_goes_on_is_kept), WITH(a_file_is_read_when_it_was_written),
      WITH(what_goes_wrong_with_a_command_is_a_remark), WITH(an_entry_that_makes_no_sense_is_refused),
      WITH(nvidia_smi_is_kept_running_and_read), WITH(an_nvidia_smi_that_fails_says_what_it_said))
