/*
 * workers.h: a thread pool for slow queries. The caller adds a job on the loop; it runs on a worker, and its done
 * callback runs on the loop.
 *
 * K1 done is called on the loop exactly once for each accepted job, in the order they end.
 * K2 A full queue refuses a job immediately.
 * K3 job_stopped() is true for a job that was cancelled or is out of time; a job still in the queue does not run at
 *    all.
 * K4 The loop never waits for a worker, except in work_free().
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;

struct work_job {                     /* embedded in the caller's */
    void (*run)(struct work_job *j);  /* on a worker */
    void (*done)(struct work_job *j); /* on the loop; may free j */
    /* private to workers.c */
    atomic_bool cancelled;
    int64_t until_ms; /* monotonic */
    bool ran;         /* false in done: it was stopped before it ran */
    struct work_job *next;
};

struct work;
/* Starts at least one thread, also for 0. Returns NULL when no thread could be started. */
struct work *work_new(struct event_base *loop, unsigned threads, size_t queue_max);
/* The same with one thread of lower priority (thread.h), for work that no caller waits for. */
struct work *work_new_background(struct event_base *loop, size_t queue_max);
void work_free(struct work *w); /* stops everything, waits for running jobs, calls every pending done */
int work_add(struct work *w, struct work_job *j, int64_t limit_ms); /* 0, or -EAGAIN: the queue is full, or w NULL */
size_t work_busy(const struct work *w);                             /* jobs whose done was not called yet */
void job_cancel(struct work_job *j);
bool job_stopped(void *j); /* cancelled, or out of time: fits top_fetch_history's stop */
