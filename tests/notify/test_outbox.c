/* test_outbox.c: which of the messages that wait become one, and which stay as they are (notify/outbox.h). */
#include "notify/outbox.h"

#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/alert.h"
#include "test.h"
#include "whole_hub.h"

enum { MESSAGES = 8, MINUTE = 60000 };

struct load {
    carried_fn *done;
    void *arg;
    char title[80];
};

static struct load under_way[2];
static size_t n_under_way;

static int hold(struct load **ret, UNUSED struct carriers *s, UNUSED const struct channel *c, const struct message *m,
                carried_fn *done, void *arg, UNUSED struct err *err)
{
    struct load *l = *ret = &under_way[n_under_way++];

    *l = (struct load){.done = done, .arg = arg};
    mem_copy_str(l->title, sizeof(l->title), m->title);
    return 0;
}

static void stop(UNUSED struct load *l)
{
    n_under_way = 0;
}

static const struct carrier holding = {.send = hold, .stop = stop};

static void put_messages(struct hub *h, const char *channel, int64_t now_ms)
{
    for (int i = 0; i < MESSAGES; i++) {
        char title[40];
        snprintf(title, sizeof(title), "n%d", i);
        outbox_put(h->outbox, &(struct message){.id = outbox_next_id(h->outbox),
                                                .created_ms = now_ms,
                                                .severity = SEV_INFO,
                                                .channel = channel,
                                                .to = "",
                                                .person = "",
                                                .thread = "",
                                                .rule = "rule",
                                                .title = title,
                                                .text = "",
                                                .html = "",
                                                .blocks = "",
                                                .alerts = ""});
    }
}

/* The title of the next that is sent, which ends as told. */
static const char *next_sent(struct hub *h, int64_t now_ms, enum delivery_result how, char title[80])
{
    while (!n_under_way) { /* it keeps its pace by a clock of its own */
        notify_feature.tick(h->outbox, now_ms);
        sched_yield();
    }
    struct load l = under_way[0];
    n_under_way = 0;
    mem_copy_str(title, 80, l.title);
    l.done(l.arg, &(struct delivery_state){.how = how, .error = how == CARRIED_SENT ? NULL : "no"});
    return title;
}

static struct hub *open_with(const char *channel)
{
    char settings[300];

    setenv("MUSTER_TEST_SLACK", "xoxb-1", 1);
    snprintf(settings, sizeof(settings),
             "slack: {token_env: MUSTER_TEST_SLACK, signing_env: MUSTER_TEST_SLACK}\nchannels: {a: %s}\n", channel);
    struct hub *h = whole_hub_open(settings);
    outbox_carry(h->outbox, CHANNEL_SLACK_BOT, &holding);
    n_under_way = 0;
    return h;
}

static void what_waits_for_our_pace_is_joined_unless_each_is_to_be_one(void **unused)
{
    static const struct {
        const char *channel, *second;
    } cases[] = {{"{type: slack-bot}", "7 messages since"}, {"{type: slack-bot, each: true}", "n1"}};

    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hub *h = open_with(cases[i].channel);
        int64_t now_ms = clock_wall_ms();
        char title[80];
        put_messages(h, "a", now_ms);
        assert_string_equal(next_sent(h, now_ms, CARRIED_SENT, title), "n0");
        assert_non_null(strstr(next_sent(h, now_ms + MINUTE, CARRIED_SENT, title), cases[i].second));
        whole_hub_close(h);
    }
}

static void what_waited_while_it_failed_is_joined_even_there(void **unused)
{
    struct hub *h = open_with("{type: slack-bot, each: true}");
    int64_t now_ms = h->started_ms + MINUTE;
    char title[80];

    (void)unused;
    put_messages(h, "a", h->started_ms - 29000); /* and a second until it is tried again */
    assert_string_equal(next_sent(h, now_ms, CARRIED_AGAIN, title), "n0");
    assert_string_equal(next_sent(h, now_ms, CARRIED_SENT, title), "n0"); /* it may have arrived */
    assert_non_null(strstr(next_sent(h, now_ms, CARRIED_SENT, title), "7 messages since"));
    whole_hub_close(h);
}

static void what_waited_while_the_hub_was_down_is_joined_even_there(void **unused)
{
    struct hub *h = open_with("{type: slack-bot, each: true}");
    char title[80];

    (void)unused;
    put_messages(h, "a", h->started_ms - MINUTE);
    assert_non_null(strstr(next_sent(h, h->started_ms, CARRIED_SENT, title), "8 messages since"));
    whole_hub_close(h);
}

static void one_failure_joins_nothing(void **unused)
{
    struct hub *h = open_with("{type: slack-bot, each: true}");
    int64_t now_ms = clock_wall_ms();
    char title[80];

    (void)unused;
    put_messages(h, "a", now_ms);
    assert_string_equal(next_sent(h, now_ms, CARRIED_AGAIN, title), "n0");
    assert_string_equal(next_sent(h, now_ms + MINUTE, CARRIED_SENT, title), "n0");
    assert_string_equal(next_sent(h, now_ms + MINUTE, CARRIED_SENT, title), "n1");
    whole_hub_close(h);
}

TESTS(cmocka_unit_test(what_waits_for_our_pace_is_joined_unless_each_is_to_be_one),
      cmocka_unit_test(what_waited_while_it_failed_is_joined_even_there),
      cmocka_unit_test(what_waited_while_the_hub_was_down_is_joined_even_there),
      cmocka_unit_test(one_failure_joins_nothing))
