/* lock.h: a mutex that is held until the end of its block. */
#pragma once

#include <pthread.h>

static inline pthread_mutex_t *lock_take(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    return mutex;
}
static inline void lock_drop(pthread_mutex_t **mutex)
{
    pthread_mutex_unlock(*mutex);
}
#define LOCKED(mutex) __attribute__((cleanup(lock_drop), unused)) pthread_mutex_t *locked = lock_take(mutex)
