/* What a feature tells those behind it: who hears it, in which order, and when. The features are made up. */
#include "test.h"

#include <stdio.h>

#include "hub/hub.h"
#include "store_dir.h"

static struct hub hub;
static char heard[256]; /* "a:node b:node ", as it came */
static struct hub_event last;

static void note(const char *who, const struct hub_event *n)
{
    size_t at = strlen(heard);

    snprintf(heard + at, sizeof(heard) - at, "%s:%s ", who, n->node ? n->node : "all");
    last = *n;
}

static void tell(const char *node)
{
    hub_publish(&hub, &(struct hub_event){.kind = HUB_EVENT_DEVICES, .node = node});
}

static void hear(void *self, const struct hub_event *n)
{
    note(self, n);
}

static void hear_and_tell(void *self, const struct hub_event *n)
{
    note(self, n);
    if (strcmp(n->node, "outer") == 0)
        tell("inner");
}

static void *open_first(struct hub *h)
{
    (void)h;
    return (void *)"a";
}

static void *open_and_tell(struct hub *h)
{
    (void)h;
    tell("opening");
    return (void *)"b";
}

static void *open_third(struct hub *h)
{
    (void)h;
    return (void *)"c";
}

static void close_and_tell(void *self)
{
    (void)self;
    tell("closing");
}

static const struct feature first = {.name = "first", .open = open_first, .hear = hear};
static const struct feature deaf = {.name = "deaf", .open = open_third};
static const struct feature teller = {.name = "teller",
                                      .open = open_and_tell,
                                      .hear = hear_and_tell,
                                      .close = close_and_tell};
static const struct feature third = {.name = "third", .open = open_third, .hear = hear};

static void open_list(const struct feature *const *list)
{
    hub = (struct hub){0};
    heard[0] = 0;
    features_open(&hub.features, list, &hub);
}

static void all_hear_in_the_order_of_the_list_and_the_deaf_are_passed_over(void **unused)
{
    static const struct feature *const list[] = {&first, &deaf, &third, NULL};

    (void)unused;
    open_list(list);
    tell("n1");
    tell("n2");
    assert_string_equal(heard, "a:n1 c:n1 a:n2 c:n2 ");
    features_close(&hub.features);
}

static void what_is_told_meanwhile_goes_out_at_once_and_to_all(void **unused)
{
    static const struct feature *const list[] = {&first, &teller, &third, NULL};

    (void)unused;
    open_list(list);
    heard[0] = 0;
    tell("outer");
    assert_string_equal(heard, "a:outer b:outer a:inner b:inner c:inner c:outer ");
    features_close(&hub.features);
}

static void who_opens_or_closes_is_not_told(void **unused)
{
    static const struct feature *const list[] = {&first, &teller, &third, NULL};

    (void)unused;
    open_list(list);
    assert_string_equal(heard, "a:opening ");
    heard[0] = 0;
    features_close(&hub.features);
    assert_string_equal(heard, "a:closing ");
    tell("later");
    assert_string_equal(heard, "a:closing ");
}

/* ---- what is stored with it ---- */

static void count_event(void *arg, const char *node, const char *device, const struct node_event *e)
{
    assert_string_equal(node, "n1");
    assert_string_equal(device, "GPU-1");
    assert_int_equal(e->code, 7);
    ++*(int *)arg;
}

static int stored_events(void)
{
    int n = 0;

    assert_int_equal(store_flush(hub.store, NULL), 0);
    assert_true(store_each(hub.store, EACH_EVENT(count_event, &n, .limit = 10), NULL) >= 0);
    return n;
}

static void hear_unstored(void *self, const struct hub_event *n)
{
    note(self, n);
    assert_int_equal(n->kind, HUB_EVENT_EVENT);
    assert_int_equal(n->event->code, 7);
    assert_string_equal(n->device, "GPU-1");
    assert_int_equal(stored_events(), 0);
}

static void an_event_is_told_before_it_is_stored(void **unused)
{
    static const struct feature early = {.name = "early", .open = open_first, .hear = hear_unstored};
    static const struct feature *const list[] = {&early, NULL};
    struct node_event e = {.at_ms = 1700000000000, .kind = EVENT_XID, .code = 7, .text = "x"};
    char *dir = dir_new_quick();

    (void)unused;
    open_list(list);
    assert_int_equal(store_open(&hub.store, &(struct store_conf){.dir = dir, .commit_ms = 1}, NULL, NULL), 0);
    hub_event(&hub, "n1", "GPU-1", &e);
    assert_string_equal(heard, "a:n1 ");
    assert_int_equal(stored_events(), 1);
    features_close(&hub.features);
    store_close(hub.store);
    dir_free(dir);
}

static void time_is_of_a_node_or_of_all(void **unused)
{
    static const struct feature *const list[] = {&first, NULL};

    (void)unused;
    open_list(list);
    hub_time(&hub, "n1", 10, 20, 30);
    hub_time(&hub, NULL, 11, 21, 31);
    assert_string_equal(heard, "a:n1 a:all ");
    assert_true(last.kind == HUB_EVENT_TIME && last.from_ms == 11 && last.to_ms == 21 && last.now_ms == 31);
    features_close(&hub.features);
}

TESTS(cmocka_unit_test(all_hear_in_the_order_of_the_list_and_the_deaf_are_passed_over),
      cmocka_unit_test(what_is_told_meanwhile_goes_out_at_once_and_to_all),
      cmocka_unit_test(who_opens_or_closes_is_not_told), cmocka_unit_test(an_event_is_told_before_it_is_stored),
      cmocka_unit_test(time_is_of_a_node_or_of_all))
