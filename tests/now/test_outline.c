/* test_outline.c: the parts of a node that are not values (now/outline.h). */
#include "test.h"

#include "base/mem.h"
#include "now/outline.h"

static void values_leave_it_and_everything_else_changes_it(void **unused)
{
    struct proc_fact fact = {.pid = 7, .start_ms = 1000};
    struct proc_now proc = {.fact = &fact};
    struct booking_now booked = {.id = 3};
    struct device_now devices[2] = {{.state = DEV_BUSY}, {.state = DEV_FREE, .procs = &proc, .n_procs = 1}};
    struct node_now n = {.name = "dgx1", .devices = devices, .n_devices = 2};
    uint64_t was = node_outline(&n), now;

    (void)unused;
    n.at_ms = n.sample_at_ms = n.now.at_ms = 5;
    n.version = 9;
    n.backlog = 2;
    sample_set(&devices[0].now, M_util, 8700);
    devices[0].at_ms = devices[0].idle_since_ms = 6;
    mem_copy_str(devices[0].reason, sizeof(devices[0].reason), "87 %");
    assert_int_equal(node_outline(&n), was);
#define CHANGES(change)                                                                                                \
    change;                                                                                                            \
    now = node_outline(&n);                                                                                            \
    assert_int_not_equal(now, was);                                                                                    \
    was = now
    CHANGES(devices[1].state = DEV_HELD);
    CHANGES(devices[1].since_ms = 70);
    CHANGES(fact.pid = 8);
    CHANGES(fact.start_ms = 1001);
    CHANGES(devices[1].n_procs = 0);
    CHANGES(devices[0].booking = &booked);
    CHANGES(booked.until_ms = 4);
    CHANGES(devices[0].state = DEV_HUNG);
    CHANGES(mem_copy_str(devices[0].reason, sizeof(devices[0].reason), "the driver does not answer"));
    CHANGES(n.state = NODE_DOWN);
    CHANGES(mem_copy_str(n.reason, sizeof(n.reason), "silent"));
    CHANGES(mem_copy_str(n.name, sizeof(n.name), "dgx2"));
    CHANGES(n.maintenance = true);
    CHANGES(n.n_devices = 1);
}

TESTS(cmocka_unit_test(values_leave_it_and_everything_else_changes_it))
