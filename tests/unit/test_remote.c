/* A machine read through a shell: the lines of the script, and the script itself in a real /bin/sh. */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collect/remote.h"

#define WALL 1794737172345ll

static enum remote_news line(struct remote *r, const char *s, int64_t mono_ms)
{
    return remote_line(r, str_of(s), mono_ms);
}

static void lines_become_a_sample(void **unused)
{
    struct remote *r = remote_new(5000);
    struct reading got = {0};
    struct node_fact f = {0};
    (void)unused;
    remote_begin(r, 1000);
    assert_int_equal(line(r, "N gpu01", 1000), REMOTE_NONE);
    line(r, "K 6.1.0-18-amd64", 1000);
    line(r, "R x86_64\r", 1000);
    line(r, "O \"Debian GNU/Linux 12 (bookworm)\"", 1000);
    line(r, "Y AMD EPYC 7742", 1000);
    line(r, "J 128", 1000);
    line(r, "B 4d3f", 1000);
    line(r, "C cpu  100 0 100 800 0 0 0 0 0 0", 1000);
    line(r, "A gpu_uuid, pid, used_gpu_memory [MiB]", 1000);
    line(r, "G index, count, uuid, name, driver_version, utilization.gpu [%], memory.used [MiB]", 1000);
    line(r, "L 14.37 10.0 9.0 3/900 77", 2000);
    line(r, "U 86400.43 1.0", 2000);
    line(r, "C cpu  175 0 125 900 0 0 0 0 0 0", 2000);
    line(r, "M MemTotal: 1000", 2000);
    line(r, "M MemAvailable: 400", 2000);
    line(r, "D {", 2000);
    line(r, "D Filesystem 1024-blocks Used Available Capacity Mounted on", 2000);
    line(r, "D /dev/sda1 1000 250 750 25% /", 2000);
    line(r, "D tmpfs 9999 1 9998 1% /run", 2000);
    line(r, "D }", 2000);
    assert_int_equal(line(r, "G 0, 2, GPU-a, NVIDIA H200, 580.1, 98, 1024", 2000), REMOTE_NONE);
    line(r, "A GPU-b, 77, 512", 2000);
    line(r, "P   77 raj 600 /opt/conda/bin/python train.py --lr 1", 2000);
    assert_int_equal(line(r, "G 1, 2, GPU-b, NVIDIA H200, 580.1, [N/A], 600", 2000), REMOTE_TICK);
    assert_true(remote_read(r, WALL, 2000, &got));
    assert_int_equal(got.n_devices, 2);
    assert_int_equal(got.devices[0].sample.v[M_util], 9800);
    assert_false(sample_has(&got.devices[1].sample, M_util));
    assert_string_equal(got.driver, "580.1");
    assert_int_equal(got.devices[1].n_uses, 1);
    const struct proc_fact *p = got.devices[1].uses[0].known;
    assert_string_equal(p->user, "raj");
    assert_string_equal(p->name, "python");
    assert_string_equal(p->cmd, "/opt/conda/bin/python train.py --lr 1");
    assert_int_equal(p->start_ms, WALL - 600000);
    assert_int_equal(got.node.v[M_load1], 1437);
    assert_int_equal(got.node.v[M_uptime], 86400);
    assert_int_equal(got.node.v[M_cpu], 5000);
    assert_int_equal(got.node.v[M_ram_used], 600 << 10);
    assert_int_equal(got.node.v[M_disk_total], 1000 << 10);
    assert_int_equal(got.node.v[M_disk_used], 250 << 10);
    remote_fact(r, &f);
    assert_string_equal(f.name, "gpu01");
    assert_string_equal(f.os, "Debian GNU/Linux 12 (bookworm)");
    assert_string_equal(f.arch, "x86_64");
    assert_int_equal(f.cpus, 128);
    assert_int_equal(remote_skipped(r), 0);

    /* ps rounds to seconds: told again, a process has not begun at another moment; another one of its number has */
    line(r, "P 77 raj 661 /opt/conda/bin/python train.py --lr 1", 62000);
    line(r, "A GPU-b, 77, 512", 62000);
    reading_reset(&got);
    assert_true(remote_read(r, WALL + 60000, 62000, &got));
    assert_int_equal(got.devices[1].uses[0].known->start_ms, WALL - 600000);
    assert_false(sample_has(&got.devices[0].sample, M_util)); /* read before */
    line(r, "P 77 lee 5 sleep 9", 62000);
    reading_reset(&got);
    remote_read(r, WALL + 60000, 62000, &got);
    assert_string_equal(got.devices[1].uses[0].known->user, "lee");
    assert_int_equal(got.devices[1].uses[0].known->start_ms, WALL + 55000);
    reading_fini(&got);
    remote_free(r);
}

