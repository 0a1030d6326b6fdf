/*
 * named.h: blobs that batches refer to but the request does not contain. They came with an earlier request, or before
 * the hub's start. Blobs that are neither in memory nor in the write queue are read on a worker thread while the
 * request waits.
 */
#pragma once

#include "nodes/peers.h"

#define BLOBS_MAX 128 /* blobs in a request, and blobs looked up for it */

struct hub;
struct frame;
struct named_blobs;
struct request;

struct naming { /* a request's frames, all from one node */
    struct hub *h;
    struct peer *peer; /* NULL: not known yet; n too */
    struct node_now *n;
    const char *key;
    const struct frame *frames;
    size_t n_frames;
    int64_t now_ms;
};

/*
 * Call in a handler before it changes anything. Returns 0 and sets *ret (may be NULL), -EINPROGRESS: the handler is
 * called again, or -EAGAIN: too many reads are pending. The caller owns *ret, or the kept request does if rq->kept is
 * set.
 */
int named_fetch(const struct naming *a, struct request *rq, struct named_blobs **ret);
bool named_find(const struct named_blobs *x, int type, uint64_t id, struct frame *ret); /* x may be NULL */
void named_free(struct named_blobs *x);                                                 /* accepts NULL */
