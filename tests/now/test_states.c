/* test_states.c: the state rule as tables. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/work.h"
#include "now/judge.h"
#include "now/live.h"

#define NOW 1700000000000ll
#define GIB ((int64_t)1 << 30)
#define MIB ((int64_t)1 << 20)

struct rule_case {
    const char *say;
    const char *preset;
    int64_t util, mem_util, mem_used; /* -1: absent */
    int kind;                         /* of one process; 0: none */
    int64_t proc_mem;
    int64_t age_ms, node_age_ms; /* -1: never */
    enum collect_state collect;
    int64_t collect_age_ms;
    enum dev_state was;
    int64_t idle_ms; /* idle since; -1: not idle */
    enum dev_state want;
    const char *reason;
};

static const struct rule_case rule_cases[] = {
    {"nothing on it", "muster", 0, 0, 0, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1, DEV_FREE, "nobody on it"},
    {"below the line", "muster", 499, 0, 0, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1, DEV_FREE, "nobody on it"},
    {"at the line", "muster", 500, 0, 0, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1, DEV_BUSY, "working"},
    {"memory controller is not asked", "muster", 0, 9000, 0, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1, DEV_FREE,
     "nobody on it"},
    {"a process", "muster", 0, 0, GIB, PROC_COMPUTE, GIB, 1000, 1000, COLLECT_OK, 0, DEV_FREE, 9000000, DEV_HELD,
     "1 process, no work"},
    {"a process, work unknown", "muster", -1, -1, GIB, PROC_COMPUTE, GIB, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1,
     DEV_HELD, "1 process, not known to work"},
    {"memory without a process", "muster", 0, 0, 2 * GIB, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1, DEV_HELD,
     "2.0 GiB in use by no visible process"},
    {"little memory", "muster", 0, 0, GIB, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1, DEV_FREE, "nobody on it"},
    {"a display server", "muster", 0, 0, 511 * MIB, PROC_GRAPHICS, 511 * MIB, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1,
     DEV_FREE, "only a display on it"},
    {"a display server, memory unknown", "muster", 0, 0, 300 * MIB, PROC_GRAPHICS, -1, 1000, 1000, COLLECT_OK, 0,
     DEV_FREE, -1, DEV_FREE, "only a display on it"},
    {"a game", "muster", 0, 0, 512 * MIB, PROC_GRAPHICS, 512 * MIB, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1, DEV_HELD,
     "1 process, no work"},
    {"both kinds hold", "muster", 0, 0, 10 * MIB, PROC_COMPUTE | PROC_GRAPHICS, 10 * MIB, 1000, 1000, COLLECT_OK, 0,
     DEV_FREE, -1, DEV_HELD, "1 process, no work"},
    {"worked lately", "muster", 0, 0, 0, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_BUSY, 59999, DEV_BUSY,
     "worked within the last minute"},
    {"worked a minute ago", "muster", 0, 0, 0, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_BUSY, 60000, DEV_FREE,
     "nobody on it"},
    {"first seen idle is not busy", "muster", 0, 0, 0, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_STALE, 1000, DEV_FREE,
     "nobody on it"},
    {"no sample lately", "muster", 0, 0, 0, 0, 0, 15000, 1000, COLLECT_OK, 0, DEV_FREE, -1, DEV_STALE,
     "no sample for 15 s"},
    {"almost stale", "muster", 0, 0, 0, 0, 0, 14999, 14999, COLLECT_OK, 0, DEV_FREE, -1, DEV_FREE, "nobody on it"},
    {"no news", "muster", 9000, 0, 0, 0, 0, 42000, 42000, COLLECT_OK, 0, DEV_BUSY, -1, DEV_STALE, "no data for 40 s"},
    {"long no news", "muster", 9000, 0, 0, 0, 0, 250000, 250000, COLLECT_OK, 0, DEV_BUSY, -1, DEV_STALE,
     "no data for 4 m"},
    {"neither use nor memory", "muster", -1, 0, -1, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1, DEV_UNKNOWN,
     "its driver reports neither use nor memory"},
    {"only a display, as far as is known", "muster", -1, -1, -1, PROC_GRAPHICS, -1, 1000, 1000, COLLECT_OK, 0, DEV_FREE,
     -1, DEV_UNKNOWN, "its driver reports neither use nor memory"},
    {"somebody is on it", "muster", -1, -1, -1, PROC_COMPUTE, -1, 1000, 1000, COLLECT_OK, 0, DEV_UNKNOWN, -1, DEV_HELD,
     "1 process, not known to work"},
    {"memory alone is enough", "muster", -1, -1, 0, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_UNKNOWN, -1, DEV_FREE,
     "nobody on it"},
    {"never heard", "muster", -1, -1, -1, 0, 0, -1, -1, COLLECT_STARTING, 0, DEV_STALE, -1, DEV_STALE,
     "no data since the hub started"},
    {"no sample yet", "muster", -1, -1, -1, 0, 0, -1, 1000, COLLECT_STARTING, 0, DEV_STALE, -1, DEV_STARTING,
     "starting"},
    {"no sample, though it reads", "muster", -1, -1, -1, 0, 0, -1, 1000, COLLECT_OK, 0, DEV_STALE, -1, DEV_STALE,
     "no sample yet"},
    {"an agent that starts again", "muster", 9000, 0, 0, 0, 0, 20000, 1000, COLLECT_STARTING, 0, DEV_BUSY, -1,
     DEV_STARTING, "starting"},
    {"hung", "muster", 9000, 0, 0, 0, 0, 250000, 1000, COLLECT_HUNG, 245000, DEV_BUSY, -1, DEV_HUNG,
     "driver does not answer for 4 m"},
    {"hung at once", "muster", 9000, 0, 0, 0, 0, 1000, 1000, COLLECT_HUNG, 4999, DEV_BUSY, -1, DEV_BUSY, "working"},
    {"just hung", "muster", 9000, 0, 0, 0, 0, 6000, 1000, COLLECT_HUNG, 5000, DEV_BUSY, -1, DEV_HUNG,
     "driver does not answer for 5 s"},
    {"hung, then down", "muster", 9000, 0, 0, 0, 0, 250000, 60000, COLLECT_HUNG, 245000, DEV_HUNG, -1, DEV_STALE,
     "no data for 1 m"},
    {"paused", "muster", 9000, 0, 0, 0, 0, 30000, 1000, COLLECT_PAUSED, 30000, DEV_BUSY, -1, DEV_STALE,
     "reading is paused"},
    {"just paused", "muster", 0, 0, 0, 0, 0, 1000, 1000, COLLECT_PAUSED, 0, DEV_FREE, -1, DEV_STALE,
     "reading is paused"},
    {"gpu-monitor: just dropped by Consul", "gpu-monitor", 0, 0, 0, 0, 0, 1000, 1000, COLLECT_PAUSED, 0, DEV_FREE, -1,
     DEV_STALE, "reading is paused"},
    {"unreadable", "muster", 9000, 0, 0, 0, 0, 30000, 1000, COLLECT_FAILED, 30000, DEV_BUSY, -1, DEV_STALE,
     "cannot be read"},
    {"web-gpu-monitor: load 4", "web-gpu-monitor", 499, 200, 30 * GIB, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1,
     DEV_FREE, "nobody on it"},
    {"web-gpu-monitor: load 5", "web-gpu-monitor", 500, 0, 0, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1, DEV_BUSY,
     "working"},
    {"web-gpu-monitor: memory controller above 2", "web-gpu-monitor", 0, 201, 0, 0, 0, 1000, 1000, COLLECT_OK, 0,
     DEV_FREE, -1, DEV_BUSY, "working"},
    {"web-gpu-monitor: any user", "web-gpu-monitor", 0, 0, 0, PROC_GRAPHICS, -1, 1000, 1000, COLLECT_OK, 0, DEV_FREE,
     -1, DEV_HELD, "1 process, no work"},
    {"gpu-monitor: 1 %", "gpu-monitor", 100, 0, 0, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1, DEV_BUSY, "working"},
    {"gpu-monitor: 499 s old", "gpu-monitor", 0, 0, 0, 0, 0, 499000, 499000, COLLECT_OK, 0, DEV_FREE, -1, DEV_FREE,
     "nobody on it"},
    {"gpu-monitor: 500 s old", "gpu-monitor", 0, 0, 0, 0, 0, 500000, 500000, COLLECT_OK, 0, DEV_FREE, -1, DEV_STALE,
     "no data for 8 m"},
    {"strict: a little memory", "strict", 0, 0, 257 * MIB, 0, 0, 1000, 1000, COLLECT_OK, 0, DEV_FREE, -1, DEV_HELD,
     "256 MiB in use by no visible process"},
};

