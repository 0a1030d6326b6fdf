/*
 * packet.h: encoded data that several hub connections and the spool share: a packet (one encoded batch) and its
 * enclosures (the blobs it names: facts and a process list). Both are reference-counted and never change once made.
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
    int64_t at_ms;                   /* time of its newest tick, or its newest event, by the wall clock */
    struct enclosure *facts, *procs; /* NULL: none */
    struct buf frame;
};

struct enclosure *enclosure_new(uint64_t id, struct buf *frame); /* takes ownership of frame's memory; one reference */
/* Replaces *e by a new one, unless it has this id already: then returns false, and frame is unchanged. */
bool enclosure_renew(struct enclosure **e, uint64_t id, struct buf *frame);
struct enclosure *enclosure_ref(struct enclosure *b); /* accepts NULL */
void enclosure_unref(struct enclosure *b);

struct packet *packet_new(const struct batch_key *key, int64_t at_ms, struct enclosure *facts, struct enclosure *procs,
                          struct buf *frame); /* takes ownership of frame's memory, refers to the blobs; one
                                               * reference */
struct packet *packet_ref(struct packet *p);
void packet_unref(struct packet *p);
