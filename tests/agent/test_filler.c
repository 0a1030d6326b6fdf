/* What the collector says becomes batches that can be read with the facts and lists they name. */
#include "agent/filler.h"

#include "base/clock.h"
#include "test.h"

#define T0 1700000000000ll

struct seen {
    size_t n;
    struct {
        uint64_t number, facts, procs;
        size_t ticks, uses, events, devices, listed;
        int64_t at_ms, busy;
        bool node, device;
    } v[64];
};

static void take(void *arg, const struct filled *f)
{
    struct seen *s = arg;
    const struct batch *b = &f->batch;

    assert_true(s->n < ARRAY_LEN(s->v));
    s->v[s->n].number = b->key.number;
    s->v[s->n].facts = b->facts;
    s->v[s->n].procs = b->procs;
    s->v[s->n].ticks = b->n_ticks;
    s->v[s->n].uses = b->n_uses;
    s->v[s->n].events = b->n_events;
    s->v[s->n].devices = f->node->n_devices;
    s->v[s->n].listed = f->list->n;
    s->v[s->n].at_ms = f->at_ms;
    s->v[s->n].busy = -1;
    for (size_t i = 0; i < b->n_columns; i++) {
        const struct column *c = &b->columns[i];
        assert_true(c->slot <= f->node->n_devices); /* F1 */
        s->v[s->n].node |= c->slot == 0;
        s->v[s->n].device |= c->slot > 0;
        if (c->metric == metrics[M_busy].no)
            s->v[s->n].busy = c->v[b->n_ticks - 1];
    }
    for (size_t i = 0; i < b->n_uses; i++)
        assert_true(b->uses[i].proc < f->list->n && b->uses[i].slot <= f->node->n_devices); /* F1 */
    assert_int_equal(b->facts, f->facts->id);
    assert_int_equal(b->procs, f->procs ? f->procs->id : 0);
    s->n++;
}

struct rig {
    struct seen seen;
    struct host *host;
    struct filler *f;
    struct child_msg m;
    struct device_fact devices[4];
    struct proc_fact procs[4];
    struct sample samples[5];
    struct proc_use uses[4];
};

static int rig_up(void **state)
{
    struct rig *r = mem_zero(1, sizeof(*r));
    struct node_id id = {{1}};

    clock_set_for_test(T0);
    r->host = host_new("/proc");
    r->f = filler_new(&id, 42, "node1", 1000, r->host, take, &r->seen);
    for (int i = 0; i < 4; i++) {
        snprintf(r->devices[i].uuid, UUID_MAX, "GPU-%d", i);
        r->devices[i].mig = -1;
        r->procs[i] = (struct proc_fact){.pid = 100 + i, .start_ms = 1, .uid = 0};
        r->uses[i] = (struct proc_use){.proc = (uint16_t)i, .slot = 1, .kind = PROC_COMPUTE, .mem = 1, .sm = -1};
    }
    *state = r;
    return 0;
}

static int rig_down(void **state)
{
    struct rig *r = *state;

    filler_free(r->f);
    host_free(r->host);
    free(r);
    clock_set_for_test(-1);
    return 0;
}

static void say_facts(struct rig *r, size_t n, int64_t mono)
{
    r->m = (struct child_msg){.type = CHILD_FACTS, .facts = {.n_devices = n, .devices = r->devices, .driver = "580"}};
    filler_msg(r->f, &r->m, mono);
}

static void say_procs(struct rig *r, size_t n, int64_t mono)
{
    r->m = (struct child_msg){.type = CHILD_PROCS, .procs = {n, r->procs}, .procs_complete = true};
    filler_msg(r->f, &r->m, mono);
}

/* Ticks of `n` devices, the first of which counts busy; uses of the first n_uses processes, or what was said before. */
static void say_tick(struct rig *r, int64_t mono, size_t n, int64_t busy, int n_uses)
{
    clock_set_for_test(T0 + mono); /* the host looks at it, too */
    memset(r->samples, 0, sizeof(r->samples));
    for (size_t i = 1; i <= n; i++)
        sample_set(&r->samples[i], M_util, 100);
    if (busy >= 0)
        sample_set(&r->samples[1], M_busy, busy);
    r->m =
        (struct child_msg){.type = CHILD_TICK, .tick = {.at_ms = T0 + mono, .n_slots = n + 1, .samples = r->samples}};
    if (n_uses >= 0) {
        r->m.tick.uses = r->uses;
        r->m.tick.n_uses = (size_t)n_uses;
        r->m.tick.uses_changed = true;
    }
    filler_msg(r->f, &r->m, mono);
}

static void ticks_become_numbered_batches(void **state)
{
    struct rig *r = *state;

    filler_flush(r->f); /* nothing there: no batch */
    say_facts(r, 2, 0);
    for (int t = 1; t <= 10; t++) {
        say_tick(r, t * 1000, 2, -1, -1);
        if (t % 5 == 0)
            filler_flush(r->f);
    }
    assert_int_equal(r->seen.n, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(r->seen.v[i].number, i + 1);
        assert_int_equal(r->seen.v[i].ticks, 5);
        assert_true(r->seen.v[i].node && r->seen.v[i].device);
        assert_int_equal(r->seen.v[i].at_ms, T0 + ((int64_t)i + 1) * 5000);
    }
}

