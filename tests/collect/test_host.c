/* test_host.c: the node's metrics from a recorded tree. */
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "collect/host.h"

#include "test.h"

#define PROC "tests/kit/data/proc"

static void a_tree_becomes_a_sample(void **unused)
{
    struct sample s;
    (void)unused;
    clock_set_for_test(1000000);
    struct host *h = host_new(PROC);
    host_read(h, &s);
    assert_int_equal(s.at_ms, 1000000);
    assert_false(sample_has(&s, M_cpu)); /* nothing to compare with yet */
    assert_int_equal(s.v[M_load1], 307);
    assert_int_equal(s.v[M_uptime], 123457);
    assert_int_equal(s.v[M_ram_total], 65842036ll * 1024);
    assert_int_equal(s.v[M_ram_used], 25842036ll * 1024);
    assert_int_equal(s.v[M_net_rx], 1500); /* eth0 and ib0; not lo, not docker0 */
    assert_int_equal(s.v[M_net_tx], 2700);
    clock_set_for_test(1000100); /* too soon: nothing fresh */
    host_read(h, &s);
    assert_false(sample_has(&s, M_load1));
    clock_set_for_test(1001000); /* no time passed for the processors: no share */
    host_read(h, &s);
    assert_true(sample_has(&s, M_load1));
    assert_false(sample_has(&s, M_cpu));
    clock_set_for_test(1005000); /* from then on every 5 s */
    host_read(h, &s);
    assert_false(sample_has(&s, M_load1));
    clock_set_for_test(1006000);
    host_read(h, &s);
    assert_true(sample_has(&s, M_load1));
    host_free(h);
    clock_set_for_test(-1);
}

static void put(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", dir, name);
    assert_int_equal(file_write(path, 0600, text, strlen(text), NULL), 0);
}

static void processors_are_busy_by_difference(void **unused)
{
    static const struct {
        const char *stat;
        int64_t cpu; /* -1 absent */
    } cases[] = {
        {"cpu  100 0 100 800 0 0 0 0 0 0\n", -1},
        {"cpu  130 0 120 830 20 0 0 0 0 0\n", 5000},
        {"cpu  130 0 120 930 20 0 0 0 0 0\n", 0},
        {"cpu  130 0 120 930 20 0 50 50 7 7\n", 10000},
        {"cpu  1 0 1 930 20 0 50 50 7 7\n", -1}, /* a counter stepped back */
        {"cpu  2 0 1 931 20 0 50 50 7 7\n", 5000},
        {"cpu  x\n", -1},
        {"", -1},
    };
    char dir[] = "/tmp/muster-host-XXXXXX";
    (void)unused;
    assert_non_null(mkdtemp(dir));
    clock_set_for_test(1000000);
    struct host *h = host_new(dir);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sample s;
        print_message("%s", cases[i].stat);
        put(dir, "stat", cases[i].stat);
        clock_set_for_test(1000000 + (int64_t)i * 5000);
        host_read(h, &s);
        assert_int_equal(sample_has(&s, M_cpu) ? s.v[M_cpu] : -1, cases[i].cpu);
        assert_false(sample_has(&s, M_ram_total)); /* no such file: absent, not zero */
        assert_false(sample_has(&s, M_net_rx));
        assert_false(sample_has(&s, M_uptime));
    }
    host_free(h);
    clock_set_for_test(-1);
    AUTO_FREE char *cmd = mem_fmt("rm -r %s", dir);
    assert_int_equal(system(cmd), 0);
}

static void only_local_file_systems_count_each_once(void **unused)
{
    struct host_disk d[8];
    AUTO_BUF text = {0};
    (void)unused;
    assert_int_equal(file_read(PROC "/self/mounts", 1 << 20, &text, NULL), 0);
    assert_int_equal(host_mounts(buf_str(&text), d, 8), 2);
    assert_string_equal(d[0].path, "/");
    assert_string_equal(d[1].path, "/data sets");
    assert_string_equal(d[1].source, "/dev/nvme0n1");
    assert_int_equal(host_mounts(buf_str(&text), d, 1), 1);
    assert_int_equal(host_mounts(STR("a\nb c\n\n/dev/x\\"), d, 8), 0);
}

static void space_is_counted_as_df_counts_it(void **unused)
{
    static const struct {
        unsigned long blocks, left, avail;
        bool shared;
        struct host_space want; /* all so far, in blocks */
        bool sized;
    } cases[] = {
        {1000, 200, 43, false, {800, 43, 1000}, true},   /* df: 95 % */
        {500, 100, 100, false, {1200, 143, 1500}, true}, /* nothing is kept for root */
        {300, 100, 100, true, {1400, 143, 1700}, true},  /* of a pool that is counted already */
        {100, 10, -5ul, false, {1490, 143, 1800}, true}, /* below nothing */
        {0, 0, 0, false, {1490, 143, 1800}, false},
    };
    struct host_space s = {0};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct statvfs v = {.f_frsize = 4096,
                            .f_blocks = cases[i].blocks,
                            .f_bfree = cases[i].left,
                            .f_bavail = cases[i].avail};
        assert_int_equal(host_space_add(&s, &v, cases[i].shared), cases[i].sized);
        assert_int_equal(s.used, cases[i].want.used * 4096);
        assert_int_equal(s.avail, cases[i].want.avail * 4096);
        assert_int_equal(s.total, cases[i].want.total * 4096);
    }
}

static void the_numbers_of_the_disks_come_together(void **unused)
{
    char dir[] = "/tmp/muster-host-XXXXXX";
    struct sample s = {0};
    (void)unused;
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *self = mem_fmt("%s/self", dir), *cmd = mem_fmt("rm -r %s", dir);
    assert_int_equal(mkdir(self, 0700), 0);
    put(dir, "self/mounts", "/dev/x / ext4 rw 0 0\n");
    clock_set_for_test(1000000);
    struct host *h = host_new(dir);
    for (int64_t i = 1; i < 60000 && !sample_has(&s, M_disk_total); i++, usleep(1000)) { /* a thread reads them */
        clock_set_for_test(1000000 + i * 1000);
        host_read(h, &s);
    }
    assert_true(sample_has(&s, M_disk_total) && sample_has(&s, M_disk_used) && sample_has(&s, M_disk_avail));
    assert_true(s.v[M_disk_avail] >= 0 && s.v[M_disk_used] + s.v[M_disk_avail] <= s.v[M_disk_total]);
    host_free(h);
    clock_set_for_test(-1);
    assert_int_equal(system(cmd), 0);
}

static void facts_of_this_machine_are_there(void **unused)
{
    struct node_fact f = {0};
    (void)unused;
    host_fact(&f);
    assert_true(f.name[0] && f.os[0] && f.kernel[0] && f.arch[0]);
    assert_true(f.cpus > 0);
    assert_true(str_utf8_ok(str_of(f.cpu)));
    assert_int_equal(strlen(f.boot_id), 36);
}

TESTS(cmocka_unit_test(a_tree_becomes_a_sample), cmocka_unit_test(processors_are_busy_by_difference),
      cmocka_unit_test(only_local_file_systems_count_each_once), cmocka_unit_test(space_is_counted_as_df_counts_it),
      cmocka_unit_test(the_numbers_of_the_disks_come_together), cmocka_unit_test(facts_of_this_machine_are_there))
