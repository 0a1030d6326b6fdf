/* cmd_here.h: this machine without a hub: what its collector says, as a live state (now/live.h). */
#pragma once

#include "agent/local.h"
#include "now/live.h"

struct here {
    struct live *live;
    struct node_now *node; /* NULL: nothing heard yet */
    struct local *local;   /* for local_next, which fills live */
    bool changed;          /* set by each batch; the owner clears it */
    /* the owner's, set before here_open; event may be NULL */
    void *arg;
    void (*event)(void *arg, const char *node, const struct node_event *e);
    /* private */
    struct agent_conf agent;
    bool conf;
};

/* tick_ms 0: as the agent has it. In any case ended with here_close. */
int here_open(struct here *h, int64_t tick_ms, struct err *err);
/* Without the collector going on: one look, as local_snapshot takes it. Instead of here_open. */
int here_once(struct here *h, struct err *err);
void here_close(struct here *h);
