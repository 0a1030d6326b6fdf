/* feed.h: the data source of `muster top`: this machine or a hub. No call blocks. */
#pragma once

#include "base/err.h"
#include "model/now.h"
#include "tui/lanes.h"

struct feed_event {
    int64_t at_ms;
    char node[NAME_MAX_LEN], device[UUID_MAX], kind[16], text[320];
};

/* An alert, in the form of the hub. */
struct feed_alert {
    int64_t since_ms;
    bool critical, warning, silenced;
    char node[NODE_KEY_MAX], device[UUID_MAX], place[NAME_MAX_LEN + 16], severity[12], rule[64], text[240];
};

struct feed {
    void *arg;
    const char *name; /* "this machine", or the hub's address */
    bool local;
    int (*fd)(void *arg);                      /* readable: call read() */
    bool (*read)(void *arg);                   /* takes new data; true: the view changed */
    void (*view)(void *arg, struct view *ret); /* valid until the next read() */
    /* The reason why no data arrives; NULL: none. */
    const char *(*status)(void *arg);
    /* Events, newest first, valid until the next read(). The first call starts fetching them. NULL: not known yet. */
    const struct feed_event *(*events)(void *arg, size_t *ret_n);
    /* The newest history, valid until the next read(); it may belong to an earlier query. NULL: not known yet. ask
     * NULL: returns the current data without a new query. A feed without this function has only data since its start.
     */
    const struct lanes *(*past)(void *arg, const struct lanes_query *ask);
    /*
     * Opens a descriptor for the process with this pid and start time; it stays valid if the pid is reused. The caller
     * closes it. -ESRCH: it has exited; -EPERM: another user's. fire() sends a signal to it. NULL: not on this
     * machine.
     */
    int (*aim)(void *arg, int32_t pid, int64_t start_ms);
    int (*fire)(void *arg, int fd, int sig);
    /* Alerts, most severe first; otherwise like events. NULL: not a hub. */
    const struct feed_alert *(*alerts)(void *arg, size_t *ret_n);
    void (*close)(void *arg);
};

/* This machine, read every tick_ms like the agent does. */
int feed_local_open(struct feed *ret, int64_t tick_ms, struct err *err);
/* A hub's stream, read by a dedicated thread, which reconnects. conf is borrowed. */
struct client_conf;
int feed_hub_open(struct feed *ret, const struct client_conf *conf, struct err *err);
