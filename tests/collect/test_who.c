/* test_who.c: processes of a recorded /proc tree: a job of a script with workers, a container, Slurm, odd names. */
#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "collect/proc_info.h"

#include "test.h"

#define PROC "tests/kit/data/proc"
#define NOW  1794800000000ll

static void a_pid_becomes_a_process_with_its_job(void **unused)
{
    static const struct {
        int32_t pid, ppid, root;
        int64_t start_ms, uid, job;
        const char *name, *cmd, *runtime;
    } cases[] = {
        /* the script is the job: above it is the shell somebody types into */
        {1002, 1001, 1000, 1794700500200, 1000, 0, "python3", "/usr/bin/python3 -u train.py --name a b", ""},
        {1003, 1001, 1000, 1794700500210, 1000, 0, "python3", "/usr/bin/python3 -u train.py", ""},
        {1001, 1000, 1000, 1794700500100, 1000, 0, "torchrun", "/usr/bin/python3 /usr/bin/torchrun train.py", ""},
        {1000, 901, 1000, 1794700500000, 1000, 0, "bash", "bash run.sh", ""},
        /* parentheses in a name; a name the kernel cut; controls and bytes that are not UTF-8 */
        {1100, 901, 1100, 1794700600000, 1000, 0, "a) R 1 (b", "a", ""},
        {1101, 901, 1101, 1794700600010, 1000, 0, "a-very-long-program-name",
         "/opt/x/a-very-long-program-name --key tab here", ""},
        {1102, 901, 1102, 1794700600020, 1000, 0, "esc", "esc  [31mred?", ""},
        {1104, 901, 1104, 1794700600040, -1, 0, "gone-user", "g", ""},
        /* a container's first process is the job, its shim is not */
        {1202, 1201, 1201, 1794700700020, 0, 0, "python3", "python3 -c worker", "docker"},
        {1301, 1300, 1301, 1794700800010, 1000, 4711, "python3", "python3 x.py", ""},
        {1400, 1401, 1400, 1794700900000, 1000, 0, "p", "p", ""}, /* a loop of parents ends */
    };
    struct proc_info *w = proc_info_new(PROC, true);
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct proc_fact p = {0};
        print_message("pid %d\n", cases[i].pid);
        assert_int_equal(proc_info_fetch(w, cases[i].pid, NOW, &p), 0);
        assert_int_equal(p.pid, cases[i].pid);
        assert_int_equal(p.ppid, cases[i].ppid);
        assert_int_equal(p.root_pid, cases[i].root);
        assert_int_equal(p.start_ms, cases[i].start_ms);
        assert_int_equal(p.uid, cases[i].uid);
        assert_int_equal(p.slurm_job, cases[i].job);
        assert_string_equal(p.name, cases[i].name);
        assert_string_equal(p.cmd, cases[i].cmd);
        assert_string_equal(p.runtime, cases[i].runtime);
    }
    proc_info_free(w);
}

static void a_long_command_line_is_cut_and_ends(void **unused)
{
    struct proc_info *w = proc_info_new(PROC, true);
    struct proc_fact p;
    (void)unused;
    assert_int_equal(proc_info_fetch(w, 1103, NOW, &p), 0);
    assert_int_equal(strlen(p.cmd), CMD_MAX - 1);
    assert_memory_equal(p.cmd, "long xxx", 8);
    proc_info_free(w);
}

static void command_lines_are_not_read_when_told_so(void **unused)
{
    struct proc_info *w = proc_info_new(PROC, false);
    struct proc_fact p;
    (void)unused;
    assert_int_equal(proc_info_fetch(w, 1101, NOW, &p), 0);
    assert_string_equal(p.cmd, "");
    assert_string_equal(p.name, "a-very-long-pro");
    proc_info_free(w);
}

static void what_is_not_in_proc_was_never_seen(void **unused)
{
    static const int32_t pids[] = {4242, 0, -1, 1500, 1501, INT32_MAX};
    struct proc_info *w = proc_info_new(PROC, true);
    struct proc_fact p = {.pid = 77};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
        print_message("pid %d\n", pids[i]);
        assert_int_equal(proc_info_fetch(w, pids[i], NOW, &p), -ENOENT);
        assert_int_equal(p.pid, 77);
    }
    proc_info_free(w);
}

static void names_of_users_come_by_themselves(void **unused)
{
    struct proc_info *w = proc_info_new(PROC, true);
    struct proc_fact p;
    (void)unused;
    assert_int_equal(proc_info_fetch(w, 1201, NOW, &p), 0);
    assert_true(proc_info_wait(w, 10000));
    assert_int_equal(proc_info_fetch(w, 1201, NOW, &p), 0);
    assert_string_equal(p.user, "root");
    assert_int_equal(proc_info_fetch(w, 1104, NOW, &p), 0); /* nobody's: unknown stays unknown */
    assert_true(proc_info_wait(w, 10000));
    assert_string_equal(p.user, "");
    proc_info_free(w);
}

