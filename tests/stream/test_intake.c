/* What another hub's stream says becomes nodes, whatever it is cut into. */
#include "test.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "stream/intake.h"

#define NODE(id, state)                                                                                                \
    "{\"id\":\"" id "\",\"name\":\"" id "\",\"state\":\"" state "\",\"mood\":1,\"metrics\":{},\"devices\":[]}"
#define EVENT(kind, data) "event: " kind "\ndata: " data "\n\n"
#define BEGIN             EVENT("begin", "{\"at\":50000,\"demo\":true,\"muster\":\"9\"}")
#define WHOLE             EVENT("whole", "{}")
#define EVENT_BYTES       4096

static int take_all(struct intake *in, const char *text, size_t step, struct err *err)
{
    int r = 0;

    intake_reset(in, EVENT_BYTES);
    for (size_t at = 0; r == 0 && at < strlen(text); at += step)
        r = intake_take(in, str_n(text + at, MIN(step, strlen(text) - at)), 20000, err);
    return r;
}

static void a_list_has_a_beginning_and_an_end(void **unused)
{
    static const char text[] = EVENT("song", "{\"la\":1}") BEGIN EVENT("node", NODE("a", "up"))
        EVENT("node", NODE("b", "dancing")) WHOLE EVENT("gone", "{\"id\":\"b\"}") EVENT("node", NODE("a", "hung"));

    (void)unused;
    for (size_t step = 1; step < sizeof(text); step += 13) {
        struct intake in = {.own = true};
        struct err err = {0};
        assert_int_equal(take_all(&in, text, step, &err), 0);
        assert_true(in.news.begun && in.news.whole && in.news.demo);
        assert_int_equal(in.news.clock_ms, 30000);
        assert_int_equal(in.news.nodes.n, 2); /* the newest of each */
        assert_int_equal(in.news.nodes.v[0]->node->state, NODE_HUNG);
        assert_null(in.news.nodes.v[1]->node);
        stream_nodes_tidy(&in.news.nodes);
        assert_int_equal(in.news.nodes.n, 1);
        intake_fini(&in);
    }
}

static void a_list_that_is_cut_off_is_not_whole(void **unused)
{
    struct intake in = {.own = true};
    struct err err = {0};

    (void)unused;
    assert_int_equal(take_all(&in, BEGIN EVENT("node", NODE("a", "up")), 99, &err), 0);
    assert_int_equal(take_all(&in, WHOLE, 99, &err), 0); /* of the next line, on which no list has begun */
    assert_true(in.news.begun);
    assert_false(in.news.whole);
    intake_fini(&in);
}

/* A long list's first nodes come while it is drawn, then all of it. */
static void a_list_that_begins_again_before_its_end_is_one(void **unused)
{
    struct intake in = {.max_nodes = 2};
    struct err err = {0};

    (void)unused;
    assert_int_equal(take_all(&in,
                              BEGIN EVENT("node", NODE("a", "up"))
                                  EVENT("begin", "{\"at\":50001,\"notice\":\"full\",\"currency\":\"EUR\"}")
                                      EVENT("node", NODE("b", "up")) EVENT("node", NODE("a", "down")),
                              99, &err),
                     0);
    assert_true(in.news.begun);
    assert_false(in.news.whole);
    assert_int_equal(in.news.nodes.n, 2);
    assert_int_equal(in.news.nodes.v[0]->node->state, NODE_DOWN);
    assert_string_equal(in.news.notice, "full");
    assert_string_equal(in.news.currency, "EUR");
    intake_fini(&in);
}

static void what_waits_is_the_newest_and_a_new_list_replaces_it(void **unused)
{
    struct stream_changes waiting = {0};
    struct intake in = {.own = true};
    struct err err = {0};

    (void)unused;
    assert_int_equal(take_all(&in, BEGIN EVENT("node", NODE("a", "up")) WHOLE, 99, &err), 0);
    stream_changes_merge(&waiting, &in.news);
    assert_int_equal(take_all(&in, EVENT("node", NODE("a", "down")) EVENT("notice", "{\"notice\":\"full\"}"), 99, &err),
                     0);
    assert_false(in.news.begun);
    stream_changes_merge(&waiting, &in.news);
    assert_true(waiting.begun && waiting.whole);
    assert_int_equal(waiting.nodes.n, 1);
    assert_int_equal(waiting.nodes.v[0]->node->state, NODE_DOWN);
    assert_string_equal(waiting.notice, "full");
    assert_int_equal(take_all(&in, BEGIN EVENT("node", NODE("b", "up")), 99, &err), 0);
    stream_changes_merge(&waiting, &in.news);
    assert_true(waiting.begun);
    assert_false(waiting.whole);
    assert_int_equal(waiting.nodes.n, 1);
    assert_string_equal(waiting.nodes.v[0]->key, "b");
    stream_nodes_fini(&waiting.nodes);
    intake_fini(&in);
}

