/* sse.h: takes a stream of server-sent events apart, in whatever pieces it comes. */
#pragma once

#include "base/buf.h"

#define SSE_EVENT_MAX ((size_t)256 << 20)

struct sse {
    struct buf text; /* what is not whole yet */
    size_t looked;   /* how much of it has no end of an event in it */
};
#define SSE_INIT ((struct sse){.text = BUF_INIT(SSE_EVENT_MAX)})

/* Calls each for every whole event, name "" where it has none, data of several lines joined by \n; borrowed. 0, what
 * each says when that is negative, or -EMSGSIZE when an event is too long. */
int sse_take(struct sse *s, struct str piece, int (*each)(void *arg, struct str name, struct str data), void *arg);
void sse_fini(struct sse *s);
