/*
 * collector_keeper.h: keeps one collector process running, whatever the driver does to it.
 *
 * K1 The loop never waits for the child.
 * K2 A child that sends nothing for collect_timeout (plus the normal second of silence) is hung. The state reports it
 *    with the start time, and the child is killed and replaced. A new child gets START_TIMES as long, since a driver
 *    without persistence takes seconds to wake.
 * K3 At most KEEPER_STUCK_MAX children that survive SIGKILL are tolerated. Then no new one is started until one of them
 *    ends.
 * K4 A child that ended is restarted immediately the first time, then with growing pauses. Exit status CHILD_EXIT_STALE
 *    requests a new one.
 */
#pragma once

#include <event2/event.h>

#include "agent/conf.h"
#include "collect/child.h"

#define KEEPER_STUCK_MAX 2

struct keeper_state {
    enum collect_state collect;
    int64_t since_ms;
    unsigned stuck; /* children that were killed but have not ended */
    char why[160];  /* a message if collect is not ok */
};

struct keeper_hooks {
    void (*start)(void *arg);                          /* the next messages are from a new collector */
    void (*msg)(void *arg, const struct child_msg *m); /* borrowed */
    void (*state)(void *arg, const struct keeper_state *was, const struct keeper_state *now);
};

struct keeper;
/* conf is borrowed, and must outlive the keeper or the next keeper_set_conf. Starts nothing yet. */
struct keeper *keeper_new(struct event_base *base, const struct agent_conf *conf, const struct keeper_hooks *hooks,
                          void *arg);
void keeper_start(struct keeper *k);
void keeper_pause(struct keeper *k, int64_t ms); /* release the driver for this long */
void keeper_resume(struct keeper *k);
/* restart: the change affects the collector. forget: it reads other devices now, the old ones are not lost. */
void keeper_set_conf(struct keeper *k, const struct agent_conf *conf, bool restart, bool forget);
void keeper_stop(struct keeper *k); /* stop the collector; the loop keeps running */
const struct keeper_state *keeper_state(const struct keeper *k);
int64_t keeper_paused_until_ms(const struct keeper *k); /* wall clock; 0: not paused */
pid_t keeper_pid(const struct keeper *k);               /* -1 if none is running */
void keeper_free(struct keeper *k);                     /* waits a second for children to end, then kills them */
