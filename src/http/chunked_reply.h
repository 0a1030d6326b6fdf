/*
 * chunked_reply.h: a reply whose body is made while it is sent, in pieces: chunked, compressed on a worker if the
 * client accepts gzip. For responses about very many nodes: at most some megabytes of a response are in memory.
 *
 * Loop thread only.
 * R1 The pieces together are one body, and one gzip member.
 * R2 An incomplete body ends without its last chunk, so that the client detects it.
 * R3 on_event reports room and the client's end, never from within a call.
 * R4 The reply of an internal request is collected and delivered at the end.
 */
#pragma once

#include "http/httpd.h"

struct chunked_reply;
typedef void chunked_reply_event_fn(void *arg);

/*
 * Call inside handle(), which then returns REPLY_LATER. Sends rp's head (rp has no body) and takes ownership of rp.
 * on_event(arg) is called when there may be room, and when the client has left. Returns NULL if the reply is complete:
 * to a HEAD.
 */
struct chunked_reply *chunked_reply_new(struct request *rq, struct reply *rp, chunked_reply_event_fn *on_event,
                                        void *arg);
bool chunked_reply_has_room(const struct chunked_reply *r);
bool chunked_reply_is_closed(const struct chunked_reply *r);        /* nothing can be sent any longer */
void chunked_reply_add(struct chunked_reply *r, struct buf *piece); /* its bytes; piece is empty afterwards */
/* whole: the body is complete. Otherwise the connection is closed; the program's own request gets a 503. Frees r. */
void chunked_reply_end(struct chunked_reply *r, bool whole);