static void what_root_runs_for_others_is_theirs(void **unused)
{
    static const struct {
        int32_t pid;
        int64_t uid, job;
        const char *told, *pod;
    } cases[] = {
        {1601, 1000, 0, NULL, ""},                         /* sudo: who logged in */
        {1602, 1004, 77, NULL, ""},                        /* Slurm, version 1: the path says */
        {1603, 1004, 78, "kim", ""},                       /* version 2: the job's environment */
        {1604, -1, 0, "k8s:research", "research/llama-0"}, /* a pod: its namespace */
        {1605, 0, 0, NULL, ""},                            /* a service: root's own */
        {1606, 0, 0, NULL, ""},                            /* a container: who started the daemon does not matter */
        {1607, 1000, 0, NULL, ""},                         /* a rootless container */
        {1608, 1000, 79, NULL, ""},                        /* what an ordinary user claims is not believed */
        {1609, 1000, 0, NULL, ""},                         /* no audit: whose session it is in */
    };
    char pods[] = "/tmp/muster-pods-XXXXXX";
    (void)unused;
    assert_non_null(mkdtemp(pods));
    AUTO_FREE char *one = mem_fmt("%s/research_llama-0_8c2b5a1e-4f6d-4c7b-9a3e-1d2f3a4b5c6d", pods),
                   *other = mem_fmt("%s/kube-system_x_9c2b5a1e-4f6d-4c7b-9a3e-1d2f3a4b5c6d", pods),
                   *cmd = mem_fmt("rm -r %s", pods);
    assert_int_equal(mkdir(one, 0700), 0);
    assert_int_equal(mkdir(other, 0700), 0);
    struct proc_info *w = proc_info_new(PROC, true);
    proc_info_set_pods(w, pods);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct proc_fact p = {0};
        print_message("pid %d\n", cases[i].pid);
        assert_int_equal(proc_info_fetch(w, cases[i].pid, NOW, &p), 0);
        assert_int_equal(p.uid, cases[i].uid);
        assert_int_equal(p.slurm_job, cases[i].job);
        assert_string_equal(p.pod, cases[i].pod);
        if (cases[i].told)
            assert_string_equal(p.user, cases[i].told);
    }
    proc_info_free(w);
    assert_int_equal(system(cmd), 0);
}

static void a_launcher_says_where_processes_meet(void **unused)
{
    static const struct {
        int32_t pid;
        const char *launch;
    } cases[] = {
        {1002, ""},
        {1700, "dgx1:29400"},
        {1701, "dgx1:29400"},     /* its launcher's words, before its environment */
        {1702, "10.0.0.1:29500"}, /* its environment */
        {1703, ""},               /* this machine alone */
        {1704, "slurm:81"},
        {1705, "10.0.0.1"}, /* a variable without an end may be cut */
    };
    struct proc_info *w = proc_info_new(PROC, true), *silent = proc_info_new(PROC, false);
    struct proc_fact p = {0};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("pid %d\n", cases[i].pid);
        assert_int_equal(proc_info_fetch(w, cases[i].pid, NOW, &p), 0);
        assert_string_equal(p.launch, cases[i].launch);
        assert_int_equal(proc_info_fetch(silent, cases[i].pid, NOW, &p), 0);
        assert_string_equal(p.launch, "");
    }
    proc_info_free(w);
    proc_info_free(silent);
}

/* ---- a tree that changes ---- */

static void put(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", dir, name);
    assert_int_equal(file_write(path, 0600, text, strlen(text), NULL), 0);
}

static void put_stat(const char *dir, const char *comm, int ppid, int start)
{
    AUTO_FREE char *text = mem_fmt("5 (%s) S %d 5 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0\n", comm, ppid, start);
    put(dir, "stat", text);
}

static void a_launch_is_looked_for_once_in_a_process_s_life(void **unused)
{
    char root[] = "/tmp/muster-who-XXXXXX";
    struct proc_fact p;
    (void)unused;
    assert_non_null(mkdtemp(root));
    AUTO_FREE char *dir = mem_fmt("%s/5", root), *cmd = mem_fmt("rm -r %s", root);
    assert_int_equal(mkdir(dir, 0700), 0);
    put(root, "stat", "btime 1000\n");
    put(dir, "status", "Uid:\t12\t12\n");
    put(dir, "cmdline", "python --master_addr=a");
    put_stat(dir, "first", 1, 100);
    struct proc_info *w = proc_info_new(root, true);
    assert_int_equal(proc_info_fetch(w, 5, NOW, &p), 0);
    assert_string_equal(p.launch, "a");
    put(dir, "cmdline", "python --master_addr=b");
    assert_int_equal(proc_info_fetch(w, 5, NOW + 100000, &p), 0);
    assert_string_equal(p.cmd, "python --master_addr=b"); /* that is read again */
    assert_string_equal(p.launch, "a");
    put_stat(dir, "second", 1, 200);
    assert_int_equal(proc_info_fetch(w, 5, NOW + 110000, &p), 0);
    assert_string_equal(p.launch, "b");
    proc_info_free(w);
    assert_int_equal(system(cmd), 0);
}

