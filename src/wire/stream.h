/*
 * stream.h: a wire stream that arrives in pieces, as from a pipe; returns whole frames as soon as they are complete.
 * Pure.
 *
 * T1 Buffers only incomplete frames, at most STREAM_FRAME_MAX bytes.
 * T2 The first error ends the stream: the next frame cannot be found.
 * T3 Frames of unknown type are skipped.
 */
#pragma once

#include "base/buf.h"
#include "wire/wire.h"

#define STREAM_FRAME_MAX (4u << 20)

struct stream {
    struct buf in;
    size_t at; /* of in: bytes before it were returned */
    bool begun, bad;
};

void stream_init(struct stream *s); /* also to reuse it */
void stream_fini(struct stream *s);
void stream_add(struct stream *s, struct str bytes);
/*
 * Returns 1: a frame with a verified checksum, valid until the next call; 0: more bytes are needed; -EBADMSG with a
 * message in err.
 */
int stream_next(struct stream *s, struct frame *ret, struct err *err);
