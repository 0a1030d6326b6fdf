/* thread.h: a thread beside others: started without signals, and woken through an eventfd. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Signals stay with whoever starts it. attr may be NULL. 0 or -errno. */
static inline int thread_start(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *arg), void *arg)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int r = pthread_create(ret, attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -r;
}

/* From now on the calling thread has what others leave, and where they leave nothing a third of what each of them has:
 * nobody waits for what it does. On Linux this is of one thread alone. Call once. */
static inline void thread_give_way(void)
{
    (void)!nice(5); /* -1: it is as low as can be */
}

static inline int wake_new(void) /* -1 and errno: there can be none */
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}
static inline void wake_ring(int fd) /* it is readable then, until it is cleared. -1: nothing happens */
{
    uint64_t one = 1;

    if (fd >= 0 && write(fd, &one, sizeof(one)) < 0) {
        /* EAGAIN: the count is at its maximum, so it is awake */
    }
}
static inline void wake_clear(int fd)
{
    uint64_t count;

    if (read(fd, &count, sizeof(count)) < 0) {
        /* EAGAIN: already taken, or somebody's write is still to come */
    }
}
