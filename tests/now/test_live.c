/* test_live.c: live's promises L1 to L4 by number, and effects of nodes, agents and time. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/gather.h"
#include "now/live.h"

#define NOW 1700000000000ll
#define GIB ((int64_t)1 << 30)
#define MIB ((int64_t)1 << 20)

struct notified {
    size_t n;
    uint16_t kind[64];
    char text[64][160];
    int64_t code[64];
};

static void note_event(void *arg, const struct node_now *n, const struct node_event *e)
{
    struct notified *t = arg;

    assert_non_null(n);
    if (t->n < ARRAY_LEN(t->kind)) {
        t->kind[t->n] = e->kind;
        t->code[t->n] = e->code;
        snprintf(t->text[t->n], sizeof(t->text[0]), "%s", e->text);
    }
    t->n++;
}

static void set_device(struct device_fact *d, const char *uuid, int index)
{
    *d = (struct device_fact){.index = index, .mig = -1, .minor = index};
    snprintf(d->uuid, sizeof(d->uuid), "%s", uuid);
    snprintf(d->pci, sizeof(d->pci), "0000:%02x:00.0", index);
}

/* A node with two GPUs that reported at NOW, facts id 7. */
static struct node_now *node_with_gpus(struct live *l, const char *key, int64_t now_ms)
{
    struct device_fact d[2];
    struct node_fact f = {.n_devices = 2, .devices = d};
    struct hello h = {.run = 1, .sent_ms = now_ms, .state_since_ms = now_ms - 1000, .collect = COLLECT_OK};

    set_device(&d[0], "GPU-a", 0);
    set_device(&d[1], "GPU-b", 1);
    struct node_now *n = live_node(l, key, "dgx1", now_ms);
    live_hello(l, n, &h, "10.0.0.1", now_ms);
    live_facts(l, n, 7, &f, now_ms);
    return n;
}

static void say_hello(struct live *l, struct node_now *n, enum collect_state collect, int64_t since_ms, int64_t now_ms)
{
    struct hello h = {.run = 1, .sent_ms = now_ms, .state_since_ms = since_ms, .collect = (uint8_t)collect};

    live_hello(l, n, &h, "10.0.0.1", now_ms);
}

/* A batch of one device's utilisation, one tick a second, ending at end_ms. */
static void send_util(struct live *l, struct node_now *n, uint16_t slot, const int64_t *util, size_t ticks,
                      int64_t end_ms, int64_t now_ms)
{
    struct gather *g = gather_new();
    struct batch b;

    for (size_t i = 0; i < ticks; i++) {
        struct sample s = {0};
        assert_true(gather_tick(g, end_ms - (int64_t)(ticks - 1 - i) * 1000));
        if (util[i] < 0)
            continue;
        sample_set(&s, M_util, util[i]);
        gather_sample(g, slot, &s);
    }
    gather_batch(g, &b);
    b.key.run = 1;
    b.facts = 7;
    live_batch(l, n, &b, 0, now_ms);
    gather_free(g);
}

static void l1_an_older_batch_never_overwrites_newer_values(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW);

    (void)unused;
    send_util(l, n, 1, (int64_t[]){9000, 9100}, 2, NOW, NOW);
    assert_int_equal(n->devices[0].now.v[M_util], 9100);
    send_util(l, n, 1, (int64_t[]){100, 200}, 2, NOW - 3600000, NOW + 100);
    assert_int_equal(n->devices[0].now.v[M_util], 9100);
    assert_int_equal(n->devices[0].v_at_ms[M_util], NOW);
    assert_int_equal(n->devices[0].at_ms, NOW);
    assert_int_equal(n->sample_at_ms, NOW);
    assert_int_equal(n->devices[0].state, DEV_BUSY);
    send_util(l, n, 1, (int64_t[]){300}, 1, NOW + 1000, NOW + 1000);
    assert_int_equal(n->devices[0].now.v[M_util], 300);
    live_free(l);
}

static void utilisation_has_a_mean_of_the_last_minute(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW);
    struct tally t;

    (void)unused;
    for (int64_t s = 0; s < 200; s++) { /* a step of 4 s at 100 %, 1 s at 0 */
        int64_t at = NOW + s * 1000;
        send_util(l, n, 1, &(int64_t){s % 5 ? 10000 : 0}, 1, at, at);
    }
    assert_in_range(n->devices[0].util_mean, 7900, 8100);
    send_util(l, n, 1, &(int64_t){0}, 1, NOW + 200000, NOW + 200000); /* between two steps: no 0 % in the headline */
    n->devices[0].state = DEV_BUSY;
    view_tally(&(struct view){.n = 1, .nodes = &(const struct node_now *){n}}, &t);
    assert_int_equal(t.told, 1);
    assert_in_range(t.util, 7700, 8100);
    for (int64_t s = 1; s < 61; s++)
        send_util(l, n, 1, &(int64_t){2000}, 1, NOW + (200 + s) * 1000, NOW + (200 + s) * 1000);
    assert_int_equal(n->devices[0].util_mean, 2000); /* older values no longer count */
    live_free(l);
}

static void l2_absent_stays_absent_and_values_know_their_age(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW);

    (void)unused;
    send_util(l, n, 1, (int64_t[]){9000, -1, -1}, 3, NOW, NOW);
    assert_true(sample_has(&n->devices[0].now, M_util));
    assert_int_equal(n->devices[0].v_at_ms[M_util], NOW - 2000);
    assert_false(sample_has(&n->devices[0].now, M_power));
    assert_false(sample_has(&n->devices[1].now, M_util));
    assert_int_equal(n->devices[1].at_ms, 0);
    live_free(l);
}

static void l2_a_value_no_longer_given_is_let_go(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW);
    struct gather *g = gather_new();
    struct sample s = {0};
    struct batch b;

    (void)unused;
    sample_set(&s, M_power, 500000);
    gather_tick(g, NOW);
    gather_sample(g, 1, &s);
    gather_batch(g, &b);
    b.facts = 7;
    live_batch(l, n, &b, 0, NOW);
    gather_free(g);
    send_util(l, n, 1, (int64_t[]){9000}, 1, NOW + 120000, NOW + 120000);
    assert_true(sample_has(&n->devices[0].now, M_power));
    send_util(l, n, 1, (int64_t[]){9000}, 1, NOW + 121000, NOW + 121000);
    assert_false(sample_has(&n->devices[0].now, M_power));
    assert_true(sample_has(&n->devices[0].now, M_util));
    live_free(l);
}

