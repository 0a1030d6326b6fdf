/*
 * ssh_node.h: one machine without an agent: runs a shell on it over ssh, parses its lines, and sends batches to the
 * hub. It does not depend on other machines.
 *
 * O1 Every problem of the machine is reported as the state of its node, with a message (uplink/uplink.h).
 * O2 It connects only when the caller permits.
 * O3 An ended connection is retried after a delay that doubles from 1 s to 5 min, minus a random part of up to half. A
 *    sample resets it to 1 s.
 */
#pragma once

#include "net/ssh.h"
#include "relay/list.h"
#include "uplink/uplink.h"

struct ssh_node_conf {
    struct ssh_conf ssh;
    int64_t every_ms;
};

struct ssh_node;
struct ssh_node_hooks {
    void (*want)(void *arg, struct ssh_node *o);    /* it wants to connect; call ssh_node_connect when it may */
    void (*settled)(void *arg, struct ssh_node *o); /* the permitted connection is established, or has failed */
};

/* conf must outlive it. */
struct ssh_node *ssh_node_new(struct event_base *loop, struct post *post, const struct ssh_node_conf *conf,
                              const struct relay_target *to, uint64_t run, const struct ssh_node_hooks *hooks,
                              void *arg);
void ssh_node_free(struct ssh_node *o);
const char *ssh_node_name(const struct ssh_node *o);
bool ssh_node_same(const struct ssh_node *o, const struct relay_target *to); /* the same way leads there */
void ssh_node_connect(struct ssh_node *o);
/* It is no longer listed: it is not read, and its state reports that while it is kept. ssh_node_list is the reverse. */
void ssh_node_unlist(struct ssh_node *o);
void ssh_node_list(struct ssh_node *o);
void ssh_node_labels(struct ssh_node *o, const char *labels); /* labels from its sources; NULL if none */
int64_t ssh_node_unlisted_ms(const struct ssh_node *o);       /* since when, monotonic; 0: it is listed */

struct ssh_node_stat {
    enum collect_state collect;
    uint64_t rounds;
};
void ssh_node_stat(const struct ssh_node *o, struct ssh_node_stat *ret);
