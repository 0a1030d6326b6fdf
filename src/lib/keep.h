/*
 * keep.h: keeps blocks of tape (tape.h): one that grows and one that is on its way to disk, both in memory, and a file
 * without a name for all before them.
 *
 * K1 Memory is two blocks, whatever happens. K2 A block is on disk whole or not at all; one that cannot be written is
 * dropped, counted, and the file is as it was. K3 Who ticks is never made to wait by who reads, but for the time of one
 * copy in memory, and on the disk that of one block.
 *
 * Two locks, in this order: disk (the file), lock (the rest). Every function says which it wants held, or takes.
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
    int64_t every, at; /* one block in so many is in it; blocks since the last that is */
    struct {
        int64_t first, offset;
    } index[KEEP_INDEX];
};

/* dir NULL: $TMPDIR or /tmp. per_block 0: as many as fit. block: bytes, at most TAPE_BLOCK_MAX. -ENOMEM. */
int keep_init(struct keep *k, const char *dir, int64_t per_block, size_t block);
void keep_fini(struct keep *k);

/* With lock held: put a sample on tape. True: a block is full, and keep_flush is due before the next. */
bool keep_put(struct keep *k, struct tape_state *s, struct tape_state *last);
/* Takes both locks. Write the full block, if there is one. 0, or -errno with a sentence: it is dropped then. */
int keep_flush(struct keep *k, struct err *err);
/* Takes both locks. */
void keep_clear(struct keep *k);
/* With lock held. */
int64_t keep_count(const struct keep *k);

/* A copy of one block, as far as it has grown. */
struct keep_copy {
    uint64_t clears; /* set it before the first fetch */
    int64_t first;   /* -1: none */
    struct buf bytes;
};
/*
 * Takes the locks. Have the block with sample `number`, or the first that follows, in c: 1 when c is another block now;
 * 2 when it is the same one and has grown; 0 when there is nothing new; -ESTALE after keep_clear; -EIO, -EBADMSG.
 */
int keep_fetch(struct keep *k, int64_t number, struct keep_copy *c);
