/* test_proc_cpu.c: processor time of trees of processes, from a /proc that is written here, process by process. */
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "collect/proc_cpu.h"

#include "test.h"

static char root[] = "/tmp/muster-cpu-XXXXXX";
static int64_t hz, now_ms;
static struct proc_cpu *cpu;
static struct device_slots slots;
static struct sample samples[4];
static struct raw_use raw[8];
static struct device_slots_use uses[8];

static void write_text(const char *path, const char *text)
{
    char folder[300];
    mem_copy_str(folder, sizeof(folder), path);
    *strrchr(folder, '/') = 0;
    assert_int_equal(file_mkdirs(folder, 0755, NULL), 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* A process that has had so many seconds of a processor itself, and by children that ended. */
static void put(int pid, int ppid, int own_s, int ended_s, int64_t start_s)
{
    char path[128], text[256];
    snprintf(path, sizeof(path), "%s/%d/stat", root, pid);
    snprintf(text, sizeof(text), "%d (a) b (c)) S %d 1 1 0 -1 0 0 0 0 0 %lld %lld %lld 0 20 0 1 0 %lld 0\n", pid, ppid,
             (long long)(own_s * hz - 1), 1ll, (long long)(ended_s * hz), (long long)(start_s * hz));
    write_text(path, text);
}

static void put_thread(int pid, int tid, const char *children)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%d/task/%d/children", root, pid, tid);
    write_text(path, children);
}

static void end(int pid)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s/%d", root, pid);
    assert_int_equal(system(command), 0);
}

/* Ten seconds pass, and a reading is due. */
static void later(void)
{
    char path[128], text[64];
    now_ms += 10000;
    snprintf(path, sizeof(path), "%s/uptime", root);
    snprintf(text, sizeof(text), "%lld.00 5.00\n", (long long)(now_ms / 1000));
    write_text(path, text);
}

static void look(void)
{
    for (size_t i = 0; i < ARRAY_LEN(samples); i++)
        samples[i] = (struct sample){0};
    proc_cpu_read(cpu, &slots, now_ms);
}

static void use(uint16_t slot, int32_t pid)
{
    raw[slots.n_uses] = (struct raw_use){.pid = pid};
    uses[slots.n_uses] = (struct device_slots_use){slot, &raw[slots.n_uses]};
    slots.n_uses++;
}

/* In cores; -1: absent. */
static double cores(size_t slot, enum metric m)
{
    return sample_has(&samples[slot], m) ? (double)samples[slot].v[m] / 1000 : -1;
}

static int set_up(void **unused)
{
    (void)unused;
    memcpy(root, "/tmp/muster-cpu-XXXXXX", sizeof(root));
    if (!mkdtemp(root))
        return -1;
    hz = sysconf(_SC_CLK_TCK);
    now_ms = 1000000;
    slots = (struct device_slots){.samples = samples, .n_samples = ARRAY_LEN(samples), .uses = uses};
    cpu = proc_cpu_new(root);
    later();
    return 0;
}

static int tear_down(void **unused)
{
    char command[64];
    (void)unused;
    proc_cpu_free(cpu);
    snprintf(command, sizeof(command), "rm -r %s", root);
    return system(command);
}

static void a_tree_counts_with_all_its_children(void **unused)
{
    (void)unused;
    put(100, 1, 50, 0, 500);
    put_thread(100, 100, "101 ");
    put_thread(100, 107, "102 103 "); /* begun by another thread */
    put(101, 100, 20, 0, 600);
    put_thread(101, 101, "");
    put(102, 100, 20, 0, 600);
    put_thread(102, 102, "104");
    put(103, 100, 0, 0, 600);
    put_thread(103, 103, "");
    put(104, 102, 5, 0, 700);
    put_thread(104, 104, "");
    put(200, 1, 1000, 0, 400); /* somebody else */
    use(1, 100);
    use(2, 102); /* a child that has a GPU of its own */
    look();
    assert_near(cores(1, M_host_cpu), -1, 0); /* where to count from */
    later();
    put(100, 1, 60, 0, 500);   /* a whole core */
    put(101, 100, 25, 0, 600); /* half of one */
    put(104, 102, 7, 0, 700);
    put(200, 1, 1010, 0, 400);
    look();
    assert_near(cores(1, M_host_cpu), 1.7, 0.001);
    assert_near(cores(1, M_host_cpu_top), 1, 0.001);
    assert_near(cores(2, M_host_cpu), 0.2, 0.001);
    assert_near(cores(3, M_host_cpu), -1, 0); /* nobody is on it */
}

static void it_is_read_now_and_then(void **unused)
{
    (void)unused;
    put(100, 1, 50, 0, 500);
    put_thread(100, 100, "");
    use(1, 100);
    look();
    now_ms += 9000;
    look();
    assert_near(cores(1, M_host_cpu), -1, 0);
    now_ms += 11000;
    put(100, 1, 60, 0, 500);
    look();
    assert_near(cores(1, M_host_cpu), 0.5, 0.001); /* of twenty seconds */
}

static void a_pid_taken_by_another_process_is_another_process(void **unused)
{
    (void)unused;
    put(100, 1, 50, 0, 500);
    put_thread(100, 100, "101");
    put(101, 100, 90, 0, 600);
    put_thread(101, 101, "");
    use(1, 100);
    look();
    later();
    put(101, 100, 4, 0, now_ms / 1000 - 5); /* another one, with less time than the one before had */
    look();
    assert_near(cores(1, M_host_cpu), 0.4, 0.001);
    later();
    put(100, 1, 3, 0, now_ms / 1000 - 5); /* the one on the GPU, too */
    look();
    assert_near(cores(1, M_host_cpu), 0.3, 0.001);
    later();
    put(100, 1, 900, 0, 300); /* one that was there long before: how much of it is of late nobody knows */
    look();
    assert_near(cores(1, M_host_cpu), -1, 0);
}