static void l3_each_change_raises_the_versions(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW);
    uint64_t before = live_version(l);

    (void)unused;
    assert_int_equal(n->version, before);
    send_util(l, n, 1, (int64_t[]){9000}, 1, NOW, NOW);
    assert_true(live_version(l) > before);
    assert_int_equal(n->version, live_version(l));
    before = live_version(l);
    live_tick(l, NOW + 1000); /* no change */
    say_hello(l, n, COLLECT_OK, NOW - 1000, NOW + 1000);
    assert_int_equal(live_version(l), before);
    live_tick(l, NOW + 15000); /* stale */
    assert_true(live_version(l) > before);
    before = live_version(l);
    live_admin(l, n, "big", false, false);
    assert_true(live_version(l) > before);
    before = live_version(l);
    say_hello(l, n, COLLECT_HUNG, NOW + 10000, NOW + 16000);
    assert_true(live_version(l) > before);
    before = live_version(l);
    live_drop(l, "k1");
    assert_true(live_version(l) > before);
    live_free(l);
}

static void l4_time_is_what_the_caller_says(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", 1000); /* one second after the epoch */

    (void)unused;
    send_util(l, n, 1, (int64_t[]){0}, 1, 1000, 1000);
    assert_int_equal(n->devices[0].state, DEV_FREE);
    assert_int_equal(n->state, NODE_UP);
    live_tick(l, 15999);
    assert_int_equal(n->devices[0].state, DEV_FREE);
    live_tick(l, 16000);
    assert_int_equal(n->devices[0].state, DEV_STALE);
    assert_int_equal(n->devices[0].since_ms, 1000);
    live_free(l);
}

static void what_nobody_saw_is_not_idleness(void **unused)
{
    static const struct {
        int64_t away_ms, idle_since_ms;
    } cases[] = {{60000, NOW}, {600000, NOW}, {601000, NOW + 601000}, {7200000, NOW + 7200000}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct live *l = live_new(NULL, NULL, NULL);
        struct node_now *n = node_with_gpus(l, "k1", NOW);
        int64_t back = NOW + cases[i].away_ms;
        send_util(l, n, 1, (int64_t[]){9000}, 1, NOW, NOW);
        send_util(l, n, 1, (int64_t[]){0}, 1, back, back);
        assert_int_equal(n->devices[0].idle_since_ms, cases[i].idle_since_ms);
        live_free(l);
    }
}

/* Free again after a short time without reports is free as before; not after a long time, nor if it was used
 * meanwhile. */
static void what_was_not_heard_of_for_a_while_is_free_as_before(void **unused)
{
    static const struct {
        int64_t away_ms, since_ms;
        bool work;
    } cases[] = {{20000, NOW, false}, {600000, NOW, false}, {601000, NOW + 661000, false}, {20000, NOW + 80000, true}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct live *l = live_new(NULL, NULL, NULL);
        struct node_now *n = node_with_gpus(l, "k1", NOW);
        struct device_now *d = &n->devices[0];
        int64_t last = NOW + 60000, back = last + cases[i].away_ms;
        send_util(l, n, 1, (int64_t[]){0}, 1, NOW, NOW);
        send_util(l, n, 1, (int64_t[]){0}, 1, last, last);
        assert_int_equal(d->since_ms, NOW);
        live_tick(l, last + 15000);
        assert_int_equal(d->state, DEV_STALE);
        assert_int_equal(d->since_ms, last);
        send_util(l, n, 1, (int64_t[]){cases[i].work ? 9000 : 0}, 1, back, back);
        assert_int_equal(d->state, cases[i].work ? DEV_BUSY : DEV_FREE);
        assert_int_equal(d->since_ms, cases[i].since_ms);
        live_free(l);
    }
}

static void work_at_any_tick_keeps_a_device_busy_for_a_minute(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW);
    struct device_now *d = &n->devices[0];

    (void)unused;
    send_util(l, n, 1, (int64_t[]){0, 0, 0}, 3, NOW, NOW);
    assert_int_equal(d->state, DEV_FREE);
    assert_int_equal(d->idle_since_ms, NOW);
    send_util(l, n, 1, (int64_t[]){0, 800, 0, 0, 0}, 5, NOW + 5000, NOW + 5000);
    assert_int_equal(d->state, DEV_BUSY);
    assert_int_equal(d->since_ms, NOW + 2000);
    assert_int_equal(d->idle_since_ms, NOW + 2000);
    for (int64_t t = 10000; t < 62000; t += 5000) {
        send_util(l, n, 1, (int64_t[]){0, 0, 0, 0, 0}, 5, NOW + t, NOW + t);
        assert_int_equal(d->state, DEV_BUSY);
    }
    live_tick(l, NOW + 61999);
    assert_int_equal(d->state, DEV_BUSY);
    live_tick(l, NOW + 62000);
    assert_int_equal(d->state, DEV_FREE);
    assert_int_equal(d->idle_since_ms, NOW + 2000);
    send_util(l, n, 1, (int64_t[]){9000}, 1, NOW + 63000, NOW + 63000);
    assert_int_equal(d->idle_since_ms, 0);
    assert_int_equal(d->state, DEV_BUSY);
    live_free(l);
}

