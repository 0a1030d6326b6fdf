/* timer.c: a libevent timer. */
#include "base/timer.h"

#include <event2/event.h>

#include "base/mem.h"

struct timer {
    struct event *event;
    timer_fn *call;
    void *arg;
    bool every;
};

static void on_due(UNUSED evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct timer *t = arg;

    if (!t->every)
        event_del(t->event);
    t->call(t->arg); /* may free it */
}

struct timer *timer_new(struct event_base *loop, timer_fn *call, void *arg)
{
    struct timer *t = NEW(struct timer, .call = call, .arg = arg);
    t->event = event_new(loop, -1, EV_PERSIST, on_due, t);
    return t;
}

void timer_free(struct timer *t)
{
    if (!t)
        return;
    event_free(t->event);
    free(t);
}

static void set_timer(struct timer *t, int64_t ms, bool every)
{
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    t->every = every;
    event_del(t->event);
    event_add(t->event, &tv);
}

void timer_after(struct timer *t, int64_t ms)
{
    set_timer(t, ms, false);
}

void timer_every(struct timer *t, int64_t ms)
{
    set_timer(t, ms, true);
}

void timer_stop(struct timer *t)
{
    event_del(t->event);
}

bool timer_is_set(const struct timer *t)
{
    return event_pending(t->event, EV_TIMEOUT, NULL);
}
