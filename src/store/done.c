/* done.c: a list of results behind a lock, and an eventfd to wake the loop once per commit, not once per result. */
#include "store/done.h"

#include <errno.h>
#include <event2/event.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"

#define DONE_STEP 128  /* results per event loop iteration, so that other events are handled in between */
#define DONE_KEEP 1024 /* capacity kept */

/* Delivers the oldest results, at most `most`. Returns their number. */
static size_t done_some(struct done_queue *q, size_t most)
{
    struct done v[DONE_STEP];

    pthread_mutex_lock(&q->lock);
    size_t n = MIN(MIN(most, q->n - q->from), ARRAY_LEN(v));
    if (n)
        memcpy(v, q->v + q->from, n * sizeof(*v));
    q->from += n;
    if (q->from == q->n) {
        q->from = q->n = 0;
        if (q->cap > DONE_KEEP) {
            free(q->v);
            q->v = NULL;
            q->cap = 0;
        }
    }
    pthread_mutex_unlock(&q->lock);
    q->running = true;
    for (size_t i = 0; i < n; i++)
        v[i].fn(v[i].arg, v[i].result);
    q->running = false;
    return n;
}

static void done_ready(evutil_socket_t fd, UNUSED short what, void *arg)
{
    struct done_queue *q = arg;

    wake_clear(fd);
    if (done_some(q, DONE_STEP) == DONE_STEP)
        wake_ring(fd); /* there may be more results */
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

/* One round: results added meanwhile wait for the next. A done that flushes must not overtake earlier results. */
bool done_run(struct done_queue *q)
{
    if (q->running)
        return false;
    pthread_mutex_lock(&q->lock);
    size_t n = q->n - q->from;
    pthread_mutex_unlock(&q->lock);
    for (size_t left = n, told; left > 0 && (told = done_some(q, left)) > 0;)
        left -= told;
    return n > 0;
}
