/* GPU Monitor's files: what its page made of them, and what it got wrong. */
#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "model/work.h"
#include "relay/readings.h"

#define WRITTEN 1794732099000ll /* 2026-11-15T08:41:39Z */

static const struct readings_zone automatic = {.automatic = true};

static const char gpus[] = "0, GPU-a, Tesla V100, 100, 16160, 1, 1, 50, 2026/11/15 09:41:10.100\n"
                           "1, GPU-b, Tesla V100, 4, 16160, 0, 0, 33, 2026/11/15 09:41:10.110\n"
                           "1, GPU-b, Tesla V100, 4, 16160, 0, 0, 33, 2026/11/15 09:41:30.130\n"
                           "0, GPU-a, Tesla V100, 8018, 16160, 92, 40, 61, 2026/11/15 09:41:30.123\n";
static const char apps[] = "2026/11/15 09:40:55.000, GPU-a, 1, /bin/gone, 7\n"
                           "2026/11/15 09:41:31.000, GPU-a, 6400, /opt/my env, 2/bin/python, 31415\n"
                           "2026/11/15 09:41:31.002, GPU-b, [N/A], sleeper, 99\n"
                           "2026/11/15 09:41:31.002, GPU-a, 10, worker, 50\n"
                           "2026/11/15 09:41:31.002, GPU-a, 12, ghost, 60\n";
static const char users[] = "{\"31415\": [\"31416\"], \"50\": [\"51\", \"52\"], \"60\": []}\n"
                            "31415 raj                  Sat Nov 14 22:10:01 2026\n"
                            "   52 mei                  Sun Nov 15 09:00:00 2026\n";
static const char status[] = "/dev/sda1      1000 250 750  25% /\n"
                             "Mem:          64323       12001       40000         100       12322       51000\n"
                             "32\n"
                             " 09:41:39 up 3 days,  1:02,  2 users,  load average: 16.52, 0.58, 0.59\n";
static const char disks[] = "Filesystem     1024-blocks      Used Available Capacity Mounted on\n"
                            "/dev/sda1        4000  1000 3000      25% /\n"
                            "/dev/sda1        4000  1000 3000      25% /bind\n"
                            "tmpfs 1 1 0 100% /run\n"
                            "/dev/sdb1        2000  1500 500      75% /var/opt\n";

static void take(struct readings *r, enum readings_file which, const char *text)
{
    readings_take(r, which, str_of(text), WRITTEN);
}

static void files_become_a_reading(void **unused)
{
    struct readings *r = readings_new();
    struct reading got = {0};
    (void)unused;
    assert_false(readings_read(r, &automatic, &got));
    take(r, READINGS_GPUS, gpus);
    take(r, READINGS_PROCESSES, apps);
    take(r, READINGS_USERS, users);
    take(r, READINGS_STATUS, status);
    take(r, READINGS_DISKS, disks);
    assert_true(readings_read(r, &automatic, &got));
    assert_int_equal(readings_at(r, &automatic), WRITTEN - 9000 + 130); /* the node is an hour east */
    assert_int_equal(readings_cpus(r), 32);

    assert_int_equal(got.n_devices, 2);
    const struct device_reading *a = &got.devices[0], *b = &got.devices[1];
    assert_string_equal(a->fact.uuid, "GPU-a");
    assert_int_equal(a->sample.v[M_mem_used], 8018ll << 20);
    assert_int_equal(a->sample.v[M_util], 9200);
    assert_int_equal(a->sample.v[M_mem_util], 4000);
    assert_int_equal(a->sample.v[M_temp], 61000);
    assert_int_equal(a->n_uses, 3); /* of 7 the last row is too old */
    assert_string_equal(a->uses[0].known->name, "python");
    assert_string_equal(a->uses[0].known->user, "raj");
    assert_int_equal(a->uses[0].known->start_ms, 1794690601000ll); /* 21:10:01Z */
    assert_int_equal(a->uses[0].mem, 6400ll << 20);
    assert_string_equal(a->uses[1].known->user, "mei"); /* its child's; 51 is not known either */
    assert_string_equal(a->fact.note, "process 50 has ended but its children keep the memory: 52");
    assert_string_equal(b->fact.note, NO_WORK_SMI); /* where nothing worse is to be said */
    assert_string_equal(a->uses[2].known->user, "");
    assert_int_equal(b->n_uses, 0); /* nobody knows 99, and there is nothing of it */

    assert_int_equal(got.node.v[M_ram_total], 64323ll << 20);
    assert_int_equal(got.node.v[M_ram_used], 12001ll << 20);
    assert_int_equal(got.node.v[M_load1], 1652);
    assert_false(sample_has(&got.node, M_cpu));
    assert_int_equal(got.node.v[M_disk_total], 6000ll << 10);
    assert_int_equal(got.node.v[M_disk_used], 2500ll << 10);
    assert_int_equal(got.node.v[M_disk_avail], 3500ll << 10);
    assert_int_equal(got.n_custom, 2);
    assert_string_equal(got.custom[0].name, "disk:");
    assert_string_equal(got.custom[1].name, "disk:var:opt");
    assert_int_equal(got.custom[1].v, 7500);
    reading_fini(&got);
    readings_free(r);
}

