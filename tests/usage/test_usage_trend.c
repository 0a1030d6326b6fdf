/* What went before is in people's averages once it was read: a hub that has no place to read it asks again. */
#include "test.h"

#include <event2/event.h>
#include <math.h>
#include <semaphore.h>

#include "base/clock.h"
#include "base/workers.h"
#include "model/gather.h"
#include "now/live.h"
#include "usage/usage_trend.h"
#include "whole_hub.h"

struct blocker {
    struct work_job job; /* first */
    sem_t *started, *go;
};

static void wait_for_go(struct work_job *j)
{
    sem_post(((struct blocker *)j)->started);
    sem_wait(((struct blocker *)j)->go);
}

static void free_blocker(struct work_job *j)
{
    free(j);
}

static bool add_blocker(struct work *w, sem_t *started, sem_t *go)
{
    struct blocker *b =
        NEW(struct blocker, .job = {.run = wait_for_go, .done = free_blocker}, .started = started, .go = go);
    bool fits = work_add(w, &b->job, INT32_MAX) == 0;

    if (!fits)
        free(b);
    return fits;
}

static bool is_known(const struct usage_trend *a)
{
    bool known;

    usage_trend_trend(a, &known);
    return known;
}

static void what_could_not_be_asked_for_is_asked_for_again(void **unused)
{
    struct hub *h = whole_hub_open("");
    sem_t started, go;
    size_t n = 1;

    (void)unused;
    sem_init(&started, 0, 0);
    sem_init(&go, 0, 0);
    while (work_busy(h->own_work)) /* what the hub itself read */
        event_base_loop(h->loop, EVLOOP_ONCE);
    assert_true(add_blocker(h->own_work, &started, &go));
    sem_wait(&started); /* the thread is taken: what comes now waits */
    while (add_blocker(h->own_work, &started, &go))
        n++;
    struct usage_trend *a = usage_trend_new(h);
    usage_trend_tick(a, clock_wall_ms());
    assert_int_equal(work_busy(h->own_work), n);
    assert_false(is_known(a));
    while (n-- > 0)
        sem_post(&go);
    while (work_busy(h->own_work))
        event_base_loop(h->loop, EVLOOP_ONCE);
    assert_false(is_known(a));
    usage_trend_tick(a, clock_wall_ms());
    while (work_busy(h->own_work))
        event_base_loop(h->loop, EVLOOP_ONCE);
    assert_true(is_known(a));
    usage_trend_free(a);
    sem_destroy(&started);
    sem_destroy(&go);
    whole_hub_close(h);
}

/* A node whose GPU kim is on. */
static struct node_now *node_of_kim(struct live *l, int64_t now_ms)
{
    struct device_fact d = {.uuid = "GPU-a", .pci = "0000:01:00.0", .mig = -1};
    struct hello hello = {.run = 1, .sent_ms = now_ms, .state_since_ms = now_ms, .collect = COLLECT_OK};
    struct proc_fact p = {.pid = 5, .user = "kim"};
    struct proc_use use = {.slot = 1, .kind = PROC_COMPUTE, .mem = 1 << 30, .sm = -1};
    struct sample s = {.at_ms = now_ms};
    struct gather *g = gather_new();
    struct batch b;
    struct node_now *n = live_node(l, "k1", "dgx1", now_ms);
    live_hello(l, n, &hello, "10.0.0.1", now_ms);
    live_facts(l, n, 7, &(struct node_fact){.n_devices = 1, .devices = &d}, now_ms);
    live_procs(l, n, 3, &(struct proc_list){.v = &p, .n = 1}, now_ms);
    sample_set(&s, M_util, 9000);
    assert_true(gather_tick(g, now_ms));
    gather_sample(g, 1, &s);
    gather_batch(g, &b);
    b.key.run = 1;
    b.facts = 7;
    b.procs = 3;
    b.uses = &use;
    b.n_uses = 1;
    live_batch(l, n, &b, 0, now_ms);
    gather_free(g);
    return n;
}

static double used_by(struct usage_trend *a, const char *person)
{
    bool known;
    usage_trend_look(a);
    const struct trend_person *p = trend_find(usage_trend_trend(a, &known), person);
    return p ? p->used : 0;
}

static void a_gpu_without_data_is_used_by_nobody(void **unused)
{
    struct hub *h = whole_hub_open("");
    int64_t now_ms = clock_wall_ms();
    struct node_now *n = node_of_kim(h->live, now_ms);
    struct hello hung = {.run = 1, .sent_ms = now_ms, .state_since_ms = now_ms, .collect = COLLECT_HUNG};

    (void)unused;
    assert_int_equal(lround(used_by(h->usage_trend, "kim")), 1);
    live_hello(h->live, n, &hung, "10.0.0.1", now_ms);
    live_tick(h->live, now_ms + 10000);
    assert_int_equal(n->devices[0].state, DEV_HUNG);
    assert_int_equal(lround(used_by(h->usage_trend, "kim")), 0);
    whole_hub_close(h);
}

TESTS(cmocka_unit_test(a_gpu_without_data_is_used_by_nobody),
      cmocka_unit_test(what_could_not_be_asked_for_is_asked_for_again))
