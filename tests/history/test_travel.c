/* test_travel.c: nodes as they were: what the store remembers of them, and what a moment of the past is made of. */
#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "history/travel.h"
#include "hub/decode.h"
#include "store_dir.h"
#include "wire/wire.h"

#define T0     1700000040000ll /* a whole minute */
#define MINUTE 60000ll
#define DAY    86400000ll

static struct store *open_at(const char *dir)
{
    struct store_conf conf = {.dir = dir, .commit_ms = 1, .decoder = &hub_decoder};
    struct store *s = NULL;
    struct err err = {0};

    if (store_open(&s, &conf, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    return s;
}

/* Facts that name one custom metric, put as a blob: their id. */
static uint64_t put_facts(struct store *s, const char *node, const char *driver, const char *custom)
{
    struct device_fact devices[] = {{.uuid = "GPU-one", .name = "H200", .mig = -1}};
    struct custom_fact metrics_then[1] = {{.per = 1000}};
    struct node_fact f = {.n_devices = 1, .n_custom = 1, .devices = devices, .custom = metrics_then};
    struct node_id id = {{1}};
    AUTO_BUF out = BUF_INIT(1 << 20);
    uint64_t name;

    snprintf(f.driver, sizeof(f.driver), "%s", driver);
    snprintf(f.name, sizeof(f.name), "host");
    snprintf(metrics_then[0].name, sizeof(metrics_then[0].name), "%s", custom);
    assert_int_equal(wire_put_facts(&out, &id, &f, &name), 0);
    store_put_blob(s, node, BLOB_FACTS, name, buf_str(&out));
    return name;
}

static void put_node(struct store *s, const char *key, const char *name, uint64_t facts, int64_t last_ms,
                     bool maintenance)
{
    struct store_node n = {.first_ms = T0,
                           .last_ms = last_ms,
                           .facts = facts,
                           .maintenance = maintenance,
                           .named = true};

    snprintf(n.key, sizeof(n.key), "%s", key);
    snprintf(n.name, sizeof(n.name), "%s", name);
    snprintf(n.own_name, sizeof(n.own_name), "host");
    store_put(s, STORE_NODE, &n, 1, NULL, NULL);
    assert_int_equal(store_flush(s, NULL), 0);
}

static void a_node_is_known_as_it_was(void **unused)
{
    static const struct {
        int64_t at_ms;
        const char *name, *driver;
        bool maintenance, hung;
    } cases[] = {
        {T0 - DAY, "host", "550", false, false}, /* what was before anything is known: as it was first */
        {T0 + 5 * MINUTE, "host", "550", false, false},
        {T0 + 10 * MINUTE, "big", "550", false, false},
        {T0 + 20 * MINUTE - 1, "big", "550", false, false},
        {T0 + 20 * MINUTE + 30000, "big", "570", true, false},
        {T0 + 30 * MINUTE - 1, "big", "570", true, false},
        {T0 + 30 * MINUTE, "big", "570", true, true},
        {T0 + 39 * MINUTE, "big", "570", true, true},
        {T0 + 41 * MINUTE, "big", "570", true, false},
        {T0 + 400 * DAY, "big", "570", true, false},
    };
    static const struct node_event events[] = {{.at_ms = T0 + MINUTE, .kind = EVENT_XID, .code = 79},
                                               {.at_ms = T0 + 30 * MINUTE, .kind = EVENT_HUNG},
                                               {.at_ms = T0 + 35 * MINUTE, .kind = EVENT_XID, .code = 79},
                                               {.at_ms = T0 + 40 * MINUTE, .kind = EVENT_ANSWERS}};
    char *dir = dir_new();
    struct store *s = open_at(dir);

    (void)unused;
    uint64_t old = put_facts(s, "aa", "550", "loss"), new = put_facts(s, "aa", "570", "tokens");
    put_node(s, "aa", "", old, T0, false);
    put_node(s, "aa", "big", old, T0 + 10 * MINUTE, false);
    put_node(s, "aa", "big", new, T0 + 20 * MINUTE + 10000, true);
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        store_put(s, STORE_EVENT, &(struct store_event){"aa", "", events[i]}, 1, NULL, NULL);
    assert_int_equal(store_flush(s, NULL), 0);
    for (int round = 0; round < 2; round++) { /* under its own key, and after another took it over */
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            struct node_at was;
            print_message("%lld\n", (long long)(cases[i].at_ms - T0));
            assert_int_equal(store_node_at(s, NULL, round ? "bb" : "aa", cases[i].at_ms, &was, NULL), 1);
            assert_string_equal(was.name, cases[i].name);
            assert_int_equal(was.maintenance, cases[i].maintenance);
            assert_int_equal(was.hung_since_ms != 0, cases[i].hung);
            assert_true(was.has_fact);
            assert_string_equal(was.fact.driver, cases[i].driver);
            node_fact_fini(&was.fact);
        }
        store_take_over(s, "aa", "bb");
        assert_int_equal(store_flush(s, NULL), 0);
    }
    struct node_at was;
    assert_int_equal(store_node_at(s, NULL, "nobody", T0, &was, NULL), 0);
    store_close(s);
    dir_free(dir);
}

static void note_pid(void *arg, const struct proc_span *p)
{
    char *to = arg;

    snprintf(to + strlen(to), 64 - strlen(to), "%d ", p->fact.pid);
}

static void processes_of_then_are_found(void **unused)
{
    static const struct {
        int32_t pid;
        int64_t first_ms, last_ms;
    } procs[] = {
        {1, T0, T0 + 10 * MINUTE},               /* over before */
        {2, T0 + 45 * MINUTE, T0 + 55 * MINUTE}, /* seen shortly before: it may be there */
        {3, T0, T0 + 3 * DAY},                   /* long */
        {4, T0, T0 + 300 * DAY},                 /* very long */
        {5, T0 + 59 * MINUTE, T0 + DAY},         /* ended within a day after */
        {6, T0 + 61 * MINUTE, T0 + 2 * DAY},     /* began after */
        {7, T0 + 2 * DAY, T0 + 4 * DAY},
    };
    static const struct {
        int64_t at_ms;
        const char *pids;
    } cases[] = {
        {T0 - MINUTE, ""},           {T0 + 60 * MINUTE, "3 4 2 5 "},
        {T0 + 5 * MINUTE, "1 3 4 "}, {T0 + 2 * DAY + MINUTE, "3 4 6 7 "}, /* 6 was seen a minute before */
        {T0 + 200 * DAY, "4 "},
    };
    char *dir = dir_new();
    struct store *s = open_at(dir);

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(procs); i++)
        for (int other = 0; other < 2; other++) {
            struct proc_span p = {.node = other ? "bb" : "aa",
                                  .device = "GPU-one",
                                  .fact = {.pid = procs[i].pid + 100 * other, .start_ms = procs[i].first_ms},
                                  .first_ms = procs[i].first_ms,
                                  .last_ms = procs[i].last_ms,
                                  .ended = true};
            store_put(s, STORE_PROC, &p, 1, NULL, NULL);
        }
    assert_int_equal(store_flush(s, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char got[64] = "";
        print_message("%lld\n", (long long)(cases[i].at_ms - T0));
        assert_int_equal(store_each(s, EACH_PROC(note_pid, got, .node = "aa", .at_ms = cases[i].at_ms), NULL), 0);
        assert_string_equal(got, cases[i].pids);
    }
    store_close(s);
    dir_free(dir);
}

/* ---- a moment, out of a store that is made up ---- */

static bool hung, known;

static int fake_history(struct store *s, const struct bins_query *ask, struct history *ret, struct err *err)
{
    int64_t from_ms = ask->from_ms / ask->step_ms * ask->step_ms;
    size_t n = (size_t)((ask->to_ms - from_ms + ask->step_ms - 1) / ask->step_ms);

    (void)s, (void)err;
    *ret = (struct history){.from_ms = from_ms,
                            .step_ms = ask->step_ms,
                            .n = n,
                            .n_series = ask->n_devices * ask->n_metrics,
                            .v = mem_zero(ask->n_devices * ask->n_metrics * n, sizeof(*ret->v)),
                            .last_ms = mem_zero(ask->n_devices * ask->n_metrics * n, sizeof(*ret->last_ms))};
    for (size_t d = 0; d < ask->n_devices; d++)
        for (size_t m = 0; m < ask->n_metrics; m++)
            if (!hung && strcmp(ask->devices[d], "GPU-old") == 0 &&
                (strcmp(ask->metrics[m], "util") == 0 || strcmp(ask->metrics[m], "loss") == 0)) {
                size_t at = (d * ask->n_metrics + m) * n + n - 2;
                ret->v[at] = (struct bin){1, 4200, 4200, 4200, 4200};
                ret->last_ms[at] = ask->to_ms - 2000;
            }
    return 0;
}

static int fake_was(struct store *s, struct history_session *x, const char *node, int64_t at_ms, struct node_at *ret,
                    struct err *err)
{
    (void)s, (void)x, (void)node, (void)at_ms, (void)err;
    *ret = (struct node_at){.name = "then", .has_fact = true};
    ret->hung_since_ms = hung ? T0 - 10 * MINUTE : 0;
    if (!known)
        return 0;
    ret->fact.n_devices = 2;
    ret->fact.devices = mem_zero(2, sizeof(*ret->fact.devices));
    snprintf(ret->fact.devices[0].uuid, UUID_MAX, "GPU-old");
    snprintf(ret->fact.devices[1].uuid, UUID_MAX, "GPU-gone");
    ret->fact.devices[1].lost = true;
    ret->fact.n_custom = 1;
    ret->fact.custom = mem_zero(1, sizeof(*ret->fact.custom));
    ret->fact.custom[0].per = 1000;
    snprintf(ret->fact.custom[0].name, sizeof(ret->fact.custom[0].name), "loss");
    return 1;
}

static void a_moment_has_the_names_devices_and_states_of_then(void **unused)
{
    static struct device_now now_has[1] = {{.fact = {.uuid = "GPU-new", .mig = -1}}};
    static struct node_now node = {.key = "aa", .name = "now", .n_devices = 1, .devices = now_has};
    const struct node_now *nodes[] = {&node};
    struct view v = {.n = 1, .nodes = nodes};
    struct past_source past = {.history = fake_history, .was = fake_was};
    struct node_now got;

    (void)unused;
    known = true;
    for (int i = 0; i < 2; i++) {
        hung = i == 1;
        struct travel *t = travel_new(&v, &state_rule_default, T0, T0 + MINUTE);
        assert_int_equal(travel_node(t, 0, &past, &got, NULL), 1);
        assert_string_equal(got.name, "then");
        assert_int_equal(got.n_devices, 2);
        assert_string_equal(got.devices[0].fact.uuid, "GPU-old");
        assert_int_equal(got.devices[1].state, DEV_LOST);
        if (hung) {
            assert_int_equal(got.state, NODE_HUNG);
            assert_int_equal(got.devices[0].state, DEV_HUNG);
            assert_int_equal(got.devices[0].n_custom, 0);
        } else {
            assert_int_equal(got.state, NODE_UP);
            assert_int_equal(got.devices[0].state, DEV_BUSY);
            assert_int_equal(got.devices[0].now.v[M_util], 4200);
            assert_int_equal(got.devices[0].n_custom, 1);
            assert_int_equal(got.devices[0].custom[0].metric, METRIC_CUSTOM);
            assert_int_equal(got.devices[0].custom[0].v, 4200);
            assert_string_equal(got.fact.custom[0].name, "loss");
        }
        node_now_fini(&got);
        travel_free(t);
    }
    past.was = NULL; /* nothing is known of then: the devices of now, and nothing of them */
    struct travel *t = travel_new(&v, &state_rule_default, T0, T0 + MINUTE);
    assert_int_equal(travel_node(t, 0, &past, &got, NULL), 1);
    assert_string_equal(got.name, "now");
    assert_string_equal(got.devices[0].fact.uuid, "GPU-new");
    assert_int_equal(got.devices[0].state, DEV_STALE);
    node_now_fini(&got);
    travel_free(t);
}

static int64_t works_until_ms;

/* A sample a second: 90 % until then, 0 after it. */
static int worked_history(struct store *s, const struct bins_query *ask, struct history *ret, struct err *err)
{
    int64_t from_ms = ask->from_ms / ask->step_ms * ask->step_ms;
    size_t n = (size_t)((ask->to_ms - from_ms + ask->step_ms - 1) / ask->step_ms);

    (void)s, (void)err;
    *ret = (struct history){.from_ms = from_ms,
                            .step_ms = ask->step_ms,
                            .n = n,
                            .n_series = ask->n_devices * ask->n_metrics,
                            .v = mem_zero(ask->n_devices * ask->n_metrics * n, sizeof(*ret->v)),
                            .last_ms = mem_zero(ask->n_devices * ask->n_metrics * n, sizeof(*ret->last_ms))};
    for (size_t m = 0; m < ask->n_metrics; m++)
        for (int64_t at = ask->from_ms; at < ask->to_ms && strcmp(ask->metrics[m], "util") == 0; at += 1000) {
            size_t i = m * n + (size_t)((at - from_ms) / ask->step_ms);
            int64_t v = at <= works_until_ms ? 9000 : 0;
            ret->v[i] = (struct bin){ret->v[i].count + 1, 0, 0, MAX(ret->v[i].max, v), v};
            ret->last_ms[i] = at + 300;
        }
    return 0;
}

static void when_work_ended_is_known_to_the_second(void **unused)
{
    static struct device_now has[1] = {{.fact = {.uuid = "GPU-one", .mig = -1}}};
    static struct node_now node = {.key = "aa", .name = "now", .n_devices = 1, .devices = has};
    const struct node_now *nodes[] = {&node};
    struct view v = {.n = 1, .nodes = nodes};
    struct past_source past = {.history = worked_history};
    static const struct {
        int64_t until_ms, idle_since_ms;
    } cases[] = {{T0 - DAY, 0}, {T0, 0}, {T0 - 7000, 0}, {T0 - 67000, T0 - 66000}, {T0 - 100000, T0 - 99000}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct node_now got;
        struct travel *t = travel_new(&v, &state_rule_default, T0, T0 + MINUTE);
        works_until_ms = cases[i].until_ms;
        print_message("%lld\n", (long long)(T0 - works_until_ms));
        assert_int_equal(travel_node(t, 0, &past, &got, NULL), 1);
        assert_int_equal(got.devices[0].v_at_ms[M_util], T0);
        assert_int_equal(got.devices[0].idle_since_ms, cases[i].idle_since_ms);
        node_now_fini(&got);
        travel_free(t);
    }
}

TESTS(cmocka_unit_test(when_work_ended_is_known_to_the_second), cmocka_unit_test(a_node_is_known_as_it_was),
      cmocka_unit_test(processes_of_then_are_found),
      cmocka_unit_test(a_moment_has_the_names_devices_and_states_of_then))
