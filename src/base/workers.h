/*
 * workers.h: a few threads beside the loop, for questions that may take long. A job goes in on the loop, runs on a
 * worker and comes back on the loop.
 *
 * K1 done is called on the loop exactly once for each job taken, in the order they end. K2 A full queue refuses at
 * once. K3 A job that was cancelled, or whose time is up, is told so through job_stopped; one that still waits does not
 * run at all. K4 The loop never waits for a worker, but in work_free.
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
    /* work's own */
    atomic_bool cancelled;
    int64_t until_ms; /* monotonic */
    bool ran;         /* false in done: it was stopped before its turn */
    struct work_job *next;
};

struct work;
/* 0 threads cannot be: at least one. NULL when no thread could be started. */
struct work *work_new(struct event_base *loop, unsigned threads, size_t queue_max);
/* The same, of one thread that gives way to all others of the process (thread.h): nobody waits for what it does. */
struct work *work_new_behind(struct event_base *loop, size_t queue_max);
void work_free(struct work *w); /* stops everything, waits for what runs, calls every done still due */
int work_add(struct work *w, struct work_job *j, int64_t limit_ms); /* 0, or -EAGAIN: the queue is full, or w NULL */
size_t work_busy(const struct work *w);                             /* jobs whose done is due */
void job_cancel(struct work_job *j);
bool job_stopped(void *j); /* cancelled, or out of time: fits history_ask's stop */