/* GPU Monitor's page showed what df prints, as it is. These lines are df's own, with and without space for root. */
static void a_disk_is_as_full_as_df_says(void **unused)
{
    static const struct {
        const char *line;
        const char *name;
        int64_t df; /* percent */
    } cases[] = {
        {"/dev/sda1 1000 800 43 95% /data\n", "disk:data", 95}, /* 80 % of its size */
        {"/dev/sda1 102626232 66361220 31005748 69% /\n", "disk:", 69},
        {"/dev/nvme0n1p2 479152840 12345 454739468 1% /scratch/b\n", "disk:scratch:b", 1}, /* df rounds up */
        {"/dev/sdb1 1000 0 950 0% /new\n", "disk:new", 0},
        {"/dev/sdb1 1000 950 0 100% /old\n", "disk:old", 100},
        {"/dev/mapper/a-b 1000 990 -40 105% /over\n", "disk:over", 105}, /* root has taken of its own */
        {"/dev/sdd 7751272448 7280000000 80000000 99% /a very-long.name\n", "disk:a_very_long_name", 99},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct readings *r = readings_new();
        struct reading got = {0};
        print_message("%s", cases[i].line);
        take(r, READINGS_DISKS, cases[i].line);
        assert_true(readings_read(r, &automatic, &got));
        assert_int_equal(got.n_custom, 1);
        assert_string_equal(got.custom[0].name, cases[i].name);
        assert_int_equal((got.custom[0].v + 99) / 100, cases[i].df);
        assert_true(got.node.v[M_disk_avail] >= 0);
        reading_fini(&got);
        readings_free(r);
    }
}

