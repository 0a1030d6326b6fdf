/*
 * share.h: what hubs that share a store tell each other: batches that one of them took, so that the others show them.
 * As bytes; pure. A message is "MUSH" u8 version, then for each node: its key, where it sends from, how many frames,
 * and each frame with the blobs in force and the shift of its times as the hub that took it keeps them (of a batch).
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define SHARE_START   5           /* bytes before the first node */
#define SHARE_FRAMES  64          /* of one node in one message */
#define SHARE_BATCHES 8           /* the newest of a request: older ones change nothing that is shown */
#define SHARE_MAX     (16u << 20) /* of one message */

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
int share_put(struct buf *out, const struct hub_share *t); /* 0, or -EMSGSIZE: nothing was added */
int share_check_start(struct rd *r, struct err *err);
int share_next(struct rd *r, struct hub_share *ret, struct err *err); /* 1, 0 at the end, -EBADMSG */
