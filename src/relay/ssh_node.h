/*
 * ssh_node.h: one machine without an agent: a shell on it, what its lines mean, and batches of that to the hub. Knows no
 * other machine.
 *
 * O1 Whatever happens to it, its node says so in words: each HELLO has a state and, unless it is ok, a reason. O2 While
 * there is nothing to send, a HELLO goes out every HELLO_MS. O3 A connection that ended is tried again after a while
 * that doubles from 1 s to 5 min, less up to half of it by chance; a sample makes it 1 s again. O4 It connects only
 * when told that it is its turn.
 */
#ifndef RELAY_SSH_NODE_H
#define RELAY_SSH_NODE_H

#include "net/ssh.h"
#include "relay/list.h"
#include "uplink/post.h"

struct outpost_conf {
    struct ssh_conf ssh;
    int64_t every_ms;
};

struct outpost;
struct outpost_hooks {
    void (*want)(void *arg, struct outpost *o);    /* it would connect; outpost_connect when it may */
    void (*settled)(void *arg, struct outpost *o); /* the connection it was allowed stands, or came to nothing */
};

/* conf must outlive it. */
struct outpost *outpost_new(struct event_base *loop, struct post *post, const struct outpost_conf *conf,
                            const struct relay_target *to, uint64_t run, const struct outpost_hooks *hooks, void *arg);
void outpost_free(struct outpost *o);
const char *outpost_name(const struct outpost *o);
bool outpost_same(const struct outpost *o, const struct relay_target *to); /* the same way leads there */
void outpost_connect(struct outpost *o);
/* Nobody lists it any more: it is not read, and says so as long as it is kept. And back. */
void outpost_unlist(struct outpost *o);
void outpost_list(struct outpost *o);
void outpost_labels(struct outpost *o, const char *labels); /* what its sources say of it; NULL: nothing */
int64_t outpost_unlisted_ms(const struct outpost *o);       /* since when, monotonic; 0: it is listed */

struct outpost_stat {
    uint8_t collect;
    const char *why;
    uint64_t rounds, skipped;
};
void outpost_stat(const struct outpost *o, struct outpost_stat *ret);

#endif
