/*
 * compress.h: compresses large responses on a worker thread: a hundred megabytes need half a second. A blob that
 * several clients wait for is compressed once. The thread is dedicated: a response does not wait for queries of
 * history.
 */
#pragma once

#include "http/cache.h"

struct event_base;
struct work_job;
struct compress;
struct compress *compress_new(struct event_base *loop);
void compress_free(struct compress *p); /* waits for jobs in progress; every done is called */
/* done(arg) is called on the loop once b->gz is there, or failed. False: the queue is full. */
bool compress_run(struct compress *p, struct work_job *job); /* the same thread for another job */
bool compress_add(struct compress *p, struct blob *b, void (*done)(void *arg), void *arg);
