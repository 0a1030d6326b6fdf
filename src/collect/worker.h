/*
 * worker.h: one thread for calls that may hang (a name service, a dead disk). Its owner never waits for it: on
 * worker_free a thread that is stuck is left behind and frees everything when it gets out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct worker;
/* run(arg) is called in the thread once after each kick (kicks meanwhile count as one); fini(arg), unless it is NULL,
 * exactly once, after the last run. The thread is started by the first kick. */
struct worker *worker_new(void (*run)(void *arg), void (*fini)(void *arg), void *arg);
void worker_kick(struct worker *w);
bool worker_settle(struct worker *w, int64_t max_ms); /* wait until it is idle; false when that took too long */
void worker_free(struct worker *w);                   /* accepts NULL; never waits */
