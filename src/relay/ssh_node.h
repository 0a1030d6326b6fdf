/*
 * ssh_node.h: one machine without an agent: a shell on it over ssh, what its lines mean, and batches of that to the
 * hub. It knows no other machine.
 *
 * O1 Whatever happens to it, its node says so in words (uplink/uplink.h). O2 It connects only when told that it is its
 * turn. O3 A connection that ended is tried again after a while that doubles from 1 s to 5 min, less up to half of it
 * by chance; a sample makes it 1 s again.
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
    void (*want)(void *arg, struct ssh_node *o);    /* it would connect; ssh_node_connect when it may */
    void (*settled)(void *arg, struct ssh_node *o); /* the connection it was allowed stands, or came to nothing */
};

/* conf must outlive it. */
struct ssh_node *ssh_node_new(struct event_base *loop, struct post *post, const struct ssh_node_conf *conf,
                              const struct relay_target *to, uint64_t run, const struct ssh_node_hooks *hooks,
                              void *arg);
void ssh_node_free(struct ssh_node *o);
const char *ssh_node_name(const struct ssh_node *o);
bool ssh_node_same(const struct ssh_node *o, const struct relay_target *to); /* the same way leads there */
void ssh_node_connect(struct ssh_node *o);
/* Nobody lists it any more: it is not read, and says so as long as it is kept. And back. */
void ssh_node_unlist(struct ssh_node *o);
void ssh_node_list(struct ssh_node *o);
void ssh_node_labels(struct ssh_node *o, const char *labels); /* what its sources say of it; NULL: nothing */
int64_t ssh_node_unlisted_ms(const struct ssh_node *o);       /* since when, monotonic; 0: it is listed */

struct ssh_node_stat {
    enum collect_state collect;
    uint64_t rounds;
};
void ssh_node_stat(const struct ssh_node *o, struct ssh_node_stat *ret);