static void what_is_wrong_is_told_in_its_own_words(void **unused)
{
    struct remote *r = remote_new(5000);
    struct reading got = {0};
    AUTO_BUF script = BUF_INIT(65536);
    (void)unused;
    remote_begin(r, 0);
    line(r, "G Field \"remapped_rows.pending\" is not a valid field to query.", 0);
    assert_int_equal(line(r, "E", 0), REMOTE_AGAIN);
    remote_script(r, false, &script);
    assert_null(strstr(script.p, "remapped_rows.pending"));
    assert_non_null(strstr(script.p, "remapped_rows.correctable"));
    remote_begin(r, 0);
    line(r, "G NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 0);
    assert_int_equal(line(r, "E", 0), REMOTE_FAILED);
    assert_string_equal(remote_why(r), "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.");
    remote_begin(r, 0);
    assert_string_equal(remote_why(r), "");
    assert_int_equal(line(r, "X there is no nvidia-smi", 0), REMOTE_FAILED);
    line(r, "L 1.5 1 1", 0);
    assert_int_equal(line(r, "T", 0), REMOTE_TICK);
    assert_true(remote_read(r, WALL, 0, &got));
    assert_int_equal(got.n_devices, 0);
    assert_int_equal(got.node.v[M_load1], 150);
    assert_false(remote_read(r, WALL, 0, &got)); /* told once */
    reading_fini(&got);
    remote_free(r);
}

static void silence_is_noticed_once_and_ends_with_an_answer(void **unused)
{
    struct remote *r = remote_new(5000);
    (void)unused;
    remote_begin(r, 0);
    assert_int_equal(remote_wait(r, 60000), REMOTE_NONE); /* the first answer may take its time */
    assert_int_equal(remote_wait(r, 71000), REMOTE_FAILED);
    assert_true(remote_hung(r));
    assert_string_equal(remote_why(r), "nvidia-smi has not answered for 71 s");
    assert_int_equal(remote_wait(r, 72000), REMOTE_NONE);
    line(r, "G index, count, uuid", 73000);
    assert_int_equal(line(r, "G 0, 1, GPU-a", 73000), REMOTE_TICK);
    assert_false(remote_hung(r));
    assert_string_equal(remote_why(r), "");
    assert_int_equal(remote_wait(r, 73000 + 26000), REMOTE_FAILED);
    remote_free(r);
}

static void nonsense_is_counted_and_passed_over(void **unused)
{
    static const char *const odd[] = {"",
                                      "Welcome to gpu01!",
                                      "P",
                                      "P x y z",
                                      "P 1 kim",
                                      "P -4 kim 5 x",
                                      "C cpu",
                                      "C cpu a b",
                                      "M MemFree: 7",
                                      "M MemAvailable: 7",
                                      "D /dev/sda 1 1",
                                      "L many",
                                      "J 0",
                                      "Gx",
                                      "Z 1",
                                      "P 99999999999 kim 5 x"};
    struct remote *r = remote_new(5000);
    struct reading got = {0};
    (void)unused;
    remote_begin(r, 0);
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        assert_int_equal(line(r, odd[i], 0), REMOTE_NONE);
        if (remote_skipped(r) != i + 1)
            fail_msg("'%s' was taken", odd[i]);
    }
    assert_false(remote_read(r, WALL, 0, &got));
    reading_fini(&got);
    remote_free(r);
}

