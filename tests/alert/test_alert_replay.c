/*
 * test_alert_replay.c: the worked example of docs/internals/alerts.md, a day of one node and two bookings: in which
 * minute idle and booking alerts fire and are resolved. It is run twice: live, sample by sample with an evaluation
 * every five seconds, like the hub; and from kept minutes, like `muster alerts test --last`.
 */
#include "test.h"

#include <errno.h>

#include "alert/alert_state.h"
#include "alert/replay.h"
#include "alert/replay_node.h"
#include "base/buf.h"
#include "now/view.h"

#define SECOND   1000ll
#define MINUTE   (60 * SECOND)
#define HOUR     (60 * MINUTE)
#define DAY      1700006400000ll /* midnight UTC */
#define AT(h, m) (DAY + (h)*HOUR + (m)*MINUTE)
#define GPUS     4
#define NODE     "0123456789abcdef0123456789abcdef"

/* ---- the example ---- */

static const struct stay { /* a process on a GPU */
    int gpu;
    const char *user;
    int64_t from_ms, to_ms;
} stays[] = {
    {0, "kim", AT(8, 0), AT(13, 0)},    {0, "lee", AT(16, 0), AT(17, 0)},   {1, "lee", AT(8, 0), AT(9, 12)},
    {1, "kim", AT(10, 30), AT(12, 10)}, {1, "lee", AT(10, 40), AT(10, 55)}, {1, "lee", AT(11, 10), AT(11, 18)},
    {1, "lee", AT(11, 19), AT(11, 28)}, {1, "lee", AT(11, 40), AT(11, 55)}, {1, "lee", AT(11, 56), AT(12, 5)},
    {3, "ann", AT(0, 0), AT(18, 0)},
};

static const struct spell { /* work on it */
    int gpu;
    int64_t from_ms, to_ms;
} work[] = {
    {0, AT(8, 0), AT(8, 30)},   {0, AT(11, 0) + 30 * SECOND, AT(11, 1)},
    {0, AT(12, 0), AT(12, 30)}, {0, AT(16, 20), AT(17, 0)},
    {1, AT(8, 0), AT(9, 10)},   {1, AT(10, 35), AT(12, 8)},
};

static const struct booking bookings[] = {
    {.id = 1,
     .from_ms = AT(9, 0),
     .until_ms = AT(13, 0),
     .created_ms = AT(1, 0),
     .person = "kim",
     .by = "kim",
     .devices = "GPU-1",
     .places = "w1:1",
     .model = "",
     .where = "",
     .comment = ""},
    {.id = 2,
     .from_ms = AT(14, 0),
     .until_ms = AT(18, 0),
     .created_ms = AT(2, 0),
     .person = "kim",
     .by = "kim",
     .devices = "GPU-2",
     .places = "w1:2",
     .model = "",
     .where = "",
     .comment = ""},
};

static const struct want { /* to the minute */
    const char *rule, *place, *person;
    int64_t since_ms, fired_ms, resolved_ms;
} wants[] = {
    {"booking-taken", "w1:1", "lee, kim", AT(9, 0), AT(9, 10), AT(9, 12)},
    {"booking-unused", "w1:1", "kim", AT(9, 12), AT(10, 12), AT(10, 30)},
    {"gpu-idle", "w1:0", "kim", AT(8, 30), AT(10, 30), AT(12, 0)},
    {"booking-taken", "w1:1", "lee, kim", AT(10, 40), AT(10, 50), AT(10, 55)},
    {"booking-taken", "w1:1", "lee, kim", AT(11, 40), AT(11, 50), AT(12, 5)},
    {"booking-unused", "w1:2", "kim", AT(14, 0), AT(15, 0), AT(18, 0)},
};

static int64_t util_at(int gpu, int64_t at_ms)
{
    for (size_t i = 0; i < ARRAY_LEN(work); i++)
        if (work[i].gpu == gpu && work[i].from_ms <= at_ms && at_ms < work[i].to_ms)
            return 9000;
    return 0;
}

static struct proc_fact fact_of(const struct stay *s)
{
    struct proc_fact f = {.pid = 100 + (int32_t)(s - stays), .start_ms = s->from_ms, .uid = -1};

    snprintf(f.user, sizeof(f.user), "%s", s->user);
    snprintf(f.name, sizeof(f.name), "train");
    return f;
}

