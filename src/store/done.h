/*
 * done.h: brings the results of writes back to the caller's loop: posted by any thread, called on the loop's, in order.
 * Without a loop they wait until somebody calls done_run.
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
    size_t from, n, cap; /* from: those before it are told */
    struct event *ev;    /* NULL: no loop */
    int fd;
    bool running; /* the caller's thread alone looks at it */
};

int done_init(struct done_queue *q, struct event_base *loop); /* 0 or -errno */
void done_fini(struct done_queue *q);                         /* calls what is left */
void done_add(struct done_queue *q, struct done d);           /* done_wake must follow */
void done_wake(struct done_queue *q);
bool done_run(struct done_queue *q); /* on the caller's thread; false when there was nothing */
