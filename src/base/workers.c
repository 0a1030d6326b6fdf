/* workers.c: a queue with a lock, threads that wait on it, and an eventfd that reports results to the loop. */
#include "base/workers.h"

#include <errno.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#define THREADS_MAX 16

struct list {
    struct work_job *first, **last;
};

struct work {
    pthread_mutex_t lock;
    pthread_cond_t more;
    pthread_t threads[THREADS_MAX];
    unsigned n_threads;
    struct list waiting, ended; /* protected by the lock */
    struct work_job *running[THREADS_MAX];
    size_t n_waiting, queue_max;
    bool stopping, behind;
    size_t due; /* the loop's alone */
    int fd;
    struct event *ev;
};

struct seat { /* start parameters of a thread */
    struct work *w;
    unsigned i;
};

static void list_init(struct list *l)
{
    l->first = NULL;
    l->last = &l->first;
}

static void list_put(struct list *l, struct work_job *j)
{
    j->next = NULL;
    *l->last = j;
    l->last = &j->next;
}

static struct work_job *list_take(struct list *l)
{
    struct work_job *j = l->first;

    if (j && !(l->first = j->next))
        l->last = &l->first;
    return j;
}

static void *worker(void *arg)
{
    struct seat seat = *(struct seat *)arg;
    struct work *w = seat.w;

    free(arg);
    if (w->behind)
        thread_give_way();
    pthread_mutex_lock(&w->lock);
    while (!w->stopping || w->waiting.first) {
        struct work_job *j = list_take(&w->waiting);
        if (!j) {
            pthread_cond_wait(&w->more, &w->lock);
            continue;
        }
        w->n_waiting--;
        w->running[seat.i] = j;
        pthread_mutex_unlock(&w->lock);
        if (!job_stopped(j)) {
            j->run(j);
            j->ran = true;
        }
        pthread_mutex_lock(&w->lock);
        w->running[seat.i] = NULL;
        bool first = !w->ended.first;
        list_put(&w->ended, j);
        if (first) /* else the loop was woken already, and handles all results */
            wake_ring(w->fd);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void give_back(struct work *w)
{
    struct work_job *j, *next;

    pthread_mutex_lock(&w->lock); /* those that ended by now: what they lead to is for the next time */
    j = w->ended.first;
    list_init(&w->ended);
    pthread_mutex_unlock(&w->lock);
    for (; j; j = next) {
        next = j->next;
        w->due--;
        j->done(j);
    }
}

static void on_ended(evutil_socket_t fd, UNUSED short what, void *arg)
{
    wake_clear(fd);
    give_back(arg);
}

static struct work *start_work(struct event_base *loop, unsigned threads, size_t queue_max, bool behind)
{
    struct work *w = NEW(struct work, .behind = behind);

    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->more, NULL);
    list_init(&w->waiting);
    list_init(&w->ended);
    w->queue_max = queue_max;
    w->fd = wake_new();
    w->ev = w->fd < 0 ? NULL : event_new(loop, w->fd, EV_READ | EV_PERSIST, on_ended, w);
    if (w->ev)
        event_add(w->ev, NULL);
    while (w->ev && w->n_threads < MIN(MAX(threads, 1u), THREADS_MAX)) {
        struct seat *seat = NEW(struct seat, w, w->n_threads);
        if (thread_start(&w->threads[w->n_threads], NULL, worker, seat) < 0) {
            free(seat);
            break;
        }
        w->n_threads++;
    }
    if (w->n_threads == 0) {
        work_free(w);
        return NULL;
    }
    return w;
}

struct work *work_new(struct event_base *loop, unsigned threads, size_t queue_max)
{
    return start_work(loop, threads, queue_max, false);
}

struct work *work_new_background(struct event_base *loop, size_t queue_max)
{
    return start_work(loop, 1, queue_max, true);
}

void work_free(struct work *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    for (struct work_job *j = w->waiting.first; j; j = j->next)
        job_cancel(j);
    for (unsigned i = 0; i < w->n_threads; i++)
        if (w->running[i])
            job_cancel(w->running[i]);
    pthread_cond_broadcast(&w->more);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->n_threads; i++)
        pthread_join(w->threads[i], NULL);
    give_back(w);
    if (w->ev)
        event_free(w->ev);
    if (w->fd >= 0)
        close(w->fd);
    pthread_cond_destroy(&w->more);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

int work_add(struct work *w, struct work_job *j, int64_t limit_ms)
{
    bool taken = false;

    if (!w)
        return -EAGAIN;
    atomic_store(&j->cancelled, false);
    j->until_ms = clock_mono_ms() + limit_ms;
    j->ran = false;
    pthread_mutex_lock(&w->lock);
    if (w->n_waiting < w->queue_max && !w->stopping) {
        list_put(&w->waiting, j);
        w->n_waiting++;
        taken = true;
    }
    pthread_mutex_unlock(&w->lock);
    if (!taken)
        return -EAGAIN;
    pthread_cond_signal(&w->more); /* unlocked, since the woken thread locks it */
    w->due++;
    return 0;
}

size_t work_busy(const struct work *w)
{
    return w->due;
}

void job_cancel(struct work_job *j)
{
    atomic_store(&j->cancelled, true);
}

bool job_stopped(void *arg)
{
    struct work_job *j = arg;

    return atomic_load(&j->cancelled) || clock_mono_rough_ms() > j->until_ms;
}
