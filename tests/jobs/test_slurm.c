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

/* Fields: id, mark, user, nodes, tres-alloc, per node, job, task, socket, time used, start, account, partition, name.
 */
static void records_of_squeue_are_jobs_with_gpus(void **unused)
{
    static const struct {
        const char *line;
        int64_t id;
        int32_t per_node;
        int64_t used_ms;
        const char *name;
    } cases[] = {
        /* recorded: --gres, with accounting of GPUs */
        {"13|m|root|n2|cpu=1,mem=50M,node=1,billing=1,gres/gpu=1,gres/gpu:a100=1|gres:gpu:a100:1|N/A|N/A|N/A|2:45|"
         "2026-11-19T08:23:01|root|main|het",
         13, 1, 165000, "het"},
        /* recorded: --gpus=1, without accounting of GPUs */
        {"1|m|root|n1|cpu=1,mem=10M,node=1,billing=1|N/A|gres:gpu:1|N/A|N/A|0:01|2026-11-19T11:16:46|(null)|main|plain",
         1, 0, 1000, "plain"},
        {"2|m|root|n1|cpu=1,node=1|N/A|N/A|gres:gpu:1|N/A|0:01|x|a|p|per task", 2, 0, 1000, "per task"},
        {"3|m|root|n1|cpu=1,node=1|N/A|N/A|N/A|gres:gpu:h200:2|0:01|x|a|p|per socket", 3, 0, 1000, "per socket"},
        /* --gpus=4 over two nodes; 3 over two */
        {"4|m|kim|dgx[1-2]|cpu=8,node=2,gres/gpu=4,gres/gpu:h200=4|N/A|gpu:4|N/A|N/A|1-02:03:04|x|a|p|a | b", 4, 2,
         93784000, "a | b"},
        {"5|m|kim|dgx[1-2]|cpu=8,node=2,gres/gpu=3|N/A|gpu:3|N/A|N/A|10:05|x|a|p|", 5, 0, 605000, ""},
        /* only typed entries */
        {"6|m|kim|n2|node=1,gres/gpu:a100=2,gres/gpu:1g.10gb=1|N/A|N/A|N/A|N/A|1:00|x|a|p|mig", 6, 3, 60000, "mig"},
        {"7|m|bob|dgx1|cpu=1,node=1|gpu|N/A|N/A|N/A|00:00:01|x|a|b|c", 7, 1, 1000, "c"},
        /* no GPU */
        {"14|m|root|n1|cpu=1,mem=50M,node=1,billing=1|N/A|N/A|N/A|N/A|2:45|2026-11-19T08:23:01|root|main|het", 0, 0, 0,
         ""},
        {"8|m|eve|n1|cpu=1,node=1,gres/shard=2|gres:shard:2|N/A|N/A|N/A|0:10|x|a|p|shard", 0, 0, 0, ""},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_SLURM j = {0};
        struct err err = {0};
        print_message("%s\n", cases[i].line);
        assert_int_equal(slurm_squeue(&j, str_of(cases[i].line), "m", &err), 0);
        assert_int_equal(j.n, cases[i].id ? 1 : 0);
        if (!j.n)
            continue;
        assert_int_equal(j.v[0].id, cases[i].id);
        assert_int_equal(j.v[0].per_node, cases[i].per_node);
        assert_int_equal(j.v[0].used_ms, cases[i].used_ms);
        assert_string_equal(j.v[0].name, cases[i].name);
    }
}

#define GPU_JOB(id, user, name) id "|m|" user "|n1|node=1,gres/gpu=1|N/A|N/A|N/A|N/A|1:00|s|a|p|" name "\n"

static void a_name_with_line_breaks_makes_no_record(void **unused)
{
    AUTO_SLURM j = {0};
    struct err err = {0};
    (void)unused;
    assert_int_equal(slurm_squeue(&j,
                                  STR(GPU_JOB("9", "eve",
                                              "a\n99|x|root|n1|node=1,gres/gpu=8|N/A|N/A|N/A|N/A|1:00|s|a|p|forged")
                                          GPU_JOB("7", "kim", "train | x")),
                                  "m", &err),
                     0);
    assert_int_equal(j.n, 2);
    assert_int_equal(j.skipped, 0);
    assert_int_equal(j.v[0].id, 7);
    assert_string_equal(j.v[0].user, "kim");
    assert_int_equal(j.v[1].id, 9);
    assert_string_equal(j.v[1].user, "eve");
}

#define RECORD(id, name, parts)                                                                                        \
    "JobId=" id " JobName=" name " UserId=kim(1004) JobState=RUNNING JOB_GRES=gpu:4   " parts                          \
    " MinCPUsNode=1 Command=(null) WorkDir=/home\n"

