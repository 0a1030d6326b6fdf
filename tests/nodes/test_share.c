/* What hubs of one store tell each other: the bytes, and that what another hub took is shown here and stored there. */
#include "test.h"

#include <event2/event.h>

#include "base/clock.h"
#include "nodes/feature.h"
#include "nodes/share.h"
#include "nodes/since.h"
#include "now/live.h"
#include "whole_hub.h"

struct sender { /* a node with one GPU, as another hub has it */
    struct node_id id;
    char key[NODE_KEY_MAX];
    uint64_t number, facts_id;
    struct buf hello, facts, batch;
};

static void sender_init(struct sender *s, uint8_t id)
{
    struct device_fact d = {.minor = -1, .mig = -1, .vendor = VENDOR_NVIDIA};
    struct node_fact f = {.collector = "nvml", .agent = "0", .n_devices = 1, .devices = &d};
    struct hello hello = {.node.b = {id}, .run = 1, .sent_ms = clock_wall_ms(), .collect = COLLECT_OK};

    *s = (struct sender){.id.b = {id}, .hello = BUF_INIT(4096), .facts = BUF_INIT(4096), .batch = BUF_INIT(4096)};
    node_id_text(&s->id, s->key);
    snprintf(f.name, sizeof(f.name), "n%u", id);
    mem_copy_str(hello.name, sizeof(hello.name), f.name);
    snprintf(d.uuid, sizeof(d.uuid), "GPU-%u", id);
    assert_int_equal(wire_put_hello(&s->hello, &hello), 0);
    assert_int_equal(wire_put_facts(&s->facts, &s->id, &f, &s->facts_id), 0);
}

static void sender_fini(struct sender *s)
{
    buf_fini(&s->hello);
    buf_fini(&s->facts);
    buf_fini(&s->batch);
}

/* Its next batch, alone or with its facts, as a message. */
static void say(struct hub *h, struct sender *s, int64_t util, bool facts, struct buf *out)
{
    int64_t at_ms = clock_wall_ms() - 10000 + (int64_t)s->number * 1000;
    const struct column c = {.metric = metrics[M_util].no, .slot = 1, .v = &util};
    struct batch b = {.key = {.node = s->id, .run = 1, .number = ++s->number},
                      .facts = s->facts_id,
                      .n_ticks = 1,
                      .at_ms = &at_ms,
                      .n_columns = 1,
                      .columns = &c};
    struct hub_share t = {.key = str_of(s->key),
                          .address = STR("192.0.2.7"),
                          .n = 1,
                          .v = {{.whole = buf_str(&s->hello)}}};

    buf_reset(&s->batch);
    assert_int_equal(wire_put_batch(h->enc, &s->batch, &b), 0);
    if (facts)
        t.v[t.n++] = (struct share_frame){.whole = buf_str(&s->facts)};
    t.v[t.n++] = (struct share_frame){.facts = s->facts_id, .whole = buf_str(&s->batch)};
    buf_reset(out);
    share_start(out);
    assert_int_equal(share_put(out, &t), 0);
}

static int hear(struct hub *h, struct str body)
{
    struct request rq = {.body = body, .now_ms = clock_wall_ms()};
    struct reply rp = {0};

    assert_int_equal(post_shared(&h->api, &rq, &rp), REPLY_NOW);
    int status = rp.status ? rp.status : 200;
    reply_fini(&rp);
    return status;
}

/* As when its batch was taken. */
static void tell(struct hub *h, const struct sender *s, const struct store_batch *b, const struct batch *decoded,
                 bool events, int64_t now_ms)
{
    nodes_share(h,
                &(struct ingest_request){.key = s->key,
                                         .address = "192.0.2.7",
                                         .hello = buf_str(&s->hello),
                                         .n_frames = 1,
                                         .frames = &(struct frame){.type = FRAME_BATCH},
                                         .n_batches = 1,
                                         .batches = b,
                                         .peer = peers_find(h->peers, s->key),
                                         .n = live_find(h->live, s->key),
                                         .events = events,
                                         .batch = decoded},
                now_ms);
}