/* ---- the script ---- */

#define FAKE                                                                                                           \
    "#!/bin/sh\n"                                                                                                      \
    "case \"$*\" in\n"                                                                                                 \
    "*compute-apps*) echo 'gpu_uuid, pid, used_gpu_memory [MiB]'\n"                                                    \
    "  while :; do echo \"GPU-b, %d, 100\"; sleep 0.05; done;;\n"                                                      \
    "esac\n"                                                                                                           \
    "echo $$ > %s/pid; echo 'index, count, uuid, utilization.gpu [%%]'\n"                                              \
    "while :; do echo '0, 2, GPU-a, 3'; echo '1, 2, GPU-b, 4'; sleep 0.05; done\n"

struct shell {
    pid_t pid;
    int in, out;
};

/* In a session of its own, as sshd starts it: the script ends its process group. */
static struct shell shell_start(const char *dir, struct str script)
{
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        AUTO_FREE char *path = mem_fmt("%s:/usr/bin:/bin", dir);
        setsid();
        dup2(in[0], 0);
        dup2(out[1], 1);
        setenv("PATH", path, 1);
        execl("/bin/sh", "sh", "-s", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    assert_int_equal(write(in[1], script.p, script.len), script.len);
    return (struct shell){pid, in[1], out[0]};
}

static void the_script_runs_in_a_plain_shell_and_leaves_nothing_behind(void **unused)
{
    char dir[] = "/tmp/muster-remote-XXXXXX";
    AUTO_BUF script = BUF_INIT(65536);
    struct remote *r = remote_new(1000);
    struct reading got = {0};
    struct node_fact f = {0};
    (void)unused;
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *smi = mem_fmt("%s/nvidia-smi", dir), *pid_file = mem_fmt("%s/pid", dir);
    AUTO_FREE char *text = mem_fmt(FAKE, (int)getpid(), dir);
    FILE *file = fopen(smi, "w");
    fputs(text, file);
    fclose(file);
    chmod(smi, 0700);
    remote_script(r, false, &script);
    remote_begin(r, clock_mono_ms());
    struct shell sh = shell_start(dir, buf_str(&script));
    FILE *lines = fdopen(sh.out, "r");
    char *one = NULL;
    size_t cap = 0;
    ssize_t n;
    bool whole = false;
    while (!whole && (n = getline(&one, &cap, lines)) > 0)
        if (remote_line(r, str_n(one, (size_t)n - 1), clock_mono_ms()) == REMOTE_TICK) {
            reading_reset(&got);
            assert_true(remote_read(r, WALL, clock_mono_ms(), &got));
            whole = got.n_devices == 2 && got.devices[1].n_uses == 1 && got.devices[1].uses[0].known &&
                    sample_has(&got.node, M_load1) && sample_has(&got.node, M_ram_used);
        }
    assert_true(whole);
    assert_true(got.devices[1].uses[0].known->user[0]);
    assert_string_equal(got.devices[1].uses[0].known->name, "test_remote");
    remote_fact(r, &f);
    assert_true(f.name[0] && f.kernel[0] && f.arch[0] && f.cpus > 0);
    assert_int_equal(remote_skipped(r), 0);

    /* Its standard input ends: everything it started ends with it, and the pipe is closed by all of them. */
    close(sh.in);
    while (getline(&one, &cap, lines) > 0)
        ;
    int status;
    assert_int_equal(waitpid(sh.pid, &status, 0), sh.pid);
    free(one);
    fclose(lines);
    unlink(smi);
    unlink(pid_file);
    rmdir(dir);
    reading_fini(&got);
    remote_free(r);
}

TESTS(cmocka_unit_test(lines_become_a_sample), cmocka_unit_test(what_is_wrong_is_told_in_its_own_words),
      cmocka_unit_test(silence_is_noticed_once_and_ends_with_an_answer),
      cmocka_unit_test(nonsense_is_counted_and_passed_over),
      cmocka_unit_test(the_script_runs_in_a_plain_shell_and_leaves_nothing_behind))