static void facts_init(struct node_fact *f, struct device_fact devices[GPUS])
{
    *f = (struct node_fact){.tick_ms = 10000, .n_devices = GPUS, .devices = devices};
    snprintf(f->name, sizeof(f->name), "w1");
    for (int i = 0; i < GPUS; i++) {
        devices[i] = (struct device_fact){.index = i, .mig = -1};
        snprintf(devices[i].uuid, sizeof(devices[i].uuid), "GPU-%d", i);
    }
}

/* ---- results ---- */

struct notified {
    struct alert *v[64];
    size_t n;
};

static void told_add(struct notified *t, const struct alert *a)
{
    if (strcmp(a->place, "w1:3") == 0)
        return; /* from another test */
    assert_true(t->n < ARRAY_LEN(t->v));
    t->v[t->n++] = alert_copy(a);
}

static void on_change(void *arg, const struct alert *a)
{
    if (a->resolved_ms)
        told_add(arg, a);
}

static int by_fired(const void *x, const void *y)
{
    const struct alert *a = *(const struct alert *const *)x, *b = *(const struct alert *const *)y;

    return (a->fired_ms > b->fired_ms) - (a->fired_ms < b->fired_ms);
}

static const char *hm(int64_t at_ms, char out[24])
{
    snprintf(out, 24, "%02d:%02d:%02d", (int)((at_ms - DAY) / HOUR), (int)((at_ms - DAY) / MINUTE % 60),
             (int)((at_ms - DAY) / SECOND % 60));
    return out;
}

/* late: maximum delay of an alert. The end of a minute belongs to that minute. */
static void same_minutes(struct notified *t, int64_t late_ms)
{
    char a[24], b[24];
    size_t n = t->n;

    qsort(t->v, t->n, sizeof(t->v[0]), by_fired);
    for (size_t i = 0; i < t->n && i < ARRAY_LEN(wants); i++) {
        const struct want *w = &wants[i];
        const struct alert *x = t->v[i];
        const int64_t pairs[][2] = {{w->since_ms, x->since_ms},
                                    {w->fired_ms, x->fired_ms},
                                    {w->resolved_ms, x->resolved_ms}};
        assert_string_equal(x->rule, w->rule);
        assert_string_equal(x->place, w->place);
        assert_string_equal(x->person, w->person);
        for (size_t k = 0; k < ARRAY_LEN(pairs); k++)
            if (pairs[k][1] <= pairs[k][0] - MINUTE || pairs[k][1] > pairs[k][0] + late_ms)
                fail_msg("%s %s: %s instead of %s", w->rule, w->place, hm(pairs[k][1], a), hm(pairs[k][0], b));
    }
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i]);
    t->n = 0;
    assert_int_equal(n, ARRAY_LEN(wants));
}

/* ---- live ---- */

static void on_see(void *arg, const struct alert_rule *r, const struct alert_finding *f)
{
    alert_states_see(arg, r, f);
}

static void on_turn(void *arg, const struct booking *h, enum booking_state to)
{
    (void)arg, (void)h, (void)to;
}

static void say(struct live *l, struct node_now *n, int64_t at_ms, uint64_t *procs)
{
    struct proc_fact v[ARRAY_LEN(stays)];
    struct proc_use uses[ARRAY_LEN(stays)];
    struct proc_list list = {.v = v};
    int64_t util[GPUS];
    struct column columns[GPUS];
    static uint64_t last;
    uint64_t now = 0;

    for (size_t i = 0; i < ARRAY_LEN(stays); i++)
        if (stays[i].from_ms <= at_ms && at_ms < stays[i].to_ms) {
            uses[list.n] = (struct proc_use){.proc = (uint16_t)list.n,
                                             .slot = (uint16_t)(stays[i].gpu + 1),
                                             .kind = PROC_COMPUTE,
                                             .mem = 1 << 30,
                                             .sm = -1};
            v[list.n++] = fact_of(&stays[i]);
            now |= 1u << i;
        }
    for (int i = 0; i < GPUS; i++) {
        util[i] = util_at(i, at_ms);
        columns[i] = (struct column){.metric = metrics[M_util].no, .slot = (uint16_t)(i + 1), .v = &util[i]};
    }
    if (now != last || !*procs)
        ++*procs;
    last = now;
    live_procs(l, n, *procs, &list, at_ms);
    struct batch b = {.facts = 1,
                      .procs = *procs,
                      .n_ticks = 1,
                      .at_ms = &at_ms,
                      .n_columns = GPUS,
                      .columns = columns,
                      .n_uses = list.n,
                      .uses = uses};
    live_batch(l, n, &b, 0, at_ms);
}

