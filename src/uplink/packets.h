/*
 * packets.h: one node's packets in memory on their way to one hub: what goes into a request, and what the hub's answer
 * means for them. Pure; whoever sends (an agent, a relay, a simulation, an import) keeps its packets here.
 *
 * K1 A packet leaves when the hub has named its key as stored, or when its owner removes it. K2 A blob goes with the
 * first request that needs it, and again when that request was not answered or the hub says that it lacks it.
 */
#pragma once

#include "wire/packet.h"
#include "wire/wire.h"

struct waiting_packet {
    struct packet *p;
    bool spooled, sent; /* on disk; in the request under way */
    unsigned tries;     /* requests it went with */
};

struct packets {
    size_t n, cap, bytes; /* bytes: with their blobs */
    struct waiting_packet *v;
    uint64_t *known; /* blobs the hub has, the newest of them */
    size_t n_known, cap_known;
};

/* The blobs that went with a request under way. */
struct sent_blobs {
    uint64_t *v;
    size_t n, cap;
};

void packets_fini(struct packets *q);
void packets_push(struct packets *q, struct packet *p); /* takes a reference of its own */
void packets_remove(struct packets *q, size_t i);
bool packets_have(const struct packets *q, uint64_t run, uint64_t number);
size_t packet_bytes(const struct packet *p);

/* Must the blob go with this request? Then it counts as gone with it. id 0: there is none. */
bool packets_want(const struct packets *q, struct sent_blobs *sent, uint64_t id);
/* The oldest ones with the blobs they need, behind the HELLO: at most `most` of them, and past the first no more than
 * `bytes`. False: some are left for the next request. */
bool packets_fill(struct packets *q, struct sent_blobs *sent, struct buf *body, size_t most, size_t bytes);
/* The request failed, or is not to be waited for. */
void packets_unsend(struct packets *q);
/* It was answered: which blobs the hub has, and which it lacks. */
void packets_learn(struct packets *q, const struct sent_blobs *sent, const struct answer *a);
/* Those that are stored leave; each is told of before. Returns how many. */
typedef void packets_stored_fn(void *arg, const struct waiting_packet *w);
size_t packets_stored(struct packets *q, const struct answer *a, packets_stored_fn *stored, void *arg);
