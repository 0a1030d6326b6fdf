/* Costly questions: one at a time of each address, in turn with other addresses. The workers wait for the test. */
#include "test.h"

#include <event2/event.h>
#include <semaphore.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/workers.h"
#include "now/live.h"
#include "whole_hub.h"

static struct hub *hub;
static char order[256]; /* the keys of the answers, as they came */
static int answered, refused;
static int64_t limit_ms; /* of what asks; 0: as usual */

struct fake {
    struct async_query ask; /* first */
    const char *key;
};

static void fake_run(struct async_query *k, const struct past_source *past, struct reply *rp)
{
    (void)past;
    rp->body = BUF_INIT(100);
    buf_adds(&rp->body, ((struct fake *)k)->key);
}

static void fake_end(struct async_query *k)
{
    free(k);
}

static struct str no_header(const struct request *rq, const char *name)
{
    (void)rq, (void)name;
    return (struct str){0};
}

static void take(void *arg, struct reply *rp)
{
    size_t n = strlen(order);
    (void)arg;
    snprintf(order + n, sizeof(order) - n, "%.*s ", STR_ARG(buf_str(&rp->body)));
    answered++;
    refused += rp->status == 503 && str_starts(str_of(rp->extra), "Retry-After: ");
    reply_fini(rp);
}

/* One asks from an address. The answer at once: its status; 0: it comes. */
static int ask(const char *peer, const char *key)
{
    struct fake *f = mem_zero(1, sizeof(*f));
    struct request rq = {.take = take, .header = no_header};
    struct reply rp = {0};
    *f = (struct fake){{.run = fake_run, .end = fake_end, .limit_ms = limit_ms, .costly = true}, key};
    mem_copy_str(rq.peer, sizeof(rq.peer), peer);
    int status = query_async(hub, &rq, &rp, &f->ask) == REPLY_NOW ? rp.status : 0;
    if (status)
        assert_true(str_starts(str_of(rp.extra), "Retry-After: "));
    reply_fini(&rp);
    return status;
}

/* ---- workers that are held ---- */

static sem_t held, go;

static void hold(struct work_job *j)
{
    (void)j;
    sem_post(&held);
    sem_wait(&go);
}

static void count_done(struct work_job *j)
{
    (void)j;
    answered++;
}

static struct work_job holders[2] = {{.run = hold, .done = count_done}, {.run = hold, .done = count_done}};

static void hold_all(void)
{
    for (size_t i = 0; i < ARRAY_LEN(holders); i++)
        assert_int_equal(work_add(hub->costly_work, &holders[i], 600000), 0);
    for (size_t i = 0; i < ARRAY_LEN(holders); i++)
        sem_wait(&held);
}

static void turn_until(int n)
{
    while (answered < n)
        event_base_loop(hub->loop, EVLOOP_ONCE);
}

static int setup(void **unused)
{
    (void)unused;
    sem_init(&held, 0, 0);
    sem_init(&go, 0, 0);
    order[0] = 0;
    answered = refused = 0;
    limit_ms = 0;
    hub = whole_hub_open("");
    hold_all();
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    sem_post(&go); /* those that a failed test left */
    sem_post(&go);
    whole_hub_close(hub);
    sem_destroy(&held);
    sem_destroy(&go);
    return 0;
}

static void addresses_have_their_turns(void **unused)
{
    (void)unused;
    assert_int_equal(ask("10.0.0.1", "a1"), 0);
    assert_int_equal(ask("10.0.0.1", "a2"), 0);
    assert_int_equal(ask("10.0.0.1", "a3"), 0);
    assert_int_equal(ask("10.0.0.2", "b1"), 0);
    assert_int_equal(ask("10.0.0.2", "b2"), 0);
    sem_post(&go); /* one worker: what it takes is the order */
    turn_until(1 + 5);
    assert_string_equal(order, "a1 b1 a2 b2 a3 ");
    sem_post(&go);
    turn_until(1 + 5 + 1);
}

static void ipv6_addresses_of_one_64_have_one_turn(void **unused)
{
    (void)unused;
    assert_int_equal(ask("2001:db8:0:1::1", "a1"), 0);
    assert_int_equal(ask("2001:db8:0:1::2", "a2"), 0);
    assert_int_equal(ask("2001:db8:0:1:9::3", "a3"), 0);
    assert_int_equal(ask("2001:db8:0:2::1", "b1"), 0);
    assert_int_equal(ask("::ffff:10.0.0.1", "c1"), 0);
    assert_int_equal(ask("10.0.0.1", "c2"), 0);
    sem_post(&go);
    turn_until(1 + 6);
    assert_string_equal(order, "a1 b1 c1 a2 c2 a3 ");
    sem_post(&go);
    turn_until(1 + 6 + 1);
}

