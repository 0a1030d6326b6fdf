/*
 * teller.h: sees what is new of the alerts, and sends the messages it makes (tell.h). That somebody is told of an alert
 * is stored with the messages that tell it, in one transaction: a restart tells nothing twice and forgets nothing.
 */
#pragma once

#include "alert/alert_state.h"
#include "alert/show.h"
#include "hub/hub.h"
#include "model/message.h"

struct alert_teller;
struct alert_teller *alert_teller_new(struct hub *h);
void alert_teller_free(struct alert_teller *t);
/* This alert is over: whoever was told of it is to be told that; of a notice, and of a critical one that nobody was
 * told of yet, that it was. Read back after a restart, too. */
/* Another hub, which leads, says how it is: it may have told of it. */
void alert_teller_take(struct alert_teller *t, const struct alert *a, int64_t now_ms);
void alert_teller_over(struct alert_teller *t, const struct alert *a, int64_t now_ms);
size_t alert_teller_passed(const struct alert_teller *t,
                           const char *channel); /* persons not told for want of an address */
/* After a look: what is due is told. alert_state.h learns what was told, and what `now` has of it is gone then. */
void alert_teller_tick(struct alert_teller *t, const struct alerts_now *now, const struct alert_rules *rules,
                       struct alert_states *w, int64_t now_ms);
