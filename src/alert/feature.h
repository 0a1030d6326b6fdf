/*
 * feature.h: alerts in the hub. The rules are evaluated every few seconds, and their findings are kept. A change of an
 * alert is durable before a notification is sent (screens may show it slightly earlier). A firing alert survives a
 * restart and fires once.
 */
#pragma once

#include "alert/rule.h"
#include "hub/feature.h"
#include "hub/hub.h"
#include "model/alert.h"

/* For the routes, see alert/show.h. The two functions for silences reply when the change is durable. */
struct alerts_now;
void hub_alerts_now(struct hub *h, struct alerts_now *ret);
enum reply_mode hub_alerts_silence(struct hub *h, struct request *rq, struct reply *rp, const struct silence *s);
enum reply_mode hub_alerts_unsilence(struct hub *h, struct request *rq, struct reply *rp, int64_t id);
const struct alert_rules *hub_alerts_rules(struct hub *h);
struct alert_rules *hub_alerts_rules_copy(struct hub *h); /* a new copy, owned by the caller */
/* Calls see for each finding that holds now, regardless of its duration. */
void hub_alerts_test(struct hub *h, see_fn *see, void *arg);
/* wandb/ registers the function that writes its error ("": none) when it opens. */
typedef void wandb_error_fn(struct hub *h, char out[NOTICE_MAX]);
void hub_alerts_wandb(struct hub *h, wandb_error_fn *error);