static void processes_come_with_the_newest_batch(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW);
    struct proc_fact pf[2] = {{.pid = 10, .start_ms = 5, .user = "kim", .name = "python"},
                              {.pid = 11, .start_ms = 6, .user = "lee", .name = "train"}};
    struct proc_list list = {2, pf};
    struct proc_use uses[] = {{.proc = 0, .slot = 1, .kind = PROC_COMPUTE, .mem = GIB, .sm = 100},
                              {.proc = 1, .slot = 1, .kind = PROC_COMPUTE, .mem = 2 * GIB, .sm = -1},
                              {.proc = 1, .slot = 2, .kind = PROC_COMPUTE, .mem = 3 * GIB, .sm = -1},
                              {.proc = 9, .slot = 2, .kind = PROC_COMPUTE},  /* no such process */
                              {.proc = 1, .slot = 99, .kind = PROC_COMPUTE}, /* no such slot */
                              {.proc = 1, .slot = 0, .kind = PROC_COMPUTE}};
    int64_t at = NOW, util = 0;
    struct column c[] = {{.metric = 1, .slot = 1, .v = &util}, {.metric = 1, .slot = 2, .v = &util}};
    struct batch b = {.key.run = 1,
                      .facts = 7,
                      .procs = 3,
                      .n_ticks = 1,
                      .at_ms = &at,
                      .n_columns = 2,
                      .columns = c,
                      .n_uses = ARRAY_LEN(uses),
                      .uses = uses};

    (void)unused;
    assert_false(live_knows(n, 7, 3));
    live_procs(l, n, 3, &list, NOW);
    assert_true(live_knows(n, 7, 3));
    assert_true(live_knows(n, 7, 0));
    assert_false(live_knows(n, 8, 3));
    live_batch(l, n, &b, 0, NOW);
    assert_int_equal(n->devices[0].n_procs, 2);
    assert_int_equal(n->devices[1].n_procs, 1);
    assert_string_equal(n->devices[0].procs[1].fact->user, "lee");
    assert_int_equal(n->devices[1].procs[0].mem, 3 * GIB);
    assert_int_equal(n->devices[0].state, DEV_HELD);
    assert_string_equal(n->devices[0].reason, "2 processes, no work");

    const void *kept = n->devices[0].procs; /* no allocations in steady state */
    for (int i = 0; i < 100; i++) {
        at += 1000;
        uses[0].mem += 1;
        live_batch(l, n, &b, 0, at);
    }
    assert_ptr_equal(n->devices[0].procs, kept);
    assert_int_equal(n->devices[0].procs[0].mem, GIB + 100);

    /* the same process with better data: a new list is read again */
    snprintf(pf[0].user, sizeof(pf[0].user), "kimberly");
    live_procs(l, n, 4, &list, at);
    at += 1000;
    b.procs = 4;
    live_batch(l, n, &b, 0, at);
    assert_string_equal(n->devices[0].procs[0].fact->user, "kimberly");

    /* uses without a list are ignored */
    at += 1000;
    b.procs = 0;
    live_batch(l, n, &b, 0, at);
    assert_int_equal(n->devices[0].n_procs, 0);
    at += 1000;
    b.procs = 4;
    live_batch(l, n, &b, 0, at);
    assert_int_equal(n->devices[0].n_procs, 2);

    /* the list of an older batch is not used */
    int64_t newest = at;
    at = NOW - 60000;
    b.n_uses = 0;
    live_batch(l, n, &b, 0, newest);
    assert_int_equal(n->devices[0].n_procs, 2);
    at = newest + 1000;
    live_batch(l, n, &b, 0, at);
    assert_int_equal(n->devices[0].n_procs, 0);
    live_free(l);
}

static void values_under_other_facts_are_passed_over(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW);
    int64_t at = NOW + 1000, util = 9000;
    struct column c = {.metric = 1, .slot = 1, .v = &util};
    struct batch b = {.facts = 8, .n_ticks = 1, .at_ms = &at, .n_columns = 1, .columns = &c};

    (void)unused;
    live_batch(l, n, &b, 0, at);
    assert_false(sample_has(&n->devices[0].now, M_util));
    assert_int_equal(n->at_ms, at); /* still counts as a report */
    b.facts = 7;
    c.slot = 3;
    live_batch(l, n, &b, 0, at);
    c.slot = 1;
    c.metric = 999;
    live_batch(l, n, &b, 0, at);
    assert_false(sample_has(&n->devices[0].now, M_util));
    c.metric = 1;
    live_batch(l, n, &b, 5000, at); /* shifted */
    assert_int_equal(n->devices[0].v_at_ms[M_util], at + 5000);
    live_free(l);
}

static void times_far_ahead_do_not_shut_out_what_comes(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW);
    int64_t at = INT64_MAX, util = 9000;
    struct column c = {.metric = 1, .slot = 1, .v = &util};
    struct batch b = {.facts = 7, .n_ticks = 1, .at_ms = &at, .n_columns = 1, .columns = &c};

    (void)unused;
    live_batch(l, n, &b, 0, NOW);
    assert_true(n->devices[0].at_ms <= NOW + 10000);
    util = 100;
    at = NOW + 11000;
    live_batch(l, n, &b, 0, at);
    assert_int_equal(n->devices[0].now.v[M_util], 100);
    util = 200; /* the hub's clock is set back by an hour */
    at = NOW - 3600000;
    live_batch(l, n, &b, 0, at);
    assert_int_equal(n->devices[0].now.v[M_util], 200);
    live_tick(l, at);
    assert_int_equal(n->devices[0].at_ms, at);
    live_free(l);
}

static void custom_metrics_are_kept_beside(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct custom_fact cf[] = {{.name = "batch", .per = 1}, {.name = "loss", .per = 1000}};
    struct device_fact df;
    struct node_fact f = {.n_devices = 1, .devices = &df, .n_custom = 2, .custom = cf};
    int64_t at = NOW, loss = 1250, batch = 64;
    struct column c[] = {{.metric = METRIC_CUSTOM, .slot = 0, .v = &batch},
                         {.metric = METRIC_CUSTOM + 1, .slot = 1, .v = &loss},
                         {.metric = METRIC_CUSTOM + 2, .slot = 1, .v = &loss}};
    struct batch b = {.facts = 1, .n_ticks = 1, .at_ms = &at, .n_columns = 3, .columns = c};

    (void)unused;
    set_device(&df, "GPU-a", 0);
    struct node_now *n = live_node(l, "k", "n", NOW);
    live_facts(l, n, 1, &f, NOW);
    live_batch(l, n, &b, 0, NOW);
    assert_int_equal(n->n_custom, 1);
    assert_int_equal(n->custom[0].v, 64);
    assert_int_equal(n->devices[0].n_custom, 1);
    assert_int_equal(n->devices[0].custom[0].metric, METRIC_CUSTOM + 1);
    loss = 7;
    at -= 1000; /* L1 */
    live_batch(l, n, &b, 0, NOW);
    assert_int_equal(n->devices[0].custom[0].v, 1250);
    f.n_custom = 1; /* declared again */
    live_facts(l, n, 2, &f, NOW);
    assert_int_equal(n->devices[0].n_custom, 0);
    live_free(l);
}

