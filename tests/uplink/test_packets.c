/* test_packets.c: packets on their way to a hub: what goes into a request, and what an answer means (packets.h). */
#include "test.h"

#include "base/mem.h"
#include "uplink/packets.h"

static struct enclosure *blob(uint64_t id, char c)
{
    struct buf frame = BUF_INIT(64);
    buf_addc(&frame, c);
    return enclosure_new(id, &frame);
}

static void push(struct packets *q, uint64_t number, struct enclosure *facts, struct enclosure *procs)
{
    struct batch_key key = {.run = 1, .number = number};
    struct buf frame = BUF_INIT(64);
    buf_addu(&frame, number);
    struct packet *p = packet_new(&key, 1, facts, procs, &frame);
    packets_push(q, p);
    packet_unref(p);
}

/* What a request would carry: blobs are letters, packets their numbers. */
static void sends(struct packets *q, struct sent_blobs *sent, size_t most, size_t bytes, const char *want, bool all)
{
    AUTO_BUF body = BUF_INIT(1024);
    sent->n = 0;
    assert_int_equal(packets_fill(q, sent, &body, most, bytes), all);
    assert_string_equal(body.p ? body.p : "", want);
}

static void a_blob_goes_once_and_again_when_it_is_lacking(void **unused)
{
    struct packets q = {0};
    struct sent_blobs sent = {0};
    struct answer said = {0}, lacks = {.n_need = 1, .need = {7}};
    struct enclosure *facts = blob(7, 'f'), *old = blob(8, 'a'), *now = blob(9, 'b');
    (void)unused;
    push(&q, 1, facts, old);
    push(&q, 2, facts, old);
    push(&q, 3, facts, now);
    sends(&q, &sent, 9, 1000, "fa12b3", true);
    packets_unsend(&q);
    sends(&q, &sent, 9, 1000, "fa12b3", true); /* the first one was not answered */
    packets_learn(&q, &sent, &said);
    sends(&q, &sent, 9, 1000, "123", true);
    packets_learn(&q, &sent, &lacks);
    sends(&q, &sent, 9, 1000, "f123", true);
    assert_int_equal(q.v[0].tries, 4);
    packets_fini(&q);
    free(sent.v);
    enclosure_unref(facts);
    enclosure_unref(old);
    enclosure_unref(now);
}

static void count_stored(void *arg, const struct waiting_packet *w)
{
    *(uint64_t *)arg += w->p->number;
}

static void only_what_is_named_as_stored_leaves(void **unused)
{
    struct packets q = {0};
    struct sent_blobs sent = {0};
    struct answer a = {.n_stored = 4, .stored = {{1, 2}, {2, 1}, {1, 9}, {1, 2}}};
    uint64_t sum = 0;
    (void)unused;
    for (uint64_t i = 1; i <= 3; i++)
        push(&q, i, NULL, NULL);
    sends(&q, &sent, 2, 1000, "12", false);
    assert_true(q.v[1].sent && !q.v[2].sent);
    assert_int_equal(packets_stored(&q, &a, count_stored, &sum), 1);
    assert_int_equal(sum, 2);
    assert_int_equal(q.n, 2);
    assert_int_equal(q.bytes, 2);
    assert_false(packets_have(&q, 1, 2));
    assert_true(packets_have(&q, 1, 3));
    sends(&q, &sent, 9, 1, "1", false); /* however large, the first one goes */
    packets_fini(&q);
    free(sent.v);
}

static void of_many_blobs_the_newest_are_remembered(void **unused)
{
    struct packets q = {0};
    struct sent_blobs sent = {0};
    struct answer said = {0};
    (void)unused;
    for (uint64_t i = 1; i <= 300; i++) {
        sent.n = 0;
        assert_true(packets_want(&q, &sent, i));
        assert_false(packets_want(&q, &sent, i));
        packets_learn(&q, &sent, &said);
    }
    sent.n = 0;
    assert_false(packets_want(&q, &sent, 0));
    assert_false(packets_want(&q, &sent, 300));
    assert_false(packets_want(&q, &sent, 200));
    assert_true(packets_want(&q, &sent, 1));
    packets_fini(&q);
    free(sent.v);
}

TESTS(cmocka_unit_test(a_blob_goes_once_and_again_when_it_is_lacking),
      cmocka_unit_test(only_what_is_named_as_stored_leaves), cmocka_unit_test(of_many_blobs_the_newest_are_remembered))
