/*
 * teller.h: finds changes of alerts and sends messages about them (tell.h). One transaction stores both the recipients
 * of an alert and its messages: a restart neither repeats nor loses a message.
 */
#pragma once

#include "alert/alert_state.h"
#include "alert/show.h"
#include "hub/hub.h"
#include "model/message.h"

struct alert_teller;
struct alert_teller *alert_teller_new(struct hub *h);
void alert_teller_free(struct alert_teller *t);
/* Applies an alert from the leading hub, which may have notified about it. */
void alert_teller_take(struct alert_teller *t, const struct alert *a, int64_t now_ms);
/*
 * Queues the resolved message for everyone notified about this alert. Notices and critical alerts without any
 * notification so far are queued once, as already over. Also called for alerts loaded after a restart.
 */
void alert_teller_over(struct alert_teller *t, const struct alert *a, int64_t now_ms);
size_t alert_teller_passed(const struct alert_teller *t,
                           const char *channel); /* number of persons skipped because they have no address */
/* Call after an evaluation: sends due messages and passes the recipients to alert_state.h. Invalidates the alerts in
 * `now`. */
void alert_teller_tick(struct alert_teller *t, const struct alerts_now *now, const struct alert_rules *rules,
                       struct alert_states *w, int64_t now_ms);
