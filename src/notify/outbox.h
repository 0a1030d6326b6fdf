/*
 * outbox.h: messages that wait to be sent. A message is a note in the store until it was sent, so that it survives a
 * restart. The sending itself is a carrier's business (carrier.h).
 *
 * O1 Through one channel to one receiver messages go in order, one a second; one that fails is tried again, later and
 * later, and is given up after three days. O2 A channel or a receiver that fails holds up no other. O3 A message is
 * sent again only where we ended between sending it and noting that. O4 Answers are limited in bytes and time, and
 * redirects are not followed. O5 In its quiet hours a channel gets critical messages and answers alone; the others
 * wait. O6 Where more than a few have waited they are joined into one (notify/digest.h), unless a program reads them:
 * all of them are in it, in their order. Through a channel with each: true only those that something else than our
 * pace kept as long.
 */
#pragma once

#include "hub/feature.h"
#include "hub/hub.h"
#include "model/message.h"
#include "notify/carrier.h"

struct outbox;
/* A feature behind this one carries messages of such channels: it registers when it opens, and with NULL when it
 * closes. What is under way through it is stopped then, and goes out after the next start. */
void outbox_carry(struct outbox *o, enum channel_type type, const struct carrier *c);
/* Those of the sections channels and slack, if everything in them can be done, for channels_free(); NULL: err says what
 * is wrong. */
struct channels *outbox_channels_of(const struct hub_conf *conf, struct err *err);
const struct channels *outbox_channels(const struct outbox *o);
int64_t outbox_next_id(struct outbox *o);
void outbox_put(struct outbox *o, const struct message *m); /* it is a note already */
/* The same for one that is none yet, and has no id: done (NULL: nobody) is called once it is, or could not be made one;
 * it is sent in any case. with: stored together with it; NULL: nothing. */
void outbox_send(struct outbox *o, const struct message *m, const struct note *with, store_done_fn *done, void *arg);
/* One message through a channel at once, kept nowhere and tried once: done says how that went. c: one of ours. */
typedef void tried_fn(void *arg, const char *channel, const struct carried *r);
void outbox_try(struct outbox *o, const struct channel *c, const struct message *m, tried_fn *done, void *arg);
/* Each channel as it is now; borrowed until the next call. */
const struct channel_now *outbox_now(struct outbox *o, size_t *ret_n);
/* Which channels fail, in a sentence; "": none. */
void outbox_notice(struct outbox *o, char *out, size_t size);
