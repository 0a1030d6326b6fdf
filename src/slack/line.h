/*
 * line.h: the hub's end of Socket Mode: starts the child (slack/socket.h), starts it again when it ends, gives it the
 * addresses it wants, and takes envelopes from it.
 *
 * A child that dies, that is silent for a while, or has no connection for half a minute is an error that is shown. When
 * Socket Mode is switched off at Slack's side nothing is tried any more until the settings are read again.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct event_base;
struct slack;
struct slack_conf;
struct slack_line;
/* envelope: one, as JSON on one line. */
struct slack_line *slack_line_new(struct event_base *loop, void (*envelope)(void *arg, struct str json), void *arg);
void slack_line_free(struct slack_line *l);
/* From now on as conf says, with what link leads to; both are borrowed until the next call. conf NULL: off. */
void slack_line_set(struct slack_line *l, struct slack *link, const struct slack_conf *conf);
void slack_line_keep(struct slack_line *l, const struct slack_conf *conf); /* the same settings, at another place */
void slack_line_tick(struct slack_line *l);
void slack_line_ack(struct slack_line *l, const char *envelope_id);
const char *slack_line_error(const struct slack_line *l, int64_t *ret_since_ms); /* "": all is well, or it is off */
