/*
 * forward.h: forwards the standard output of an agent on another machine as the node that represents this machine: with
 * our id, run, number and name. Pure.
 *
 * A1 Every frame is decoded before it is forwarded; an invalid one ends the stream.
 * A2 The agent's HELLO comes first, and every frame is of the node in it.
 * A3 A batch is forwarded with the blobs that were current for it, or not at all.
 */
#pragma once

#include "wire/packet.h"
#include "wire/stream.h"

struct forward {
    struct node_id id;     /* ours */
    const char *name;      /* ours; not owned */
    struct stream in;      /* theirs */
    bool greeted;          /* hello is theirs, the newest */
    struct hello hello;    /* its sent_ms is by their clock */
    uint64_t facts, procs; /* their names of the blobs below */
    struct enclosure *our_facts, *our_procs;
};

void forward_init(struct forward *c, const struct node_id *id, const char *name);
void forward_begin(struct forward *c); /* a new stream */
void forward_fini(struct forward *c);
void forward_add(struct forward *c, struct str bytes);

enum forward_kind { FORWARD_MORE, FORWARD_HELLO, FORWARD_PACKET };
/*
 * Returns the next complete item, or -EBADMSG with a reason, after which the stream is over. next: the key for a batch.
 * The caller owns *ret.
 */
int forward_next(struct forward *c, struct wire_dec *dec, const struct batch_key *next, struct packet **ret,
                 struct err *err);