static void idle_and_bookings_are_told_of_to_the_minute(void **unused)
{
    struct live *l = live_new(&state_rule_default, NULL, NULL);
    struct book *book = book_new();
    struct alert_rules *rules = alert_rules_new();
    struct alert_states *w = alert_states_new(AT(7, 0));
    struct device_fact devices[GPUS];
    struct node_fact f;
    struct notified t = {0};
    uint64_t procs = 0;

    (void)unused;
    facts_init(&f, devices);
    struct node_now *n = live_node(l, NODE, "w1", AT(7, 0));
    live_facts(l, n, 1, &f, AT(7, 0));
    for (size_t i = 0; i < ARRAY_LEN(bookings); i++)
        book_load(book, &bookings[i], AT(7, 0));
    for (int64_t at = AT(7, 0); at < AT(19, 0); at += 5 * SECOND) {
        struct view view;
        if (at % (10 * SECOND) == 0)
            say(l, n, at, &procs);
        live_tick(l, at);
        book_tick(book, at, on_turn, NULL);
        view_of(l, &(struct view_query){.node = NULL}, at, &view);
        struct alert_input s = {.now_ms = at, .view = &view, .live = l, .book = book};
        alert_states_begin(w, at);
        alert_rules_evaluate(rules, &s, on_see, w);
        alert_states_end(w, on_change, &t);
    }
    same_minutes(&t, 0);
    alert_states_free(w);
    alert_rules_free(rules);
    book_free(book);
    live_free(l);
}

/* ---- from kept minutes ---- */

struct fake {                                       /* a store */
    int64_t first_ms, silent_from_ms, silent_to_ms; /* it has samples from first_ms on, except in this period */
    int64_t lost_from_ms, lost_to_ms, maintenance_from_ms;
    const struct node_event *events;
    size_t n_events;
    int stops_left; /* -1: not stopped */
};

static int gpu_of(const char *uuid) /* "GPU-2" */
{
    return uuid[0] ? uuid[4] - '0' : -1;
}

static bool has_sample(const struct fake *k, int64_t at_ms)
{
    return at_ms >= k->first_ms && !(at_ms >= k->silent_from_ms && at_ms < k->silent_to_ms);
}

static int fake_history(struct store *s, const struct bins_query *ask, struct history *ret, struct err *err)
{
    const struct fake *k = (const struct fake *)s;

    (void)err;
    *ret = (struct history){.from_ms = ask->from_ms / ask->step_ms * ask->step_ms,
                            .step_ms = ask->step_ms,
                            .n_series = ask->n_devices * ask->n_metrics,
                            .tier = ask->tier};
    ret->n = (size_t)((ask->to_ms - ret->from_ms + ask->step_ms - 1) / ask->step_ms);
    ret->v = mem_zero(MAX(ret->n_series * ret->n, 1u), sizeof(*ret->v));
    for (size_t d = 0; d < ask->n_devices; d++)
        for (size_t m = 0; m < ask->n_metrics; m++)
            for (size_t i = 0; i < ret->n; i++) {
                struct bin *b = &ret->v[(d * ask->n_metrics + m) * ret->n + i];
                int64_t begin = ret->from_ms + (int64_t)i * ret->step_ms;
                bool util = strcmp(ask->metrics[m], "util") == 0, cpu = strcmp(ask->metrics[m], "cpu") == 0;
                for (int64_t at = begin; at < begin + ret->step_ms && (util || cpu); at += 10 * SECOND) {
                    int64_t v = util ? util_at(gpu_of(ask->devices[d]), at) : 100;
                    if (!has_sample(k, at) ||
                        (util && gpu_of(ask->devices[d]) == 3 && at >= k->lost_from_ms && at < k->lost_to_ms))
                        continue;
                    b->max = MAX(b->max, v);
                    b->sum += v;
                    b->count++;
                    b->last = b->sum / b->count;
                    if (ret->step_ms > MINUTE)
                        break;
                }
            }
    return 0;
}

