/*
 * stream.h: a wire stream that comes in pieces, as out of a pipe: whole frames as soon as they are there. Pure.
 *
 * T1 What has no whole frame yet waits, and never more of it than STREAM_FRAME_MAX. T2 The first thing wrong ends the
 * stream: there is no way to find the next frame. T3 Frames of unknown type are passed over.
 */
#pragma once

#include "base/buf.h"
#include "wire/wire.h"

#define STREAM_FRAME_MAX (4u << 20)

struct stream {
    struct buf in;
    size_t at; /* of in: what is before it was given out */
    bool begun, bad;
};

void stream_init(struct stream *s); /* also for using it again */
void stream_fini(struct stream *s);
void stream_add(struct stream *s, struct str bytes);
/* 1: a frame, its checksum verified, good until the next call; 0: more is needed; -EBADMSG with a reason. */
int stream_next(struct stream *s, struct frame *ret, struct err *err);
