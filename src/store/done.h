/*
 * done.h: returns the results of writes to the caller's loop. Any thread posts them; they are delivered on the loop
 * thread, in order. Without a loop, results stay queued until the caller calls done_run().
 */
#pragma once

#include <pthread.h>

#include "store/records.h"

struct done {
    store_done_fn *fn;
    void *arg;
    int result;
};

struct done_queue {
    pthread_mutex_t lock;
    struct done *v;
    size_t from, n, cap; /* from: entries before it are delivered */
    struct event *ev;    /* NULL: no loop */
    int fd;
    bool running; /* caller's thread only */
};

int done_init(struct done_queue *q, struct event_base *loop); /* 0 or -errno */
void done_fini(struct done_queue *q);                         /* delivers the remaining results */
void done_add(struct done_queue *q, struct done d);           /* done_wake must follow */
void done_wake(struct done_queue *q);
bool done_run(struct done_queue *q); /* on the caller's thread; returns false if the queue was empty */