static void children_that_end_are_counted_once(void **unused)
{
    (void)unused;
    put(100, 1, 50, 0, 500);
    put_thread(100, 100, "101");
    put(101, 100, 30, 0, 600);
    put_thread(101, 101, "");
    use(1, 100);
    look();
    later();
    end(101); /* after two more seconds; and another began and ended between, with three */
    put_thread(100, 100, "");
    put(100, 1, 50, 35, 500);
    look();
    assert_near(cores(1, M_host_cpu), 0.5, 0.001);
    assert_near(cores(1, M_host_cpu_top), 0, 0.001);
    later();
    look();
    assert_near(cores(1, M_host_cpu), 0, 0.001);
}

static void a_process_below_two_of_a_gpu_counts_once(void **unused)
{
    (void)unused;
    put(100, 1, 50, 0, 500);
    put_thread(100, 100, "101");
    put(101, 100, 10, 0, 600);
    put_thread(101, 101, "");
    use(1, 101);
    use(1, 100);
    look();
    later();
    put(101, 100, 15, 0, 600);
    look();
    assert_near(cores(1, M_host_cpu), 0.5, 0.001);
}

static void what_cannot_be_seen_is_absent(void **unused)
{
    (void)unused;
    put(100, 1, 50, 0, 500); /* a kernel without lists of children */
    char folder[64];
    snprintf(folder, sizeof(folder), "%s/100/task/100", root);
    assert_int_equal(file_mkdirs(folder, 0755, NULL), 0);
    put(300, 1, 50, 0, 500);
    put_thread(300, 300, "");
    use(1, 100);
    use(2, 300);
    use(2, 301); /* of another pid namespace */
    use(3, 300);
    struct proc_fact known = {0};
    raw[slots.n_uses] = (struct raw_use){.pid = 100, .known = &known}; /* of a replay: its pid means nothing here */
    uses[slots.n_uses] = (struct device_slots_use){3, &raw[slots.n_uses]};
    slots.n_uses++;
    look();
    later();
    put(300, 1, 60, 0, 500);
    look();
    assert_near(cores(1, M_host_cpu), -1, 0);
    assert_near(cores(2, M_host_cpu), -1, 0);
    assert_near(cores(3, M_host_cpu), 1, 0.001);
}

static void a_tree_too_large_is_absent_and_looked_at_less_often(void **unused)
{
    (void)unused;
    put(100, 1, 50, 0, 500);
    for (int i = 0; i < PROC_CPU_EASY; i++)
        put_thread(100, 100 + i, "");
    use(1, 100);
    look();
    later();
    look();
    assert_near(cores(1, M_host_cpu), -1, 0); /* not yet: more files, more time */
    later();
    put(100, 1, 70, 0, 500);
    look();
    assert_near(cores(1, M_host_cpu), 1, 0.001);
    for (int i = PROC_CPU_EASY; i < PROC_CPU_FILES; i++)
        put_thread(100, 100 + i, "");
    for (int i = 0; i < PROC_CPU_THREADS; i++) { /* it is looked at now and then what all threads began */
        later();
        later();
        look();
    }
    assert_near(cores(1, M_host_cpu), -1, 0);
    later();
    later();
    look();
    assert_near(cores(1, M_host_cpu), -1, 0); /* and a part of it is not taken for the whole */
}

static void threads_are_looked_through_now_and_then(void **unused)
{
    (void)unused;
    put(100, 1, 50, 0, 500);
    put_thread(100, 100, "");
    put_thread(100, 107, "101");
    put(101, 100, 10, 0, 600);
    put_thread(101, 101, "");
    use(1, 100);
    look();
    later();
    put(101, 100, 15, 0, 600); /* found at first sight, and known since */
    put_thread(100, 100, "102");
    put(102, 100, 1, 0, now_ms / 1000 - 5); /* begun by the first thread: found at once */
    put_thread(102, 102, "");
    look();
    assert_near(cores(1, M_host_cpu), 0.6, 0.001);
    put_thread(100, 107, "103"); /* begun by another: found within a minute; 101 ended, and a stranger took its pid */
    put(103, 100, 0, 0, now_ms / 1000);
    put_thread(103, 103, "");
    put(101, 1, 500, 0, now_ms / 1000 + 1);
    for (int i = 0; i < PROC_CPU_THREADS; i++) {
        later();
        put(103, 100, 1 + i, 0, now_ms / 1000 - 10 * (i + 1));
        put(101, 1, 500 + 10 * i, 0, 700);
        look();
        assert_true(cores(1, M_host_cpu) < 0.8);
    }
    later();
    put(103, 100, 1 + PROC_CPU_THREADS, 0, now_ms / 1000 - 10 * (PROC_CPU_THREADS + 1));
    look();
    assert_near(cores(1, M_host_cpu), 0.1, 0.001);
}

#define SCENE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
TESTS(SCENE(a_tree_counts_with_all_its_children), SCENE(it_is_read_now_and_then),
      SCENE(a_pid_taken_by_another_process_is_another_process), SCENE(children_that_end_are_counted_once),
      SCENE(a_process_below_two_of_a_gpu_counts_once), SCENE(what_cannot_be_seen_is_absent),
      SCENE(a_tree_too_large_is_absent_and_looked_at_less_often), SCENE(threads_are_looked_through_now_and_then))
