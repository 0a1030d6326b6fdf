/*
 * worker.c: a thread that may hang without anybody waiting for it. Owner and thread each hold a reference; the last one
 * frees. What run() and the owner share is theirs to lock.
 */
#include "collect/worker.h"

#include <time.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"

#define WORKER_STACK (256u << 10) /* name services of sssd and LDAP fit in this; only what is touched counts */

struct worker {
    pthread_mutex_t lock;
    pthread_cond_t kick, idle;
    void (*run)(void *);
    void (*fini)(void *);
    void *arg;
    int refs;
    bool started, due, busy, stop;
};

/* Called with the lock held, which it gives up. */
static void worker_unref(struct worker *w)
{
    int left = --w->refs;

    pthread_mutex_unlock(&w->lock);
    if (left)
        return;
    if (w->fini)
        w->fini(w->arg);
    pthread_cond_destroy(&w->kick);
    pthread_cond_destroy(&w->idle);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static void *worker_thread(void *p)
{
    struct worker *w = p;

    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        if (!w->due) {
            pthread_cond_wait(&w->kick, &w->lock);
            continue;
        }
        w->due = false;
        w->busy = true;
        pthread_mutex_unlock(&w->lock);
        w->run(w->arg);
        pthread_mutex_lock(&w->lock);
        w->busy = false;
        pthread_cond_broadcast(&w->idle);
    }
    worker_unref(w);
    return NULL;
}

struct worker *worker_new(void (*run)(void *arg), void (*fini)(void *arg), void *arg)
{
    struct worker *w = NEW(struct worker, .run = run, .fini = fini, .arg = arg, .refs = 1);
    pthread_condattr_t attr;

    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->kick, &attr);
    pthread_cond_init(&w->idle, &attr);
    pthread_condattr_destroy(&attr);
    return w;
}

/* Signals stay with the main thread. Without a thread nothing is ever done, which is what a hung one looks like too. */
static bool worker_start(struct worker *w)
{
    pthread_attr_t attr;
    pthread_t t;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, WORKER_STACK);
    int r = thread_start(&t, &attr, worker_thread, w);
    pthread_attr_destroy(&attr);
    return r == 0;
}

void worker_kick(struct worker *w)
{
    LOCKED(&w->lock);
    w->due = true;
    if (!w->started && worker_start(w)) {
        w->started = true;
        w->refs++;
    }
    pthread_cond_signal(&w->kick);
}

bool worker_settle(struct worker *w, int64_t max_ms)
{
    int64_t until_us = clock_mono_us() + max_ms * 1000;
    struct timespec ts = {.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
    int r = 0;

    LOCKED(&w->lock);
    while ((w->due || w->busy) && w->started && r == 0)
        r = pthread_cond_timedwait(&w->idle, &w->lock, &ts);
    return !w->due && !w->busy;
}

void worker_free(struct worker *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->kick);
    worker_unref(w);
}
