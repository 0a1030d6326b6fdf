/* thread.h: starts a thread without signals; wakes a thread through an eventfd. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Signals stay with the caller's thread. attr may be NULL. Returns 0 or -errno. */
static inline int thread_start(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *arg), void *arg)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int r = pthread_create(ret, attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -r;
}

/* Lowers the priority of the calling thread (nice +5): it gets idle CPU time, and under load a third of the share of
 * another thread. For work that no caller waits for. On Linux this affects one thread alone. Call once. */
static inline void thread_give_way(void)
{
    (void)!nice(5); /* -1: already at the lowest priority */
}

static inline int wake_new(void) /* -1 and errno on failure */
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}
static inline void wake_ring(int fd) /* makes it readable until it is cleared; no effect for -1 */
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
        /* EAGAIN: already read, or another thread's write is still to come */
    }
}
