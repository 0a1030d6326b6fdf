/*
 * feature.h: the bot in the hub: what Slack sends, by Socket Mode or over HTTP, is answered (dialog.h) and the answer
 * goes into the outbox.
 *
 * B1 Slack is told that we have something once its answer is stored, or after two seconds, so that Slack does not wait;
 * what it is not told it sends again. B2 A thing that comes twice is answered once, as far as a bounded memory reaches,
 * which is stored with the answers. B3 The bot never answers itself or another bot. B4 Who asks is whoever people/ has
 * for the Slack id, or for the mail address Slack knows of that id; nobody else acts. B5 Nothing here waits, and no log
 * holds a token.
 */
#pragma once

#include "base/err.h"
#include "hub/feature.h"
#include "hub/hub.h"

struct carrier;
struct slack_event;
struct dialog_conf;
struct slack;
struct hub_slack;
extern const struct carrier carrier_slack; /* registered with notify */

/* For the carrier: to post with, and where what names no other channel goes ("": nowhere; ret_channel may be NULL).
 * token is overwritten, and the caller's. */
int hub_slack_link(struct hub_slack *d, struct slack **ret, struct buf *token, const char **ret_channel,
                   struct err *err);
/* What is wrong with the way in, in a sentence, and since when; "": nothing. */
const char *hub_slack_error(const struct hub_slack *d, int64_t *ret_since_ms);

/* What the bot listens to. */
const struct dialog_conf *hub_slack_dialog_conf(const struct hub *hub);

/* For the routes. The signing secret: 1, 0 when there is none, or -errno with a sentence. */
int hub_slack_secret(struct hub *hub, struct buf *ret, struct err *err);
/* Takes h. Answers through rq when it was taken. */
enum reply_mode hub_slack_on_event(struct hub *hub, struct request *rq, struct reply *rp, struct slack_event *h);
