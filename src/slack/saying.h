/*
 * saying.h: asks the bot something within the hub and gets its answer (slack/say.h): for Slack's two ways in and for
 * POST /api/v1/say.
 */
#pragma once

#include "hub/hub.h"
#include "slack/say.h"

typedef void saying_fn(void *arg, const struct say_answer *a); /* a: until it returns */
/*
 * k: text, way, person (who does what a member may) and called; the rest is the hub's to know. own: of somebody with
 * rights of their own; NULL: whoever the person is asks, or nobody. False: ordinary talk, and
 * done is not called. Else done is called once, on the loop: before this returns, or later (when what was asked for is
 * durable, or a question about the past is answered).
 */
bool saying(struct hub *h, const struct say_ask *k, const struct request *own, saying_fn *done, void *arg);

bool saying_answers(struct hub *h, const struct say_ask *k); /* would it be answered, whoever asks? */
