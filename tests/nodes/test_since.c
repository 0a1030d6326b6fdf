/* Since when devices are in their state, as hubs forward it to each other: a hub that was restarted learns it again. */
#include "test.h"

#include <errno.h>

#include "nodes/since.h"

#define T0 1700000000000ll

static struct node_now *add_node(struct live *l, int64_t at_ms)
{
    struct device_fact gpus[] = {{.uuid = "GPU-a", .index = 0}, {.uuid = "GPU-b", .index = 1}};
    struct node_fact facts = {.n_devices = ARRAY_LEN(gpus), .devices = gpus};
    struct node_now *n = live_node(l, "key", "dgx1", at_ms);

    live_facts(l, n, 7, &facts, at_ms);
    live_tick(l, at_ms);
    return n;
}

struct pair { /* the same node at two hubs */
    struct live *old, *new;
    struct node_now *there, *here;
};

static struct pair two_hubs(void)
{
    struct pair p = {.old = live_new(NULL, NULL, NULL), .new = live_new(NULL, NULL, NULL)};

    p.there = add_node(p.old, T0);
    p.here = add_node(p.new, T0 + 60000); /* restarted */
    assert_int_equal(p.there->state, p.here->state);
    return p;
}

static void end_pair(struct pair *p)
{
    live_free(p->old);
    live_free(p->new);
}

static int forward(const struct node_now *from, bool takes, struct live *to, struct node_now *n)
{
    AUTO_BUF b = BUF_INIT(4096);

    assert_int_equal(since_put(&b, from, takes ? SINCE_TAKES : 0), 0);
    assert_true(since_is(buf_str(&b)));
    return since_show(to, n, buf_str(&b), false);
}

static void the_earlier_time_counts_at_both_hubs(void **unused)
{
    struct pair p = two_hubs();
    (void)unused;

    assert_int_equal(forward(p.here, true, p.old, p.there), 1); /* it is known better there */
    assert_int_equal(forward(p.there, false, p.new, p.here), 0);
    assert_int_equal(p.here->since_ms, p.there->since_ms);
    for (size_t i = 0; i < p.here->n_devices; i++)
        assert_int_equal(p.here->devices[i].since_ms, p.there->devices[i].since_ms);
    assert_int_equal(forward(p.here, true, p.old, p.there), 0);
    end_pair(&p);
}

static void without_work_since_counts_as_the_hub_of_the_node_has_it(void **unused)
{
    struct pair p = two_hubs();
    (void)unused;

    p.there->devices[1].idle_since_ms = T0 + 90000;
    forward(p.there, false, p.new, p.here);
    assert_int_equal(p.here->devices[1].idle_since_ms, 0);
    forward(p.there, true, p.new, p.here);
    assert_int_equal(p.here->devices[1].idle_since_ms, T0 + 90000);
    end_pair(&p);
}

/* A hub that was restarted has the moment out of the minute tier. */
static void the_exact_moment_counts_at_both_hubs(void **unused)
{
    struct pair p = two_hubs();
    int64_t exact_ms = T0 / 60000 * 60000 + 22727;
    struct live_before before = {.known_ms = T0 + 50000, .idle_ms = exact_ms - 22727};
    (void)unused;

    p.there->devices[1].idle_since_ms = exact_ms;
    p.here->devices[1].idle_since_ms = exact_ms - 22727;
    assert_int_equal(forward(p.here, true, p.old, p.there), 1); /* it is known better there */
    assert_int_equal(p.there->devices[1].idle_since_ms, exact_ms);
    forward(p.there, false, p.new, p.here);
    assert_int_equal(p.here->devices[1].idle_since_ms, exact_ms);
    live_before(p.new, p.here, 1, &before, T0 + 60000); /* what it read itself comes late */
    assert_int_equal(p.here->devices[1].idle_since_ms, exact_ms);
    before.idle_ms -= 60000;
    live_before(p.new, p.here, 1, &before, T0 + 60000);
    assert_int_equal(p.here->devices[1].idle_since_ms, before.idle_ms);
    end_pair(&p);
}

/* Of two exact times without work the same one counts at both hubs, whatever the order of the messages. */
static void two_times_without_work_end_as_one(void **unused)
{
    static const struct {
        int64_t there_ms, here_ms, want_ms;
        bool there_work, here_work;
    } cases[] = {
        {9814, 15113, 9814, false, false}, {15113, 9814, 9814, false, false}, {9814, 15113, 15113, true, true},
        {15113, 9814, 15113, true, true},  {9814, 15113, 9814, true, false},  {15113, 9814, 15113, true, false},
        {9814, 15113, 15113, false, true},
    };
    (void)unused;

    for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
        struct pair p = two_hubs();
        bool first = i % 2, takes = i % 3;
        print_message("case %zu\n", i / 2);
        const struct live_since there = {.idle_ms = T0 + cases[i / 2].there_ms,
                                         .work = cases[i / 2].there_work,
                                         .better = true};
        const struct live_since here = {.idle_ms = T0 + cases[i / 2].here_ms,
                                        .work = cases[i / 2].here_work,
                                        .better = true};
        live_since(p.old, p.there, &p.there->devices[1], &there);
        live_since(p.new, p.here, &p.here->devices[1], &here);
        for (int k = 0; k < 2; k++)
            if ((k == 0) == first)
                forward(p.there, takes, p.new, p.here);
            else
                forward(p.here, takes, p.old, p.there);
        assert_int_equal(p.there->devices[1].idle_since_ms, T0 + cases[i / 2].want_ms);
        assert_int_equal(p.here->devices[1].idle_since_ms, T0 + cases[i / 2].want_ms);
        end_pair(&p);
    }
}

/* A hub that does not take the node's batches may receive their newest samples only. */
static void the_mean_of_the_last_minute_is_that_of_the_hub_of_the_node(void **unused)
{
    struct pair p = two_hubs();
    (void)unused;

    p.there->devices[1].util_mean = 9967;
    p.here->devices[1].util_mean = 9973;
    forward(p.there, false, p.new, p.here);
    assert_int_equal(p.here->devices[1].util_mean, 9973);
    forward(p.there, true, p.new, p.here);
    assert_int_equal(p.here->devices[1].util_mean, 9967);
    end_pair(&p);
}

static void another_state_changes_nothing(void **unused)
{
    struct pair p = two_hubs();
    int64_t since_ms = p.here->devices[0].since_ms;
    (void)unused;

    p.there->devices[0].state = p.here->devices[0].state == DEV_FREE ? DEV_BUSY : DEV_FREE;
    forward(p.there, true, p.new, p.here);
    assert_int_equal(p.here->devices[0].since_ms, since_ms);
    end_pair(&p);
}

static void what_is_cut_is_refused(void **unused)
{
    struct pair p = two_hubs();
    AUTO_BUF b = BUF_INIT(4096);
    (void)unused;

    assert_int_equal(since_put(&b, p.there, SINCE_TAKES), 0);
    for (size_t n = 1; n < b.len; n++)
        assert_int_equal(since_show(p.new, p.here, str_n(b.p, n), false), -EBADMSG);
    end_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_earlier_time_counts_at_both_hubs),
        cmocka_unit_test(without_work_since_counts_as_the_hub_of_the_node_has_it),
        cmocka_unit_test(the_exact_moment_counts_at_both_hubs),
        cmocka_unit_test(two_times_without_work_end_as_one),
        cmocka_unit_test(the_mean_of_the_last_minute_is_that_of_the_hub_of_the_node),
        cmocka_unit_test(another_state_changes_nothing),
        cmocka_unit_test(what_is_cut_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