static void a_note_names_the_children_there_is_room_for(void **unused)
{
    static const struct {
        int32_t dead[3];
        int children;
        const char *note;
    } cases[] = {
        {{31415}, 4, "process 31415 has ended but its children keep the memory: 31416 31417 31418 31419"},
        {{31415}, 6, "process 31415 has ended but its children keep the memory: 31416 31417 31418 31419 and 2 more"},
        {{31415, 27182}, 1, "process 31415 has ended but its children keep the memory: 31416; process 27182 too"},
        {{31415, 27182},
         6,
         "process 31415 has ended but its children keep the memory: 31416 and 5 more; process 27182 too"},
        {{31415, 27182, 14142},
         2,
         "process 31415 has ended but its children keep the memory: 31416 31417; 2 more such"},
        {{31415}, 0, "process 31415 has probably ended but still holds memory"}, /* the text of the page */
        {{31415, 27182, 14142}, 0, "process 31415 has probably ended but still holds memory; 2 more such"},
        {{4000000, 4100000},
         9,
         "process 4000000 has ended but its children keep the memory: 4000001 and 8 more; 1 more such"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF lines = BUF_INIT(4096);
        AUTO_BUF known = BUF_INIT(4096);
        struct readings *r = readings_new();
        struct reading got = {0};
        print_message("%s\n", cases[i].note);
        buf_adds(&known, "1 root Sat Nov 14 22:10:01 2026\n");
        for (int k = 0; k < 3 && cases[i].dead[k]; k++) {
            int pid = cases[i].dead[k];
            buf_addf(&lines, "2026/11/15 09:41:31.000, GPU-a, 100, python, %d\n", pid);
            for (int c = 1; c <= cases[i].children; c++)
                buf_addf(&known, "%d kim Sat Nov 14 22:10:01 2026\n{\"%d\": [\"%d\"]}\n", pid + c, pid, pid + c);
        }
        take(r, READINGS_GPUS, gpus);
        take(r, READINGS_PROCESSES, lines.p);
        take(r, READINGS_USERS, known.p);
        assert_true(readings_read(r, &automatic, &got));
        assert_string_equal(got.devices[0].fact.note, cases[i].note);
        reading_fini(&got);
        readings_free(r);
    }
}

/* Without HOST_users.csv it is unknown whether a process ended; a process that left children is worse. */
static void only_what_ps_would_know_has_ended(void **unused)
{
    static const struct {
        const char *users, *note;
    } cases[] = {
        {NULL, NO_WORK_SMI},
        {"", NO_WORK_SMI},
        {"{}\n", "process 7 has probably ended but still holds memory; 1 more such"},
        {"{}\n7 kim Sat Nov 14 22:10:01 2026\n", "process 8 has probably ended but still holds memory"},
        {"{\"8\": [\"9\"]}\n9 kim Sat Nov 14 22:10:01 2026\n",
         "process 8 has ended but its children keep the memory: 9"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct readings *r = readings_new();
        struct reading got = {0};
        print_message("%s\n", cases[i].note);
        take(r, READINGS_GPUS, gpus);
        take(r, READINGS_PROCESSES,
             "2026/11/15 09:41:31.000, GPU-a, 100, python, 7\n2026/11/15 09:41:31.000, GPU-a, 100, python, 8\n"
             "2026/11/15 09:41:31.000, GPU-b, 100, python, 7\n"); /* on b little is in use: it is not there at all */
        if (cases[i].users)
            take(r, READINGS_USERS, cases[i].users);
        assert_true(readings_read(r, &automatic, &got));
        assert_string_equal(got.devices[0].fact.note, cases[i].note);
        assert_int_equal(got.devices[0].n_uses, 2);
        reading_fini(&got);
        readings_free(r);
    }
}

#define FIFTY "0123456789012345678901234567890123456789/abcdefghi"
static void every_disk_has_a_name_of_its_own(void **unused)
{
    static const char lines[] =
        "/dev/sda1 1000 100 900 10% /mnt/data-1\n"
        "/dev/sdb1 1000 200 800 20% /mnt/data_1\n"
        "/dev/sdc1 1000 300 700 30% /mnt/data.1\n"
        "/dev/sdd1 1000 400 600 40% /mnt/data_1_2\n"
        "/dev/mapper/" FIFTY "-one 1000 500 500 50% /long/" FIFTY "-one\n"
        "/dev/mapper/" FIFTY "-two 1000 600 400 60% /long/" FIFTY "-two\n"
        "/dev/sde1 1000 700 300 70% /cc-7" FIFTY "-end\n"
        "/dev/sdf1 1000 800 200 80% /cc.7" FIFTY "-end\n"
        "/dev/sdg1 1000 900 100 90% /ab-0123456789012345678901234567890123456789012345678901234567\n";
    static const char *const names[] = {
        "disk:mnt:data_1",
        "disk:mnt:data_1_2",
        "disk:mnt:data_1_3",
        "disk:mnt:data_1_2_2",
        "disk:0123456789012345678901234567890123456789:abcdefghi_one",
        "disk:0123456789012345678901234567890123456789:abcdefghi_two",
        "disk:cc_70123456789012345678901234567890123456789:abcdefghi_end",
        "disk:cc_70123456789012345678901234567890123456789:abcdefghi_e_2",
        "disk:0123456789012345678901234567890123456789012345678901234567",
    };
    struct readings *r = readings_new();
    struct reading got = {0};
    (void)unused;
    take(r, READINGS_DISKS, lines);
    assert_true(readings_read(r, &automatic, &got));
    assert_int_equal(got.n_custom, ARRAY_LEN(names));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_string_equal(got.custom[i].name, names[i]);
        assert_int_equal(got.custom[i].v, 1000 * (int64_t)(i + 1));
    }
    assert_int_equal(readings_left_out(r), 0);
    reading_fini(&got);
    readings_free(r);
}

static void disks_that_are_too_many_are_counted(void **unused)
{
    AUTO_BUF lines = BUF_INIT(4096);
    struct readings *r = readings_new();
    struct reading got = {0};
    (void)unused;
    for (int i = 0; i < 19; i++)
        buf_addf(&lines, "/dev/sd%d 1000 100 900 10%% /mnt/%d\n", i, i);
    buf_adds(&lines, "/dev/sd0 1000 100 900 10% /again\n"); /* one that is there is not left out */
    take(r, READINGS_DISKS, lines.p);
    assert_true(readings_read(r, &automatic, &got));
    assert_int_equal(got.n_custom, 16);
    assert_int_equal(readings_left_out(r), 3);
    take(r, READINGS_DISKS, disks);
    assert_int_equal(readings_left_out(r), 0);
    reading_fini(&got);
    readings_free(r);
}

static void rows_of_another_shape_are_passed_over(void **unused)
{
    static const struct {
        enum readings_file which;
        const char *text;
        size_t devices;
    } cases[] = {
        {READINGS_GPUS, "", 0},
        {READINGS_GPUS, "NVIDIA-SMI has failed\n", 0},
        {READINGS_GPUS, "0, GPU-a, X, 1, 2, 3, 4, 5, 2026/11/15 09:41:10.100", 0}, /* still being written */
        {READINGS_GPUS, "0, GPU-a, X, 1, 2, 3, 4, 5\n0, GPU-a, X, 1, 2, 3, 4, 5, 2026/11/15 09:41:10.100, 6\n", 0},
        {READINGS_GPUS, "0, GPU-a, X, 1, 2, 3, 4, 5, 2026/13/15 09:41:10.100\n", 0},
        {READINGS_GPUS, "0, GPU/a, X, 1, 2, 3, 4, 5, 2026/11/15 09:41:10.100\n", 0},
        {READINGS_GPUS, "0, GPU-a, X, [N/A], [N/A], -3, 400, x, 2026/11/15 09:41:10.100\n", 1},
        {READINGS_PROCESSES, "2026/11/15 09:41:10.100, GPU-a, 1, x\n2026/11/15 09:41:10.100, GPU-a, 1, x, -4\n", 0},
        {READINGS_PROCESSES, "2026/11/15 09:41:10.100, GPU-a, 1, 7\n", 0},
        {READINGS_USERS, "x y z\n", 0},
        {READINGS_STATUS, "Mem: a b\n\nodd\n load average: x\n-3\n", 0},
        {READINGS_DISKS, "/dev/a 1 2 3 9% /\n/dev/b\n", 0},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct readings *r = readings_new();
        struct reading got = {0};
        print_message("%zu: '%s'\n", i, cases[i].text);
        take(r, cases[i].which, cases[i].text);
        assert_int_equal(readings_read(r, &automatic, &got), cases[i].devices > 0);
        assert_int_equal(got.n_devices, cases[i].devices);
        for (int m = 0; got.n_devices && m < M_COUNT; m++)
            assert_false(sample_has(&got.devices[0].sample, (enum metric)m));
        reading_fini(&got);
        readings_free(r);
    }
}

/* The page kept it until its rows left the file. */
static void a_gpu_that_is_gone_is_not_shown_and_one_that_did_not_fit_is(void **unused)
{
    struct readings *r = readings_new();
    struct reading got = {0};
    AUTO_BUF text = BUF_INIT(1u << 16);
    (void)unused;
    take(r, READINGS_GPUS,
         "0, GPU-a, X, 1, 2, 3, 4, 5, 2026/11/15 09:40:10.100\n1, GPU-b, X, 1, 2, 3, 4, 5, 2026/11/15 09:41:30.1\n");
    assert_true(readings_read(r, &automatic, &got));
    assert_int_equal(got.n_devices, 1);
    assert_string_equal(got.devices[0].fact.uuid, "GPU-b");

    for (int i = 0; i < 20; i++) /* 0 to 19: the first lines of a sweep of 24 */
        buf_addf(&text, "%d, GPU-%d, X, 1, 2, 3, 4, 5, 2026/11/15 09:41:30.1\n", i, i);
    take(r, READINGS_GPUS, text.p);
    buf_reset(&text);
    for (int i = 4; i < 24; i++)
        buf_addf(&text, "%d, GPU-%d, X, 1, 2, 3, 4, 5, 2026/11/15 09:43:30.1\n", i, i);
    take(r, READINGS_GPUS, text.p);
    reading_reset(&got);
    assert_true(readings_read(r, &automatic, &got));
    assert_int_equal(got.n_devices, 26); /* GPU-a and GPU-b too: who can tell */
    assert_string_equal(got.devices[0].fact.uuid, "GPU-0");
    assert_false(sample_has(&got.devices[0].sample, M_util));
    assert_true(sample_has(&got.devices[25].sample, M_util));
    reading_fini(&got);
    readings_free(r);
}

static void processes_of_an_old_sweep_are_over(void **unused)
{
    struct readings *r = readings_new();
    struct reading got = {0};
    (void)unused;
    take(r, READINGS_GPUS, gpus);
    take(r, READINGS_PROCESSES, "2026/11/15 09:40:20.000, GPU-a, 6400, x, 7\n");
    assert_true(readings_read(r, &automatic, &got));
    assert_int_equal(got.devices[0].n_uses, 0);
    reading_fini(&got);
    readings_free(r);
}

static void a_zone_is_told_or_seen(void **unused)
{
    static const struct {
        const char *uptime;
        int64_t hours4; /* in quarters of an hour */
    } seen[] = {{"08:41:39", 0},  {"08:43:59", 0},  {"08:35:00", 0},   {"03:41:39", -20}, {"17:41:40", 36},
                {"21:41:39", 52}, {"22:41:30", 56}, {"22:56:39", -39}, {"14:26:39", 23},  {"25:99:00", 0}};
    static const struct {
        const char *text;
        int want;
        bool automatic;
        int64_t offset_ms;
    } told[] = {{"auto", 0, true, 0},
                {"UTC", 0, false, 0},
                {"+02:00", 0, false, 7200000},
                {"-0330", 0, false, -12600000},
                {"+09", 0, false, 32400000},
                {"", -EINVAL, false, 0},
                {"Europe/Paris", -EINVAL, false, 0},
                {"+15:00", -EINVAL, false, 0},
                {"+2", -EINVAL, false, 0},
                {"+02:60", -EINVAL, false, 0},
                {"+-2:00", -EINVAL, false, 0}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
        struct readings *r = readings_new();
        AUTO_FREE char *text = mem_fmt(" %s up 1 min,  load average: 0.1, 0.1, 0.1\n", seen[i].uptime);
        print_message("%s\n", seen[i].uptime);
        take(r, READINGS_GPUS, gpus);
        take(r, READINGS_STATUS, text);
        int64_t utc = readings_at(r, &(struct readings_zone){0});
        assert_int_equal(utc - readings_at(r, &automatic), seen[i].hours4 * 900000);
        readings_free(r);
    }
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        struct readings_zone z = {0};
        struct err err = {0};
        print_message("%s\n", told[i].text);
        assert_int_equal(readings_zone(told[i].text, &z, &err), told[i].want);
        assert_int_equal(z.automatic, told[i].automatic);
        assert_int_equal(z.offset_ms, told[i].offset_ms);
    }
}

