/*
 * child.h: the collector process and its messages. The agent re-executes itself as the child and talks over a
 * SOCK_SEQPACKET pair; the child sends one message per thing, the parent never waits for it. Both ends are the same
 * binary, yet messages are checked like any input.
 */
#ifndef COLLECT_CHILD_H
#define COLLECT_CHILD_H

#include "collect/collect.h"

#define CHILD_MSG_MAX (128u << 10)

enum child_msg_type {
    CHILD_FACTS = 1, /* node_fact's device part: driver, cuda, collector, devices, custom. Before the first tick and
                        when it changes */
    CHILD_PROCS,     /* process list, in parts; complete when last is set. Before the tick that names them */
    CHILD_TICK,      /* samples of all slots, uses */
    CHILD_EVENT,
    CHILD_STATUS, /* collect_state and why: nothing found, driver gone, … ; also proof of life when there is nothing to
                     read */
};

struct child_tick {
    int64_t at_ms;
    size_t n_slots; /* samples[0] is unused unless a replay gives node values; samples[n] is devices[n - 1] */
    struct sample *samples;
    size_t n_uses;
    struct proc_use *uses;
    bool uses_changed;
    size_t n_custom;
    struct {
        uint16_t slot, metric;
        int64_t v;
    } * custom;
};

struct child_msg {
    enum child_msg_type type;
    struct node_fact facts;
    struct proc_list procs; /* CHILD_PROCS: filled when the last part came */
    bool procs_complete;
    struct child_tick tick;
    struct event event;
    uint8_t status;
    char why[160];
};

/* Parent: take one message's bytes. msg is reused between calls and keeps parts of a process list. 0 or -EBADMSG. */
int child_msg_read(struct child_msg *msg, const void *p, size_t n, struct err *err);
void child_msg_fini(struct child_msg *msg);

/* Child: never returns 0 before fd is closed by the parent. Exit status for main(). */
int child_main(int fd, const char *collector_list, const struct collect_conf *conf);

#endif
