/*
 * since.h: since when a node and its devices are in their state, as hubs forward it to each other with a node's
 * batches. A hub that was restarted knows less, so the earlier of two times counts. As bytes; pure.
 *
 * "S", whether the sender takes the node's batches, the node's state and since when, how many devices, then of each a
 * hash of its uuid, its state, since when, and since when it does no work.
 */
#pragma once

#include "base/buf.h"
#include "now/live.h"

int since_put(struct buf *out, const struct node_now *n, bool takes); /* 0, or -EMSGSIZE: nothing was added */
bool since_is(struct str bytes);
/* Shows what is in bytes. 1: this hub knows of earlier times; 0; -EBADMSG. */
int since_show(struct live *l, struct node_now *n, struct str bytes);
