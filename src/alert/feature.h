/*
 * feature.h: alerts in the hub: every few seconds the rules look whether something is wrong, and what they found is
 * kept. An alert that fires or is resolved is durable before anybody is told of it (screens may show it a moment
 * earlier); what fired survives a restart, and fires once.
 */
#pragma once

#include "alert/rule.h"
#include "hub/feature.h"
#include "hub/hub.h"
#include "model/alert.h"

/* For the routes: alert/show.h. The two of silences answer when it is durable. */
struct alerts_now;
void hub_alerts_now(struct hub *h, struct alerts_now *ret);
enum reply_how hub_alerts_silence(struct hub *h, struct request *rq, struct reply *rp, const struct silence *s);
enum reply_how hub_alerts_unsilence(struct hub *h, struct request *rq, struct reply *rp, int64_t id);
const struct alert_rules *hub_alerts_rules(struct hub *h);
struct alert_rules *hub_alerts_rules_again(struct hub *h); /* the same, the caller's own */
/* What would fire now if nothing had to last: see is called for each. */
void hub_alerts_test(struct hub *h, see_fn *see, void *arg);
/* wandb/ registers what writes its error ("": none) when it opens. */
typedef void wandb_error_fn(struct hub *h, char out[NOTICE_MAX]);
void hub_alerts_wandb(struct hub *h, wandb_error_fn *error);
