/*
 * named.h: blobs that batches name and no frame beside them brings: they came with an earlier request, or before the
 * hub started. What is neither live nor on its way to the disk is read beside the loop, and the request waits.
 */
#pragma once

#include "nodes/peers.h"

#define BLOBS_MAX 128 /* that one request brings, and that are looked for because it names them */

struct hub;
struct frame;
struct named_blobs;
struct request;

struct naming { /* a request's frames, all of one node */
    struct hub *h;
    struct peer *peer; /* NULL: it is not known yet; so */
    struct node_now *n;
    const char *key;
    const struct frame *frames;
    size_t n_frames;
    int64_t now_ms;
};

/* Inside a handler, before it changes anything: 0: *ret, or NULL; -EINPROGRESS: it is called again; -EAGAIN: too much
 * is asked at once. *ret is the caller's, or where rq->kept is not NULL the kept request's. */
int named_look(const struct naming *a, struct request *rq, struct named_blobs **ret);
bool named_find(const struct named_blobs *x, int type, uint64_t id, struct frame *ret); /* x may be NULL */
void named_free(struct named_blobs *x);                                                 /* accepts NULL */
