/*
 * reader.h: another hub's nodes, from its stream. A thread keeps the connection and parses the JSON. Updates wait, only
 * the newest of each node, until the woken consumer takes them. So a slow consumer does not increase memory. A lost
 * connection is retried with increasing delay.
 */
#pragma once

#include "stream/intake.h"
#include "stream/line.h"

struct hub_reader_conf {
    struct line_conf line; /* its token callback runs on the reader's thread */
    const char *path;      /* must be valid as long as the reader */
    bool own;              /* the path has own=1 */
    size_t max_nodes, event_max;
    int64_t quiet_ms, again_max_ms;
    void (*wake)(void *arg); /* on the reader's thread: updates are available; NULL: the consumer polls */
    /*
     * On the reader's thread, about once a second while connected; the hub's clock minus our monotonic one. NULL: none
     */
    void (*tick)(void *arg, int64_t clock_ms);
    /* on the reader's thread, see struct intake */
    int (*meet)(void *arg, const struct stream_hub *who, struct err *err);
    void *arg;
};

struct reader_result {
    bool connected; /* a list has started */
    int code;       /* if not connected: -errno, */
    char why[400];  /* and its message; "": not tried yet */
};

struct hub_reader;
int hub_reader_new(const struct hub_reader_conf *conf, struct hub_reader **ret, struct err *err);
void hub_reader_free(struct hub_reader *r); /* stops the thread first */
/* Moves the updates since the last call to ret; free its nodes with stream_nodes_fini(). */
void hub_reader_take(struct hub_reader *r, struct stream_changes *ret, struct reader_result *said);
