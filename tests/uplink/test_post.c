/* test_post.c: what a relay keeps while its hub is away (D1 of sender.h). */
#include <event2/event.h>

#include "base/mem.h"
#include "uplink/post.h"

#include "test.h"

static void no_hello(void *arg, struct hello *ret)
{
    (void)arg;
    (void)ret;
}

static void no_dropped(void *arg, uint64_t n, const char *why)
{
    (void)arg, (void)n, (void)why;
    fail_msg("told although nobody listens");
}

static void push(struct sender *s, uint64_t number, size_t bytes)
{
    struct batch_key key = {.run = 1, .number = number};
    struct buf frame = BUF_INIT(4u << 20);
    buf_fill(&frame, 'x', bytes);
    struct packet *p = packet_new(&key, 1, NULL, NULL, &frame);
    sender_push(s, p);
    packet_unref(p);
}

static void a_lane_keeps_the_newest_and_counts_what_it_gives_up(void **unused)
{
    static const struct sender_hooks hooks = {.hello = no_hello, .dropped = no_dropped};
    struct event_base *loop = event_base_new();
    struct post_conf conf = {.hub = "http://127.0.0.1:1/", .token = "none"};
    struct post *post = NULL;
    struct sender_stat st;
    struct err err = {0};
    (void)unused;
    assert_int_equal(post_open(&post, loop, &conf, &err), 0);
    struct post_lane *l = lane_new(post, "ssh:gpu01", &hooks, NULL);
    struct sender *s = lane_sender(l);
    for (uint64_t i = 1; i <= SENDER_MAX + 10; i++)
        push(s, i, 100);
    sender_stat(s, &st);
    assert_int_equal(st.packets, SENDER_MAX);
    assert_int_equal(st.bytes, SENDER_MAX * 100);
    assert_int_equal(st.gone, 10);
    for (uint64_t i = 100; i < 110; i++) /* few, but large */
        push(s, i, LANE_BYTES / 4);
    sender_stat(s, &st);
    assert_in_range(st.packets, 1, 4);
    assert_in_range(st.bytes, 1, LANE_BYTES);
    assert_int_equal(st.gone, SENDER_MAX + 20 - st.packets);
    lane_free(l);
    post_close(post);
    event_base_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_lane_keeps_the_newest_and_counts_what_it_gives_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