static void fake_procs(const struct store_each *e)
{
    for (size_t i = 0; i < ARRAY_LEN(stays); i++) {
        char device[16];
        snprintf(device, sizeof(device), "GPU-%d", stays[i].gpu);
        struct proc_span p = {.node = e->node,
                              .device = device,
                              .fact = fact_of(&stays[i]),
                              .first_ms = stays[i].from_ms,
                              .last_ms = stays[i].to_ms - 10 * SECOND,
                              .mem_max = 1 << 30,
                              .ended = true,
                              .sm = -1};
        if (p.last_ms >= e->from_ms)
            e->give.proc(e->arg, &p);
    }
}

static int fake_each(void *arg, const struct store_each *e, struct err *err)
{
    const struct fake *k = arg;

    (void)err;
    if (e->kind == STORE_PROC)
        fake_procs(e);
    for (size_t i = 0; e->kind == STORE_BOOKING && i < ARRAY_LEN(bookings); i++)
        if (booking_overlaps(&bookings[i], e->from_ms, e->to_ms))
            e->give.booking(e->arg, &bookings[i]);
    for (size_t i = k->n_events; e->kind == STORE_EVENT && i-- > 0;)
        if (k->events[i].at_ms >= e->from_ms)
            e->give.event(e->arg, NODE, k->events[i].slot ? "GPU-3" : "", &k->events[i]);
    return 0;
}

static int fake_was(struct store *s, struct history_session *x, const char *node, int64_t at_ms, struct node_at *ret,
                    struct err *err)
{
    const struct fake *k = (const struct fake *)s;
    struct device_fact devices[GPUS];
    struct node_fact f;

    (void)x, (void)node, (void)err;
    facts_init(&f, devices);
    f.n_devices -= at_ms >= k->lost_from_ms && at_ms < k->lost_to_ms;
    *ret = (struct node_at){.name = "w1",
                            .maintenance = k->maintenance_from_ms && at_ms >= k->maintenance_from_ms,
                            .has_fact = true};
    node_fact_copy(&ret->fact, &f);
    return 1;
}

static bool fake_stop(void *arg)
{
    struct fake *k = arg;

    return k->stops_left >= 0 && k->stops_left-- == 0;
}

static struct alert_replay *look_back(struct fake *k, int64_t from_ms, int64_t to_ms)
{
    struct device_fact devices[GPUS];
    struct device_now now[GPUS] = {0};
    struct node_now n = {.key = NODE, .name = "w1", .devices = now, .n_devices = GPUS};
    const struct node_now *nodes[] = {&n};
    struct view v = {.n = 1, .nodes = nodes};
    struct err err = {0};
    struct past_source past = {.store = (struct store *)k,
                               .history = fake_history,
                               .stop = fake_stop,
                               .stop_arg = k,
                               .was = fake_was,
                               .each = fake_each,
                               .arg = k};

    facts_init(&n.fact, devices);
    for (int i = 0; i < GPUS; i++)
        now[i].fact = devices[i];
    n.fact.devices = NULL;
    n.fact.n_devices = 0;
    struct alert_replay *h = alert_replay_new(&(struct alert_replay_params){.view = &v,
                                                                            .rule = &state_rule_default,
                                                                            .rules = alert_rules_new(),
                                                                            .from_ms = from_ms,
                                                                            .to_ms = to_ms});
    if (alert_replay_run(h, &past, &err) < 0)
        fail_msg("%s", err.msg);
    return h;
}

static void hindsight_says_the_same_to_the_minute(void **unused)
{
    struct fake k = {.stops_left = -1};
    struct notified t = {0};

    (void)unused;
    struct alert_replay *h = look_back(&k, AT(7, 0), AT(19, 0));
    struct alert_replay_result said = *alert_replay_result(h);
    for (size_t i = 0; i < said.n; i++)
        told_add(&t, said.v[i]);
    same_minutes(&t, MINUTE);
    assert_int_equal(said.until_ms, AT(19, 0));
    alert_replay_free(h);
}

