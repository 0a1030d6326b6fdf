/* test_auto.c: which processes are one run, what is stored of it and when, and what a launcher's words say. */
#include "test.h"

#include "base/mem.h"
#include "base/order.h"
#include "jobs/auto.h"
#include "model/launch.h"

#define T0     1794768949000
#define MINUTE 60000ll

struct kept {
    struct job_fact *v[32];
    size_t n, changes;
};

static void on_begin(void *arg, const struct job_fact *j)
{
    struct kept *k = arg;
    assert_true(k->n < ARRAY_LEN(k->v));
    k->v[k->n++] = job_copy(j);
}

static void on_change(void *arg, const struct job_change *c)
{
    struct kept *k = arg;
    k->changes++;
    for (size_t i = 0; i < k->n; i++)
        if (k->v[i]->id == c->id) {
            struct job_fact j = job_changed(k->v[i], c), *old = k->v[i];
            k->v[i] = job_copy(&j);
            free(old);
        }
}

static const struct auto_conf conf = {2 * MINUTE, 5 * MINUTE};

struct alert_input {
    struct kept kept;
    struct auto_runs *a;
};

static struct alert_input *scene_new(void)
{
    struct alert_input *s = NEW(struct alert_input);
    s->a = auto_new(&(struct auto_out){on_begin, on_change, &s->kept});
    auto_set(s->a, &conf);
    return s;
}

static void scene_restart(struct alert_input *s)
{
    auto_free(s->a);
    s->a = auto_new(&(struct auto_out){on_begin, on_change, &s->kept});
    auto_set(s->a, &conf);
}

static void scene_free(struct alert_input *s)
{
    auto_free(s->a);
    for (size_t i = 0; i < s->kept.n; i++)
        free(s->kept.v[i]);
    free(s);
}

struct proc {
    const char *node, *device, *user;
    int pid, root;
    int64_t from, to; /* minutes; to -1: it goes on */
    const char *cmd;
    int64_t slurm;
    const char *pod, *container, *launch;
};

static void see(struct alert_input *s, const struct proc *p, int64_t now)
{
    struct proc_fact f = {.pid = p->pid, .root_pid = p->root, .start_ms = T0 + p->from * MINUTE, .slurm_job = p->slurm};
    mem_copy_str(f.user, sizeof(f.user), p->user);
    mem_copy_str(f.name, sizeof(f.name), "python");
    mem_copy_str(f.cmd, sizeof(f.cmd), p->cmd ? p->cmd : "");
    mem_copy_str(f.pod, sizeof(f.pod), p->pod ? p->pod : "");
    mem_copy_str(f.container, sizeof(f.container), p->container ? p->container : "");
    mem_copy_str(f.launch, sizeof(f.launch), p->launch ? p->launch : "");
    int64_t last = p->to < 0 ? T0 + now * MINUTE : T0 + p->to * MINUTE;
    auto_see(s->a,
             &(struct auto_seen){p->node ? p->node : "n1", p->device, &f, T0 + p->from * MINUTE, last, p->to >= 0},
             T0 + now * MINUTE);
}

/* As the hub does: what is stored, and jobs that others labelled, are told to it. */
static void look(struct alert_input *s, int64_t now, struct job_fact *label)
{
    struct auto_query v[8];
    size_t n = auto_due(s->a, T0 + now * MINUTE, v, ARRAY_LEN(v));
    for (size_t i = 0; i < n; i++) {
        struct job_fact *jobs[40];
        size_t n_jobs = 0;
        for (size_t k = 0; k < s->kept.n; k++) {
            struct job_query ask = {.from_ms = v[i].from_ms, .to_ms = v[i].to_ms, .node = v[i].node};
            if (job_fits(s->kept.v[k], &ask))
                jobs[n_jobs++] = job_copy(s->kept.v[k]);
        }
        size_t own = n_jobs;
        if (label)
            jobs[n_jobs++] = label;
        auto_settle(s->a, v[i].node, jobs, n_jobs, T0 + now * MINUTE);
        for (size_t k = 0; k < own; k++)
            free(jobs[k]);
    }
}

