/* test_apart.c: a GPU of a run that falls behind the others stands as straggler in the live state, and no other. */
#include "test.h"

#include "base/mem.h"
#include "jobs/apart.h"
#include "jobs/apart_first.h"
#include "model/gather.h"

#define T0  1794768960000
#define GIB ((int64_t)1 << 30)
enum { GPUS = 4, SECONDS = 25 * 60, STEP = 5 };

static const char *const uuids[GPUS] = {"GPU-a", "GPU-b", "GPU-c", "GPU-d"};

static struct node_now *make_node(struct live *l, const char *key)
{
    struct device_fact d[GPUS] = {0};
    struct hello h = {.run = 1, .sent_ms = T0, .state_since_ms = T0, .collect = COLLECT_OK};
    struct node_now *n = live_node(l, key, key, T0);

    for (int i = 0; i < GPUS; i++) {
        d[i] = (struct device_fact){.index = i, .minor = i, .mig = -1};
        snprintf(d[i].uuid, sizeof(d[i].uuid), "%s-%s", uuids[i], key);
        snprintf(d[i].pci, sizeof(d[i].pci), "0000:%02x:00.0", i);
    }
    live_hello(l, n, &h, "10.0.0.1", T0);
    live_facts(l, n, 7, &(struct node_fact){.n_devices = GPUS, .devices = d}, T0);
    return n;
}

/* One reading of all GPUs; the one that is slow does less. */
static void send(struct live *l, struct node_now *n, int slow, double by, int64_t at_ms)
{
    struct gather *g = gather_new();
    struct batch b;
    struct proc_fact p = {.pid = 5, .user = "kim"};
    struct proc_use uses[GPUS];

    assert_true(gather_tick(g, at_ms));
    for (int i = 0; i < GPUS; i++) {
        double does = i == slow ? by : 1;
        struct sample s = {0};
        sample_set(&s, M_active, 9980);
        sample_set(&s, M_sm_active, (int64_t)((9300 + at_ms / 1000 % 7 * 10) * does));
        sample_set(&s, M_tensor_active, 5500);
        sample_set(&s, M_power, (int64_t)((680000 + at_ms / 1000 % 11 * 900) * does));
        sample_set(&s, M_mem_used, 60 * GIB);
        sample_set(&s, M_mem_total, 140 * GIB);
        gather_sample(g, (uint16_t)(i + 1), &s);
        uses[i] = (struct proc_use){.slot = (uint16_t)(i + 1), .kind = PROC_COMPUTE, .mem = GIB, .sm = -1};
    }
    gather_batch(g, &b);
    b.key.run = 1;
    b.facts = 7;
    b.procs = 1;
    live_procs(l, n, 1, &(struct proc_list){.v = &p, .n = 1}, at_ms);
    b.uses = uses;
    b.n_uses = GPUS;
    live_batch(l, n, &b, 0, at_ms);
    gather_free(g);
}

static void on_begin(void *arg, const struct job_fact *j)
{
    (void)arg;
    (void)j;
}

static void on_change(void *arg, const struct job_change *c)
{
    (void)arg;
    (void)c;
}

/* Each node has its own label of the Slurm job. */
static void label_nodes(struct auto_runs *runs, struct node_now *const n[2], int64_t slurm, int64_t now_ms)
{
    struct auto_query due[2];
    char attrs[32];

    snprintf(attrs, sizeof(attrs), "{\"job\":%lld}", (long long)slurm);
    assert_int_equal(auto_due(runs, now_ms, due, 2), 2);
    for (int k = 0; k < 2; k++) {
        struct job_fact label = {.id = 70 + k,
                                 .start_ms = T0,
                                 .name = "train",
                                 .kind = "slurm",
                                 .person = "kim",
                                 .owner = "slurm",
                                 .node = n[k]->key,
                                 .devices = "",
                                 .pids = "",
                                 .attrs = attrs};
        auto_settle(runs, n[k]->key, (struct job_fact *[]){&label}, 1, now_ms);
    }
}

/* GPUs of two nodes, so many of each; one node's are of one run, or all of one launch or Slurm job. Which are told as
 * apart: "k1:2 ". */
static const char *play(int slow, double by, int gpus, const char *cmd, int64_t slurm, char ret[80])
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n[2] = {make_node(l, "k1"), make_node(l, "k2")};
    struct auto_runs *runs = auto_new(&(struct auto_out){on_begin, on_change, NULL});

    auto_set(runs, &(struct auto_conf){120000, 300000});
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < gpus; i++) {
            struct proc_fact p = {.pid = 5, .root_pid = 5, .user = "kim", .start_ms = T0, .slurm_job = slurm};
            mem_copy_str(p.cmd, sizeof(p.cmd), cmd);
            auto_see(runs, &(struct auto_seen){n[k]->key, n[k]->devices[i].fact.uuid, &p, T0, T0, false}, T0);
        }
    for (int t = 0; t < SECONDS; t++) {
        int64_t at_ms = T0 + t * 1000ll;
        for (int k = 0; k < 2 && t % STEP == 0; k++)
            send(l, n[k], k == 0 ? slow : -1, t >= 15 * 60 ? by : 1, at_ms);
        if (slurm && t == 2 * 60)
            label_nodes(runs, n, slurm, at_ms);
        stragglers_update(runs, l, at_ms);
    }
    ret[0] = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < GPUS; i++) {
            const struct device_now *d = &n[k]->devices[i];
            if (d->n_advice) {
                assert_int_equal(d->n_advice, 1);
                assert_int_equal(d->advice[0].rule, ADVICE_straggler);
                assert_true(d->advice[0].from_ms > T0 + 15 * 60000);
                print_message("%s:%d\n", n[k]->key, i);
                snprintf(ret + strlen(ret), 80 - strlen(ret), "%s:%d ", n[k]->key, i);
            }
        }
    auto_free(runs);
    live_free(l);
    return ret;
}

