/*
 * since.h: when a node was last heard, and since when it and its devices are in their state, as hubs forward it to each
 * other. A hub that was restarted knows less, so the earlier of two times counts. As bytes; pure.
 *
 * "T", a byte of enum since_how, when the node was last heard, its state and since when, how many devices, then of each
 * a hash of its uuid, its state (bit 7: the time without work is the end of work that was seen), since when, and since
 * when it does no work.
 */
#pragma once

#include "base/buf.h"
#include "now/live.h"

enum since_how {
    SINCE_TAKES = 1, /* the sender takes the node's batches */
    SINCE_AGAIN = 2, /* what the sender knows of it, sent to a hub that did not hear it: see again.h */
};
int since_put(struct buf *out, const struct node_now *n, unsigned how); /* 0, or -EMSGSIZE: nothing was added */
bool since_is(struct str bytes);
/* How it was sent (enum since_how) and when the node was heard; 0: damaged. */
unsigned since_how(struct str bytes, int64_t *ret_heard_ms);
/* Shows what is in bytes. better: the sender knows the node better than this hub, as one that takes its batches does.
 * 1: this hub knows of earlier times; 0; -EBADMSG. */
int since_show(struct live *l, struct node_now *n, struct str bytes, bool better);
