/*
 * child.h: the collector process. The agent re-executes itself as the child and talks over a SOCK_SEQPACKET pair; the
 * child sends one message per thing (child_msg.h), the parent never waits for it and kills it when it is late.
 * Within a second of anything else the child sends a status, so silence means that a driver call does not return.
 * Before its first tick the child takes a CHILD_FACTS message from the parent, when one waits in the socket: the facts
 * of its predecessor. The devices in them keep their slots, and are lost until they are seen.
 */
#pragma once

#include "collect/child_msg.h"
#include "collect/collect.h"

/* Exit status, for main(). */
enum {
    CHILD_EXIT_CLOSED = 0, /* the parent closed its end */
    CHILD_EXIT_LIST = 2,   /* the list of collectors is invalid; a status has the reason */
    CHILD_EXIT_STALE = 75, /* library and driver differ: restart immediately */
};

/* Child: never returns 0 before fd is closed by the parent. fd stays open. */
int child_main(int fd, const char *collector_list, const struct collect_conf *conf);

/* The loop of child_main with another table of collectors and another /proc: for tests. Changes nothing of the process.
 */
int child_run(int fd, const struct collector_ops *const *table, const char *collector_list,
              const struct collect_conf *conf, const char *proc_root);
