/* cmd_local.h: this machine without a hub: its collector's output as a live state (now/live.h). */
#pragma once

#include "agent/local.h"
#include "now/live.h"

struct local_view {
    struct live *live;
    struct node_now *node; /* NULL: no report yet */
    struct local *local;   /* for local_next, which fills live */
    bool changed;          /* set by each batch; the owner clears it */
    /* set by the caller before local_view_open; event may be NULL */
    void *arg;
    void (*event)(void *arg, const char *node, const struct node_event *e);
    /* private */
    struct agent_conf agent;
    bool conf;
};

/* tick_ms 0: the agent's default. Call local_view_close() also on failure. */
int local_view_open(struct local_view *h, int64_t tick_ms, struct err *err);
/* Reads one snapshot, like local_snapshot, and stops the collector. Use instead of local_view_open. */
int local_view_once(struct local_view *h, struct err *err);
void local_view_close(struct local_view *h);
