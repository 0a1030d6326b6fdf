/* A wire stream in pieces (stream.h), and what becomes of an agent's on its way through a relay (forward.h). */
#include "test.h"

#include <errno.h>

#include "base/rand.h"
#include "uplink/forward.h"

static const struct node_id theirs = {.b = "their-id"}, other = {.b = "other-id"}, ours = {.b = "our-id"};
static const struct batch_key next = {.node = {.b = "our-id"}, .run = 7, .number = 42};

static void put_hello(struct buf *out, const struct node_id *node)
{
    struct hello h = {.node = *node, .run = 99, .sent_ms = 1794737172345, .collect = COLLECT_HUNG};
    mem_copy_str(h.name, sizeof(h.name), "localhost");
    mem_copy_str(h.why, sizeof(h.why), "driver does not answer");
    assert_int_equal(wire_put_hello(out, &h), 0);
}

static uint64_t put_facts(struct buf *out, const struct node_id *node)
{
    struct device_fact d = {.uuid = "GPU-a", .name = "NVIDIA H200", .minor = -1, .mig = -1, .vendor = VENDOR_NVIDIA};
    struct node_fact f = {.name = "localhost", .collector = "nvml", .agent = "0.1.0", .n_devices = 1, .devices = &d};
    uint64_t id = 0;
    assert_int_equal(wire_put_facts(out, node, &f, &id), 0);
    return id;
}

static uint64_t put_procs(struct buf *out, const struct node_id *node)
{
    struct proc_fact p = {.pid = 77, .start_ms = 1794737000000, .user = "raj", .name = "python"};
    struct proc_list l = {.n = 1, .v = &p};
    uint64_t id = 0;
    assert_int_equal(wire_put_procs(out, node, &l, &id), 0);
    return id;
}

static void put_batch(struct buf *out, const struct node_id *node, uint64_t facts, uint64_t procs)
{
    static const int64_t at[] = {1794737171000, 1794737172000}, v[] = {9700, 9800};
    const struct column c = {.metric = metrics[M_util].no, .slot = 1, .v = v};
    const struct proc_use u = {.proc = 0, .slot = 1, .kind = PROC_COMPUTE, .mem = 1 << 20, .sm = -1};
    struct batch b = {.key = {.node = *node, .run = 99, .number = 3},
                      .facts = facts,
                      .procs = procs,
                      .n_ticks = 2,
                      .at_ms = at,
                      .n_columns = 1,
                      .columns = &c,
                      .n_uses = procs ? 1 : 0,
                      .uses = &u};
    struct wire_enc *e = wire_enc_new(3);
    assert_int_equal(wire_put_batch(e, out, &b), 0);
    wire_enc_free(e);
}

/* The frame of an enclosure or a packet, checked as a hub does. */
static void frame_of(const struct buf *b, struct frame *ret)
{
    struct err err = {0};
    if (wire_one(buf_str(b), ret, &err) < 0)
        fail_msg("%s", err.msg);
    assert_memory_equal(&ret->node, &ours, sizeof(ours));
}

static void check_packet(const struct packet *p)
{
    struct wire_dec *dec = wire_dec_new();
    struct node_fact facts = {0};
    struct proc_list procs = {0};
    struct frame f;
    struct batch b;
    frame_of(&p->facts->frame, &f);
    assert_int_equal(f.id, p->facts->id);
    assert_int_equal(wire_facts(&f, &facts, NULL), 0);
    assert_string_equal(facts.name, "gpu01");
    assert_string_equal(facts.collector, "ssh,nvml");
    assert_string_equal(facts.agent, "0.1.0");
    assert_int_equal(facts.n_devices, 1);
    frame_of(&p->procs->frame, &f);
    assert_int_equal(wire_procs(&f, &procs, NULL), 0);
    assert_string_equal(procs.v[0].user, "raj");
    frame_of(&p->frame, &f);
    assert_int_equal(f.facts, p->facts->id);
    assert_int_equal(f.procs, p->procs->id);
    assert_int_equal(wire_batch(dec, &f, &b, NULL), 0);
    assert_int_equal(b.key.run, 7);
    assert_int_equal(b.key.number, 42);
    assert_int_equal(b.n_ticks, 2);
    assert_int_equal(b.columns[0].v[1], 9800);
    assert_int_equal(p->at_ms, 1794737172000);
    node_fact_fini(&facts);
    proc_list_fini(&procs);
    wire_dec_free(dec);
}

