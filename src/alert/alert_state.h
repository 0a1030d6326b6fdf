/*
 * alert_state.h: turns findings of rules into alerts. A finding must last before it fires, and must be gone for a
 * while before the alert is resolved. Firing alerts survive a restart. A notice (a single event) fires once per event
 * and is resolved immediately.
 *
 * W1 One alert per rule and subject.
 * W2 An alert fires once and is resolved once. An alert that fired before a restart stays until it is found again or
 *    ALERT_STATES_SETTLE_MS have passed, since no node has reported yet at the start.
 * W3 Pure: no clock, no writes.
 * W4 A notice found again with the same time is the same notice, also after a restart, for ALERT_STATES_NOTICE_MS.
 * W5 For a rule that lasts, a finding is the same notice if it started before the notice fired: parts of a run start
 *    at different times.
 * W6 Such a notice is kept while its subject (a run) is active, also after a restart; the subject's state is unknown
 * for ALERT_STATES_HEAR_MS then. At most ALERT_STATES_LASTING of them are older than ALERT_STATES_NOTICE_MS; a load
 *    keeps the newest.
 */
#pragma once

#include "alert/rule.h"
#include "model/alert.h"

#define ALERT_STATES_MAX       20000  /* concurrent alerts, including pending ones */
#define ALERT_STATES_SETTLE_MS 120000 /* after a start */
#define ALERT_STATES_NOTICE_MS (2 * 86400000ll)
#define ALERT_STATES_HEAR_MS   3600000
#define ALERT_STATES_LASTING   4000

struct alert_states;
struct alert_states *alert_states_new(int64_t now_ms);
void alert_states_free(struct alert_states *w);
/* Returns whether the subject of this notice is still active. NULL or not set: unknown (W6). */
typedef bool alert_states_goes_on_fn(void *arg, const struct alert *a);
void alert_states_set_active_fn(struct alert_states *w, alert_states_goes_on_fn *goes_on, void *arg);
/* Loads a stored alert: one that still fires, or a notice (skipped if too old). Call in order of id. r is NULL if its
 * rule no longer exists. */
void alert_states_load(struct alert_states *w, const struct alert *a, const struct alert_rule *r);
/* Applies the state of an alert from the leading hub. */
void alert_states_take(struct alert_states *w, const struct alert *a, const struct alert_rule *r);
/* This hub becomes the leader: alerts that fired before are not resolved immediately (W2). */
void alert_states_settle(struct alert_states *w, int64_t now_ms);
/* Another hub becomes the leader: drops pending alerts, which the leader finds itself. */
void alert_states_follow(struct alert_states *w);
void alert_states_set_last(struct alert_states *w, int64_t id); /* highest id used so far */

/* One evaluation: call begin, then see() for every finding, then end, which reports the changes. */
void alert_states_begin(struct alert_states *w, int64_t now_ms);
/* since_ms 0: now, or the time it was first seen. Borrows the text for the call. */
void alert_states_see(void *states, const struct alert_rule *r, const struct alert_finding *f); /* a see_fn */
typedef void alert_states_change_fn(void *arg, const struct alert *a); /* a fired or resolved just now */
void alert_states_end(struct alert_states *w, alert_states_change_fn *change, void *arg);

/* Pending and firing alerts, the most severe first, then the newest. Valid until the next evaluation. */
const struct alert *const *alert_states_all(struct alert_states *w, size_t *ret_n);
/* Alert i of all, including resolved notices, in no order. Returns NULL if i is out of range. */
const struct alert *alert_states_at(const struct alert_states *w, size_t i);
/* Records a notification about the alert; told_to is the complete list of recipients (notified.h). Returns the alert,
 * valid until the next evaluation, or NULL if not found. */
const struct alert *alert_states_mark_notified(struct alert_states *w, const char *rule, const char *subject,
                                               int64_t now_ms, const char *told_to);
/* Undoes the notification of told_ms, which reached no recipient: restores the state `before`. */
void alert_states_untold(struct alert_states *w, const struct alert *before, int64_t told_ms);