static void a_gpu_that_falls_behind_its_run_is_told(void **unused)
{
    char told[80];

    (void)unused;
    assert_string_equal(play(2, 0.75, GPUS, "", 0, told), "k1:2 ");
    assert_string_equal(play(1, 0.75, GPUS, "train --master_addr n1 --master_port 29500", 0, told), "k1:1 ");
    assert_string_equal(play(2, 1, GPUS, "", 0, told), "");
    assert_string_equal(play(1, 0.75, 2, "", 0, told), ""); /* two runs, and of two GPUs nobody knows which it is */
    assert_string_equal(play(1, 0.75, 2, "", 77, told), "k1:1 "); /* one Slurm job, though each node has a label */
}

/* ---- a hub that starts while one is slow already ---- */

/* By the minute what send() sent while all was well: the slow one of now, too. */
static int first_minutes(struct store *s, const struct bins_query *ask, struct history *ret, struct err *err)
{
    (void)s;
    (void)err;
    assert_int_equal(ask->step_ms, 60000);
    *ret =
        (struct history){.from_ms = ask->from_ms, .step_ms = ask->step_ms, .n_series = ask->n_devices * ask->n_metrics};
    ret->n = (size_t)((ask->to_ms - ask->from_ms + ask->step_ms - 1) / ask->step_ms);
    ret->v = mem_zero(ret->n_series * ret->n, sizeof(*ret->v));
    for (size_t d = 0; d < ask->n_devices; d++)
        for (size_t m = 0; m < 2; m++)
            for (size_t i = 0; i < ret->n; i++) {
                bool well = ret->from_ms + (int64_t)i * 60000 < T0 + 15 * 60000;
                bool works = ret->from_ms + (int64_t)i * 60000 >= T0 + 3 * 60000; /* it loads for a while */
                int64_t slow = strstr(ask->devices[d], "GPU-c-k1") && !well ? 3 : 4;
                int64_t v = (m == 0 ? 680000 + (int64_t)i % 3 * 900 : 9300 + (int64_t)i % 3 * 10) * slow / 4;
                ret->v[(d * ask->n_metrics + m) * ret->n + i] = (struct bin){.count = 12,
                                                                             .sum = 12 * (works ? v
                                                                                          : m   ? 100
                                                                                                : 120000)};
            }
    return 0;
}

/* The hub starts when GPU c of k1 is slow; whether it is told a quarter of an hour later. */
static bool told_after_restart(bool read)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = make_node(l, "k1");
    struct auto_runs *runs = auto_new(&(struct auto_out){on_begin, on_change, NULL});
    struct past_source past = {.history = first_minutes};
    struct first_gpus *v = mem_zero(1, sizeof(*v));
    int64_t start_ms = T0 + 60 * 60000;
    size_t at = 0;

    auto_set(runs, &(struct auto_conf){120000, 300000});
    for (int i = 0; i < GPUS; i++) {
        struct proc_fact p = {.pid = 5, .root_pid = 5, .user = "kim", .start_ms = T0};
        auto_see(runs, &(struct auto_seen){"k1", n->devices[i].fact.uuid, &p, T0, start_ms, false}, start_ms);
    }
    first_pick(runs, l, start_ms, &at, v);
    assert_int_equal(at, 0);   /* of all nodes there are */
    assert_int_equal(v->n, 0); /* nothing came of its GPUs yet */
    for (int t = 0; t < 15 * 60; t++) {
        int64_t at_ms = start_ms + t * 1000ll;
        if (t % STEP == 0)
            send(l, n, 2, 0.75, at_ms);
        if (t == 60 && read) {
            first_pick(runs, l, start_ms, &at, v);
            assert_int_equal(at, 0); /* of all nodes there are */
            assert_int_equal(v->n, GPUS);
            assert_int_equal(first_read(&past, v, at_ms, NULL), 0);
            for (size_t i = 0; i < v->n; i++)
                assert_int_equal(v->v[i].s.n_first, STRAGGLER_FIRST);
            first_put(l, v);
            first_pick(runs, l, start_ms, &at, v);
            assert_int_equal(at, 0);   /* of all nodes there are */
            assert_int_equal(v->n, 0); /* once */
        }
        stragglers_update(runs, l, at_ms);
    }
    bool told = n->devices[2].n_advice == 1 && n->devices[2].advice[0].rule == ADVICE_straggler;
    assert_int_equal(n->devices[0].n_advice + n->devices[1].n_advice + n->devices[3].n_advice, 0);
    free(v);
    auto_free(runs);
    live_free(l);
    return told;
}

static void a_restart_does_not_make_what_is_slow_the_measure(void **unused)
{
    (void)unused;
    assert_false(told_after_restart(false)); /* its own first minutes were slow already */
    assert_true(told_after_restart(true));
}

TESTS(cmocka_unit_test(a_gpu_that_falls_behind_its_run_is_told),
      cmocka_unit_test(a_restart_does_not_make_what_is_slow_the_measure))
