/*
 * keep.h: stores blocks of tape (tape.h): one that grows and one that waits for the disk, both in memory, and an
 * unnamed file for all older blocks.
 *
 * K1 Memory is two blocks in all cases.
 * K2 A block is on disk completely or not at all. A block that cannot be written is dropped and counted, and the file
 *    stays unchanged.
 * K3 The ticking thread waits for readers only during one copy in memory, and for the disk only during the write of one
 *    block.
 *
 * Two locks, in this order: disk (the file), lock (the rest). Every function documents the lock that it expects or
 * acquires.
 */
#pragma once

#include <pthread.h>

#include "base/buf.h"
#include "base/err.h"
#include "lib/tape.h"

#define KEEP_INDEX 512

struct keep {
    pthread_mutex_t disk, lock;
    char *dir;
    int64_t per_block;             /* samples that may be on one */
    struct tape_block grows, full; /* full: waits to be written; empty when len is 0 */
    uint64_t clears;               /* how often it was cleared */
    int64_t taken, dropped, spilled, spilled_bytes;
    /* under disk: */
    int fd;            /* -1: no file yet */
    int64_t end;       /* bytes of the file that count */
    size_t n_index;    /* where some of the blocks are, evenly spread */
    int64_t every, at; /* `every`: one block of this many is in the index; at: blocks since the last indexed one */
    struct {
        int64_t first, offset;
    } index[KEEP_INDEX];
};

/* dir NULL: $TMPDIR or /tmp. per_block 0: as many as fit. block: bytes, at most TAPE_BLOCK_MAX. -ENOMEM. */
int keep_init(struct keep *k, const char *dir, int64_t per_block, size_t block);
void keep_fini(struct keep *k);

/* With lock held: put a sample on tape. True: a block is full, and keep_flush is due before the next. */
bool keep_put(struct keep *k, struct tape_state *s, struct tape_state *last);
/*
 * Acquires both locks. Writes the full block, if any. Returns 0, or -errno with a message in err: the block is then
 * dropped.
 */
int keep_flush(struct keep *k, struct err *err);
/* Acquires both locks. */
void keep_clear(struct keep *k);
/* With lock held. */
int64_t keep_count(const struct keep *k);

/* A copy of one block, as far as it has grown. */
struct keep_copy {
    uint64_t clears; /* set it before the first fetch */
    int64_t first;   /* -1 if none */
    struct buf bytes;
};
/*
 * Acquires the locks. Copies the block with sample `number`, or with the first sample after it, to c. Returns 1 if c is
 * now another block; 2 if it is the same one and has grown; 0 if there is nothing new; -ESTALE after keep_clear; -EIO,
 * -EBADMSG.
 */
int keep_fetch(struct keep *k, int64_t number, struct keep_copy *c);
