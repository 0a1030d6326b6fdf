/* What is drawn in pieces: whose turn it is, who is refused, and what happens where a client reads slowly or leaves.
 * Drawings are made up, the loop is turned by hand, and the clock stands still. */
#include "test.h"

#include <event2/event.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/conn.h"
#include "hub/hub.h"
#include "hub/render_queue.h"

#define NOW 1700000000000

static struct hub hub;
static char order[256]; /* the keys of what was given, as it came */

struct fake {
    struct render_job d; /* first */
    const char *key;
    int pieces;
};

static bool fake_step(struct render_job *d, struct api *a, size_t bytes)
{
    struct fake *f = (struct fake *)d;
    (void)a, (void)bytes;
    if (--f->pieces > 0)
        return false;
    buf_adds(&d->out, f->key);
    return true;
}

static void fake_end(struct render_job *d)
{
    struct fake *f = (struct fake *)d;
    buf_fini(&d->out);
    free(f);
}

static void take(void *arg, struct reply *rp)
{
    (void)arg;
    size_t n = strlen(order);
    snprintf(order + n, sizeof(order) - n, "%.*s ", STR_ARG(buf_str(&rp->body)));
    reply_fini(rp);
}

/* One asks from an address. The answer at once: its status; 0: it comes. */
static int ask(const char *peer, const char *key, int pieces)
{
    struct fake *f = mem_zero(1, sizeof(*f));
    struct request rq = {.take = take, .now_ms = clock_wall_ms()};
    struct reply rp = {0};
    *f = (struct fake){{.step = fake_step, .end = fake_end, .out = BUF_INIT(100)}, key, pieces};
    mem_copy_str(rq.peer, sizeof(rq.peer), peer);
    int status = render_queue_submit(&hub, &rq, &rp, &f->d) == REPLY_NOW ? rp.status : 0;
    if (status)
        assert_true(str_starts(str_of(rp.extra), "Retry-After: "));
    reply_fini(&rp);
    return status;
}

static void draw_all(void)
{
    event_base_dispatch(hub.loop);
}

static int setup(void **unused)
{
    (void)unused;
    clock_set_for_test(NOW);
    memset(order, 0, sizeof(order));
    hub.loop = event_base_new();
    hub.api.cache = cache_new(1 << 20);
    hub.easel = render_queue_new(&hub);
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    render_queue_free(hub.easel);
    cache_free(hub.api.cache);
    event_base_free(hub.loop);
    clock_set_for_test(-1);
    memset(&hub, 0, sizeof(hub));
    return 0;
}

static void addresses_have_their_turns(void **unused)
{
    (void)unused;
    assert_int_equal(ask("10.0.0.1", "a1", 3), 0);
    assert_int_equal(ask("10.0.0.1", "a2", 3), 0);
    assert_int_equal(ask("10.0.0.1", "a3", 3), 0);
    assert_int_equal(ask("10.0.0.2", "b1", 3), 0);
    assert_int_equal(ask("10.0.0.2", "b2", 3), 0);
    assert_int_equal(ask("", "own", 3), 0);
    draw_all();
    assert_string_equal(order, "a1 b1 own a2 b2 a3 ");
}

static void one_address_does_not_take_every_place(void **unused)
{
    int status = 0, n = 0;
    (void)unused;
    for (; !status && n < 1000; n += !status)
        status = ask("10.0.0.1", "a", 2);
    assert_int_equal(status, 503);
    assert_in_range(n, 1, 16);
    assert_int_equal(ask("10.0.0.2", "b", 2), 0);
    for (int i = 0; i < 20; i++) /* what the hub itself asks is for many people */
        assert_int_equal(ask("", "own", 2), 0);
    draw_all();
    assert_int_equal(ask("10.0.0.1", "again", 2), 0);
    draw_all();
}

/* Z4 */
static void readers_are_refused_before_agents(void **unused)
{
    struct httpd httpd = {.patient_since_ms = NOW};
    (void)unused;
    hub.httpd = &httpd;
    clock_set_for_test(NOW + 1000);
    assert_int_equal(ask("10.0.0.1", "a", 3), 0); /* agents have waited, for not too long yet */
    clock_set_for_test(NOW + 1001);
    assert_int_equal(ask("10.0.0.2", "b", 3), 503);
    httpd.patient_since_ms = 0; /* all were answered */
    assert_int_equal(ask("10.0.0.2", "c", 3), 0);
    draw_all();
    assert_string_equal(order, "a c ");
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
TESTS(WITH(addresses_have_their_turns), WITH(one_address_does_not_take_every_place),
      WITH(readers_are_refused_before_agents))
