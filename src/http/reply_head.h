/*
 * reply_head.h: the head of a reply (status line and headers) as bytes. Pure, except for the date, which is made once a
 * second.
 */
#pragma once

#include "http/reply.h"

struct reply_date {
    int64_t s; /* the second of text */
    char text[40];
};

struct reply_head {
    int status;
    int64_t length; /* of the body; -1: unknown, for a HEAD whose GET would be compressed first, or chunked */
    bool gz, close, old, chunked;
};

void reply_head_put(struct buf *out, const struct reply *rp, const struct reply_head *a, struct reply_date *date);
