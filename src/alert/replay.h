/*
 * replay.h: which alerts the rules would have raised over a span of the past. The rules and the steps to an alert
 * (alert_state.h) are the hub's; what they look at is made again, minute by minute, out of what is stored.
 * docs/internals/alerts.md tells what differs from having been there.
 *
 * Y1 Nothing is written and nobody is told. Y2 The work is bounded: what is loaded at once takes about
 * ALERT_REPLAY_LOAD_BYTES, and past->stop ends it; what was found until then stands. Y3 It begins earlier than asked,
 * by as much as the slowest rule needs, so that what was so already is known.
 */
#pragma once

#include "alert/rule.h"
#include "base/zone.h"
#include "history/history.h"
#include "model/alert.h"

#define ALERT_REPLAY_LOAD_BYTES ((size_t)96 << 20)
#define ALERT_REPLAY_DAYS_MAX   92
#define ALERT_REPLAY_ALERTS_MAX 5000   /* alerts kept; the others are counted */
#define ALERT_REPLAY_EVENTS_MAX 100000 /* the newest count */
#define ALERT_REPLAY_PROCS_MAX  500000 /* processes; more are refused */

struct alert_replay_ask {
    const struct view *view;       /* every node there is, as it is now: copied */
    const struct state_rule *rule; /* copied */
    const struct people *people;   /* a reference is taken */
    struct alert_rules *rules;     /* taken */
    const struct zone *zone;       /* of days; borrowed; NULL: UTC */
    const char *usage_zone;        /* the name of that of usage; copied; NULL: the system's */
    int64_t from_ms, to_ms;        /* at most ALERT_REPLAY_DAYS_MAX apart; made to whole minutes */
};

/* What one rule did. */
struct alert_replay_rule {
    const struct alert_rule *rule;
    size_t alerts, firing; /* those that still fired at the end are among the alerts */
    size_t days;           /* on which one of them began to fire */
    int64_t longest_ms;
};

struct alert_replay;
struct alert_replay *alert_replay_new(const struct alert_replay_ask *ask); /* on the loop's thread */
void alert_replay_free(struct alert_replay *r);
/* On any thread, once. 0: also when stopped; -errno. */
int alert_replay_run(struct alert_replay *r, const struct past_source *past, struct err *err);

/* What came of it. */
struct alert_replay_said {
    int64_t from_ms, to_ms, until_ms; /* until_ms: how far it came; before to_ms when it was stopped */
    size_t nodes;
    size_t alerts;    /* found */
    struct alert **v; /* those kept: the newest ALERT_REPLAY_ALERTS_MAX, by when they fired */
    size_t n;
    bool events_cut; /* there were more events than ALERT_REPLAY_EVENTS_MAX: the oldest were not looked at */
    struct alert_replay_rule *rules; /* that are on, in their order; those that cannot look back (now_only) too */
    size_t n_rules;
};
const struct alert_replay_said *alert_replay_said(const struct alert_replay *r); /* when it ran */