static void names_of_files_say_whose_they_are(void **unused)
{
    static const struct {
        const char *file, *host;
        enum readings_file which;
    } cases[] = {{"gpu01_gpus.csv", "gpu01", READINGS_GPUS},
                 {"a_b_users.csv", "a_b", READINGS_USERS},
                 {"x_disks.csv", "x", READINGS_DISKS},
                 {"_gpus.csv", NULL, 0},
                 {"gpus.csv", NULL, 0},
                 {"x_cpus.csv", NULL, 0},
                 {"a/b_gpus.csv", NULL, 0},
                 {"x_gpus.csv.tmp", NULL, 0},
                 {"x_processes.csv", "x", READINGS_PROCESSES},
                 {"x_status.csv", "x", READINGS_STATUS}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str host;
        enum readings_file which;
        print_message("%s\n", cases[i].file);
        assert_int_equal(readings_name(str_of(cases[i].file), &host, &which), cases[i].host != NULL);
        if (cases[i].host) {
            assert_true(str_eq(host, cases[i].host));
            assert_int_equal(which, cases[i].which);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_become_a_reading),
        cmocka_unit_test(a_disk_is_as_full_as_df_says),
        cmocka_unit_test(a_note_names_the_children_there_is_room_for),
        cmocka_unit_test(only_what_ps_would_know_has_ended),
        cmocka_unit_test(every_disk_has_a_name_of_its_own),
        cmocka_unit_test(disks_that_are_too_many_are_counted),
        cmocka_unit_test(rows_of_another_shape_are_passed_over),
        cmocka_unit_test(a_gpu_that_is_gone_is_not_shown_and_one_that_did_not_fit_is),
        cmocka_unit_test(processes_of_an_old_sweep_are_over),
        cmocka_unit_test(a_zone_is_told_or_seen),
        cmocka_unit_test(names_of_files_say_whose_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
