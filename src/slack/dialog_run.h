/*
 * dialog_run.h: asks the bot something within the hub and gets its answer (slack/dialog.h): for Slack's two ways in and
 * for POST /api/v1/say.
 */
#pragma once

#include "hub/hub.h"
#include "slack/dialog.h"

typedef void dialog_done_fn(void *arg, const struct dialog_answer *a); /* a: until it returns */
/*
 * k: text, way, person (who does what a member may) and called; the rest is the hub's to know. own: of somebody with
 * rights of their own; NULL: whoever the person is asks, or nobody. False: ordinary talk, and
 * done is not called. Else done is called once, on the loop: before this returns, or later (when what was asked for is
 * durable, or a question about the past is answered).
 */
bool dialog_run(struct hub *h, const struct dialog_params *k, const struct request *own, dialog_done_fn *done,
                void *arg);

bool dialog_would_answer(struct hub *h, const struct dialog_params *k); /* would it be answered, whoever asks? */