static void a_silent_node_goes_down_and_comes_back(void **unused)
{
    struct notified t = {0};
    struct live *l = live_new(NULL, note_event, &t);
    struct node_now *n = node_with_gpus(l, "k1", NOW);

    (void)unused;
    assert_int_equal(t.n, 1);
    assert_int_equal(t.kind[0], EVENT_NEW);
    send_util(l, n, 1, (int64_t[]){0}, 1, NOW, NOW);
    live_tick(l, NOW + 59999);
    assert_int_equal(n->state, NODE_UP);
    assert_int_equal(t.n, 1);
    live_tick(l, NOW + 60000);
    assert_int_equal(n->state, NODE_DOWN);
    assert_int_equal(n->since_ms, NOW); /* has the start time */
    assert_string_equal(n->reason, "no data for 1 m");
    assert_int_equal(n->devices[0].state, DEV_STALE);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.kind[1], EVENT_DOWN);
    live_tick(l, NOW + 61000);
    assert_int_equal(t.n, 2);
    say_hello(l, n, COLLECT_OK, NOW, NOW + 300000);
    assert_int_equal(n->state, NODE_UP);
    assert_int_equal(t.n, 3);
    assert_int_equal(t.kind[2], EVENT_BACK);
    assert_int_equal(t.code[2], 300);
    assert_string_equal(t.text[2], "back after 5 m");
    live_free(l);
}

/* Like send_util, loaded at the start of a hub. */
static void recall_util(struct live *l, struct node_now *n, int64_t util, int64_t at_ms, int64_t now_ms)
{
    struct gather *g = gather_new();
    struct sample s = {0};
    struct batch b;

    assert_true(gather_tick(g, at_ms));
    sample_set(&s, M_util, util);
    gather_sample(g, 1, &s);
    gather_batch(g, &b);
    b.key.run = 1;
    b.facts = 7;
    live_recall(l, n, &b, 0, now_ms);
    gather_free(g);
}

static void a_hub_that_was_away_shows_what_it_knew_and_gives_a_chance(void **unused)
{
    static const struct {
        const char *say;
        int64_t news_ms, alive_ms; /* before now */
        int state;
        const char *reason;
        int dev, told; /* told: the event if it does not report for two minutes */
    } cases[] = {{"away for seconds", 5000, 5000, NODE_UP, "", DEV_BUSY, EVENT_DOWN},
                 {"away for ten minutes", 600000, 600000, NODE_UP,
                  "no data since the hub started, the last came 10 m ago", DEV_STARTING, EVENT_DOWN},
                 {"it was just silent", 630000, 600000, NODE_UP,
                  "no data since the hub started, the last came 10 m ago", DEV_STARTING, EVENT_DOWN},
                 {"it was down before", 3600000, 600000, NODE_DOWN, "no data for 60 m", DEV_STALE, -1}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct notified t = {0};
        struct live *l = live_new(NULL, note_event, &t);
        struct device_fact d;
        struct node_fact f = {.n_devices = 1, .devices = &d};
        int64_t news = NOW - cases[i].news_ms;

        print_message("%s\n", cases[i].say);
        set_device(&d, "GPU-a", 0);
        struct node_now *n = live_node(l, "k1", "dgx1", 0);
        live_facts(l, n, 7, &f, 0);
        n->awaited = true; /* like the registry */
        recall_util(l, n, 1000, news - 5000, NOW);
        recall_util(l, n, 9000, news, NOW);
        recall_util(l, n, 2000, news - 2000, NOW); /* L1 */
        live_resume(l, NOW - cases[i].alive_ms, NOW);
        live_tick(l, NOW);
        assert_int_equal(n->at_ms, news);
        assert_int_equal(n->state, cases[i].state);
        assert_int_equal(n->devices[0].state, cases[i].dev);
        assert_int_equal(n->devices[0].now.v[M_util], 9000);
        assert_int_equal(n->devices[0].at_ms, news);
        print_message("%s\n", n->reason);
        if (i != 3)
            assert_string_equal(n->reason, cases[i].reason);
        if (cases[i].state == NODE_DOWN)
            assert_int_equal(n->since_ms, news);
        live_tick(l, NOW + 119999);
        assert_int_equal(t.n, 0); /* no events */
        live_tick(l, NOW + 120000);
        assert_int_equal(n->state, NODE_DOWN);
        assert_int_equal(n->since_ms, news); /* the true time */
        assert_int_equal(t.n, cases[i].told >= 0);
        say_hello(l, n, COLLECT_OK, NOW, NOW + 130000);
        assert_int_equal(n->state, NODE_UP);
        assert_int_equal(t.kind[t.n - 1], EVENT_BACK);
        live_free(l);
    }
}

static void a_node_read_back_is_waited_for(void **unused)
{
    struct notified t = {0};
    struct live *l = live_new(NULL, note_event, &t);
    struct node_now *n = live_node(l, "k1", "dgx1", 0);

    (void)unused;
    live_tick(l, NOW);
    assert_int_equal(t.n, 0); /* not new */
    assert_int_equal(n->state, NODE_DOWN);
    assert_string_equal(n->reason, "no data since the hub started");
    assert_int_equal(n->since_ms, NOW);
    live_tick(l, NOW + 60000);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.kind[0], EVENT_DOWN);
    live_free(l);
    t.n = 0;
    l = live_new(NULL, note_event, &t); /* after a start it has time to report, though it never did */
    n = live_node(l, "k1", "dgx1", 0);
    live_resume(l, NOW - 1000, NOW);
    live_tick(l, NOW);
    assert_int_equal(n->state, NODE_UP);
    assert_string_equal(n->reason, "starting");
    live_tick(l, NOW + 120000);
    assert_int_equal(n->state, NODE_DOWN);
    live_free(l);
    t.n = 0;
    l = live_new(NULL, note_event, &t); /* a node that reports in time causes no event */
    n = live_node(l, "k1", "dgx1", 0);
    n->at_ms = NOW - 600000; /* the hub was down for ten minutes */
    live_tick(l, NOW);
    say_hello(l, n, COLLECT_OK, NOW, NOW + 5000);
    live_tick(l, NOW + 6000);
    assert_int_equal(n->state, NODE_UP);
    assert_int_equal(t.n, 0);
    live_free(l);
}

