/*
 * child_msg.h: encodes and decodes the messages between the collector process and its parent. Both ends are the same
 * binary, so the format needs no compatibility. The reader still validates all input.
 * C1 A message is applied completely or not at all. After -EBADMSG only msg->type has changed, and the parts of a
 *    process list must be sent again from the first one.
 * C2 Every message that child_msg_* writes is at most CHILD_MSG_MAX bytes.
 * C3 The reader returns only values in bounds: slots of the facts, processes of the last complete list, clean UTF-8.
 */
#pragma once

#include "base/err.h"
#include "model/batch.h"
#include "model/fact.h"

struct buf;

#define CHILD_MSG_MAX    (256u << 10) /* below the usual socket buffer of 208 KiB, which the kernel doubles */
#define CHILD_USES_MAX   2048
#define CHILD_VALUES_MAX 2048 /* of custom metrics, per tick */

enum child_msg_type {
    CHILD_FACTS = 1, /* node_fact's device part: driver, cuda, collector, devices, custom. Before the first tick and
                        when it changes */
    CHILD_PROCS,     /* process list, in parts; complete when last is set. Before the tick that names them */
    CHILD_TICK,      /* samples of all slots, uses */
    CHILD_EVENT,
    CHILD_STATUS, /* collect_state and why: nothing found, driver gone, ...; also proof of life without readings */
};

struct child_value { /* of a custom metric */
    uint16_t slot, metric;
    int64_t v;
};

struct child_tick {
    int64_t at_ms;
    size_t n_slots; /* samples[0] is unused unless a replay gives node values; samples[n] is devices[n - 1] */
    struct sample *samples;
    size_t n_uses;
    struct proc_use *uses; /* processes on the devices now; sent only when changed, the reader keeps the last */
    bool uses_changed;
    size_t n_custom;
    struct child_value *custom;
};

struct child_msg {
    enum child_msg_type type;
    struct node_fact facts;
    struct proc_list procs; /* CHILD_PROCS: filled when the last part came */
    bool procs_complete;
    struct child_tick tick;
    struct node_event event;
    uint8_t status;
    char why[160];

    struct proc_list coming; /* parts of a list that is not complete */
    uint64_t next_part;
};

/* Parent: decode one message. msg is reused between calls and keeps parts of a process list. Returns 0 or -EBADMSG. */
int child_msg_read(struct child_msg *msg, const void *p, size_t n, struct err *err);
void child_msg_fini(struct child_msg *msg);

/* Child: one message into out (emptied first; its max is CHILD_MSG_MAX). The last error of out, 0 as a rule. */
int child_msg_facts(struct buf *out, const struct node_fact *f);
/* One part of a list: procs[*at] and on, as many as fit; *at moves on. Call until *at is n; once for an empty list. */
int child_msg_procs(struct buf *out, const struct proc_list *l, size_t *at, uint64_t part);
int child_msg_tick(struct buf *out, const struct child_tick *t);
int child_msg_event(struct buf *out, const struct node_event *e);
int child_msg_status(struct buf *out, uint8_t status, const char *why);
