/*
 * render_queue.h: makes large responses (about very many nodes) in pieces over several event loop iterations, so that
 * other requests are served in between. A drawing is a response that is being made; a sheet is a drawing in the queue.
 *
 * Z1 The hub sends a response while it makes it (http/chunked_reply.h), so memory holds only what the client has yet to
 *    receive. The first drawing in the queue whose client can receive more is next: each address in turn, and for one
 *    address in the order of its requests.
 * Z2 A response whose client has disconnected is not finished.
 * Z3 A full queue refuses immediately (503), and so does a queue with several drawings of this address already.
 * Z4 Agents come first: while their requests wait, drawings get a small share of the loop. After a second of that,
 *    further drawings are refused.
 */
#pragma once

#include <stdint.h>

#include "hub/api.h"

struct hub;
struct render_queue;
struct render_queue *render_queue_new(struct hub *h);
void render_queue_free(struct render_queue *e); /* frees unfinished drawings; accepts NULL */
/* Takes ownership of d. rp: the response head (type, ETag, …). */
enum reply_mode render_queue_submit(struct hub *h, struct request *rq, struct reply *rp, struct render_job *d);
/* For internal drawings, which are limited elsewhere: there is always room. done gets the whole response, or NULL on
 * failure, and needs its own reference to keep it. peer: the address whose turn it uses. Takes ownership of d. The
 * sheet is valid until done is called. */
struct sheet;
struct sheet *render_queue_submit_internal(struct render_queue *e, const char *peer, struct render_job *d,
                                           void (*done)(void *arg, struct blob *b), void *arg);
void render_queue_cancel(struct sheet *s); /* cancels: done is not called any more; accepts NULL */
uint64_t render_queue_piece_count(const struct render_queue *e); /* pieces drawn so far */