static void a_device_is_what_the_rule_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(rule_cases); i++) {
        const struct rule_case *c = &rule_cases[i];
        struct state_rule rule;
        struct proc_now p = {.kind = (uint8_t)c->kind, .mem = c->proc_mem, .sm = -1};
        struct device_now d = {.state = c->was,
                               .at_ms = c->age_ms < 0 ? 0 : NOW - c->age_ms,
                               .idle_since_ms = c->idle_ms < 0 ? 0 : NOW - c->idle_ms,
                               .n_procs = c->kind != 0,
                               .procs = &p};
        struct node_now n = {.state = c->node_age_ms < 0 ? NODE_DOWN : NODE_UP,
                             .at_ms = c->node_age_ms < 0 ? 0 : NOW - c->node_age_ms,
                             .collect = c->collect,
                             .collect_since_ms = NOW - c->collect_age_ms,
                             .n_devices = 1,
                             .devices = &d};
        char reason[160];

        print_message("%s\n", c->say);
        assert_int_equal(state_rule_preset(c->preset, &rule), 0);
        if (c->util >= 0)
            sample_set(&d.now, M_util, c->util);
        if (c->mem_util >= 0)
            sample_set(&d.now, M_mem_util, c->mem_util);
        if (c->mem_used >= 0)
            sample_set(&d.now, M_mem_used, c->mem_used);
        assert_string_equal(dev_states[state_of(&rule, &n, &d, NOW, reason)].word, dev_states[c->want].word);
        assert_string_equal(reason, c->reason);
    }
}

