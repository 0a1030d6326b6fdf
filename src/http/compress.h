/*
 * compress.h: large answers compressed beside the loop: a hundred megabytes take half a second. A blob that several
 * wait for is compressed once. The thread is its own: an answer does not wait behind questions about the past.
 */
#pragma once

#include "http/cache.h"

struct event_base;
struct work_job;
struct compress;
struct compress *compress_new(struct event_base *loop);
void compress_free(struct compress *p); /* waits for what is under way; every done is called */
/* done(arg) is called on the loop once b->gz is there, or could not be made. False: too much waits already. */
bool compress_run(struct compress *p, struct work_job *job); /* the same thread for another job */
bool compress_add(struct compress *p, struct blob *b, void (*done)(void *arg), void *arg);
