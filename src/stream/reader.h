/*
 * reader.h: another hub's nodes, from its stream. A thread keeps the line and reads the JSON; what it made waits, the
 * newest of each node only, until whoever is woken takes it. So a slow taker makes nothing grow. A line that ends is
 * tried again, later and later.
 */
#pragma once

#include "stream/intake.h"
#include "stream/line.h"

struct hub_reader_conf {
    struct line_conf line; /* its token is asked for on the thread */
    const char *path;      /* lasts */
    bool own;              /* the path asks for own=1 */
    size_t max_nodes, event_max;
    int64_t quiet_ms, again_max_ms;
    void (*wake)(void *arg); /* on the thread: there is something to take; NULL: whoever takes looks by itself */
    /* On the thread, about once a second while there is a line; the hub's clock less our monotonic one. NULL: nothing
     */
    void (*tick)(void *arg, int64_t clock_ms);
    int (*meet)(void *arg, const struct stream_hub *who, struct err *err); /* on the thread, as intake has it */
    void *arg;
};

struct reader_said {
    bool connected; /* a list has begun */
    int code;       /* not connected: -errno, */
    char why[400];  /* and why; "": it was not tried yet */
};

struct hub_reader;
int hub_reader_new(const struct hub_reader_conf *conf, struct hub_reader **ret, struct err *err);
void hub_reader_free(struct hub_reader *r); /* the thread ends first */
/* What came since the last time is ret's, its nodes ended with stream_nodes_fini. */
void hub_reader_take(struct hub_reader *r, struct stream_news *ret, struct reader_said *said);