static void one_address_does_not_take_every_place(void **unused)
{
    int status = 0, n = 0;
    (void)unused;
    for (; !status && n < 1000; n += !status)
        status = ask("10.0.0.1", "a");
    assert_int_equal(status, 503);
    assert_in_range(n, 1, 16);
    assert_int_equal(ask("10.0.0.2", "b"), 0);
    for (int i = 0; i < 20; i++) /* what the hub itself asks is for many people */
        assert_int_equal(ask("", "own"), 0);
    sem_post(&go);
    sem_post(&go);
    turn_until(2 + n + 1 + 20);
    answered = 0;
    assert_int_equal(ask("10.0.0.1", "again"), 0);
    turn_until(1);
}

static void one_that_waits_too_long_is_refused(void **unused)
{
    (void)unused;
    assert_int_equal(ask("10.0.0.1", "a1"), 0);
    limit_ms = 1;
    assert_int_equal(ask("10.0.0.1", "a2"), 0);
    while (!answered)
        costly_next(hub); /* as the hub's tick does */
    assert_int_equal(refused, 1);
    sem_post(&go);
    sem_post(&go);
    turn_until(1 + 2 + 1);
    assert_int_equal(refused, 1);
}

static void count_answer(void *arg, struct reply *rp)
{
    (void)arg;
    answered++;
    reply_fini(rp);
}

/* Requests a route from a new address. True: the costly workers do it. */
static bool is_costly(const char *target)
{
    static unsigned no;
    size_t before = work_busy(hub->costly_work);
    struct asker who = {.role = ROLE_MEMBER, .can_read = true};
    struct request rq = {.method = METHOD_GET,
                         .take = count_answer,
                         .header = no_header,
                         .now_ms = clock_wall_ms(),
                         .who = &who};
    struct reply rp = {0};
    struct err err = {0};
    char scratch[256];
    snprintf(rq.peer, sizeof(rq.peer), "10.0.1.%u", ++no);
    assert_int_equal(request_target(&rq, str_of(target), scratch, &err), 0);
    assert_true(api_admit_inside(&hub->api, &rq, &rp));
    if (api_handle(&hub->api, &rq, &rp) != REPLY_LATER)
        fail_msg("%s: %d %.*s", target, rp.status, STR_ARG(buf_str(&rp.body)));
    return work_busy(hub->costly_work) > before;
}

static void pictures_and_tests_of_alerts_are_costly(void **unused)
{
    static const char *const costly[] = {"/api/v1/history?device=n1&metric=util&format=png",
                                         "/api/v1/history?device=n1&metric=util&format=svg",
                                         "/api/v1/strip?device=n1&format=jpg",
                                         "/api/v1/usage?format=pdf",
                                         "/api/v1/usage?format=PNG",
                                         "/api/v1/report?format=pdf",
                                         "/api/v1/alerts/test?last=1h"};
    static const char *const plain[] = {"/api/v1/history?device=n1&metric=util",
                                        "/api/v1/history?device=n1&metric=util&format=csv", "/api/v1/strip?device=n1",
                                        "/api/v1/usage", "/api/v1/report?format=html"};
    struct device_fact d = {.uuid = "GPU-1", .name = "Test", .mig = -1};
    struct node_fact f = {.name = "n1", .n_devices = 1, .devices = &d};
    (void)unused;
    live_facts(hub->live, live_node(hub->live, "n1", "n1", clock_wall_ms()), 1, &f, clock_wall_ms());
    for (size_t i = 0; i < ARRAY_LEN(costly); i++)
        if (!is_costly(costly[i]))
            fail_msg("%s is not costly", costly[i]);
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        if (is_costly(plain[i]))
            fail_msg("%s is costly", plain[i]);
    turn_until((int)ARRAY_LEN(plain)); /* they are answered while the costly workers are held */
    sem_post(&go);
    sem_post(&go);
    turn_until((int)(2 + ARRAY_LEN(costly) + ARRAY_LEN(plain)));
}

static void the_end_answers_those_that_wait(void **unused)
{
    (void)unused;
    for (int i = 0; i < 5; i++)
        assert_int_equal(ask("10.0.0.1", "a"), 0);
}

static int teardown_early(void **unused)
{
    int r = teardown(unused);
    assert_int_equal(answered, 2 + 5);
    return r;
}

TESTS(cmocka_unit_test_setup_teardown(addresses_have_their_turns, setup, teardown),
      cmocka_unit_test_setup_teardown(ipv6_addresses_of_one_64_have_one_turn, setup, teardown),
      cmocka_unit_test_setup_teardown(one_address_does_not_take_every_place, setup, teardown),
      cmocka_unit_test_setup_teardown(pictures_and_tests_of_alerts_are_costly, setup, teardown),
      cmocka_unit_test_setup_teardown(one_that_waits_too_long_is_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(the_end_answers_those_that_wait, setup, teardown_early))
