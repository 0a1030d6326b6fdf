/*
 * packet.h: what leaves a node, as bytes that several hubs and the spool share: a packet (one encoded batch) and its
 * enclosures (the blobs it names: facts and a process list). Both are counted references and never change once made.
 */
#pragma once

#include "base/buf.h"
#include "model/batch.h"

struct enclosure {
    unsigned refs;
    uint64_t id;
    struct buf frame; /* a whole wire frame */
};

struct packet {
    unsigned refs;
    uint64_t run, number;
    int64_t at_ms;                   /* its newest tick, or its newest event, by the wall clock */
    struct enclosure *facts, *procs; /* NULL: none */
    struct buf frame;
};

struct enclosure *enclosure_new(uint64_t id, struct buf *frame); /* takes the buffer's memory; one reference */
/* Another one in the place of *e, unless it has this name already: then false, and frame is as it was. */
bool enclosure_renew(struct enclosure **e, uint64_t id, struct buf *frame);
struct enclosure *enclosure_ref(struct enclosure *b); /* NULL stays NULL */
void enclosure_unref(struct enclosure *b);

struct packet *packet_new(const struct batch_key *key, int64_t at_ms, struct enclosure *facts, struct enclosure *procs,
                          struct buf *frame); /* takes frame's memory, refers to the blobs; one reference */
struct packet *packet_ref(struct packet *p);
void packet_unref(struct packet *p);
