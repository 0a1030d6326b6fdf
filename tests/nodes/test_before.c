/* What a hub that starts reads of the time before: a bounded part at a time, and nobody who asks waits behind it. */
#include "test.h"

#include <event2/event.h>

#include "base/clock.h"
#include "base/workers.h"
#include "nodes/before.h"
#include "now/live.h"
#include "whole_hub.h"

#define NODES 200
#define SLICE 64 /* of before.c */

/* A node with one idle GPU, of which a minute is stored. */
static void put_node(struct hub *h, unsigned i)
{
    int64_t now_ms = clock_wall_ms(), at_ms = now_ms - 2 * MINUTE_MS, util = 0;
    struct device_fact d = {.minor = -1, .mig = -1, .vendor = VENDOR_NVIDIA};
    struct node_fact f = {.collector = "nvml", .agent = "0", .n_devices = 1, .devices = &d};
    struct node_id id = {{(uint8_t)i, (uint8_t)(i >> 8)}};
    char key[NODE_KEY_MAX];
    AUTO_BUF facts = BUF_INIT(4096), bytes = BUF_INIT(4096);
    const struct column c = {.metric = metrics[M_util].no, .slot = 1, .v = &util};
    struct batch b = {.key = {.node = id, .run = 1, .number = 1},
                      .n_ticks = 1,
                      .at_ms = &at_ms,
                      .n_columns = 1,
                      .columns = &c};

    node_id_text(&id, key);
    snprintf(f.name, sizeof(f.name), "n%u", i);
    snprintf(d.uuid, sizeof(d.uuid), "GPU-%u", i);
    assert_int_equal(wire_put_facts(&facts, &id, &f, &b.facts), 0);
    assert_int_equal(wire_put_batch(h->enc, &bytes, &b), 0);
    store_put_blob(h->store, key, BLOB_FACTS, b.facts, buf_str(&facts));
    store_append(h->store,
                 &(struct store_batch){.node = key,
                                       .run = 1,
                                       .number = 1,
                                       .facts = b.facts,
                                       .at_ms = at_ms,
                                       .bytes = buf_str(&bytes)},
                 1, NULL, NULL);
    live_facts(h->live, live_node(h->live, key, f.name, now_ms), b.facts, &f, now_ms);
}

static size_t count_told(const struct hub *h)
{
    size_t n, told = 0;
    const struct node_now *const *v = live_nodes(h->live, false, &n);

    for (size_t i = 0; i < n; i++)
        told += v[i]->devices[0].idle_since_ms > 0;
    return told;
}

static void the_last_day_is_read_and_judged_some_nodes_at_a_time(void **unused)
{
    struct hub *h = whole_hub_open("");
    struct err err = {0};
    size_t told = 0;

    (void)unused;
    assert_int_equal(work_busy(h->work), 0); /* nothing of what a start reads back */
    for (unsigned i = 0; i < NODES; i++)
        put_node(h, i);
    assert_int_equal(store_flush(h->store, &err), 0);
    assert_int_equal(count_told(h), 0);
    before_read(h);
    assert_int_equal(work_busy(h->work), 0);
    while (told < NODES) {
        event_base_loop(h->loop, EVLOOP_ONCE);
        size_t now = count_told(h);
        assert_in_range(now - told, 0, SLICE);
        told = now;
    }
    whole_hub_close(h);
}

static void a_hub_may_end_while_it_reads(void **unused)
{
    struct hub *h = whole_hub_open("");

    (void)unused;
    for (unsigned i = 0; i < NODES; i++)
        put_node(h, i);
    before_read(h);
    whole_hub_close(h);
}

TESTS(cmocka_unit_test(the_last_day_is_read_and_judged_some_nodes_at_a_time),
      cmocka_unit_test(a_hub_may_end_while_it_reads))