static size_t standing(const struct alert_input *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->kept.n; i++)
        n += !auto_joined(s->kept.v[i]);
    return n;
}

static void processes_become_runs(void **unused)
{
    static const struct {
        const char *what;
        struct proc v[4];
        size_t runs;
        const char *devices; /* of one of them */
    } cases[] = {
        {"one process", {{.device = "a", .user = "kim", .pid = 1, .to = 10}}, 1, "a"},
        {"too short", {{.device = "a", .user = "kim", .pid = 1, .to = 1}}, 0, ""},
        {"one after another on one GPU",
         {{.device = "a", .user = "kim", .pid = 1, .to = 10},
          {.device = "a", .user = "kim", .pid = 2, .from = 14, .to = 20}},
         1,
         "a"},
        {"with a long break",
         {{.device = "a", .user = "kim", .pid = 1, .to = 10},
          {.device = "a", .user = "kim", .pid = 2, .from = 16, .to = 30}},
         2,
         "a"},
        {"on two GPUs, of one root",
         {{.device = "a", .user = "kim", .pid = 1, .root = 9, .to = 10},
          {.device = "b", .user = "kim", .pid = 2, .root = 9, .to = 10}},
         1,
         "a,b"},
        {"on two GPUs, of two roots",
         {{.device = "a", .user = "kim", .pid = 1, .root = 8, .to = 10},
          {.device = "b", .user = "kim", .pid = 2, .root = 9, .to = 10}},
         2,
         "a"},
        {"in one container",
         {{.device = "a", .user = "kim", .pid = 1, .root = 8, .to = 10, .container = "c"},
          {.device = "b", .user = "kim", .pid = 2, .root = 9, .to = 10, .container = "c"}},
         1,
         "a,b"},
        {"in one Slurm job",
         {{.device = "a", .user = "kim", .pid = 1, .root = 8, .to = 10, .slurm = 7},
          {.device = "b", .user = "kim", .pid = 2, .root = 9, .to = 10, .slurm = 7}},
         1,
         "a,b"},
        {"one Slurm job after the other",
         {{.device = "a", .user = "kim", .pid = 1, .to = 10, .slurm = 7},
          {.device = "a", .user = "kim", .pid = 2, .from = 11, .to = 20, .slurm = 8}},
         2,
         "a"},
        {"two pods",
         {{.device = "a", .user = "kim", .pid = 1, .to = 10, .pod = "lab/x"},
          {.device = "a", .user = "kim", .pid = 2, .to = 10, .pod = "lab/y"}},
         2,
         "a"},
        {"two persons",
         {{.device = "a", .user = "kim", .pid = 1, .to = 10}, {.device = "a", .user = "lee", .pid = 2, .to = 10}},
         2,
         "a"},
        {"one GPU that joins two",
         {{.device = "a", .user = "kim", .pid = 1, .root = 1, .to = 10},
          {.device = "b", .user = "kim", .pid = 2, .root = 2, .to = 10},
          {.device = "a", .user = "kim", .pid = 3, .root = 2, .from = 3, .to = 9}},
         1,
         "a,b"},
        {"a user that is not known", {{.device = "a", .user = "", .pid = 1, .to = 10}}, 0, ""},
        {"two nodes",
         {{.device = "a", .user = "kim", .pid = 1, .to = 10},
          {.node = "n2", .device = "a2", .user = "kim", .pid = 1, .to = 10}},
         2,
         "a"},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct alert_input *s = scene_new();
        print_message("%s\n", cases[i].what);
        for (int64_t now = 0; now < 60; now++) {
            for (size_t k = 0; k < 4 && cases[i].v[k].device; k++) {
                struct proc p = cases[i].v[k];
                if (p.from == now || p.to == now) {
                    p.to = p.to <= now ? p.to : -1;
                    see(s, &p, now);
                }
            }
            look(s, now, NULL);
        }
        assert_int_equal(standing(s), cases[i].runs);
        assert_int_equal(auto_count(s->a), 0);
        for (size_t k = 0; k < s->kept.n; k++) {
            assert_string_equal(s->kept.v[k]->kind, "auto");
            assert_true(s->kept.v[k]->end_ms > 0);
        }
        assert_true(!cases[i].runs || ANY(s->kept.n, k, strcmp(s->kept.v[k]->devices, cases[i].devices) == 0));
        scene_free(s);
    }
}