/* "rule place fired-resolved; ", with "-" if it still fires. */
static const char *found(struct alert_replay *h, struct buf *out)
{
    struct alert_replay_result said = *alert_replay_result(h);
    char a[24], b[24];

    for (size_t i = 0; i < said.n; i++)
        if (strncmp(said.v[i]->rule, "booking", 7) != 0 && strcmp(said.v[i]->place, "w1:0") != 0)
            buf_addf(out, "%s %s %.5s-%.5s; ", said.v[i]->rule, said.v[i]->place, hm(said.v[i]->fired_ms, a),
                     said.v[i]->resolved_ms ? hm(said.v[i]->resolved_ms, b) : "");
    alert_replay_free(h);
    return out->p ? out->p : "";
}

static void what_was_so_before_is_known(void **unused)
{
    struct fake k = {.stops_left = -1};
    AUTO_BUF b = BUF_INIT(4096);

    (void)unused;
    /* ann holds w1:3 without work all day: the alert fired before noon and continues */
    assert_string_equal(found(look_back(&k, AT(12, 0), AT(13, 0)), &b), "gpu-idle w1:3 11:51-; ");
    buf_reset(&b);
    /* ended before the requested period */
    assert_string_equal(found(look_back(&k, AT(21, 0), AT(22, 0)), &b), "");
}

static void nodes_and_gpus_that_are_not_there_are_found(void **unused)
{
    static const struct node_event hung[] =
        {{.at_ms = AT(20, 10), .kind = EVENT_HUNG},
         {.at_ms = AT(20, 30), .kind = EVENT_ANSWERS},
         {.at_ms = AT(20, 40), .kind = EVENT_XID, .code = 79, .slot = 4, .text = "Xid 79"}};
    static const struct node_event lost[] = {{.at_ms = AT(20, 5) + 7000, .kind = EVENT_LOST, .slot = 4}};
    AUTO_BUF b = BUF_INIT(4096);
    struct fake silent = {.stops_left = -1, .silent_from_ms = AT(20, 30), .silent_to_ms = AT(20, 45)};
    struct fake gone = {.stops_left = -1,
                        .lost_from_ms = AT(20, 5),
                        .lost_to_ms = AT(20, 25),
                        .events = lost,
                        .n_events = 1};
    struct fake hangs = {.stops_left = -1, .events = hung, .n_events = 3};
    struct fake fresh = {.stops_left = -1, .first_ms = AT(20, 20)};
    struct fake dead = {.stops_left = -1, .silent_from_ms = AT(10, 0), .silent_to_ms = AT(23, 0)};
    struct fake served = {.stops_left = -1,
                          .silent_from_ms = AT(20, 30),
                          .silent_to_ms = AT(20, 45),
                          .maintenance_from_ms = AT(20, 20)};

    (void)unused;
    assert_string_equal(found(look_back(&silent, AT(20, 0), AT(21, 0)), &b), "node-down w1 20:31-20:46; ");
    buf_reset(&b);
    assert_string_equal(found(look_back(&gone, AT(20, 0), AT(21, 0)), &b), "gpu-lost w1:3 20:06-20:25; ");
    buf_reset(&b);
    assert_string_equal(found(look_back(&hangs, AT(20, 0), AT(22, 0)), &b),
                        "driver-hung w1 20:11-20:30; gpu-xid w1:3 20:40-21:40; ");
    buf_reset(&b);
    assert_string_equal(found(look_back(&fresh, AT(20, 0), AT(21, 0)), &b), ""); /* it did not exist before */
    buf_reset(&b);
    assert_string_equal(found(look_back(&dead, AT(20, 0), AT(21, 0)), &b), "node-down w1 17:51-; ");
    buf_reset(&b);
    assert_string_equal(found(look_back(&served, AT(20, 0), AT(21, 0)), &b), "");
}

static void y2_what_is_stopped_says_how_far_it_came(void **unused)
{
    struct fake k = {.stops_left = 12};

    (void)unused;
    struct alert_replay *h = look_back(&k, AT(7, 0), AT(19, 0));
    struct alert_replay_result said = *alert_replay_result(h);
    assert_true(said.until_ms >= said.from_ms && said.until_ms < said.to_ms);
    alert_replay_free(h);
}

TESTS(cmocka_unit_test(idle_and_bookings_are_told_of_to_the_minute),
      cmocka_unit_test(hindsight_says_the_same_to_the_minute), cmocka_unit_test(what_was_so_before_is_known),
      cmocka_unit_test(nodes_and_gpus_that_are_not_there_are_found),
      cmocka_unit_test(y2_what_is_stopped_says_how_far_it_came))
