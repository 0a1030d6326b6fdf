/*
 * replay.h: computes which alerts the rules would have raised in a past period. It uses the hub's rules and alert
 * states (alert_state.h), and rebuilds their input minute by minute from stored data. docs/internals/alerts.md lists
 * the differences from a live run.
 *
 * Y1 Nothing is written and no notifications are sent.
 * Y2 Memory is bounded: one load uses about ALERT_REPLAY_LOAD_BYTES. past->stop ends the run; results up to then are
 *    valid.
 * Y3 The run starts earlier than requested, by as much as the slowest rule needs, to find conditions that already
 *    held.
 */
#pragma once

#include "alert/rule.h"
#include "base/zone.h"
#include "history/history.h"
#include "model/alert.h"

#define ALERT_REPLAY_LOAD_BYTES ((size_t)96 << 20)
#define ALERT_REPLAY_DAYS_MAX   92
#define ALERT_REPLAY_ALERTS_MAX 5000   /* alerts kept; more are only counted */
#define ALERT_REPLAY_EVENTS_MAX 100000 /* the newest events are used */
#define ALERT_REPLAY_PROCS_MAX  500000 /* processes; more are an error */

struct alert_replay_params {
    const struct view *view;       /* all nodes in their current state; copied */
    const struct state_rule *rule; /* copied */
    const struct people *people;   /* takes a reference */
    struct alert_rules *rules;     /* takes ownership */
    const struct zone *zone;       /* time zone of days; borrowed; NULL: UTC */
    const char *usage_zone;        /* name of the time zone of usage; copied; NULL: the system's */
    int64_t from_ms, to_ms;        /* at most ALERT_REPLAY_DAYS_MAX apart; rounded to whole minutes */
};

/* Result of one rule. */
struct alert_replay_rule {
    const struct alert_rule *rule;
    size_t alerts, firing; /* firing: alerts that still fire at the end; alerts includes them */
    size_t days;           /* number of days on which an alert started to fire */
    int64_t longest_ms;
};

struct alert_replay;
struct alert_replay *alert_replay_new(const struct alert_replay_params *ask); /* loop thread only */
void alert_replay_free(struct alert_replay *r);
/* Call once, on any thread. Returns 0, also when stopped, or -errno. */
int alert_replay_run(struct alert_replay *r, const struct past_source *past, struct err *err);

struct alert_replay_result {
    int64_t from_ms, to_ms, until_ms; /* until_ms: end of the evaluated period; before to_ms if stopped */
    size_t nodes;
    size_t alerts;    /* found */
    struct alert **v; /* kept alerts: the newest ALERT_REPLAY_ALERTS_MAX, by the time they fired */
    size_t n;
    bool events_cut;                 /* more than ALERT_REPLAY_EVENTS_MAX events: the oldest were ignored */
    struct alert_replay_rule *rules; /* enabled rules in their order, including rules without replay (now_only) */
    size_t n_rules;
};
const struct alert_replay_result *alert_replay_result(const struct alert_replay *r); /* after the run */
