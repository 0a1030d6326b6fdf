/*
 * answer.c: fills in replies in the ways the hub's routes share: problems, and responses that several clients share
 * (cache.h).
 */
#include <errno.h>

#include "base/clock.h"
#include "hub/handlers.h"

void reply_failed(struct reply *rp, int code, const struct err *err)
{
    switch (code) {
    case -EINVAL:
        reply_problem(rp, 400, "%s", err->msg);
        break;
    case -ENOENT:
        reply_problem(rp, 404, "%s", err->msg);
        break;
    case -E2BIG:
        reply_problem(rp, 413, "%s", err->msg);
        break;
    case -ECANCELED:
        reply_problem(rp, 503, "the query exceeded its time limit: request less");
        break;
    default:
        reply_problem(rp, 503, "history cannot be read: %s", err->msg[0] ? err->msg : strerror(-code));
    }
}

bool reply_cached(const struct api *a, const struct request *rq, struct str key, uint64_t version, struct reply *rp)
{
    rp->blob = cache_get(a->cache, key, version, rq->now_ms);
    return rp->blob != NULL;
}

void reply_keep(const struct api *a, const struct request *rq, struct str key, uint64_t version, int64_t begin_us,
                struct reply *rp)
{
    if (rp->status || rp->body.err || !rp->body.len)
        return;
    rp->blob = blob_new(&rp->body);
    cache_put(a->cache, key, version, rq->now_ms, clock_thread_us() - begin_us, rp->blob);
}
