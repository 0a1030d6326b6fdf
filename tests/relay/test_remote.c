/* A machine read through a shell: the lines of the script, and the script itself in a real /bin/sh. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "model/work.h"
#include "relay/remote.h"

#define WALL 1794737172345ll

static enum remote_event line(struct remote *r, const char *s, int64_t mono_ms)
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
    line(r, "D /dev/sda1 1000 250 700 27% /", 2000);
    line(r, "D /dev/sdb1 1000 800 43 95% /data", 2000);
    line(r, "D /dev/sdc1 1000 1000 -20 102% /full", 2000);
    line(r, "D tmpfs 9999 1 9998 1% /run", 2000);
    line(r, "D }", 2000);
    assert_int_equal(line(r, "G 0, 2, GPU-a, NVIDIA H200, 580.1, 98, 1024", 2000), REMOTE_NONE);
    line(r, "A GPU-b, 77, 512", 2000);
    line(r, "P   77 raj 600 /opt/conda/bin/python train.py --lr 1", 2000);
    assert_int_equal(line(r, "G 1, 2, GPU-b, NVIDIA H200, 580.1, [N/A], 600", 2000), REMOTE_TICK);
    assert_true(remote_read(r, WALL, 2000, &got));
    assert_int_equal(got.n_devices, 2);
    assert_string_equal(got.devices[0].fact.note, NO_WORK_SMI);
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
    assert_int_equal(got.node.v[M_disk_total], 3000 << 10);
    assert_int_equal(got.node.v[M_disk_used], 2050 << 10);
    assert_int_equal(got.node.v[M_disk_avail], 743 << 10); /* not 950: some is kept for root */
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

