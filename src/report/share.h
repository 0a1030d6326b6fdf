/* share.h: pieces of GPU time, and how busy the GPUs were in them: what compare.c dealt out to W&B's runs. */
#pragma once

#include "report/runs.h"

#define SHARE_DEVICES 64 /* of a host; what is beyond them is not measured */

/* What a claim got on a host for some time, out of these devices. */
struct share {
    uint32_t host;
    size_t item;
    int64_t from_ms, end_ms, gpu_ms;
    uint64_t mask; /* of the host's devices, the first SHARE_DEVICES */
    struct share_mean {
        int64_t sum, ms; /* 0.01 % * ms of the devices; the ms of them that were measured */
    } util, work[WORK_KINDS];
};

/*
 * Puts v in the order of hosts and times, and fills in util and work out of ask->history, host by host and
 * RUNS_CHUNK_DAYS at a time; only within the days asked for. -ECANCELED: ask->stop said so.
 */
int shares_measure(const struct runs_query *ask, const struct runs *seen, struct share *v, size_t n, struct err *err);
