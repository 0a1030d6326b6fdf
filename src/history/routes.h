/* routes.h: shared by the routes of history/. */
#pragma once

#include "hub/api.h"

/* A filter for devices in their current state: arg of sieve_keeps. */
struct sieve {
    struct filter *filter;
    int64_t now_ms;
};
bool sieve_keeps(void *arg, const struct node_now *n, const struct device_now *d);

/* Sets the error of a query that returned r or filled rp->body to its limit, if any. */
void reply_if_wrong(struct reply *rp, int r, size_t most, const struct err *err);

enum reply_mode get_strip(struct api *a, struct request *rq, struct reply *rp);