static void a_run_is_stored_when_it_has_lasted_and_when_it_is_over(void **unused)
{
    struct alert_input *s = scene_new();
    struct proc p = {.device = "a", .user = "kim", .pid = 1, .to = -1, .cmd = "python train.py"};
    (void)unused;
    see(s, &p, 0);
    look(s, 1, NULL);
    assert_int_equal(s->kept.n, 0);
    look(s, 2, NULL);
    assert_int_equal(s->kept.n, 1);
    assert_int_equal(s->kept.v[0]->start_ms, T0);
    assert_int_equal(s->kept.v[0]->end_ms, 0);
    assert_string_equal(s->kept.v[0]->pids, "1");
    assert_string_equal(s->kept.v[0]->attrs, "{\"command\":\"python train.py\"}");
    for (int64_t now = 10; now < 100; now += 10) {
        see(s, &p, now);
        look(s, now, NULL);
    }
    assert_int_equal(s->kept.changes, 0); /* nothing is new */
    p.to = 100;
    see(s, &p, 100);
    look(s, 104, NULL);
    assert_int_equal(s->kept.v[0]->end_ms, 0);
    look(s, 105, NULL);
    assert_int_equal(s->kept.v[0]->end_ms, T0 + 100 * MINUTE);
    assert_int_equal(s->kept.changes, 1);
    assert_int_equal(auto_count(s->a), 0);
    scene_free(s);
}

static void a_labelled_job_covers_its_processes(void **unused)
{
    static const struct {
        const char *what;
        struct job_fact j;
        bool covers;
    } cases[] = {
        {"its GPUs", {.kind = "dask", .person = "kim", .devices = "x,a", .pids = "", .attrs = ""}, true},
        {"its GPUs, nobody's", {.kind = "dask", .person = "", .devices = "a", .pids = "", .attrs = ""}, true},
        {"another's", {.kind = "dask", .person = "lee", .devices = "a", .pids = "", .attrs = ""}, false},
        {"other GPUs", {.kind = "dask", .person = "kim", .devices = "b", .pids = "", .attrs = ""}, false},
        {"its process", {.kind = "record", .person = "x", .devices = "", .pids = "5,1", .attrs = ""}, true},
        {"its process's root", {.kind = "record", .person = "x", .devices = "", .pids = "9", .attrs = ""}, true},
        {"began since", {.kind = "record", .person = "kim", .devices = "", .pids = "77", .attrs = ""}, true},
        {"of Slurm",
         {.kind = "slurm", .person = "", .devices = "", .pids = "", .attrs = "{\"job\":7,\"account\":\"x\"}"},
         true},
        {"another of Slurm",
         {.kind = "slurm", .person = "", .devices = "b", .pids = "", .attrs = "{\"job\":70}"},
         false},
        {"over already",
         {.end_ms = T0 - 1, .kind = "dask", .person = "kim", .devices = "a", .pids = "", .attrs = ""},
         false},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct alert_input *s = scene_new();
        struct job_fact j = cases[i].j;
        struct proc p = {.device = "a", .user = "kim", .pid = 1, .root = 9, .to = -1, .slurm = 7};
        print_message("%s\n", cases[i].what);
        j.id = 99;
        j.start_ms = T0 - 1000;
        j.name = j.node = j.owner = "";
        see(s, &p, 0);
        look(s, 2, &j);
        assert_int_equal(s->kept.n, !cases[i].covers);
        p.to = 10;
        see(s, &p, 10);
        look(s, 15, &j);
        assert_int_equal(s->kept.n, !cases[i].covers);
        assert_int_equal(auto_count(s->a), 0);
        scene_free(s);
    }
}