/* The driver lists a process that ps does not know: the old page's word, and nobody's name. */
static void a_process_that_is_gone_is_a_zombie(void **unused)
{
    static const struct {
        const char *said, *user, *program;
        bool began;
    } cases[] = {
        {"V 77", "Zombie", "", false}, /* never seen alive */
        {"P 77 raj 5 python train.py", "raj", "python", true},
        {"V 77", "Zombie", "python", false}, /* it ended */
        {"P 77 lee 1 sleep 9", "lee", "sleep", true},
    };
    struct remote *r = remote_new(5000);
    struct reading got = {0};
    (void)unused;
    remote_begin(r, 0);
    line(r, "A gpu_uuid, pid, used_gpu_memory [MiB]", 0);
    line(r, "G index, count, uuid, name, driver_version, utilization.gpu [%], memory.used [MiB]", 0);
    line(r, "G 0, 1, GPU-a, NVIDIA H200, 580.1, 0, 600", 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t now = (int64_t)(i + 1) * 60000;
        print_message("%s\n", cases[i].said);
        line(r, cases[i].said, now);
        line(r, "A GPU-a, 77, 512", now);
        reading_reset(&got);
        assert_true(remote_read(r, WALL + now, now, &got));
        const struct proc_fact *p = got.devices[0].uses[0].known;
        assert_string_equal(p->user, cases[i].user);
        assert_string_equal(p->name, cases[i].program);
        assert_int_equal(p->start_ms != 0, cases[i].began);
    }
    line(r, "V x", 0);
    line(r, "V -1", 0);
    assert_int_equal(remote_skipped(r), 2);
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
    assert_string_equal(remote_error(r),
                        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.");
    remote_begin(r, 0);
    assert_string_equal(remote_error(r), "");
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
    assert_string_equal(remote_error(r), "nvidia-smi has not answered for 71 s");
    assert_int_equal(remote_wait(r, 72000), REMOTE_NONE);
    line(r, "G index, count, uuid", 73000);
    assert_int_equal(line(r, "G 0, 1, GPU-a", 73000), REMOTE_TICK);
    assert_false(remote_hung(r));
    assert_string_equal(remote_error(r), "");
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
    "-L) echo 'GPU 0: NVIDIA A100 (UUID: GPU-a)'; echo '  MIG 3g.20gb     Device  1: (UUID: MIG-x)'; exit;;\n"         \
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

/* Until its lines make a reading that looks as it should. Fails by the alarm when none ever does. */
static void run_until(struct remote *r, struct shell *sh, struct reading *got, bool (*whole)(const struct reading *))
{
    FILE *lines = fdopen(sh->out, "r");
    char *one = NULL;
    size_t cap = 0;
    ssize_t n;
    bool done = false;
    alarm(120);
    while (!done && (n = getline(&one, &cap, lines)) > 0)
        if (remote_line(r, str_n(one, (size_t)n - 1), clock_mono_ms()) == REMOTE_TICK) {
            reading_reset(got);
            done = remote_read(r, WALL, clock_mono_ms(), got) && whole(got);
        }
    assert_true(done);
    /* Its standard input ends: everything it started ends with it, and the pipe is closed by all of them. */
    close(sh->in);
    while (getline(&one, &cap, lines) > 0)
        ;
    int status;
    assert_int_equal(waitpid(sh->pid, &status, 0), sh->pid);
    alarm(0);
    free(one);
    fclose(lines);
}

static void put_file(const char *path, const char *text, mode_t mode)
{
    AUTO_FREE char *dir = mem_str(path);
    for (char *at = strchr(dir + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(dir, 0755);
        *at = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    chmod(path, mode);
}

static void remove_all(const char *dir)
{
    AUTO_FREE char *command = mem_fmt("rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}

/* What others see as this program's name: under an emulator (tools/cross) that is the emulator's. */
static const char *own_name(void)
{
    static char name[32];
    FILE *f = fopen("/proc/self/comm", "re");

    assert_true(f && fgets(name, sizeof(name), f));
    fclose(f);
    name[strcspn(name, "\n")] = 0;
    return name;
}

static bool two_gpus_and_an_instance(const struct reading *got)
{
    return got->n_devices == 3 && got->devices[2].n_uses == 1 && got->devices[2].uses[0].known &&
           sample_has(&got->node, M_load1) && sample_has(&got->node, M_ram_used);
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
    AUTO_FREE char *smi = mem_fmt("%s/nvidia-smi", dir), *text = mem_fmt(FAKE, (int)getpid(), dir);
    put_file(smi, text, 0700);
    remote_script(r, false, &script);
    remote_begin(r, clock_mono_ms());
    struct shell sh = shell_start(dir, buf_str(&script));
    run_until(r, &sh, &got, two_gpus_and_an_instance);
    assert_string_equal(got.devices[1].fact.uuid, "MIG-x");
    assert_string_equal(got.devices[1].fact.parent, "GPU-a");
    assert_int_equal(got.devices[1].fact.mig, 1);
    assert_true(got.devices[2].uses[0].known->user[0]);
    assert_string_equal(got.devices[2].uses[0].known->name, own_name());
    remote_fact(r, &f);
    assert_true(f.name[0] && f.kernel[0] && f.arch[0] && f.cpus > 0);
    assert_int_equal(remote_skipped(r), 0);
    remove_all(dir);
    reading_fini(&got);
    remote_free(r);
}

/* The script with another /sys. */
static void script_below(const struct remote *r, const char *root, struct buf *out)
{
    AUTO_BUF script = BUF_INIT(65536);
    remote_script(r, false, &script);
    for (const char *at = script.p, *next; *at; at = next) {
        next = strstr(at, "/sys/");
        next = next ? next : at + strlen(at);
        buf_add(out, at, (size_t)(next - at));
        if (*next) {
            buf_adds(out, next[5] == 'k' ? "/sys/" : root); /* /proc/sys/kernel stays */
            next += 5;
        }
    }
}

static bool four_cards(const struct reading *got)
{
    return got->n_devices == 4 && got->devices[0].n_uses == 1 && got->devices[0].uses[0].known &&
           sample_has(&got->devices[2].sample, M_util);
}

static void cards_of_others_are_read_out_of_sys(void **unused)
{
    static const struct {
        const char *path, *text;
    } files[] = {
        {"class/drm/card0-DP-1/status", "connected\n"},
        {"class/drm/card1/device/vendor", "0x1002\n"},
        {"class/drm/card1/device/device", "0x740f\n"},
        {"class/drm/card1/device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:83:00.0\n"},
        {"class/drm/card1/device/unique_id", "1c4a9d6a0b1f2e3d\n"},
        {"class/drm/card1/device/product_name", "AMD Instinct MI210\n"},
        {"class/drm/card1/device/power/runtime_status", "active\n"},
        {"class/drm/card1/device/gpu_busy_percent", "87\n"},
        {"class/drm/card1/device/mem_busy_percent", "12\n"},
        {"class/drm/card1/device/mem_info_vram_total", "68702699520\n"},
        {"class/drm/card1/device/mem_info_vram_used", "10854400\n"},
        {"class/drm/card1/device/current_link_speed", "16.0 GT/s PCIe\n"},
        {"class/drm/card1/device/current_link_width", "16\n"},
        {"class/drm/card1/device/hwmon/hwmon3/temp2_label", "junction\n"},
        {"class/drm/card1/device/hwmon/hwmon3/temp2_input", "41000\n"},
        {"class/drm/card1/device/hwmon/hwmon3/temp3_label", "mem\n"},
        {"class/drm/card1/device/hwmon/hwmon3/temp3_input", "45000\n"},
        {"class/drm/card1/device/hwmon/hwmon3/power1_average", "41000000\n"},
        {"class/drm/card1/device/hwmon/hwmon3/power1_cap", "300000000\n"},
        {"class/drm/card1/device/hwmon/hwmon3/freq1_input", "800000000\n"},
        {"class/drm/card2/device/vendor", "0x1002\n"},
        {"class/drm/card2/device/device", "0x73df\n"},
        {"class/drm/card2/device/uevent", "PCI_SLOT_NAME=0000:07:00.0\n"},
        {"class/drm/card2/device/power/runtime_status", "suspended\n"},
        {"class/drm/card2/device/gpu_busy_percent", "99\n"},
        {"class/drm/card3/device/vendor", "0x8086\n"},
        {"class/drm/card3/device/device", "0x56c0\n"},
        {"class/drm/card3/device/uevent", "PCI_SLOT_NAME=0000:03:00.0\n"},
        {"class/drm/card3/gt_act_freq_mhz", "2050\n"},
        {"class/drm/card3/gt/gt0/rc6_residency_ms", "1000\n"},
        {"class/drm/card3/device/hwmon/hwmon4/energy1_input", "5000000\n"},
        {"class/drm/card3/device/hwmon/hwmon4/power2_max", "120000000\n"},
        {"class/drm/card4/device/vendor", "0x8086\n"},
        {"class/drm/card4/device/device", "0x4680\n"},
        {"class/drm/card4/device/uevent", "PCI_SLOT_NAME=0000:00:02.0\n"},
        {"class/drm/card4/gt_act_freq_mhz", "300\n"},
        {"class/drm/card5/device/vendor", "0x1a03\n"},
        {"class/kfd/kfd/topology/nodes/0/gpu_id", "0\n"},
        {"class/kfd/kfd/topology/nodes/1/gpu_id", "51202\n"},
        {"class/kfd/kfd/topology/nodes/1/properties", "simd_count 416\nlocation_id 33536\ndomain 0\n"},
        {"module/amdgpu/version", "6.10.5\n"},
    };
    char dir[] = "/tmp/muster-remote-XXXXXX";
    AUTO_BUF script = BUF_INIT(65536);
    struct remote *r = remote_new(1000);
    struct reading got = {0};
    (void)unused;
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *root = mem_fmt("%s/sys/", dir);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_FREE char *path = mem_fmt("%s%s", root, files[i].path);
        put_file(path, files[i].text, 0644);
    }
    AUTO_FREE char *proc = mem_fmt("%sclass/kfd/kfd/proc/%d/vram_51202", root, (int)getpid());
    put_file(proc, "4096\n", 0644);
    script_below(r, root, &script);
    remote_begin(r, clock_mono_ms());
    struct shell sh = shell_start(dir, buf_str(&script));
    run_until(r, &sh, &got, four_cards);
    const struct device_reading *mi = &got.devices[0], *asleep = &got.devices[1], *flex = &got.devices[2],
                                *igpu = &got.devices[3];
    assert_string_equal(got.driver, "6.10.5");
    assert_string_equal(mi->fact.uuid, "amd-1c4a9d6a0b1f2e3d");
    assert_string_equal(mi->fact.name, "AMD Instinct MI210");
    assert_string_equal(mi->fact.pci, "0000:83:00.0");
    assert_int_equal(mi->fact.vendor, VENDOR_AMD);
    assert_string_equal(mi->fact.note, NO_WORK_DRIVER);
    assert_int_equal(mi->fact.index, 0);
    assert_int_equal(mi->sample.v[M_util], 8700);
    assert_int_equal(mi->sample.v[M_mem_used], 10854400);
    assert_int_equal(mi->sample.v[M_temp], 41000);
    assert_int_equal(mi->sample.v[M_temp_mem], 45000);
    assert_int_equal(mi->sample.v[M_power], 41000);
    assert_int_equal(mi->sample.v[M_power_limit], 300000);
    assert_int_equal(mi->sample.v[M_pcie_gen], 4);
    assert_int_equal(mi->uses[0].mem, 4096);
    assert_string_equal(mi->uses[0].known->name, own_name());
    assert_true(asleep->fact.asleep && !sample_has(&asleep->sample, M_util));
    assert_string_equal(asleep->fact.name, "AMD GPU 73df");
    assert_int_equal(flex->fact.vendor, VENDOR_INTEL);
    assert_int_equal(flex->sample.v[M_util], 10000);  /* not idle since the round before */
    assert_false(sample_has(&flex->sample, M_power)); /* its counter stands still */
    assert_int_equal(flex->sample.v[M_power_limit], 120000);
    assert_int_equal(flex->sample.v[M_clock_sm], 2050000000);
    assert_non_null(strstr(flex->fact.uuid, "0000:03:00.0"));
    assert_false(sample_has(&igpu->sample, M_util) || sample_has(&igpu->sample, M_mem_used)); /* unknown, to the hub */
    assert_true(sample_has(&igpu->sample, M_clock_sm));
    assert_int_equal(remote_skipped(r), 0);
    remove_all(dir);
    reading_fini(&got);
    remote_free(r);
}

/* Lines of several rounds, 1 s apart. '%' in a line: the round, from 1. */
static void rounds_of(struct remote *r, int n, const char *const *lines, size_t n_lines, struct reading *ret)
{
    for (int round = 1; round <= n; round++) {
        for (size_t i = 0; i < n_lines; i++) {
            AUTO_FREE char *text = mem_str(lines[i]);
            char *digit = strchr(text, '%');
            if (digit)
                *digit = (char)('0' + round);
            assert_int_equal(line(r, text, round * 1000), REMOTE_NONE);
        }
        assert_int_equal(line(r, "T", round * 1000), REMOTE_TICK);
        reading_reset(ret);
        assert_true(remote_read(r, WALL, round * 1000, ret));
    }
    assert_int_equal(remote_skipped(r), 0);
}

#define CARD "S {", "S card0 slot 0000:03:00.0", "S card0 vendor 0x8086", "S card0 device 0x56a5"

/* Files and labels as recorded on an Arc A380 and an Arc B580 (Linux 6.16 and newer); counters grow by hand. */
static void intel_power_comes_from_the_counter_that_counts(void **unused)
{
    static const struct {
        const char *what, *lines[12];
        int64_t power_mw, limit_mw; /* -1: absent */
    } cases[] = {
        {"A380, xe: package only",
         {CARD, "S card0 energy2_input 5954%000000", "S card0 power2_max 55000000", "S }"},
         1000,
         55000},
        {"B580, 6.16: the card's counter stays 0",
         {CARD, "S card0 energy1_input 0", "S card0 energy2_input 2952%000000", "S }"},
         1000,
         -1},
        {"B580, newer: both count",
         {CARD, "S card0 energy1_input 1103%500000", "S card0 energy2_input 1901%000000",
          "S card0 power1_cap 190000000", "S }"},
         1000,
         190000},
        {"the card's counter stands still",
         {CARD, "S card0 energy1_input 77", "S card0 energy2_input 1901%000000", "S }"},
         1000,
         -1},
        {"A380, i915: a rated limit of 0 is none",
         {CARD, "S card0 energy1_input 2563%000000", "S card0 power1_rated_max 0", "S card0 power1_max 55000000",
          "S }"},
         1000,
         55000},
        {"no counter counts", {CARD, "S card0 energy1_input 5000000", "S }"}, -1, -1},
        {"all counters are 0", {CARD, "S card0 energy1_input 0", "S card0 energy2_input 0", "S }"}, -1, -1},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct remote *r = remote_new(1000);
        struct reading got = {0};
        print_message("%s\n", cases[i].what);
        remote_begin(r, 0);
        size_t n = FIRST(ARRAY_LEN(cases[i].lines), k, !cases[i].lines[k]);
        rounds_of(r, 3, cases[i].lines, n, &got);
        const struct sample *s = &got.devices[0].sample;
        assert_int_equal(sample_has(s, M_power) ? s->v[M_power] : -1, cases[i].power_mw);
        assert_int_equal(sample_has(s, M_power_limit) ? s->v[M_power_limit] : -1, cases[i].limit_mw);
        assert_int_equal(strstr(got.devices[0].fact.note, "no power: ") != NULL, strncmp(cases[i].what, "all", 3) == 0);
        reading_fini(&got);
        remote_free(r);
    }
}

/* An MI300X in CPX mode is one card and eight KFD nodes, whose location ends in the partition's number (recorded). */
static void processes_on_partitions_belong_to_their_gpu(void **unused)
{
    static const char *const lines[] = {"S {",
                                        "S card1 slot 0000:05:00.0",
                                        "S card1 vendor 0x1002",
                                        "S card9 slot 0000:27:00.0",
                                        "S card9 vendor 0x1002",
                                        "S kfd 100 0 1280",
                                        "S kfd 101 0 1281",
                                        "S kfd 107 0 1287",
                                        "S kfd 200 0 9984",
                                        "S proc 40 100 1000",
                                        "S proc 41 101 2000",
                                        "S proc 42 107 4000",
                                        "S proc 43 200 8000",
                                        "S proc 41 107 1",
                                        "S }"};
    static const struct {
        size_t device;
        int32_t pid;
        int64_t mem;
    } want[] = {{0, 40, 1000}, {0, 41, 2001}, {0, 42, 4000}, {1, 43, 8000}};
    struct remote *r = remote_new(1000);
    struct reading got = {0};
    (void)unused;
    remote_begin(r, 0);
    rounds_of(r, 1, lines, ARRAY_LEN(lines), &got);
    assert_int_equal(got.n_devices, 2);
    assert_int_equal(got.devices[0].n_uses, 3);
    assert_int_equal(got.devices[1].n_uses, 1);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const struct device_reading *d = &got.devices[want[i].device];
        assert_true(ANY(d->n_uses, k, d->uses[k].pid == want[i].pid && d->uses[k].mem == want[i].mem));
    }
    reading_fini(&got);
    remote_free(r);
}

static bool one_card(const struct reading *got)
{
    return got->n_devices == 1 && sample_has(&got->devices[0].sample, M_util);
}

static void amds_tool_is_asked_where_sys_shows_nothing(void **unused)
{
    char dir[] = "/tmp/muster-remote-XXXXXX";
    AUTO_BUF script = BUF_INIT(65536);
    struct remote *r = remote_new(1000);
    struct reading got = {0};
    (void)unused;
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *root = mem_fmt("%s/sys/", dir), *tool = mem_fmt("%s/rocm-smi", dir);
    put_file(tool,
             "#!/bin/sh\necho 'WARNING: something is deprecated'\n"
             "echo '{\"card0\": {\"GPU use (%)\": \"42\", \"Unique ID\": \"0xabc\", \"Card series\": \"MI50\"}}'\n",
             0700);
    script_below(r, root, &script);
    remote_begin(r, clock_mono_ms());
    struct shell sh = shell_start(dir, buf_str(&script));
    run_until(r, &sh, &got, one_card);
    assert_string_equal(got.devices[0].fact.uuid, "amd-abc");
    assert_string_equal(got.devices[0].fact.name, "MI50");
    assert_int_equal(got.devices[0].sample.v[M_util], 4200);
    remove_all(dir);
    reading_fini(&got);
    remote_free(r);
}

static bool node_alone(const struct reading *got)
{
    return got->n_devices == 0 && sample_has(&got->node, M_load1);
}

static void a_machine_without_gpus_tells_of_itself(void **unused)
{
    char dir[] = "/tmp/muster-remote-XXXXXX";
    AUTO_BUF script = BUF_INIT(65536);
    struct remote *r = remote_new(1000);
    struct reading got = {0};
    (void)unused;
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *root = mem_fmt("%s/sys/", dir);
    script_below(r, root, &script);
    remote_begin(r, clock_mono_ms());
    struct shell sh = shell_start(dir, buf_str(&script));
    run_until(r, &sh, &got, node_alone);
    assert_true(remote_bare(r));
    assert_string_equal(remote_error(r), "there is no nvidia-smi, and no AMD or Intel GPU");
    remove_all(dir);
    reading_fini(&got);
    remote_free(r);
}

TESTS(cmocka_unit_test(lines_become_a_sample), cmocka_unit_test(a_process_that_is_gone_is_a_zombie),
      cmocka_unit_test(what_is_wrong_is_told_in_its_own_words),
      cmocka_unit_test(silence_is_noticed_once_and_ends_with_an_answer),
      cmocka_unit_test(nonsense_is_counted_and_passed_over),
      cmocka_unit_test(the_script_runs_in_a_plain_shell_and_leaves_nothing_behind),
      cmocka_unit_test(cards_of_others_are_read_out_of_sys),
      cmocka_unit_test(intel_power_comes_from_the_counter_that_counts),
      cmocka_unit_test(processes_on_partitions_belong_to_their_gpu),
      cmocka_unit_test(amds_tool_is_asked_where_sys_shows_nothing),
      cmocka_unit_test(a_machine_without_gpus_tells_of_itself))
