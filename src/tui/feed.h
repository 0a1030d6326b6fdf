/* feed.h: where the rows of `muster top` come from: this machine or a hub. No call waits for data. */
#pragma once

#include "base/err.h"
#include "model/now.h"
#include "tui/lanes.h"

struct feed_event {
    int64_t at_ms;
    char node[NAME_MAX_LEN], device[UUID_MAX], kind[16], text[320];
};

/* What is wrong, as the hub says it. */
struct feed_alert {
    int64_t since_ms;
    bool critical, warning, silenced;
    char node[NODE_KEY_MAX], device[UUID_MAX], place[NAME_MAX_LEN + 16], severity[12], rule[64], text[240];
};

struct feed {
    void *arg;
    const char *name; /* "this machine", or the hub's address */
    bool local;
    int (*fd)(void *arg);                      /* readable: read() has something to take */
    bool (*read)(void *arg);                   /* take what came; true: the view is another */
    void (*view)(void *arg, struct view *ret); /* borrowed until the next read() */
    /* What keeps data from coming, in words; NULL: nothing. */
    const char *(*status)(void *arg);
    /* What happened, newest first, borrowed until the next read(). Asking is what makes a feed get them. NULL: not
     * known yet. */
    const struct feed_event *(*events)(void *arg, size_t *ret_n);
    /* What was, borrowed until the next read(): the newest answer, perhaps to what was asked before. NULL: not known
     * yet. ask NULL: what there is, nothing is asked for. A feed without this has no past
     * but what was seen. */
    const struct lanes *(*past)(void *arg, const struct lanes_ask *ask);
    /*
     * This machine's: a descriptor that stands for the process with this number that began then, whatever becomes of
     * the number; the caller closes it. -ESRCH: it has ended; -EPERM: somebody else's. Then a signal for it. NULL: not
     * this machine's.
     */
    int (*aim)(void *arg, int32_t pid, int64_t start_ms);
    int (*fire)(void *arg, int fd, int sig);
    /* What is wrong, the worst first; otherwise as events. NULL: alerts are a hub's, and this is none. */
    const struct feed_alert *(*alerts)(void *arg, size_t *ret_n);
    void (*close)(void *arg);
};

/* This machine, read as its agent would, every tick_ms. */
int feed_local_open(struct feed *ret, int64_t tick_ms, struct err *err);
/* A hub's stream, followed by a thread of its own, which connects again when it breaks. conf is borrowed. */
struct client_conf;
int feed_hub_open(struct feed *ret, const struct client_conf *conf, struct err *err);