static void an_unknown_preset_is_refused(void **unused)
{
    struct state_rule r = {.busy_util = 7};

    (void)unused;
    assert_int_equal(state_rule_preset("loose", &r), -ENOENT);
    assert_int_equal(r.busy_util, 7);
}

static void other_signs_of_work_count(void **unused)
{
    static const struct {
        enum metric m;
        int64_t v;
        int32_t sm;
        enum dev_state want;
    } cases[] = {{M_sm_active, 500, -1, DEV_BUSY}, {M_sm_active, 499, -1, DEV_HELD}, {M_enc, 9000, -1, DEV_BUSY},
                 {M_dec, 9000, -1, DEV_BUSY},      {M_fan, 9000, -1, DEV_HELD},      {M_fan, 0, 700, DEV_BUSY},
                 {M_fan, 0, 100, DEV_HELD}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct proc_now p = {.kind = PROC_COMPUTE, .mem = GIB, .sm = cases[i].sm};
        struct device_now d = {.at_ms = NOW, .n_procs = 1, .procs = &p};
        struct node_now n = {.at_ms = NOW, .collect = COLLECT_OK, .n_devices = 1, .devices = &d};
        char reason[160];

        print_message("%s %d\n", metrics[cases[i].m].name, (int)cases[i].v);
        sample_set(&d.now, cases[i].m, cases[i].v);
        assert_int_equal(state_of(&state_rule_default, &n, &d, NOW, reason), cases[i].want);
    }
}

static void a_kernel_that_spins_is_busy_and_said_to_do_nothing(void **unused)
{
    static const struct {
        int64_t active, sm; /* -1: not reported */
        const char *reason;
    } cases[] = {{9999, 76, "runs, but does almost nothing"},
                 {9000, 499, "runs, but does almost nothing"},
                 {9000, 500, "working"},
                 {8999, 76, "working"},
                 {-1, 76, "working"}, /* utilisation alone does not show it */
                 {9999, -1, "working"}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct device_now d = {.at_ms = NOW};
        struct node_now n = {.at_ms = NOW, .collect = COLLECT_OK, .n_devices = 1, .devices = &d};
        char reason[160];

        print_message("active %d, SM %d\n", (int)cases[i].active, (int)cases[i].sm);
        sample_set(&d.now, M_util, 10000);
        if (cases[i].active >= 0)
            sample_set(&d.now, M_active, cases[i].active);
        if (cases[i].sm >= 0)
            sample_set(&d.now, M_sm_active, cases[i].sm);
        assert_int_equal(state_of(&state_rule_default, &n, &d, NOW, reason), DEV_BUSY);
        assert_string_equal(reason, cases[i].reason);
    }
}