static void f1_new_facts_close_the_batch_and_the_same_ones_do_not(void **state)
{
    struct rig *r = *state;

    say_facts(r, 2, 0);
    say_tick(r, 1000, 2, -1, -1);
    say_facts(r, 2, 1500);
    say_tick(r, 2000, 2, -1, -1);
    assert_int_equal(r->seen.n, 0);
    say_facts(r, 1, 2500);
    assert_int_equal(r->seen.n, 1);
    assert_int_equal(r->seen.v[0].devices, 2);
    say_tick(r, 3000, 1, -1, -1);
    filler_flush(r->f);
    assert_int_equal(r->seen.n, 2);
    assert_int_equal(r->seen.v[1].devices, 1);
    assert_int_not_equal(r->seen.v[0].facts, r->seen.v[1].facts);
}

static void f1_uses_belong_to_the_list_they_came_with(void **state)
{
    struct rig *r = *state;

    say_facts(r, 2, 0);
    say_procs(r, 3, 0);
    say_tick(r, 1000, 2, -1, 3);
    say_tick(r, 2000, 2, -1, -1);
    say_procs(r, 1, 2500); /* the batch is old enough: it closes with the processes that were there */
    assert_int_equal(r->seen.n, 1);
    assert_int_equal(r->seen.v[0].uses, 3);
    assert_int_equal(r->seen.v[0].listed, 3);
    say_tick(r, 3000, 2, -1, 1);
    say_procs(r, 2, 3200); /* too soon to close: the newer list stands for both */
    assert_int_equal(r->seen.n, 1);
    say_tick(r, 4000, 2, -1, 2);
    filler_flush(r->f);
    assert_int_equal(r->seen.v[1].uses, 2);
    assert_int_equal(r->seen.v[1].listed, 2);
    say_tick(r, 5000, 2, -1, -1); /* not said again, and still so */
    filler_flush(r->f);
    assert_int_equal(r->seen.v[2].uses, 2);
    filler_restart(r->f); /* a new collector: nobody knows until it says */
    say_tick(r, 6000, 2, -1, -1);
    filler_flush(r->f);
    assert_int_equal(r->seen.v[3].uses, 0);
}

static void f1_ticks_with_facts_nobody_can_read_are_left_out(void **state)
{
    struct rig *r = *state;

    say_facts(r, 1, 0);
    memcpy(r->devices[1].uuid, r->devices[0].uuid, UUID_MAX); /* twice the same: the wire refuses it */
    say_facts(r, 2, 500);
    say_tick(r, 1000, 2, -1, -1);
    filler_flush(r->f);
    assert_int_equal(r->seen.n, 0);
    snprintf(r->devices[1].uuid, UUID_MAX, "GPU-1");
    say_facts(r, 2, 1500);
    say_tick(r, 2000, 2, -1, -1);
    filler_flush(r->f);
    assert_int_equal(r->seen.n, 1);
}

static void f2_busy_goes_on_over_a_new_collector(void **state)
{
    struct rig *r = *state;

    say_facts(r, 1, 0);
    say_tick(r, 1000, 1, 900, -1);
    filler_restart(r->f);
    say_facts(r, 1, 1500);
    say_tick(r, 2000, 1, 50, -1);
    filler_flush(r->f);
    assert_int_equal(r->seen.v[0].busy, 950);
}

static void f3_node_metrics_go_on_while_the_collector_is_silent(void **state)
{
    struct rig *r = *state;

    say_facts(r, 1, 0);
    say_tick(r, 1000, 1, -1, -1);
    filler_beat(r->f, T0 + 2000, 2000); /* the collector is only just late */
    filler_flush(r->f);
    assert_int_equal(r->seen.v[0].ticks, 1);
    for (int t = 3; t <= 7; t++) {
        clock_set_for_test(T0 + t * 1000);
        filler_beat(r->f, T0 + t * 1000, t * 1000);
    }
    filler_flush(r->f);
    assert_int_equal(r->seen.v[1].ticks, 5);
    assert_true(r->seen.v[1].node);
    assert_false(r->seen.v[1].device);
}

static void f4_a_long_batch_closes_by_itself(void **state)
{
    struct rig *r = *state;

    say_facts(r, 4, 0);
    for (int t = 1; t <= TICKS_MAX + 1; t++)
        say_tick(r, t * 100, 4, -1, -1);
    assert_int_equal(r->seen.n, 1);
    assert_int_equal(r->seen.v[0].ticks, TICKS_MAX);
}

static void events_travel_without_ticks_and_a_flood_is_cut(void **state)
{
    struct rig *r = *state;

    filler_event(r->f, EVENT_START, T0, 0, "hello");
    filler_flush(r->f);
    assert_int_equal(r->seen.n, 1);
    assert_int_equal(r->seen.v[0].events, 1);
    assert_int_equal(r->seen.v[0].at_ms, T0);
    for (int i = 0; i < 1000; i++)
        filler_event(r->f, EVENT_XID, T0 + i, 79, "");
    assert_true(r->seen.n >= 4);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_up, rig_down)
TESTS(TEST(ticks_become_numbered_batches), TEST(f1_new_facts_close_the_batch_and_the_same_ones_do_not),
      TEST(f1_uses_belong_to_the_list_they_came_with), TEST(f1_ticks_with_facts_nobody_can_read_are_left_out),
      TEST(f2_busy_goes_on_over_a_new_collector), TEST(f3_node_metrics_go_on_while_the_collector_is_silent),
      TEST(f4_a_long_batch_closes_by_itself), TEST(events_travel_without_ticks_and_a_flood_is_cut))
