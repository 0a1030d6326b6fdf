/*
 * packets.h: one node's packets in memory on their way to one hub: the content of requests, and the effect of the hub's
 * replies. Pure. Every sender (agent, relay, simulation, import) keeps its packets here.
 *
 * K1 A packet is removed when the hub has confirmed its key as stored, or by its owner.
 * K2 A blob is sent with the first request that needs it. It is sent again if that request got no reply, or if the hub
 *    reports it as missing.
 */
#pragma once

#include "wire/packet.h"
#include "wire/wire.h"

struct waiting_packet {
    struct packet *p;
    bool spooled, sent; /* on disk; in the request in flight */
    unsigned tries;     /* requests that included it */
};

struct packets {
    size_t n, cap, bytes; /* bytes: with their blobs */
    struct waiting_packet *v;
    uint64_t *known; /* blobs that the hub has, the newest of them */
    size_t n_known, cap_known;
};

/* The blobs sent with a request in flight. */
struct sent_blobs {
    uint64_t *v;
    size_t n, cap;
};

void packets_fini(struct packets *q);
void packets_push(struct packets *q, struct packet *p); /* takes its own reference */
void packets_remove(struct packets *q, size_t i);
bool packets_have(const struct packets *q, uint64_t run, uint64_t number);
size_t packet_bytes(const struct packet *p);

/* Returns true if the request must include the blob, and adds it to sent. id 0: no blob. */
bool packets_want(const struct packets *q, struct sent_blobs *sent, uint64_t id);
/*
 * Fills body with the HELLO and the oldest packets with the blobs they need: at most `most` packets, and after the
 * first no more than `bytes`. Returns false if some are left for the next request.
 */
bool packets_fill(struct packets *q, struct sent_blobs *sent, struct buf *body, size_t most, size_t bytes);
/* The request failed, or is not to be waited for. */
void packets_unsend(struct packets *q);
/* Handles a reply: blobs that the hub has, and blobs it lacks. */
void packets_learn(struct packets *q, const struct sent_blobs *sent, const struct answer *a);
/* Removes the stored packets, after a call of stored for each. Returns their number. */
typedef void packets_stored_fn(void *arg, const struct waiting_packet *w);
size_t packets_stored(struct packets *q, const struct answer *a, packets_stored_fn *stored, void *arg);