static void a_sleeping_device_and_one_in_maintenance(void **unused)
{
    struct device_now d = {.fact = {.asleep = true}};
    struct node_now n = {.at_ms = NOW, .collect = COLLECT_OK, .n_devices = 1, .devices = &d};
    char reason[160];

    (void)unused;
    assert_int_equal(state_of(&state_rule_default, &n, &d, NOW, reason), DEV_FREE);
    assert_string_equal(reason, "asleep, not woken by muster");
    n.maintenance = true; /* not available to any user */
    assert_int_equal(state_of(&state_rule_default, &n, &d, NOW, reason), DEV_HELD);
    assert_string_equal(reason, "in maintenance");
    n.maintenance = false;
    struct booking_now h = {.person = "kim", .until = "Tue 17 Nov 14:00"};
    d.booking = &h;
    assert_int_equal(state_of(&state_rule_default, &n, &d, NOW, reason), DEV_HELD);
    assert_string_equal(reason, "booked by kim until Tue 17 Nov 14:00");
    d.fact.lost = true;
    snprintf(d.fact.note, sizeof(d.fact.note), "fell off the bus");
    assert_int_equal(state_of(&state_rule_default, &n, &d, NOW, reason), DEV_LOST);
    assert_string_equal(reason, "was there, is gone: fell off the bus");
    snprintf(d.fact.note, sizeof(d.fact.note), NO_WORK_SMI); /* does not imply it */
    assert_int_equal(state_of(&state_rule_default, &n, &d, NOW, reason), DEV_LOST);
    assert_string_equal(reason, "was there, is gone");
}

static void a_long_note_is_cut_at_a_letter(void **unused)
{
    struct device_now d = {.fact = {.lost = true}};
    struct node_now n = {.at_ms = NOW, .n_devices = 1, .devices = &d};
    char reason[160];

    (void)unused;
    for (size_t i = 0; i + 3 < sizeof(d.fact.note); i += 2)
        memcpy(d.fact.note + i, "é", 3);
    state_of(&state_rule_default, &n, &d, NOW, reason);
    assert_true(str_utf8_ok(str_of(reason)));
}

static void a_slow_sender_is_not_stale_between_ticks(void **unused)
{
    struct device_now d = {.at_ms = NOW - 179000};
    struct node_now n = {.at_ms = NOW - 179000,
                         .collect = COLLECT_OK,
                         .fact = {.tick_ms = 60000},
                         .n_devices = 1,
                         .devices = &d};
    char reason[160];

    (void)unused;
    sample_set(&d.now, M_util, 0);
    assert_int_equal(state_of(&state_rule_default, &n, &d, NOW, reason), DEV_FREE);
    n.fact.tick_ms = 1000;
    assert_int_equal(state_of(&state_rule_default, &n, &d, NOW, reason), DEV_STALE);
}

static void a_node_is_down_to_the_second_where_that_is_meant(void **unused)
{
    static const struct {
        bool exact;
        int32_t tick_ms;
        int64_t want_ms;
    } cases[] = {{false, 1000, 15000}, {false, 60000, 180000}, {true, 1000, 15000}, {true, 60000, 15000}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct state_rule rule = state_rule_default;
        struct node_now n = {.collect = COLLECT_OK, .fact = {.tick_ms = cases[i].tick_ms}};
        rule.down_after_ms = 15000;
        rule.down_exact = cases[i].exact;
        assert_int_equal(judge_down_ms(&rule, &n), cases[i].want_ms);
        n.at_ms = NOW - cases[i].want_ms + 1;
        assert_int_equal(judge_node(&rule, &n, false, 0, NOW).state, NODE_UP);
        n.at_ms--;
        assert_int_equal(judge_node(&rule, &n, false, 0, NOW).state, NODE_DOWN);
    }
}

TESTS(cmocka_unit_test(a_device_is_what_the_rule_says), cmocka_unit_test(an_unknown_preset_is_refused),
      cmocka_unit_test(other_signs_of_work_count), cmocka_unit_test(a_kernel_that_spins_is_busy_and_said_to_do_nothing),
      cmocka_unit_test(a_sleeping_device_and_one_in_maintenance), cmocka_unit_test(a_long_note_is_cut_at_a_letter),
      cmocka_unit_test(a_slow_sender_is_not_stale_between_ticks),
      cmocka_unit_test(a_node_is_down_to_the_second_where_that_is_meant))
