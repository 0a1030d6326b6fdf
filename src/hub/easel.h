/*
 * easel.h: makes large answers (about very many nodes) in pieces, over several turns of the loop, so that others are
 * answered in between. Its words: a drawing is an answer that is being made, a sheet is one in the queue.
 *
 * Z1 A client's answer is sent while it is made (http/chunked_reply.h): no more of it is in memory than the client has
 * yet to receive. The first in the queue whose client can receive more is drawn: of each address in turn, of one
 * address in the order of its requests. Z2 An answer whose client is gone is not finished. Z3 A full queue refuses
 * immediately (503), and so does one with some of this address already. Z4 Agents come first: while their requests
 * wait, drawings have a small share of the loop; after a second of that, further ones are refused.
 */
#pragma once

#include <stdint.h>

#include "hub/api.h"

struct hub;
struct easel;
struct easel *easel_new(struct hub *h);
void easel_free(struct easel *e); /* ends what is not finished; accepts NULL */
/* Takes ownership of d. rp: the head of the answer (type, ETag, …). */
enum reply_how easel_draw(struct hub *h, struct request *rq, struct reply *rp, struct drawing *d);
/* For the hub itself, which counts elsewhere who may ask: there is always room. done gets the whole answer, and takes a
 * reference if it keeps it; NULL: it could not be drawn. peer: in whose turn. Takes ownership of d. The sheet is valid
 * until done is called. */
struct sheet;
struct sheet *easel_make(struct easel *e, const char *peer, struct drawing *d, void (*done)(void *arg, struct blob *b),
                         void *arg);
void easel_leave(struct sheet *s);           /* done is not called any more; accepts NULL */
uint64_t easel_turns(const struct easel *e); /* pieces drawn so far */