static int not_that_one(void *arg, const struct stream_hub *who, struct err *err)
{
    (void)arg;
    return stream_hub_has(who, "me") ? err_set(err, -ELOOP, "in a circle") : 0;
}

static void what_cannot_be_followed_is_said_in_a_sentence(void **unused)
{
    static const struct {
        const char *text, *want;
        int code;
    } cases[] = {
        {EVENT("snapshot", "{\"at\":5,\"nodes\":[]}"), "too old to be followed", -EPROTO},
        {EVENT("hub", "{\"id\":\"x\",\"follows\":{\"me\":2}}"), "in a circle", -ELOOP},
        {BEGIN EVENT("node", "{\"id\":5}"), "cannot be read", -EBADMSG},
        {BEGIN EVENT("node", NODE("a", "up")) EVENT("node", NODE("b", "up")) EVENT("node", NODE("c", "up")),
         "more than 2 nodes", -E2BIG},
        {EVENT("begin", "[]"), "", -EBADMSG},
        {EVENT("hub", "{\"id\":\"a\\u0007b\"}"), "", -EBADMSG},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct intake in = {.own = true, .max_nodes = 2, .meet = not_that_one};
        struct err err = {0};
        print_message("%s\n", cases[i].text);
        assert_int_equal(take_all(&in, cases[i].text, 7, &err), cases[i].code);
        assert_non_null(strstr(err.msg, cases[i].want));
        intake_fini(&in);
    }
    struct intake in = {.own = true};
    struct err err = {0};
    AUTO_BUF long_one = BUF_INIT(10000);
    while (long_one.len < 2 * EVENT_BYTES)
        buf_adds(&long_one, "data: much\n");
    assert_int_equal(take_all(&in, long_one.p, 100, &err), -EMSGSIZE);
    assert_non_null(strstr(err.msg, "more at once than 4096 bytes"));
    intake_fini(&in);
}

static void a_hub_says_whom_it_follows_and_how_far(void **unused)
{
    struct stream_hub h = {.id = "me"}, back;
    AUTO_BUF b = BUF_INIT(1 << 16);

    (void)unused;
    stream_hub_add(&h, "far", 3);
    stream_hub_add(&h, "far", 2);
    stream_hub_add(&h, "far", 5);
    stream_hub_add(&h, "beyond", STREAM_HOPS + 1); /* what was told in a circle ends here */
    stream_hub_add(&h, "", 1);
    stream_hub_render(&h, &b);
    assert_string_equal(b.p, "{\"id\":\"me\",\"follows\":{\"far\":2}}");
    assert_int_equal(stream_hub_parse(STR("{\"id\":\"me\",\"new\":[],\"follows\":{\"a\":1,\"b\":9,\"c\":\"1\",\"d "
                                          "e\":1,\"f\":0}}"),
                                      &back),
                     0);
    assert_int_equal(back.n, 1);
    assert_true(stream_hub_has(&back, "a"));
    for (int i = 0; i < 2 * STREAM_FOLLOWS; i++) {
        char id[16];
        snprintf(id, sizeof(id), "h%d", i);
        stream_hub_add(&h, id, 1);
    }
    assert_int_equal(h.n, STREAM_FOLLOWS);
}

TESTS(cmocka_unit_test(a_list_has_a_beginning_and_an_end), cmocka_unit_test(a_list_that_is_cut_off_is_not_whole),
      cmocka_unit_test(a_list_that_begins_again_before_its_end_is_one),
      cmocka_unit_test(what_waits_is_the_newest_and_a_new_list_replaces_it),
      cmocka_unit_test(what_cannot_be_followed_is_said_in_a_sentence),
      cmocka_unit_test(a_hub_says_whom_it_follows_and_how_far))
