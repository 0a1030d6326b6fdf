/* done.c: a list of results behind a lock, and an eventfd to wake the loop once per commit, not once per result. */
#include "store/done.h"

#include <errno.h>
#include <event2/event.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"

static void done_ready(evutil_socket_t fd, UNUSED short what, void *arg)
{
    wake_clear(fd);
    done_run(arg);
}

int done_init(struct done_queue *q, struct event_base *loop)
{
    *q = (struct done_queue){.fd = -1};
    pthread_mutex_init(&q->lock, NULL);
    if (!loop)
        return 0;
    q->fd = wake_new();
    int r = q->fd < 0 ? -errno : 0;
    if (r == 0) {
        q->ev = event_new(loop, q->fd, EV_READ | EV_PERSIST, done_ready, q);
        if (!q->ev || event_add(q->ev, NULL) < 0)
            r = -ENOMEM;
    }
    if (r < 0)
        done_fini(q);
    return r;
}

void done_fini(struct done_queue *q)
{
    if (q->ev)
        event_free(q->ev);
    q->ev = NULL;
    while (done_run(q))
        ;
    if (q->fd >= 0)
        close(q->fd);
    q->fd = -1;
    free(q->v);
    q->v = NULL;
    pthread_mutex_destroy(&q->lock);
}

void done_add(struct done_queue *q, struct done d)
{
    if (!d.fn)
        return;
    LOCKED(&q->lock);
    VEC_ADD(q->v, q->n, q->cap, d);
}

void done_wake(struct done_queue *q)
{
    wake_ring(q->fd);
}

/* One round: what is added meanwhile waits for the next. A done that flushes must not overtake its neighbours. */
bool done_run(struct done_queue *q)
{
    if (q->running)
        return false;
    pthread_mutex_lock(&q->lock);
    struct done *v = q->v;
    size_t n = q->n;
    q->v = NULL;
    q->n = q->cap = 0;
    pthread_mutex_unlock(&q->lock);
    q->running = true;
    for (size_t i = 0; i < n; i++)
        v[i].fn(v[i].arg, v[i].result);
    q->running = false;
    free(v);
    return n > 0;
}