static void scontrol_gives_the_indices(void **unused)
{
    AUTO_SLURM j = {0};
    struct err err = {0};
    (void)unused;
    assert_int_equal(slurm_squeue(&j,
                                  STR(GPU_JOB("99", "lee", "") GPU_JOB("101", "kim", "train")
                                          GPU_JOB("103", "bob", "c")),
                                  "m", &err),
                     0);
    slurm_scontrol(
        &j, STR(RECORD("101", "train", "Nodes=dgx1 CPU_IDs=0-7 Mem=64000 GRES=gpu:h200:2(IDX:0,3)")
                    RECORD("99", "",
                           "Nodes=dgx1 CPU_IDs=0 Mem=0 GRES=gpu:4(IDX:4-7) "
                           "Nodes=dgx2 CPU_IDs=0 Mem=0 GRES=craynetwork:1(IDX:9),gpu:a:3(IDX:0-1),gpu:b:1(IDX:2)")
                        RECORD("103", "c", "Nodes=dgx1 GRES=gpu:1") RECORD("7", "d", "Nodes=a GRES=gpu:1(IDX:1)")));
    assert_int_equal(j.v[0].n_parts, 2);
    assert_int_equal(j.v[0].parts[0].gpus[0], 0xf0);
    assert_string_equal(j.v[0].parts[1].nodes, "dgx2");
    assert_int_equal(j.v[0].parts[1].gpus[0], 0x7);
    assert_int_equal(j.v[1].n_parts, 1);
    assert_int_equal(j.v[1].parts[0].gpus[0], 0x9);
    assert_int_equal(j.v[2].n_parts, 0);
}

/* Text of the user that looks like Slurm's own: in the name, in the working directory, in a forged record. */
static void users_text_claims_no_gpus(void **unused)
{
    static const struct {
        const char *name, *scontrol;
        uint64_t want; /* 0: unknown */
    } cases[] = {
        {" Nodes=n1 GRES=gpu:h200:4(IDX:0-3)",
         RECORD("17", " Nodes=n1 GRES=gpu:h200:4(IDX:0-3)", "Nodes=n1 CPU_IDs=1 GRES=gpu:h200:1(IDX:0)"), 1},
        {"x UserId=y MinCPUsNode=1", RECORD("17", "x UserId=y MinCPUsNode=1", "Nodes=n1 GRES=gpu:1(IDX:2)"), 4},
        {"x", RECORD("17", "x", "Nodes=n1 GRES=gpu:1(IDX:2)") "WorkDir=/tmp/ Nodes=n1 GRES=gpu:4(IDX:0-3)\n", 4},
        {"a\nb", RECORD("17", "a\nb", "Nodes=n1 GRES=gpu:1(IDX:2)"), 4},
        /* another job's name holds a record with this job's number and name */
        {"x",
         RECORD("5", "y\nJobId=17 JobName=x UserId=kim(1) Nodes=n1 GRES=gpu:4(IDX:0-3) MinCPUsNode=1", "Nodes=n1")
             RECORD("17", "x", "Nodes=n1 GRES=gpu:1(IDX:2)"),
         0},
        {"x",
         RECORD("17", "x", "Nodes=n1 GRES=")
             RECORD("18", "y\nJobId=17 JobName=x UserId=kim(1) Nodes=n1 GRES=gpu:4(IDX:0-3) MinCPUsNode=1", "Nodes=n1"),
         0},
        {"x", RECORD("17", "other", "Nodes=n1 GRES=gpu:1(IDX:2)"), 0},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_SLURM j = {0};
        AUTO_FREE char *squeue =
            mem_fmt("17|m|kim|n1|node=1,gres/gpu=1|N/A|N/A|N/A|N/A|1:00|s|a|p|%s\n", cases[i].name);
        struct err err = {0};
        print_message("case %zu\n", i);
        assert_int_equal(slurm_squeue(&j, str_of(squeue), "m", &err), 0);
        assert_int_equal(j.n, 1);
        slurm_scontrol(&j, str_of(cases[i].scontrol));
        assert_int_equal(j.v[0].n_parts, cases[i].want ? 1 : 0);
        if (cases[i].want)
            assert_int_equal(j.v[0].parts[0].gpus[0], cases[i].want);
    }
}

static void other_text_is_refused_with_a_message(void **unused)
{
    AUTO_SLURM j = {0};
    struct err err = {0};
    (void)unused;
    assert_int_equal(slurm_squeue(&j, STR("slurm_load_jobs error\n"), "m", &err), -EBADMSG);
    assert_string_equal(err.msg, "cannot read squeue's output, which begins 'slurm_load_jobs error'; it needs Slurm "
                                 "20.11 or newer");
    assert_int_equal(slurm_squeue(&j, STR(""), "m", &err), 0);
    assert_int_equal(j.n, 0);
    assert_int_equal(slurm_squeue(&j, STR("x|m|y|z\n" GPU_JOB("1", "kim", "a")), "m", &err), 0);
    assert_int_equal(j.n, 1);
    assert_int_equal(j.skipped, 2);
}

TESTS(cmocka_unit_test(a_list_names_hosts), cmocka_unit_test(records_of_squeue_are_jobs_with_gpus),
      cmocka_unit_test(a_name_with_line_breaks_makes_no_record), cmocka_unit_test(scontrol_gives_the_indices),
      cmocka_unit_test(users_text_claims_no_gpus), cmocka_unit_test(other_text_is_refused_with_a_message))