static int64_t util_of(const struct hub *h, const struct sender *s)
{
    const struct node_now *n = live_find(h->live, s->key);
    return n && n->n_devices ? n->devices[0].now.v[M_util] : -1;
}

static void count(void *arg, UNUSED const struct store_node *n)
{
    ++*(size_t *)arg;
}

static void it_is_shown_and_not_stored(void **unused)
{
    struct hub *h = whole_hub_open("");
    struct sender s;
    struct store_stat st;
    AUTO_BUF out = BUF_INIT(65536);
    size_t nodes = 0;

    (void)unused;
    sender_init(&s, 7);
    say(h, &s, 4200, true, &out);
    assert_int_equal(hear(h, buf_str(&out)), 200);
    assert_int_equal(util_of(h, &s), 4200);
    assert_string_equal(live_find(h->live, s.key)->address, "192.0.2.7");
    assert_int_equal(hear(h, buf_str(&out)), 200); /* told twice */
    say(h, &s, 4300, false, &out);
    assert_int_equal(hear(h, buf_str(&out)), 200);
    assert_int_equal(util_of(h, &s), 4300);
    assert_int_equal(store_flush(h->store, NULL), 0);
    store_stat(h->store, &st);
    assert_int_equal(st.batches, 0);
    assert_int_equal(store_each(h->store, EACH_NODE(count, &nodes), NULL), 0);
    whole_hub_reads++;
    assert_int_equal(nodes, 0);
    assert_false(h->shows);
    sender_fini(&s);
    whole_hub_close(h);
}

static void facts_that_did_not_come_along_are_read_from_the_store(void **unused)
{
    struct hub *h = whole_hub_open("");
    struct sender s;
    AUTO_BUF out = BUF_INIT(65536);

    (void)unused;
    sender_init(&s, 9);
    store_put_blob(h->store, s.key, BLOB_FACTS, s.facts_id, buf_str(&s.facts)); /* by the other hub */
    assert_int_equal(store_flush(h->store, NULL), 0);
    say(h, &s, 1000, false, &out);
    assert_int_equal(hear(h, buf_str(&out)), 200);
    assert_int_equal(util_of(h, &s), -1);
    while (live_find(h->live, s.key)->n_devices == 0)
        event_base_loop(h->loop, EVLOOP_ONCE);
    say(h, &s, 1100, false, &out);
    assert_int_equal(hear(h, buf_str(&out)), 200);
    assert_int_equal(util_of(h, &s), 1100);
    sender_fini(&s);
    whole_hub_close(h);
}

static void what_is_cut_or_no_message_is_refused(void **unused)
{
    struct hub *h = whole_hub_open("");
    struct sender s;
    AUTO_BUF out = BUF_INIT(65536);

    (void)unused;
    sender_init(&s, 3);
    say(h, &s, 1, true, &out);
    for (size_t n = 0; n < out.len; n++)
        assert_int_equal(hear(h, str_n(out.p, n)), n == 5 ? 200 : 400); /* 5: a message without anything */
    out.p[4]++;
    assert_int_equal(hear(h, buf_str(&out)), 400);
    sender_fini(&s);
    whole_hub_close(h);
}

static void what_was_taken_is_what_is_told(void **unused)
{
    struct hub *h = whole_hub_open("");
    struct sender s;
    struct hub_share t;
    struct err err = {0};
    AUTO_BUF out = BUF_INIT(65536), again = {0};

    (void)unused;
    sender_init(&s, 5);
    say(h, &s, 1, true, &out);
    assert_int_equal(hear(h, buf_str(&out)), 200);
    struct store_batch b = {.node = s.key, .facts = s.facts_id, .shift_ms = -250, .bytes = buf_str(&s.batch)};
    share_enable(h, true);
    tell(h, &s, &b, NULL, false, 1000);
    nodes_take_shared(h, false, &again);
    struct rd r = rd_of(again.p, again.len);
    assert_int_equal(share_check_start(&r, &err), 0);
    assert_int_equal(share_next(&r, &t, &err), 1);
    assert_true(str_eq(t.key, s.key));
    assert_int_equal(t.n, 3); /* the hello, the batch, since when */
    assert_true(since_is(t.v[2].whole));
    assert_int_equal(t.v[1].facts, s.facts_id);
    assert_int_equal(t.v[1].shift_ms, -250);
    assert_true(str_eq_str(t.v[1].whole, buf_str(&s.batch)));
    assert_true(since_is(t.v[2].whole));
    assert_int_equal(share_next(&r, &t, &err), 0);
    buf_fini(&again);
    nodes_take_shared(h, false, &again);
    assert_int_equal(again.len, 0);
    sender_fini(&s);
    whole_hub_close(h);
}