static void a_label_that_comes_late_takes_the_run_over(void **unused)
{
    struct alert_input *s = scene_new();
    struct proc p = {.device = "a", .user = "kim", .pid = 1, .to = -1};
    struct job_fact j = {.id = 99,
                         .start_ms = T0,
                         .name = "x",
                         .kind = "dask",
                         .person = "kim",
                         .owner = "",
                         .node = "n1",
                         .devices = "a",
                         .pids = "",
                         .attrs = ""};
    (void)unused;
    see(s, &p, 0);
    look(s, 2, NULL);
    p.to = 10;
    see(s, &p, 10);
    look(s, 15, &j);
    assert_int_equal(s->kept.n, 1);
    assert_int_equal(auto_joined(s->kept.v[0]), 99);
    assert_int_equal(s->kept.v[0]->end_ms, s->kept.v[0]->start_ms);
    assert_string_equal(s->kept.v[0]->devices, "");
    scene_free(s);
}

static void a_run_goes_on_after_a_restart(void **unused)
{
    struct alert_input *s = scene_new();
    struct proc p = {.device = "a", .user = "kim", .pid = 1, .to = -1};
    (void)unused;
    see(s, &p, 0);
    look(s, 2, NULL);
    assert_int_equal(s->kept.n, 1);
    int64_t id = s->kept.v[0]->id;
    scene_restart(s);
    see(s, &p, 9);
    look(s, 11, NULL);
    assert_int_equal(s->kept.n, 1);
    struct proc old = {.device = "b", .user = "zoe", .pid = 2, .from = -9000, .to = -1}, fresh = old;
    fresh.device = "c", fresh.user = "lee", fresh.from = 11;
    see(s, &fresh, 11);
    see(s, &old, 11); /* it has lasted for days: it is a run at once */
    look(s, 11, NULL);
    assert_int_equal(s->kept.n, 2);
    assert_int_equal(s->kept.v[1]->start_ms, T0 - 9000 * MINUTE);
    look(s, 13, NULL);
    assert_int_equal(s->kept.n, 3);
    scene_restart(s); /* and ended when nobody looked */
    p.to = 20;
    see(s, &p, 40);
    look(s, 45, NULL);
    assert_int_equal(s->kept.n, 3);
    assert_int_equal(s->kept.v[0]->id, id);
    assert_int_equal(s->kept.v[0]->end_ms, T0 + 20 * MINUTE);
    scene_free(s);
}

static void late_data_joins_two_and_the_old_id_leads_on(void **unused)
{
    struct alert_input *s = scene_new();
    struct proc p = {.device = "a", .user = "kim", .pid = 1, .to = 10},
                q = {.device = "a", .user = "kim", .pid = 2, .from = 30, .to = 40},
                between = {.device = "a", .user = "kim", .pid = 3, .from = 12, .to = 28};
    (void)unused;
    see(s, &p, 10);
    look(s, 15, NULL);
    see(s, &q, 40);
    look(s, 45, NULL);
    assert_int_equal(standing(s), 2);
    see(s, &between, 60); /* an agent that was away comes back */
    look(s, 65, NULL);
    assert_int_equal(standing(s), 1);
    assert_int_equal(s->kept.n, 2);
    assert_int_equal(auto_joined(s->kept.v[1]), s->kept.v[0]->id);
    assert_int_equal(s->kept.v[0]->start_ms, T0);
    assert_int_equal(s->kept.v[0]->end_ms, T0 + 40 * MINUTE);
    scene_free(s);
}

static void a_launch_over_nodes_is_one_run_with_parts(void **unused)
{
    struct alert_input *s = scene_new();
    struct proc p = {.device = "a",
                     .user = "kim",
                     .pid = 1,
                     .to = -1,
                     .cmd = "python t.py --master_addr=10.0.0.1 --master_port 29500"};
    (void)unused;
    see(s, &p, 0);
    p.node = "n2";
    see(s, &p, 0);
    p.node = "n3";
    p.user = "lee";
    see(s, &p, 0);
    look(s, 2, NULL);
    assert_int_equal(s->kept.n, 3);
    size_t parts = 0, lead = FIRST(3, i, strcmp(s->kept.v[i]->person, "kim") == 0 && !s->kept.v[i]->parent);
    assert_true(lead < 3);
    for (size_t i = 0; i < 3; i++)
        parts += s->kept.v[i]->parent == s->kept.v[lead]->id;
    assert_int_equal(parts, 1); /* lee's is another */
    scene_free(s);
}