static void a_hung_driver_shows_and_the_node_stays_heard(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW);

    (void)unused;
    send_util(l, n, 1, (int64_t[]){9000}, 1, NOW, NOW);
    say_hello(l, n, COLLECT_HUNG, NOW + 1000, NOW + 5000);
    assert_int_equal(n->state, NODE_UP);
    assert_int_equal(n->devices[0].state, DEV_BUSY);
    live_tick(l, NOW + 6000);
    assert_int_equal(n->state, NODE_HUNG);
    assert_int_equal(n->since_ms, NOW + 1000);
    assert_string_equal(n->reason, "driver does not answer for 5 s");
    assert_int_equal(n->devices[0].state, DEV_HUNG);
    for (int64_t t = 10000; t <= 300000; t += 5000) {
        say_hello(l, n, COLLECT_HUNG, NOW + 1000, NOW + t);
        live_tick(l, NOW + t);
    }
    assert_string_equal(n->devices[1].reason, "driver does not answer for 4 m");
    say_hello(l, n, COLLECT_OK, NOW + 300000, NOW + 301000);
    assert_int_equal(n->state, NODE_UP);
    send_util(l, n, 1, (int64_t[]){9000}, 1, NOW + 301000, NOW + 301000);
    assert_int_equal(n->devices[0].state, DEV_BUSY);
    live_free(l);
}

static void an_agent_says_why_it_reads_nothing(void **unused)
{
    static const struct {
        enum collect_state collect;
        const char *why;
        enum node_state state;
        const char *reason;
    } cases[] = {{COLLECT_PAUSED, "for 10 m", NODE_PAUSED, "reading is paused: for 10 m"},
                 {COLLECT_NONE, "", NODE_UP, "no device to read"},
                 {COLLECT_FAILED, "no permission", NODE_UP, "cannot be read: no permission"},
                 {COLLECT_FAILED, "still none", NODE_UP, "cannot be read: still none"},
                 {COLLECT_STARTING, "", NODE_UP, "starting"},
                 {COLLECT_HUNG, "the driver hangs", NODE_UP, "driver does not answer for 1 s"},
                 {COLLECT_HUNG, "the driver hangs; 2 collectors are stuck", NODE_UP,
                  "driver does not answer for 1 s; 2 collectors are stuck"},
                 {COLLECT_OK, "", NODE_UP, ""}};
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = live_node(l, "k", "n", NOW);

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hello h = {.run = 1, .sent_ms = NOW, .state_since_ms = NOW, .collect = (uint8_t)cases[i].collect};
        snprintf(h.why, sizeof(h.why), "%s", cases[i].why);
        live_hello(l, n, &h, "", NOW);
        assert_int_equal(n->state, cases[i].state);
        assert_string_equal(n->reason, cases[i].reason);
    }
    live_free(l);
}

static void a_clock_that_is_off_is_measured_and_told_once(void **unused)
{
    static const struct {
        int64_t off;
        int64_t want;
        size_t events;
    } cases[] = {{0, 0, 1},         {5000, 0, 1},      {-5000, 0, 1},     {-9000, -9000, 1}, {0, 0, 1},
                 {61000, 61000, 1}, {61500, 61500, 2}, {61000, 61000, 2}, {-1000, 0, 2},     {INT64_MIN, -NOW, 2}};
    struct notified t = {0};
    struct live *l = live_new(NULL, note_event, &t);
    struct node_now *n = live_node(l, "k", "n", NOW);

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool least = cases[i].off == INT64_MIN;
        struct hello h = {.run = 1, .sent_ms = least ? INT64_MIN : NOW + cases[i].off, .state_since_ms = INT64_MIN};
        live_hello(l, n, &h, "", NOW);
        assert_int_equal(n->clock_off_ms, cases[i].want);
        assert_int_equal(t.n, cases[i].events);
    }
    assert_int_equal(t.kind[1], EVENT_CLOCK);
    assert_string_equal(t.text[1], "clock ahead by 1 m 1 s");
    live_free(l);
}

static void a_new_run_takes_the_node_until_its_elder_speaks_again(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW); /* run 1 */
    struct hello one = {.run = 1, .sent_ms = NOW, .collect = COLLECT_OK},
                 two = {.run = 2, .sent_ms = NOW, .collect = COLLECT_OK};
    struct node_event stop = {.kind = EVENT_STOP};
    struct batch b = {.key.run = 1, .n_events = 1, .events = &stop};

    (void)unused;
    assert_false(live_run_conflict(l, n, 2, NOW + 1000)); /* restarted after a crash: accepted immediately */
    live_hello(l, n, &two, "", NOW + 1000);
    assert_false(live_run_conflict(l, n, 2, NOW + 2000));
    assert_false(live_run_conflict(l, n, 1, NOW + 2000));
    live_hello(l, n, &one, "", NOW + 2000); /* both are alive */
    assert_true(live_run_conflict(l, n, 2, NOW + 3000));
    assert_false(live_run_conflict(l, n, 1, NOW + 3000));
    assert_true(live_run_conflict(l, n, 2, NOW + 31999));
    assert_false(live_run_conflict(l, n, 2, NOW + 32000)); /* the older run did not report */
    live_batch(l, n, &b, 0, NOW);                          /* or reports that it stops */
    assert_false(live_run_conflict(l, n, 2, NOW + 3000));
    live_tick(l, NOW + 122000);
    assert_string_equal(n->reason, "agent stopped, no data for 2 m");
    live_free(l);
}

