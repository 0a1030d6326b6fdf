/* sse.h: parses a stream of server-sent events, received in pieces of any size. */
#pragma once

#include "base/buf.h"

#define SSE_EVENT_MAX ((size_t)256 << 20)

struct sse {
    struct buf text; /* incomplete event */
    size_t looked;   /* bytes of it without the end of an event */
};
#define SSE_INIT ((struct sse){.text = BUF_INIT(SSE_EVENT_MAX)})

/*
 * Calls each for every complete event; name is "" if missing, data of several lines is joined by \n; both are borrowed.
 * Returns 0, a negative result of each, or -EMSGSIZE if an event is too long.
 */
int sse_take(struct sse *s, struct str piece, int (*each)(void *arg, struct str name, struct str data), void *arg);
void sse_fini(struct sse *s);
