/* routes.h: what the routes of history/ share. */
#pragma once

#include "hub/api.h"

/* A filter asked of devices as they are now: arg of sieve_keeps. */
struct sieve {
    struct filter *filter;
    int64_t now_ms;
};
bool sieve_keeps(void *arg, const struct node_now *n, const struct device_now *d);

/* Of a question that ended with r and may have filled rp->body to its most: the refusal, or nothing. */
void reply_if_wrong(struct reply *rp, int r, size_t most, const struct err *err);

enum reply_how get_strip(struct api *a, struct request *rq, struct reply *rp);