static void a_refused_twin_shows_for_a_minute(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW);
    uint64_t before = live_version(l);

    (void)unused;
    live_refused(l, n, "a second agent was refused", NOW);
    assert_string_equal(n->reason, "a second agent was refused");
    assert_true(live_version(l) > before); /* L3 */
    say_hello(l, n, COLLECT_OK, NOW, NOW + 59000);
    live_tick(l, NOW + 59999);
    assert_string_equal(n->reason, "a second agent was refused");
    assert_int_equal(n->state, NODE_UP);
    live_tick(l, NOW + 60000);
    assert_string_equal(n->reason, "");
    live_free(l);
}

static void a_gpu_that_is_only_booked_is_so_since_the_booking(void **unused)
{
    static const int64_t idle[] = {0, 0};
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW);
    struct booking_now b = {.id = 1, .from_ms = NOW + 5000, .until_ms = NOW + 60000, .person = "kim"};

    (void)unused;
    send_util(l, n, 1, idle, 2, NOW + 1000, NOW + 1000);
    assert_int_equal(n->devices[0].state, DEV_FREE);
    live_book(l, n, 0, &b, NULL, 0, NOW + 7123); /* this hub got it late */
    assert_int_equal(n->devices[0].state, DEV_HELD);
    assert_int_equal(n->devices[0].since_ms, NOW + 5000);
    live_book(l, n, 0, NULL, NULL, NOW + 8000, NOW + 8456); /* released */
    assert_int_equal(n->devices[0].state, DEV_FREE);
    assert_int_equal(n->devices[0].since_ms, NOW + 8000);
    live_free(l);
}

static void a_gpu_that_vanishes_is_lost_and_comes_back_the_same(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *n = node_with_gpus(l, "k1", NOW);
    struct device_fact d[2];
    struct node_fact f = {.n_devices = 1, .devices = d};

    (void)unused;
    send_util(l, n, 1, (int64_t[]){1111}, 1, NOW, NOW);
    send_util(l, n, 2, (int64_t[]){2222}, 1, NOW + 1, NOW + 1);
    set_device(&d[0], "GPU-b", 1);
    live_facts(l, n, 8, &f, NOW + 2);
    assert_int_equal(n->n_devices, 2);
    assert_string_equal(n->devices[0].fact.uuid, "GPU-b");
    assert_int_equal(n->devices[0].now.v[M_util], 2222);
    assert_string_equal(n->devices[1].fact.uuid, "GPU-a");
    assert_int_equal(n->devices[1].state, DEV_LOST);
    assert_int_equal(live_slots(n), 1); /* no batch can refer to it */
    f.n_devices = 2;                    /* back, with another index */
    set_device(&d[0], "GPU-a", 5);
    set_device(&d[1], "GPU-b", 6);
    live_facts(l, n, 9, &f, NOW + 3);
    assert_int_equal(n->n_devices, 2);
    assert_int_equal(n->devices[0].now.v[M_util], 1111);
    assert_int_equal(n->devices[0].fact.index, 5);
    assert_int_not_equal(n->devices[0].state, DEV_LOST);
    f.n_devices = 0; /* the driver is gone: no GPU is lost */
    live_facts(l, n, 10, &f, NOW + 4);
    assert_int_equal(n->n_devices, 2);
    assert_int_not_equal(n->devices[0].state, DEV_LOST);
    f.n_devices = 2; /* another card in its place */
    set_device(&d[0], "GPU-c", 5);
    live_facts(l, n, 11, &f, NOW + 5);
    assert_int_equal(n->n_devices, 2);
    assert_string_equal(n->devices[0].fact.uuid, "GPU-c");
    assert_int_equal(n->devices[0].at_ms, 0);
    live_free(l);
}

static void a_split_gpu_is_what_its_instances_are(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct device_fact d[3];
    struct node_fact f = {.n_devices = 3, .devices = d};
    int64_t at = NOW, zero = 0, util = 9000;
    struct column c[] = {{.metric = 3, .slot = 1, .v = &zero},
                         {.metric = 3, .slot = 2, .v = &zero},
                         {.metric = 31, .slot = 3, .v = &util}};
    struct batch b = {.facts = 1, .n_ticks = 1, .at_ms = &at, .n_columns = 3, .columns = c};

    (void)unused;
    set_device(&d[0], "GPU-a", 0);
    set_device(&d[1], "MIG-1", 0);
    set_device(&d[2], "MIG-2", 0);
    snprintf(d[1].parent, sizeof(d[1].parent), "GPU-a");
    snprintf(d[2].parent, sizeof(d[2].parent), "GPU-a");
    struct node_now *n = live_node(l, "k", "n", NOW);
    live_facts(l, n, 1, &f, NOW);
    live_batch(l, n, &b, 0, NOW);
    assert_int_equal(n->devices[0].state, DEV_BUSY);
    assert_string_equal(n->devices[0].reason, "1 MIG instance working");
    assert_ptr_equal(live_find_dup_gpu(l, "MIG-2", NULL, NOW), n);
    assert_int_equal(n->devices[1].state, DEV_FREE);
    assert_int_equal(n->devices[2].state, DEV_BUSY);
    at += 61000;
    util = 0;
    live_batch(l, n, &b, 0, at);
    assert_int_equal(n->devices[0].state, DEV_HELD); /* never free: only its instances can be used */
    assert_string_equal(n->devices[0].reason, "split into 2 MIG instances");
    f.n_devices = 1; /* MIG switched off: instances are removed, not lost */
    live_facts(l, n, 2, &f, at);
    assert_int_equal(n->n_devices, 1);
    assert_false(live_has_gpu(l, "MIG-2"));
    live_free(l);
}

