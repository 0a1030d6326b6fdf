/*
 * outbox.h: a queue of messages to send. Each is a note in the store until it was sent, so that it survives a restart.
 * A carrier (carrier.h) sends it.
 *
 * O1 Messages of one channel to one recipient are sent in order, one per second. A failed message is retried with
 *    growing delays, and dropped after three days.
 * O2 A failing channel or recipient does not delay others.
 * O3 A message is sent twice only if the hub stops between sending it and recording that.
 * O4 Responses are limited in bytes and time. Redirects are not followed.
 * O5 In quiet hours a channel only sends critical messages and replies; others wait.
 * O6 If more than a few have waited, they are joined into a digest (notify/digest.h) with all of them in order, unless
 *    a program reads them. For a channel with `each: true`, only messages delayed that long by something other than
 *    the send rate are joined.
 */
#pragma once

#include "hub/feature.h"
#include "hub/hub.h"
#include "model/message.h"
#include "notify/carrier.h"

struct outbox;
/* Registers a carrier for channels of this type. A feature later in the list calls this when it opens, and with NULL
 * when it closes. NULL stops its messages in flight; they are sent after the next start. */
void outbox_carry(struct outbox *o, enum channel_type type, const struct carrier *c);
/* Channels of the sections channels and slack, for channels_free(); NULL with a message in err if any is invalid. */
struct channels *outbox_channels_of(const struct hub_conf *conf, struct err *err);
const struct channels *outbox_channels(const struct outbox *o);
int64_t outbox_next_id(struct outbox *o);
void outbox_put(struct outbox *o, const struct message *m); /* its note is already stored */
/* The same for a message without note and id. done (may be NULL) is called when it is stored or storing failed; it is
 * sent in any case. with: a note stored in the same transaction; may be NULL. */
void outbox_send(struct outbox *o, const struct message *m, const struct note *with, store_done_fn *done, void *arg);
/* Sends one message immediately, once, without storing it; done gets the result. c: a current channel. */
typedef void tried_fn(void *arg, const char *channel, const struct delivery_state *r);
void outbox_try(struct outbox *o, const struct channel *c, const struct message *m, tried_fn *done, void *arg);
/* The state of each channel; valid until the next call. */
const struct channel_now *outbox_now(struct outbox *o, size_t *ret_n);
/* A message about failing channels; "": none. */
void outbox_notice(struct outbox *o, char *out, size_t size);
