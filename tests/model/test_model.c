/* The nouns: metrics, facts, batches gathered tick by tick, questions about a view. */
#include "test.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "model/event.h"
#include "model/gather.h"
#include "model/job.h"
#include "model/now.h"

static void every_metric_has_its_own_number_and_name(void **unused)
{
    (void)unused;
    for (int a = 0; a < M_COUNT; a++) {
        assert_int_equal(metric_by_no(metrics[a].no), a);
        assert_int_equal(metric_by_name(str_of(metrics[a].name)), a);
        assert_true(metrics[a].no < METRIC_CUSTOM && metrics[a].per > 0 && metrics[a].help[0]);
        for (int b = 0; b < a; b++) {
            assert_int_not_equal(metrics[a].no, metrics[b].no);
            assert_string_not_equal(metrics[a].prom, metrics[b].prom);
        }
    }
    assert_int_equal(metric_by_no(0), -1);
    assert_int_equal(metric_by_no(METRIC_CUSTOM - 1), -1);
    assert_int_equal(metric_by_no(60000), -1);
}

static void a_value_reads_well(void **unused)
{
    (void)unused;
    static const struct {
        enum metric m;
        int64_t v;
        const char *base, *human;
    } cases[] = {
        {M_util, 9876, "0.9876", "99 %"},
        {M_mem_used, 5420089344, "5420089344", "5.0 GiB"},
        {M_power, 612450, "612.45", "612 W"},
        {M_energy, 0, "0", "0 Wh"},
        {M_energy, 298800, "298.8", "0.083 Wh"},
        {M_energy, 300000000, "300000", "83 Wh"},
        {M_energy, 3599000000, "3599000", "1.0 kWh"},
        {M_energy, 1234000000000, "1234000000", "343 kWh"},
        {M_temp, 40000, "40", "40 °C"},
        {M_throttle, 5, "5", "idle, sw power cap"},
        {M_throttle, 0, "0", "none"},
        {M_throttle, 0x1020, "4128", "sw thermal, 0x1000"},
        {M_clock_sm, 1980000000, "1980000000", "1980 MHz"},
        {M_busy, 1500000, "1.5", "2 s"},
        {M_pcie_rx, 1536, "1536", "1.5 KiB/s"},
        {M_flops, 453906, "453.906", "454 TFLOP/s"},
        {M_flops, 1250, "1.25", "1.2 TFLOP/s"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF b = BUF_INIT(200), h = BUF_INIT(200);
        metric_base(&b, cases[i].m, cases[i].v);
        metric_human(&h, cases[i].m, cases[i].v);
        assert_string_equal(b.p, cases[i].base);
        assert_string_equal(h.p, cases[i].human);
    }
}

static void a_node_id_survives_its_text(void **unused)
{
    (void)unused;
    struct node_id id, back;
    char text[33];
    for (int i = 0; i < NODE_ID_LEN; i++)
        id.b[i] = (uint8_t)(i * 17 + 3);
    assert_true(node_id_parse(str_of(node_id_text(&id, text)), &back));
    assert_memory_equal(&id, &back, sizeof(id));
    assert_false(node_id_parse(STR("0x112233445566778899aabbccddeeff00"), &back));
    assert_false(node_id_parse(STR("0x1122334455667788"
                                   "99aabbccddeeff"),
                               &back));
    assert_false(node_id_parse(STR("xyz"), &back));
}

static void names_are_checked_where_they_enter(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        bool ok;
    } cases[] = {{"dgx1", true}, {"Grüße", true}, {"", false},    {"a\"b", false},
                 {"a/b", false}, {"a\nb", false}, {"\xff", false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(name_ok(str_of(cases[i].name), 64), cases[i].ok);
    assert_false(name_ok(STR("toolong"), 3));
}

static void absent_values_stay_absent_in_a_batch(void **unused)
{
    (void)unused;
    struct gather *g = gather_new();
    struct batch b;
    for (int round = 0; round < 3; round++) {
        for (int t = 0; t < 130; t++) {
            struct sample s = {0};
            assert_true(gather_tick(g, 1000 + t * 100));
            sample_set(&s, M_util, t);
            if (t % 5 == round)
                sample_set(&s, M_energy, t * 7);
            gather_sample(g, 2, &s);
            if (t == 3)
                gather_value(g, 1, METRIC_CUSTOM + 4, 99);
        }
        gather_batch(g, &b);
        assert_int_equal(b.n_ticks, 130);
        assert_int_equal(b.n_columns, 3);
        assert_int_equal(b.columns[0].metric, metrics[M_util].no);
        assert_null(b.columns[0].have);
        assert_int_equal(b.columns[1].metric, metrics[M_energy].no);
        for (size_t t = 0; t < 130; t++) {
            assert_int_equal(column_has(&b.columns[1], t), (int)t % 5 == round);
            assert_int_equal(b.columns[1].v[t], (int)t % 5 == round ? (int)t * 7 : 0);
            assert_int_equal(column_has(&b.columns[2], t), t == 3);
        }
        gather_reset(g);
    }
    gather_batch(g, &b);
    assert_int_equal(b.n_ticks + b.n_columns + b.n_uses + b.n_events, 0);
    gather_free(g);
}

static void ticks_ascend_and_a_batch_is_bounded(void **unused)
{
    (void)unused;
    struct gather *g = gather_new();
    struct batch b;
    assert_true(gather_tick(g, 500));
    assert_true(gather_tick(g, 500));
    assert_true(gather_tick(g, 100));
    gather_batch(g, &b);
    assert_int_equal(b.at_ms[1], 501);
    assert_int_equal(b.at_ms[2], 502);
    for (int i = 3; i < TICKS_MAX; i++)
        assert_true(gather_tick(g, 1000 + i));
    assert_false(gather_tick(g, 99999999));
    gather_free(g);
}

static void the_answer_names_where_the_free_ones_are(void **unused)
{
    (void)unused;
    static struct device_now dev[3][4];
    static struct node_now node[3] = {{.name = "dgx1"}, {.name = "dgx2"}, {.name = "ws3"}};
    const struct node_now *list[3];
    for (int i = 0; i < 3; i++) {
        node[i].devices = dev[i];
        node[i].n_devices = 4;
        list[i] = &node[i];
        for (int k = 0; k < 4; k++)
            dev[i][k].state = k < i ? DEV_FREE : DEV_BUSY;
    }
    struct view v = {.n = 3, .nodes = list};
    struct tally t;
    AUTO_BUF b = BUF_INIT(1000);
    view_tally(&v, &t);
    view_answer(&v, &t, &b);
    assert_string_equal(b.p, "3 of 12 free: 2 on ws3, 1 on dgx2");
    buf_reset(&b);
    node[2].unlisted = true;
    view_tally(&v, &t);
    view_answer(&v, &t, &b);
    assert_string_equal(b.p, "1 of 8 free: 1 on dgx2");
    assert_int_equal(t.nodes, 3);
    node[2].unlisted = false;
    buf_reset(&b);
    v.n = 1;
    view_tally(&v, &t);
    view_answer(&v, &t, &b);
    assert_string_equal(b.p, "none of 4 free");
    buf_reset(&b);
    v.n = 0;
    view_tally(&v, &t);
    view_answer(&v, &t, &b);
    assert_string_equal(b.p, "no nodes yet");
}

static void the_other_states_are_counted_with_what_they_do_and_cost(void **unused)
{
    (void)unused;
    static struct device_now dev[8] = {
        {.state = DEV_FREE, .price = 2500000},
        {.state = DEV_BUSY, .price = 2500000},
        {.state = DEV_BUSY},
        {.state = DEV_BUSY},
        {.state = DEV_HELD, .price = 2500000, .idle_since_ms = 1},
        {.state = DEV_HELD, .price = 2500000, .idle_since_ms = 3 * HOUR_MS},
        {.state = DEV_UNKNOWN},
        {.state = DEV_HUNG},
    };
    static struct node_now node = {.name = "dgx1", .devices = dev, .n_devices = 8};
    const struct node_now *list[] = {&node};
    struct view v = {.n = 1, .nodes = list, .at_ms = 4 * HOUR_MS + 1, .currency = "EUR"};
    struct tally t;
    AUTO_BUF b = BUF_INIT(1000);
    sample_set(&dev[1].now, M_util, 9800);
    sample_set(&dev[2].now, M_util, 2150);
    sample_set(&dev[1].now, M_power, 610400);
    sample_set(&dev[5].now, M_power, 120000);
    sample_set(&dev[7].now, M_power, 999000); /* of before it hung */
    view_tally(&v, &t);
    view_answer(&v, &t, &b);
    view_counts(&v, &t, " · ", " · ", &b);
    assert_string_equal(b.p, "1 of 8 free: 1 on dgx1 · 3 busy, utilisation 60 % · 2 held, 1 idle for over 2 h, "
                             "cost so far 10.00 EUR · 1 unknown · 1 not responding · 730 W");
    dev[4].price = 0; /* nothing is told of what it costs */
    sample_set(&dev[1].now, M_power, 14450000);
    buf_reset(&b);
    view_tally(&v, &t);
    view_counts(&v, &t, "", ", ", &b);
    assert_string_equal(b.p,
                        "3 busy, utilisation 60 %, 2 held, 1 idle for over 2 h, 1 unknown, 1 not responding, 14.6 kW");
    for (int i = 0; i < 8; i++)
        dev[i].state = i < 5 ? DEV_STARTING : i < 7 ? DEV_STALE : DEV_LOST;
    buf_reset(&b);
    view_tally(&v, &t);
    view_answer(&v, &t, &b);
    view_counts(&v, &t, " · ", " · ", &b);
    assert_string_equal(b.p, "none of 8 free · 5 starting · 2 offline · 1 missing");
    dev[0].state = DEV_FREE;
    node.n_devices = 1;
    buf_reset(&b);
    view_tally(&v, &t);
    view_counts(&v, &t, "!", ", ", &b);
    assert_int_equal(b.len, 0);
}

static void a_mig_parent_is_not_counted_beside_its_instances(void **unused)
{
    (void)unused;
    static struct device_now dev[3];
    static struct node_now node = {.name = "a", .devices = dev, .n_devices = 3};
    const struct node_now *list[] = {&node};
    mem_copy_str(dev[0].fact.uuid, UUID_MAX, "GPU-1");
    mem_copy_str(dev[1].fact.parent, UUID_MAX, "GPU-1");
    mem_copy_str(dev[2].fact.parent, UUID_MAX, "GPU-1");
    struct view v = {.n = 1, .nodes = list};
    struct tally t;
    view_tally(&v, &t);
    assert_int_equal(t.devices, 2);
    assert_true(device_is_parent(&node, &dev[0]));
    assert_false(device_is_parent(&node, &dev[1]));
}

static void users_come_most_memory_first(void **unused)
{
    (void)unused;
    struct proc_fact ana = {.user = "ana"}, kim = {.user = "kim"}, nobody = {0};
    struct proc_now procs[4] = {{&ana, .mem = 10}, {&kim, .mem = 30}, {&ana, .mem = 25}, {&nobody, .mem = -1}};
    struct device_now d = {.n_procs = 4, .procs = procs};
    AUTO_BUF b = BUF_INIT(100);
    device_users(&d, &b);
    assert_string_equal(b.p, "ana, kim");
}

static void a_process_comes_back_out_of_few_bytes(void **unused)
{
    struct proc_fact f = {.pid = 7, .ppid = 1, .root_pid = 6, .start_ms = 1794700000000, .uid = -1, .slurm_job = 99},
                     got;
    char room[sizeof(f) + 64];
    (void)unused;
    mem_copy_str(f.user, sizeof(f.user), "kim");
    mem_copy_str(f.name, sizeof(f.name), "python");
    mem_copy_str(f.pod, sizeof(f.pod), "p");
    memset(f.cmd, 'x', sizeof(f.cmd) - 1); /* as long as it gets */
    size_t n = record_pack(&proc_wire, &f, room);
    assert_true(n < sizeof(f) && n == record_pack(&proc_wire, &f, NULL));
    memset(&got, 0xff, sizeof(got));
    record_unpack(&proc_wire, room, &got);
    assert_true(got.pid == 7 && got.ppid == 1 && got.root_pid == 6 && got.uid == -1 && got.slurm_job == 99);
    assert_true(got.start_ms == f.start_ms);
    assert_string_equal(got.user, "kim");
    assert_string_equal(got.name, "python");
    assert_string_equal(got.cmd, f.cmd);
    assert_string_equal(got.runtime, "");
    f.cmd[0] = 0;
    assert_true(record_pack(&proc_wire, &f, room) < 80);
    record_unpack(&proc_wire, room, &got);
    assert_string_equal(got.cmd, "");
    assert_string_equal(got.pod, "p");
}

static void a_job_is_made_another_by_what_is_different(void **unused)
{
    static const struct job_fact was = {.id = 7,
                                        .parent = 3,
                                        .start_ms = 1000,
                                        .end_ms = 2000,
                                        .name = "x",
                                        .kind = "wandb",
                                        .person = "kim",
                                        .owner = "wandb",
                                        .node = "n",
                                        .devices = "a",
                                        .pids = "1",
                                        .attrs = "{}"};
    struct job_fact v[11];
    struct job_change c;
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        v[i] = was;
    v[1].parent = 0;
    v[2].parent = 4;
    v[3].start_ms = 900;
    v[4].end_ms = 0;
    v[5].name = "";
    v[6].person = "lee";
    v[7].node = "m";
    v[8].devices = "a,b";
    v[9].pids = "";
    v[10].attrs = "";
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        print_message("%zu\n", i);
        assert_int_equal(job_difference(&was, &v[i], &c), i > 0);
        struct job_fact got = job_changed(&was, &c);
        assert_false(job_difference(&got, &v[i], &c));
    }
}

static void an_event_says_what_it_means(void **unused)
{
    static const struct {
        struct node_event e;
        const char *want;
        bool trouble;
    } cases[] = {
        {{.kind = EVENT_XID, .code = 119, .text = "GSP RPC timeout"},
         "Xid 119: GPU system processor timed out; needs a reset (GSP RPC timeout)",
         true},
        {{.kind = EVENT_XID, .code = 79, .text = "Xid 79: GPU has fallen off the bus; needs a reboot"},
         "Xid 79: GPU has fallen off the bus; needs a reboot",
         true},
        {{.kind = EVENT_XID, .code = 12345}, "Xid 12345", true},
        {{.kind = EVENT_XID, .code = 12345, .text = "odd"}, "Xid 12345: odd", true},
        {{.kind = EVENT_XID, .code = -1, .text = "odd"}, "Xid -1: odd", true},
        {{.kind = EVENT_ECC, .code = 1, .text = "x"}, "1 memory error not corrected", true},
        {{.kind = EVENT_ECC, .code = 2}, "2 memory errors not corrected", true},
        {{.kind = EVENT_START}, "agent started", false},
        {{.kind = EVENT_STOP, .text = "rebooted"}, "rebooted", false},
        {{.kind = EVENT_HUNG, .text = "driver does not answer"}, "driver does not answer", true},
        {{.kind = 999, .text = "new"}, "new", false},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = BUF_INIT(512);
        event_about(&cases[i].e, &out);
        assert_string_equal(buf_str(&out).p, cases[i].want);
        assert_int_equal(event_is_trouble(cases[i].e.kind), cases[i].trouble);
    }
}

TESTS(cmocka_unit_test(an_event_says_what_it_means), cmocka_unit_test(a_job_is_made_another_by_what_is_different),
      cmocka_unit_test(a_process_comes_back_out_of_few_bytes),
      cmocka_unit_test(every_metric_has_its_own_number_and_name), cmocka_unit_test(a_value_reads_well),
      cmocka_unit_test(a_node_id_survives_its_text), cmocka_unit_test(names_are_checked_where_they_enter),
      cmocka_unit_test(absent_values_stay_absent_in_a_batch), cmocka_unit_test(ticks_ascend_and_a_batch_is_bounded),
      cmocka_unit_test(the_answer_names_where_the_free_ones_are),
      cmocka_unit_test(the_other_states_are_counted_with_what_they_do_and_cost),
      cmocka_unit_test(a_mig_parent_is_not_counted_beside_its_instances),
      cmocka_unit_test(users_come_most_memory_first))