static void a_node_that_is_joined_takes_the_silent_ones_place(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *old = node_with_gpus(l, "old", NOW);
    struct device_fact d[2];
    struct node_fact f = {.n_devices = 2, .devices = d};

    (void)unused;
    live_admin(l, old, "big", false, true);
    assert_false(live_silent(old, NOW + 29000));
    assert_true(live_silent(old, NOW + 60000));
    set_device(&d[0], "GPU-a", 0);
    set_device(&d[1], "GPU-x", 1);
    assert_false(live_has_gpus_of(old, &f)); /* one of two moved: not the same node */
    set_device(&d[1], "GPU-b", 1);
    assert_true(live_has_gpus_of(old, &f));
    struct node_now *heir = live_node(l, "new", "fresh", NOW + 60000);
    live_facts(l, heir, 1, &f, NOW + 60000);
    assert_ptr_equal(live_find_dup_gpu(l, "GPU-a", heir, NOW + 60000), old);
    assert_ptr_equal(live_find_dup_gpu(l, "GPU-a", old, NOW + 60000), heir);
    live_set_replaced(l, heir, old, NOW + 60000);
    assert_string_equal(heir->was, "big");
    const struct node_now *on;
    assert_non_null(live_find_device(l, STR("GPU-a"), &on));
    assert_ptr_equal(on, old); /* unchanged */
    live_join(l, heir, old, NOW + 60000);
    assert_null(live_find(l, "old"));
    assert_ptr_equal(live_find(l, "big"), heir);
    assert_true(heir->maintenance);
    assert_int_equal(live_count(l), 1);
    assert_null(live_find_dup_gpu(l, "GPU-a", heir, NOW + 60000));
    assert_string_equal(heir->was, "");
    live_rename_gpu(l, heir, "GPU-a", "GPU-a~2");
    assert_true(live_has_gpu(l, "GPU-a~2"));
    assert_false(live_has_gpu(l, "GPU-a"));
    live_free(l);
}

static void a_gpu_is_found_by_its_place_too(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct device_fact d[4];
    struct node_fact f = {.n_devices = 4, .devices = d};
    static const struct {
        const char *word, *uuid;
        bool node;
    } cases[] = {{"GPU-c", "GPU-c", true},    {"dgx1:0", "GPU-c", true}, {"one:1", "GPU-b", true},
                 {"dgx1:1.0", "MIG-1", true}, {"dgx1:7", NULL, true},    {"dgx1:", NULL, true},
                 {"dgx2:0", NULL, false},     {":0", NULL, false},       {"", NULL, false}};

    (void)unused;
    set_device(&d[0], "GPU-a", 0);
    set_device(&d[1], "GPU-b", 1);
    set_device(&d[2], "GPU-c", 0); /* in the place of a lost one */
    set_device(&d[3], "MIG-1", 1);
    d[0].lost = true;
    d[3].mig = 0;
    snprintf(d[3].parent, sizeof(d[3].parent), "GPU-b");
    live_facts(l, live_node(l, "one", "dgx1", NOW), 1, &f, NOW);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct node_now *n;
        const struct device_now *found = live_named_device(l, str_of(cases[i].word), &n);
        print_message("'%s'\n", cases[i].word);
        assert_int_equal(n != NULL, cases[i].node);
        assert_int_equal(found != NULL, cases[i].uuid != NULL);
        if (found)
            assert_string_equal(found->fact.uuid, cases[i].uuid);
    }
    live_free(l);
}

static void two_nodes_never_share_a_name(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    struct node_now *a = live_node(l, "a", "dgx1", NOW), *b = live_node(l, "b", "dgx1", NOW);
    struct node_now *c = live_node(l, "c", "dgx1", NOW), *d = live_node(l, "d", "a", NOW);

    (void)unused;
    assert_string_equal(a->name, "dgx1");
    assert_string_equal(b->name, "dgx1~2");
    assert_string_equal(c->name, "dgx1~3");
    assert_string_equal(d->name, "a~2"); /* nor use a key as a name */
    assert_ptr_equal(live_find(l, "dgx1~2"), b);
    assert_ptr_equal(live_find(l, "dgx1"), a);
    assert_string_equal(live_called(a), "");
    assert_string_equal(live_called(b), "dgx1~2");
    live_tick(l, NOW);
    live_admin(l, a, "", true, false); /* a retired node holds no name, but a name set by an admin stays */
    assert_string_equal(live_node(l, "b", "dgx1", NOW)->name, "dgx1~2");
    assert_string_equal(live_node(l, "e", "dgx1", NOW)->name, "dgx1");
    live_admin(l, a, "", false, false);
    assert_string_equal(a->name, "dgx1~4");
    live_admin(l, b, "gold", false, false);
    assert_string_equal(b->name, "gold");
    live_node(l, "b", "dgx9", NOW);
    assert_string_equal(b->name, "gold"); /* set by an admin */
    live_node(l, "c", "dgx9", NOW);
    assert_string_equal(c->name, "dgx9"); /* a generated name ends with its reason */
    assert_string_equal(live_called(c), "");
    live_free(l);
}