static void what_agents_say_of_a_launch_joins_nodes(void **unused)
{
    static const struct {
        const char *what;
        struct proc v[2];
        size_t parts;
    } cases[] = {
        {"an environment's word", {{.launch = "dgx1:29500"}, {.launch = "dgx1:29500"}}, 1},
        {"a launcher's and a command line's", {{.launch = "dgx1:1"}, {.cmd = "x --rdzv_endpoint=dgx1:1"}}, 1},
        {"Slurm's number, here in the cgroup, there in the environment", {{.slurm = 77}, {.launch = "slurm:77"}}, 1},
        {"two launches", {{.launch = "dgx1:29500"}, {.launch = "dgx2:29500"}}, 0},
        {"nothing is said", {{0}, {0}}, 0},
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct alert_input *s = scene_new();
        print_message("%s\n", cases[i].what);
        for (size_t k = 0; k < 2; k++) {
            struct proc p = cases[i].v[k];
            p.node = k ? "n2" : "n1";
            p.device = "a";
            p.user = "kim";
            p.pid = 1;
            p.to = -1;
            see(s, &p, 0);
        }
        look(s, 2, NULL);
        assert_int_equal(s->kept.n, 2);
        assert_int_equal(!!s->kept.v[0]->parent + !!s->kept.v[1]->parent, cases[i].parts);
        if (cases[i].v[0].launch)
            assert_non_null(strstr(s->kept.v[0]->attrs, "\"launch\":\"dgx1:"));
        scene_free(s);
    }
}

static void a_hub_that_does_not_lead_forgets_what_ended(void **unused)
{
    struct alert_input *s = scene_new();
    struct proc p = {.device = "a", .user = "kim", .pid = 1, .to = -1};
    (void)unused;
    see(s, &p, 0);
    auto_rest(s->a, T0 + 3 * MINUTE);
    assert_int_equal(auto_count(s->a), 1);
    auto_begin(s->a, T0 + 4 * MINUTE);
    look(s, 4, NULL);
    assert_int_equal(s->kept.n, 1);
    p.to = 10;
    see(s, &p, 10);
    auto_rest(s->a, T0 + 15 * MINUTE);
    assert_int_equal(auto_count(s->a), 0);
    scene_free(s);
}

static void memory_is_bounded(void **unused)
{
    struct alert_input *s = scene_new();
    (void)unused;
    for (int i = 0; i < 5000; i++) {
        char device[16];
        snprintf(device, sizeof(device), "d%d", i);
        see(s, &(struct proc){.device = device, .user = "kim", .pid = i + 1, .root = i + 1, .to = -1}, 0);
        see(s, &(struct proc){.node = "n2", .device = "a", .user = "kim", .pid = i + 1, .root = i + 1, .to = -1}, 0);
    }
    assert_true(auto_count(s->a) <= 600);
    auto_forget(s->a, "n1");
    auto_forget(s->a, "n2");
    assert_int_equal(auto_count(s->a), 0);
    scene_free(s);
}

