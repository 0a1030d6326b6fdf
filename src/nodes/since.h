/*
 * since.h: the last report of a node, and since when it and its devices are in their state, exchanged between hubs. A
 * restarted hub knows less, so the earlier of two times is used. As bytes; pure.
 *
 * Format: "T", a byte of enum since_flag, the node's last report, its state and start time, the number of devices. For
 * each device: a hash of its uuid, its state (bit 7: the idle time starts at the end of observed work), the start time,
 * since when it is idle, and its mean utilisation over the last minute.
 */
#pragma once

#include "base/buf.h"
#include "now/live.h"

enum since_flag {
    SINCE_TAKES = 1, /* the sender ingests the node's batches */
    SINCE_AGAIN = 2, /* the sender's data, for a hub that did not receive the node's data: see share_state.h */
};
int since_put(struct buf *out, const struct node_now *n, unsigned how); /* 0, or -EMSGSIZE without a change */
bool since_is(struct str bytes);
/* Returns how it was sent (enum since_flag) and sets the last report of the node; 0: damaged. */
unsigned since_parse(struct str bytes, int64_t *ret_heard_ms);
/* Applies bytes. better: the sender ingests the node's batches, so it has better data. Returns 1 if this hub has
 * earlier times, 0, or -EBADMSG. */
int since_show(struct live *l, struct node_now *n, struct str bytes, bool better);