static void nodes_are_found_and_sorted_as_people_count(void **unused)
{
    static const char *const names[] = {"dgx10", "ws3", "dgx2", "dgx1", "a", "dgx02", "dgx2b", "dgx"};
    static const char *const want[] = {"a", "dgx", "dgx1", "dgx02", "dgx2", "dgx2b", "dgx10", "ws3"};
    struct live *l = live_new(NULL, NULL, NULL);
    size_t n;

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char key[8];
        snprintf(key, sizeof(key), "k%zu", i);
        live_node(l, key, names[i], NOW);
    }
    const struct node_now *const *v = live_nodes(l, false, &n);
    assert_int_equal(n, ARRAY_LEN(want));
    for (size_t i = 0; i < n; i++)
        assert_string_equal(v[i]->name, want[i]);
    assert_string_equal(live_find(l, "dgx10")->key, "k0");
    assert_string_equal(live_find(l, "k1")->name, "ws3");
    assert_null(live_find(l, "dgx11"));
    assert_ptr_equal(live_only(l, "dgx10"), live_find(l, "k0"));
    assert_ptr_equal(live_only(l, "k0"), live_find(l, "k0"));
    assert_null(live_only(l, "dgx11"));

    /* renamed by an admin, and its own name changed */
    live_admin(l, live_find(l, "ws3"), "attic", false, false);
    assert_null(live_find(l, "ws3"));
    assert_string_equal(live_find(l, "attic")->key, "k1");
    live_node(l, "k1", "ws4", NOW);
    assert_null(live_find(l, "ws4"));
    live_admin(l, live_find(l, "attic"), NULL, false, false);
    assert_string_equal(live_find(l, "ws4")->key, "k1");

    /* labels: a change counts, the same again does not, and they can be removed */
    struct node_now *ws = live_find(l, "ws4");
    live_labels(l, ws, "rack=a1\n");
    assert_string_equal(ws->labels, "rack=a1\n");
    uint64_t version = live_version(l);
    assert_int_equal(ws->version, version);
    live_labels(l, ws, "rack=a1\n");
    assert_int_equal(live_version(l), version);
    live_labels(l, ws, NULL);
    assert_null(ws->labels);
    assert_int_equal(live_version(l), version + 1);

    /* retired: hidden and kept, also when it reports again */
    struct node_now *gone = live_find(l, "dgx2");
    live_admin(l, gone, NULL, true, false);
    live_nodes(l, false, &n);
    assert_int_equal(n, ARRAY_LEN(want) - 1);
    live_nodes(l, true, &n);
    assert_int_equal(n, ARRAY_LEN(want));
    say_hello(l, gone, COLLECT_OK, NOW, NOW);
    assert_true(gone->retired);
    live_node(l, "k99", "dgx2", NOW); /* a lookup finds the name's new owner */
    assert_string_equal(live_find(l, "dgx2")->key, "k99");
    live_drop(l, "k99");
    live_drop(l, "no such key");
    assert_ptr_equal(live_find(l, "dgx2"), gone);
    live_free(l);
}

static void thousands_of_nodes_are_each_found(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    char key[16], name[16];
    size_t n;

    (void)unused;
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        snprintf(name, sizeof(name), "n%d", i);
        live_node(l, key, name, NOW);
    }
    for (int i = 0; i < 5000; i += 2) {
        snprintf(key, sizeof(key), "k%d", i);
        live_drop(l, key);
    }
    assert_int_equal(live_count(l), 2500);
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        assert_int_equal(live_find(l, name) != NULL, i % 2);
    }
    const struct node_now *const *v = live_nodes(l, true, &n);
    assert_string_equal(v[0]->name, "n1");
    assert_string_equal(v[n - 1]->name, "n4999");
    live_free(l);
}

static void assert_in_order(struct live *l, size_t want)
{
    size_t n;
    const struct node_now *const *v = live_nodes(l, false, &n);
    assert_int_equal(n, want);
    for (size_t i = 1; i < n; i++)
        assert_true((str_natural(v[i - 1]->name, v[i]->name) ?: strcmp(v[i - 1]->key, v[i]->key)) < 0);
}

/* The list is requested repeatedly: new nodes are inserted. */
static void nodes_are_in_order_as_they_come_and_go(void **unused)
{
    struct live *l = live_new(NULL, NULL, NULL);
    char key[16], name[16];

    (void)unused;
    assert_in_order(l, 0);
    for (unsigned i = 0; i < 500; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        snprintf(name, sizeof(name), "n%u", i * 7919 % 1009); /* in no order */
        live_node(l, key, name, NOW);
        if (i % 9 == 0 || i > 490)
            assert_in_order(l, i + 1);
    }
    live_admin(l, live_find(l, "k100"), "zz-last", false, false);
    assert_in_order(l, 500);
    live_admin(l, live_find(l, "k200"), NULL, true, false);
    live_node(l, "k500", "a-first", NOW);
    assert_in_order(l, 500); /* one is retired */
    live_drop(l, "k300");
    live_node(l, "k501", "n5000", NOW);
    assert_in_order(l, 500);
    live_free(l);
}

TESTS(cmocka_unit_test(nodes_are_in_order_as_they_come_and_go),
      cmocka_unit_test(l1_an_older_batch_never_overwrites_newer_values),
      cmocka_unit_test(utilisation_has_a_mean_of_the_last_minute),
      cmocka_unit_test(l2_absent_stays_absent_and_values_know_their_age),
      cmocka_unit_test(l2_a_value_no_longer_given_is_let_go), cmocka_unit_test(l3_each_change_raises_the_versions),
      cmocka_unit_test(l4_time_is_what_the_caller_says), cmocka_unit_test(what_nobody_saw_is_not_idleness),
      cmocka_unit_test(what_was_not_heard_of_for_a_while_is_free_as_before),
      cmocka_unit_test(work_at_any_tick_keeps_a_device_busy_for_a_minute),
      cmocka_unit_test(processes_come_with_the_newest_batch),
      cmocka_unit_test(values_under_other_facts_are_passed_over),
      cmocka_unit_test(times_far_ahead_do_not_shut_out_what_comes), cmocka_unit_test(custom_metrics_are_kept_beside),
      cmocka_unit_test(a_silent_node_goes_down_and_comes_back), cmocka_unit_test(a_node_read_back_is_waited_for),
      cmocka_unit_test(a_hub_that_was_away_shows_what_it_knew_and_gives_a_chance),
      cmocka_unit_test(a_hung_driver_shows_and_the_node_stays_heard),
      cmocka_unit_test(an_agent_says_why_it_reads_nothing),
      cmocka_unit_test(a_clock_that_is_off_is_measured_and_told_once),
      cmocka_unit_test(a_new_run_takes_the_node_until_its_elder_speaks_again),
      cmocka_unit_test(a_refused_twin_shows_for_a_minute),
      cmocka_unit_test(a_gpu_that_is_only_booked_is_so_since_the_booking),
      cmocka_unit_test(a_gpu_that_vanishes_is_lost_and_comes_back_the_same),
      cmocka_unit_test(a_split_gpu_is_what_its_instances_are),
      cmocka_unit_test(a_node_that_is_joined_takes_the_silent_ones_place),
      cmocka_unit_test(a_gpu_is_found_by_its_place_too), cmocka_unit_test(two_nodes_never_share_a_name),
      cmocka_unit_test(nodes_are_found_and_sorted_as_people_count), cmocka_unit_test(thousands_of_nodes_are_each_found))
