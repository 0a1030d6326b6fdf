/*
 * alert_state.h: turns what rules find into alerts: a finding must last for a while before it fires, and be gone for a
 * while before it is resolved. What fired is kept over a restart. A notice (something that only happened) fires once
 * for each time it happened, and is resolved as it fires.
 *
 * W1 One alert per rule and subject. W2 An alert fires once and is resolved once; one that fired before a restart is
 * not resolved until it was found again or ALERT_STATES_SETTLE_MS have gone by, since at first nobody was heard of yet.
 * W3 Nothing here reads a clock or writes. W4 A notice that is found again with the time it was found with before is
 * the same one, also after a restart, for ALERT_STATES_NOTICE_MS. W5 Of a rule that lasts it is the same one if it
 * began before the notice fired: parts of a run begin one after the other. W6 Such a notice is known for as long as
 * what it is of goes on, also after a restart: nobody knows whether it does for ALERT_STATES_HEAR_MS then. Beyond
 * ALERT_STATES_NOTICE_MS there are ALERT_STATES_LASTING of them at most; of those read back the newest.
 */
#pragma once

#include "alert/rule.h"
#include "model/alert.h"

#define ALERT_STATES_MAX       20000  /* alerts at once, pending ones too */
#define ALERT_STATES_SETTLE_MS 120000 /* after a start */
#define ALERT_STATES_NOTICE_MS (2 * 86400000ll)
#define ALERT_STATES_HEAR_MS   3600000
#define ALERT_STATES_LASTING   4000

struct alert_states;
struct alert_states *alert_states_new(int64_t now_ms);
void alert_states_free(struct alert_states *w);
/* Whether what this notice is of goes on. NULL, or never called: nobody knows (W6). */
typedef bool alert_states_goes_on_fn(void *arg, const struct alert *a);
void alert_states_ask(struct alert_states *w, alert_states_goes_on_fn *goes_on, void *arg);
/* Read back, in the order of their numbers: it fired, and was not resolved; or a notice, which is left out where it is
 * too old. r NULL: its rule is not there any more. */
void alert_states_load(struct alert_states *w, const struct alert *a, const struct alert_rule *r);
/* Another hub, which leads, says how it is. */
void alert_states_take(struct alert_states *w, const struct alert *a, const struct alert_rule *r);
/* This hub leads from now on: what fired before is not resolved at once (W2). */
void alert_states_settle(struct alert_states *w, int64_t now_ms);
/* Another hub leads from now on: what is pending here is its to find. */
void alert_states_follow(struct alert_states *w);
void alert_states_set_last(struct alert_states *w, int64_t id); /* numbers given out so far */

/* A look: begin, then see for everything that is so, then end, which tells of what changed. */
void alert_states_begin(struct alert_states *w, int64_t now_ms);
/* since_ms 0: since now, or since it was first seen. Text is borrowed for the call. */
void alert_states_see(void *states, const struct alert_rule *r, const struct alert_finding *f); /* a see_fn */
typedef void alert_states_change_fn(void *arg, const struct alert *a); /* it fired, or was resolved, just now */
void alert_states_end(struct alert_states *w, alert_states_change_fn *change, void *arg);

/* Those there are now: pending and firing, the worst first, then the newest; borrowed until the next look. */
const struct alert *const *alert_states_all(struct alert_states *w, size_t *ret_n);
/* Number i of all that are known, resolved notices too, in no order; NULL: there are not so many. */
const struct alert *alert_states_at(const struct alert_states *w, size_t i);
/* Somebody was told of it, again or for the first time; told_to: who by now is all (told.h). What it is then, borrowed
 * until the next look; NULL: it is not there. */
const struct alert *alert_states_told(struct alert_states *w, const char *rule, const char *subject, int64_t now_ms,
                                      const char *told_to);
/* What somebody was told of at told_ms was told to nobody: it is as it was before. */
void alert_states_untold(struct alert_states *w, const struct alert *before, int64_t told_ms);