static void launchers_say_where_processes_meet(void **unused)
{
    static const struct {
        const char *cmd, *want;
    } cases[] = {
        {"torchrun --nnodes=2 --rdzv_endpoint=dgx1:29500 train.py", "dgx1:29500"},
        {"torchrun --rdzv-endpoint dgx1:29500 train.py", "dgx1:29500"},
        {"python -m torch.distributed.launch --master_addr 10.0.0.1 --master_port 1234 x.py", "10.0.0.1:1234"},
        {"accelerate launch --main_process_ip=node1 --main_process_port=29501 x.py", "node1:29501"},
        {"python main.py --dist-url tcp://10.0.0.7:23456 --rank 1", "10.0.0.7:23456"},
        {"python main.py --init_method=tcp://[fe80::1]:9", "[fe80::1]:9"},
        {"python jax.py --coordinator_address=a.b.c:1", "a.b.c:1"},
        {"python x.py --master_addr=localhost --master_port=29500", NULL},
        {"python x.py --master_addr 127.0.0.1", NULL},
        {"python x.py --master_port=29500", NULL},
        {"python x.py --dist-url env://", NULL},
        {"python x.py --master_addr", NULL},
        {"python x.py --master_addr='; rm' --master_port=1", NULL},
        {"python x.py --master_addr=a --master_port=99999999", NULL},
        {"", NULL},
    };
    char got[LAUNCH_MAX];
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].cmd);
        assert_int_equal(launch_of_command(str_of(cases[i].cmd), got), cases[i].want != NULL);
        if (cases[i].want)
            assert_string_equal(got, cases[i].want);
    }
    assert_true(launch_of_environ(STR("PATH=/bin\0MASTER_ADDR=dgx1\0MASTER_PORT=29500\0X=1"), got));
    assert_string_equal(got, "dgx1:29500");
    static const struct {
        struct str env;
        const char *want;
    } envs[] = {
        {STR("SLURM_JOB_ID=77\0MASTER_ADDR=dgx1\0"), "slurm:77"},
        {STR("SLURM_JOB_ID=x\0MASTER_ADDR=dgx1\0"), "dgx1"},
        {STR("MASTER_ADDR=127.0.0.1\0MASTER_PORT=1\0TORCHELASTIC_RUN_ID=exp-7\0"), "run:exp-7"},
        {STR("TORCHELASTIC_RUN_ID=none\0"), NULL},
        {STR("PMIX_NAMESPACE=prterun-dgx1-4711@1\0"), "mpi:prterun-dgx1-4711@1"},
        {STR("OMPI_MCA_ess_base_jobid=3221225472\0"), "mpi:3221225472"},
        {STR("TORCHELASTIC_RUN_ID=a b\0"), NULL},
        {STR("PATH=/bin\0XMASTER_ADDR=dgx1"), NULL},
        {STR(""), NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(envs); i++) {
        print_message("%s\n", envs[i].want ? envs[i].want : "-");
        assert_int_equal(launch_of_environ(envs[i].env, got), envs[i].want != NULL);
        if (envs[i].want)
            assert_string_equal(got, envs[i].want);
    }
}

static void pods_of_one_owner_are_counted(void **unused)
{
    static const struct {
        const char *pod, *want;
    } cases[] = {{"lab/llm-worker-0", "lab/llm"},
                 {"lab/llm-master-0", "lab/llm"},
                 {"lab/llm-3", "lab/llm"},
                 {"lab/llm", NULL},
                 {"lab/-1", NULL},
                 {"llm-worker-0", NULL},
                 {"lab/worker-0", "lab/worker"},
                 {"", NULL},
                 {"lab/7", NULL}};
    char got[LAUNCH_MAX];
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].pod);
        assert_int_equal(launch_of_pod(str_of(cases[i].pod), got), cases[i].want != NULL);
        if (cases[i].want)
            assert_string_equal(got, cases[i].want);
    }
}

TESTS(cmocka_unit_test(processes_become_runs), cmocka_unit_test(a_run_is_stored_when_it_has_lasted_and_when_it_is_over),
      cmocka_unit_test(a_labelled_job_covers_its_processes),
      cmocka_unit_test(a_label_that_comes_late_takes_the_run_over), cmocka_unit_test(a_run_goes_on_after_a_restart),
      cmocka_unit_test(late_data_joins_two_and_the_old_id_leads_on),
      cmocka_unit_test(a_launch_over_nodes_is_one_run_with_parts),
      cmocka_unit_test(what_agents_say_of_a_launch_joins_nodes),
      cmocka_unit_test(a_hub_that_does_not_lead_forgets_what_ended), cmocka_unit_test(memory_is_bounded),
      cmocka_unit_test(launchers_say_where_processes_meet), cmocka_unit_test(pods_of_one_owner_are_counted))
