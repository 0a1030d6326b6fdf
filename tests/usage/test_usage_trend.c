/* People's averages are read from the store: where no worker has room for it, the next tick tries again. */
#include "test.h"

#include <event2/event.h>
#include <semaphore.h>

#include "base/clock.h"
#include "base/workers.h"
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
    assert_int_equal(usage_trend_version(a), 0);
    while (n-- > 0)
        sem_post(&go);
    while (work_busy(h->own_work))
        event_base_loop(h->loop, EVLOOP_ONCE);
    assert_int_equal(usage_trend_version(a), 0);
    usage_trend_tick(a, clock_wall_ms());
    while (work_busy(h->own_work))
        event_base_loop(h->loop, EVLOOP_ONCE);
    assert_int_equal(usage_trend_version(a), 1);
    usage_trend_free(a);
    sem_destroy(&started);
    sem_destroy(&go);
    whole_hub_close(h);
}

TESTS(cmocka_unit_test(what_could_not_be_asked_for_is_asked_for_again))