static void an_agents_stream_goes_on_under_our_name(void **unused)
{
    static const size_t pieces[] = {1, 7, 64, 100000};
    AUTO_BUF in = BUF_INIT(1u << 20);
    struct wire_dec *dec = wire_dec_new();
    struct forward c;
    (void)unused;
    forward_init(&c, &ours, "gpu01");
    wire_start(&in);
    put_hello(&in, &theirs);
    uint64_t facts = put_facts(&in, &theirs), procs = put_procs(&in, &theirs);
    buf_add(&in, "\x63\x02\0\0\0", 5); /* a frame of a time to come: its checksum is that of 'c' and "xx" */
    buf_u32(&in, crc32c(crc32c(0, "\x63", 1), "xx", 2));
    buf_adds(&in, "xx");
    put_batch(&in, &theirs, facts, procs);
    put_hello(&in, &theirs);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        size_t hellos = 0, packets = 0;
        forward_begin(&c);
        for (size_t at = 0; at < in.len; at += pieces[i]) {
            struct packet *p = NULL;
            struct err err = {0};
            int got;
            forward_add(&c, str_n(in.p + at, MIN(pieces[i], in.len - at)));
            while ((got = forward_next(&c, dec, &next, &p, &err)) > 0) {
                hellos += got == FORWARD_HELLO;
                packets += got == FORWARD_PACKET;
                if (got == FORWARD_PACKET) {
                    check_packet(p);
                    packet_unref(p);
                }
            }
            if (got < 0)
                fail_msg("pieces of %zu: %s", pieces[i], err.msg);
        }
        assert_int_equal(hellos, 2);
        assert_int_equal(packets, 1);
        assert_int_equal(c.hello.collect, COLLECT_HUNG);
        assert_string_equal(c.hello.why, "driver does not answer");
    }
    forward_fini(&c);
    wire_dec_free(dec);
}

static void make_case(int i, struct buf *in)
{
    uint64_t facts;
    if (i != 0 && i != 1)
        wire_start(in);
    switch (i) {
    case 0:
        buf_adds(in, "Segmentation fault");
        break;
    case 1:
        buf_adds(in, "MUST\x02");
        break;
    case 2: /* no HELLO */
        put_facts(in, &theirs);
        break;
    case 3: /* somebody else's */
        put_hello(in, &theirs);
        put_facts(in, &other);
        break;
    case 4: /* facts that never came */
        put_hello(in, &theirs);
        put_batch(in, &theirs, 5, 0);
        break;
    case 5: /* one byte is not what it was */
        put_hello(in, &theirs);
        facts = put_facts(in, &theirs);
        put_batch(in, &theirs, facts, 0);
        in->p[in->len - 1] ^= 1;
        break;
    case 6: /* more than any frame has */
        put_hello(in, &theirs);
        buf_u8(in, FRAME_BATCH);
        buf_u32(in, STREAM_FRAME_MAX + 1);
        buf_u32(in, 0);
        break;
    case 7: /* another node from here on */
        put_hello(in, &theirs);
        put_hello(in, &other);
        break;
    }
}

static void what_no_hub_would_take_ends_the_stream(void **unused)
{
    static const char *const why[] = {"these bytes are not a muster stream",
                                      "the stream has version 2, this program reads version 1",
                                      "it does not start with a HELLO",
                                      "a frame is of another node",
                                      "a batch names facts that did not come before it",
                                      "a frame of type 4 fails its checksum",
                                      "a frame of type 4 wants 4194305 bytes, more than any has",
                                      "a frame is of another node"};
    struct wire_dec *dec = wire_dec_new();
    struct forward c;
    (void)unused;
    forward_init(&c, &ours, "gpu01");
    for (int i = 0; i < (int)ARRAY_LEN(why); i++) {
        AUTO_BUF in = BUF_INIT(1u << 20);
        struct err err = {0};
        struct packet *p = NULL;
        int got;
        make_case(i, &in);
        forward_begin(&c);
        forward_add(&c, buf_str(&in));
        while ((got = forward_next(&c, dec, &next, &p, &err)) > 0)
            assert_int_equal(got, FORWARD_HELLO);
        assert_int_equal(got, -EBADMSG);
        assert_string_equal(err.msg, why[i]);
    }
    forward_fini(&c);
    wire_dec_free(dec);
}

static void half_a_frame_waits_and_memory_is_given_back(void **unused)
{
    AUTO_BUF in = BUF_INIT(8u << 20), big = BUF_INIT(8u << 20);
    struct stream s = {0};
    struct frame f;
    struct err err = {0};
    (void)unused;
    stream_init(&s);
    wire_start(&in);
    put_hello(&in, &theirs);
    stream_add(&s, str_n(in.p, in.len - 1));
    assert_int_equal(stream_next(&s, &f, &err), 0);
    assert_int_equal(stream_next(&s, &f, &err), 0);
    stream_add(&s, str_n(in.p + in.len - 1, 1));
    assert_int_equal(stream_next(&s, &f, &err), 1);
    assert_int_equal(f.type, FRAME_HELLO);
    assert_int_equal(stream_next(&s, &f, &err), 0);
    buf_fill(&big, 'x', 1u << 20); /* of a type that nobody knows */
    buf_reset(&in);
    buf_u8(&in, 99);
    buf_u32(&in, (uint32_t)big.len);
    buf_u32(&in, crc32c(crc32c(0, "\x63", 1), big.p, big.len));
    buf_addstr(&in, buf_str(&big));
    stream_add(&s, buf_str(&in));
    assert_int_equal(stream_next(&s, &f, &err), 0);
    stream_add(&s, STR(""));
    assert_true(s.in.cap <= 65536);
    buf_fill(&big, 'x', 6u << 20); /* nobody asked for what came before: refused, not kept */
    stream_add(&s, buf_str(&big));
    assert_int_equal(stream_next(&s, &f, &err), -EBADMSG);
    stream_fini(&s);
}

TESTS(cmocka_unit_test(an_agents_stream_goes_on_under_our_name),
      cmocka_unit_test(what_no_hub_would_take_ends_the_stream),
      cmocka_unit_test(half_a_frame_waits_and_memory_is_given_back))
