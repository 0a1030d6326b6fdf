/*
 * notifier.h: finds changes of alerts and sends messages about them (notify_group.h). One transaction stores both the
 * recipients of an alert and its messages: a restart neither repeats nor loses a message.
 */
#pragma once

#include "alert/alert_state.h"
#include "alert/show.h"
#include "hub/hub.h"
#include "model/message.h"

struct alert_notifier;
struct alert_notifier *alert_notifier_new(struct hub *h);
void alert_notifier_free(struct alert_notifier *t);
/* Applies an alert from the leading hub, which may have notified about it. */
void alert_notifier_apply_remote(struct alert_notifier *t, const struct alert *a, int64_t now_ms);
/*
 * Queues the resolved message for everyone notified about this alert. Notices and critical alerts without any
 * notification so far are queued once, as already over. Also called for alerts loaded after a restart.
 */
void alert_notifier_resolve(struct alert_notifier *t, const struct alert *a, int64_t now_ms);
size_t alert_notifier_skipped_count(const struct alert_notifier *t,
                                    const char *channel); /* number of persons skipped because they have no address */
/* Call after an evaluation: sends due messages and passes the recipients to alert_state.h. Invalidates the alerts in
 * `now`. */
void alert_notifier_tick(struct alert_notifier *t, const struct alerts_now *now, const struct alert_rules *rules,
                         struct alert_states *w, int64_t now_ms);
