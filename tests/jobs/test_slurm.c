/* test_slurm.c: what squeue and scontrol print, and which hosts a list of Slurm's names. */
#include "test.h"

#include <errno.h>

#include "jobs/squeue.h"

static void a_list_names_hosts(void **unused)
{
    static const struct {
        const char *list, *host;
        bool want;
    } cases[] = {
        {"dgx1", "dgx1", true},
        {"dgx1", "dgx10", false},
        {"dgx1,ws3", "ws3", true},
        {"dgx[1-2,5],ws3", "dgx5", true},
        {"dgx[1-2,5],ws3", "dgx3", false},
        {"dgx[1-2,5],ws3", "ws3", true},
        {"gpu[01-20]", "gpu07", true},
        {"gpu[01-20]", "gpu7", false},
        {"gpu[08-11]", "gpu10", true},
        {"gpu[8-11]", "gpu10", true},
        {"gpu[8-11]", "gpu010", false},
        {"r[1-2]n[1,3]", "r2n3", true},
        {"r[1-2]n[1,3]", "r2n2", false},
        {"dgx1", "dgx1.lab.example", true},
        {"dgx1.lab", "dgx1", false},
        {"n[1-2]-ib", "n2-ib", true},
        {"n[1-2]-ib", "n2", false},
        {"", "x", false},
        {"[", "x", false},
        {"a[1-", "a1", false},
        {"a[]", "a", false},
        {"a[9-1]", "a5", false},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s in %s\n", cases[i].host, cases[i].list);
        assert_int_equal(slurm_list_has(str_of(cases[i].list), cases[i].host), cases[i].want);
    }
}

static void squeues_lines_are_jobs_with_gpus(void **unused)
{
    AUTO_SLURM j = {0};
    struct err err = {0};
    (void)unused;
    assert_int_equal(slurm_squeue(&j,
                                  STR("101|kim|dgx1|gres:gpu:h200:2|1-02:03:04|2026-11-14T06:00:00|lab|gpu|train | x\n"
                                      "99|lee|dgx[1-2]|gres/gpu:4|10:05|2026-11-15T08:00:00|lab|gpu|\n"
                                      "102|ann|cpu1|N/A|0:10|2026-11-15T09:00:00|lab|cpu|make\n"
                                      "103|bob|dgx1|gpu|00:00:01|x|a|b|c\n"
                                      "bad line\n"
                                      "x|y|z|gpu:1|1:00|s|a|p|n\n\n"),
                                  &err),
                     0);
    assert_int_equal(j.n, 3);
    assert_int_equal(j.skipped, 2);
    assert_int_equal(j.v[0].id, 99);
    assert_string_equal(j.v[0].user, "lee");
    assert_int_equal(j.v[0].per_node, 4);
    assert_int_equal(j.v[0].used_ms, 605000);
    assert_string_equal(j.v[0].name, "");
    assert_int_equal(j.v[1].used_ms, (86400 + 2 * 3600 + 3 * 60 + 4) * 1000ll);
    assert_string_equal(j.v[1].name, "train | x");
    assert_int_equal(j.v[1].per_node, 2);
    assert_int_equal(j.v[2].per_node, 1);
    slurm_scontrol(&j, STR("JobId=101 JobName=train UserId=kim(1004) NodeList=dgx1 "
                           "   Nodes=dgx1 CPU_IDs=0-7 Mem=64000 GRES=gpu:h200:2(IDX:0,3) MinCPUsNode=1 JobId=99\n"
                           "JobId=99 Nodes=dgx1 CPU_IDs=0 Mem=0 GRES=gpu:4(IDX:4-7) "
                           "Nodes=dgx2 CPU_IDs=0 Mem=0 GRES=craynetwork:1(IDX:9),gpu:a:3(IDX:0-1),gpu:b:1(IDX:2)\n"
                           "JobId=103 Nodes=dgx1 GRES=gpu:1\nJobId=7 Nodes=a GRES=gpu:1(IDX:1)\n"));
    assert_int_equal(j.v[1].n_parts, 1);
    assert_int_equal(j.v[1].parts[0].gpus[0], 0x9);
    assert_int_equal(j.v[0].n_parts, 2);
    assert_int_equal(j.v[0].parts[0].gpus[0], 0xf0);
    assert_string_equal(j.v[0].parts[1].nodes, "dgx2");
    assert_int_equal(j.v[0].parts[1].gpus[0], 0x7);
    assert_int_equal(j.v[2].n_parts, 0);
}

static void what_is_no_job_is_refused_with_a_sentence(void **unused)
{
    AUTO_SLURM j = {0};
    struct err err = {0};
    (void)unused;
    assert_int_equal(slurm_squeue(&j, STR("slurm_load_jobs error\n"), &err), -EBADMSG);
    assert_string_equal(err.msg, "squeue prints what is no job: 'slurm_load_jobs error'");
    assert_int_equal(slurm_squeue(&j, STR(""), &err), 0);
    assert_int_equal(j.n, 0);
}

TESTS(cmocka_unit_test(a_list_names_hosts), cmocka_unit_test(squeues_lines_are_jobs_with_gpus),
      cmocka_unit_test(what_is_no_job_is_refused_with_a_sentence))
