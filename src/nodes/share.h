/*
 * share.h: messages between hubs that share a store: batches that one of them ingested, for the screens of the others.
 * As bytes; pure. A message is "MUSH" u8 version, then for each node: its key, its address, the number of frames, and
 * each frame with the current blobs and (for a batch) the time shift, as stored by the hub that ingested it.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define SHARE_START   5           /* bytes before the first node */
#define SHARE_FRAMES  64          /* per node and message */
#define SHARE_BATCHES 8           /* newest per request: older ones do not change what is shown */
#define SHARE_MAX     (16u << 20) /* per message */

struct share_frame {
    uint64_t facts, procs;
    int64_t shift_ms;
    struct str whole;
};
struct hub_share {
    struct str key, address;
    size_t n;
    struct share_frame v[SHARE_FRAMES];
};

int share_start(struct buf *out);
int share_put(struct buf *out, const struct hub_share *t); /* 0, or -EMSGSIZE without a change */
int share_check_start(struct rd *r, struct err *err);
int share_next(struct rd *r, struct hub_share *ret, struct err *err); /* 1, 0 at the end, -EBADMSG */
