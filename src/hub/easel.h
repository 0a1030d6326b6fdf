/*
 * easel.h: makes large answers (about very many nodes) in pieces, one piece in each turn of the loop, so that others
 * are answered in between. Its words: a drawing is an answer that is being made, the easel is what the one at hand
 * stands on, a viewer is somebody who waits for it.
 *
 * Z1 One drawing at a time, for a half-drawn one takes memory: of each address in turn, and of one address in the order
 * they were asked for. Whoever asks for the same while it is new gets the same. Z2 One that nobody waits for any more
 * is not finished. Z3 A full queue refuses at once, and so does one with some of this address already. Z4 What is drawn
 * is new when it is there: the cache counts from then.
 */
#pragma once

#include <stdint.h>

#include "hub/api.h"

struct hub;
struct easel;
struct easel *easel_new(struct hub *h);
void easel_free(struct easel *e); /* whoever waits is told that the hub ends; accepts NULL */
/* Takes d. rp: what goes with the answer (type, ETag, …). */
enum reply_how easel_draw(struct hub *h, struct request *rq, struct reply *rp, struct drawing *d);
/* For the hub itself, which counts elsewhere who may ask: there is always room. done gets what was drawn, and takes a
 * reference if it keeps it; NULL: it could not be drawn. peer: in whose turn. Takes d. What is returned is good until
 * done is called. */
struct viewer;
struct viewer *easel_make(struct easel *e, const char *peer, struct drawing *d, void (*done)(void *arg, struct blob *b),
                          void *arg);
void easel_leave(struct viewer *v);          /* done is not called any more; accepts NULL */
uint64_t easel_turns(const struct easel *e); /* pieces drawn so far */