static bool told(struct hub *h, bool all)
{
    AUTO_BUF out = {0};

    nodes_take_shared(h, all, &out);
    return out.len > 0;
}

static void where_nobody_looks_values_alone_are_told_with_every_second_batch(void **unused)
{
    struct hub *h = whole_hub_open("");
    struct sender s;
    AUTO_BUF out = BUF_INIT(65536);
    int64_t at_ms = clock_wall_ms();

    (void)unused;
    sender_init(&s, 5);
    say(h, &s, 1, true, &out);
    assert_int_equal(hear(h, buf_str(&out)), 200);
    struct store_batch b = {.node = s.key, .facts = s.facts_id, .at_ms = at_ms, .bytes = buf_str(&s.batch)};
    share_enable(h, true);
    static const struct {
        int64_t after_ms; /* of the one before */
        bool events, state, all, want;
    } rows[] = {{0, false, false, false, true},      {5000, false, false, false, false},
                {5000, false, false, false, true},   {5000, true, false, false, true}, /* what happened is at once */
                {1000, false, true, false, true},    {1000, false, false, true, false},
                {-60000, false, false, false, true}, /* the clock was set back */
                {1000, false, false, false, false}};
    struct node_now *n = live_find(h->live, s.key);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_message("row %zu\n", i);
        at_ms += rows[i].after_ms;
        n->devices[0].state = rows[i].state ? DEV_BUSY : n->devices[0].state;
        h->tells_all = rows[i].all;
        tell(h, &s, &b, NULL, rows[i].events, at_ms);
        assert_int_equal(told(h, false), rows[i].want);
        assert_int_equal(told(h, true), rows[i].all);
    }
    h->tells_all = false;
    b.at_ms -= 3600000; /* it came late: runs are made of it */
    tell(h, &s, &b, NULL, false, at_ms + 1000);
    assert_true(told(h, false));
    sender_fini(&s);
    whole_hub_close(h);
}

static void what_is_told_where_nobody_looks_is_shown(void **unused)
{
    struct hub *h = whole_hub_open("");
    struct sender s;
    struct frame f;
    struct batch decoded;
    AUTO_BUF out = BUF_INIT(65536), told = {0};

    (void)unused;
    sender_init(&s, 5);
    say(h, &s, 1, true, &out);
    assert_int_equal(hear(h, buf_str(&out)), 200);
    say(h, &s, 4400, false, &out);
    struct store_batch b = {.node = s.key, .facts = s.facts_id, .bytes = buf_str(&s.batch)};
    assert_int_equal(wire_one(buf_str(&s.batch), &f, NULL), 0);
    assert_int_equal(wire_batch(h->dec, &f, &decoded, NULL), 0);
    share_enable(h, true);
    tell(h, &s, &b, &decoded, false, clock_wall_ms());
    nodes_take_shared(h, false, &told);
    assert_null(memmem(told.p, told.len, s.batch.p, s.batch.len)); /* not the batch as it came */
    assert_int_equal(hear(h, buf_str(&told)), 200);
    assert_int_equal(util_of(h, &s), 4400);
    sender_fini(&s);
    whole_hub_close(h);
}

TESTS(cmocka_unit_test(it_is_shown_and_not_stored),
      cmocka_unit_test(facts_that_did_not_come_along_are_read_from_the_store),
      cmocka_unit_test(what_is_cut_or_no_message_is_refused), cmocka_unit_test(what_was_taken_is_what_is_told),
      cmocka_unit_test(what_is_told_where_nobody_looks_is_shown),
      cmocka_unit_test(where_nobody_looks_values_alone_are_told_with_every_second_batch))