static void a_sluid_leads_to_the_job_number(void **unused)
{
    static const struct {
        const char *uid, *title;
        int64_t job;
        const char *launch;
    } cases[] = {
        {"0", "slurmstepd: [4711.batch]", 4711, ""},
        {"1000", "slurmstepd: [4711.batch]", 0, "slurm:s5K1KKYAYG5D00"}, /* a user's own program */
        {"0", "slurmstepd: [s5K1KKYAYG5D00.0]", 0, "slurm:s5K1KKYAYG5D00"},
        {"0", "slurmstepd", 0, "slurm:s5K1KKYAYG5D00"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char root[] = "/tmp/muster-who-XXXXXX";
        struct proc_fact p;
        assert_non_null(mkdtemp(root));
        AUTO_FREE char *job = mem_fmt("%s/7", root), *step = mem_fmt("%s/5", root), *cmd = mem_fmt("rm -r %s", root),
                       *uid = mem_fmt("Uid:\t%s\t%s\n", cases[i].uid, cases[i].uid);
        assert_int_equal(mkdir(job, 0700), 0);
        assert_int_equal(mkdir(step, 0700), 0);
        put(root, "stat", "btime 1000\n");
        put_stat(job, "python", 5, 100);
        put(job, "status", "Uid:\t1000\t1000\n");
        put(job, "cgroup", "0::/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_0\n");
        put_stat(step, "slurmstepd", 1, 90);
        put(step, "status", uid);
        put(step, "cmdline", cases[i].title);
        struct proc_info *w = proc_info_new(root, true);
        print_message("%s\n", cases[i].title);
        assert_int_equal(proc_info_fetch(w, 7, NOW, &p), 0);
        assert_int_equal(p.slurm_job, cases[i].job);
        assert_string_equal(p.launch, cases[i].launch);
        proc_info_free(w);
        assert_int_equal(system(cmd), 0);
    }
}

static void a_pid_used_again_is_another_process(void **unused)
{
    char root[] = "/tmp/muster-who-XXXXXX";
    struct proc_fact p;
    (void)unused;
    assert_non_null(mkdtemp(root));
    AUTO_FREE char *dir = mem_fmt("%s/5", root), *cmd = mem_fmt("rm -r %s", root);
    assert_int_equal(mkdir(dir, 0700), 0);
    put(root, "stat", "btime 1000\n");
    put(dir, "status", "Uid:\t12\t12\n");
    put(dir, "cgroup", "0::/\n");
    put_stat(dir, "first", 1, 100);
    struct proc_info *w = proc_info_new(root, true);
    assert_int_equal(proc_info_fetch(w, 5, NOW, &p), 0);
    assert_string_equal(p.name, "first");
    assert_int_equal(p.start_ms, 1001000);

    put_stat(dir, "second", 1, 200); /* for 5 s the old answer stands, then it does not */
    assert_int_equal(proc_info_fetch(w, 5, NOW + 100, &p), 0);
    assert_string_equal(p.name, "first");
    assert_int_equal(proc_info_fetch(w, 5, NOW + 5000, &p), 0);
    assert_string_equal(p.name, "second");
    assert_int_equal(p.start_ms, 1002000);

    put(dir, "cgroup", "0::/slurm/job_3\n"); /* moved to another cgroup: seen after a minute */
    assert_int_equal(proc_info_fetch(w, 5, NOW + 10000, &p), 0);
    assert_int_equal(p.slurm_job, 0);
    assert_int_equal(proc_info_fetch(w, 5, NOW + 66000, &p), 0);
    assert_int_equal(p.slurm_job, 3);

    put(dir, "stat", ""); /* ended: gone, not unknown, until it is forgotten */
    assert_int_equal(proc_info_fetch(w, 5, NOW + 72000, &p), -ESRCH);
    assert_int_equal(proc_info_fetch(w, 5, NOW + 73000, &p), -ESRCH);
    proc_info_expire(w, NOW + 74000);
    assert_int_equal(proc_info_fetch(w, 5, NOW + 74000, &p), -ESRCH);
    proc_info_expire(w, NOW + 140000);
    assert_int_equal(proc_info_fetch(w, 5, NOW + 140000, &p), -ENOENT);
    proc_info_free(w);
    assert_int_equal(system(cmd), 0);
}

TESTS(cmocka_unit_test(what_root_runs_for_others_is_theirs), cmocka_unit_test(a_pid_becomes_a_process_with_its_job),
      cmocka_unit_test(a_long_command_line_is_cut_and_ends), cmocka_unit_test(command_lines_are_not_read_when_told_so),
      cmocka_unit_test(what_is_not_in_proc_was_never_seen), cmocka_unit_test(names_of_users_come_by_themselves),
      cmocka_unit_test(a_launcher_says_where_processes_meet),
      cmocka_unit_test(a_launch_is_looked_for_once_in_a_process_s_life),
      cmocka_unit_test(a_sluid_leads_to_the_job_number), cmocka_unit_test(a_pid_used_again_is_another_process))
