/*
 * log_chunks.h: a cache of batches that are still in a log: once read they are kept as chunks, so that the next
 * question about them does not decode them one by one again. A piece is a stretch of one node's rows in one log; the
 * pieces of a node begin with its first row there and leave none out. Columns lie in a file without a name, one for
 * each log, which goes with it; heads are in memory as far as they fit. Without such a file (a disk that is nearly
 * full, no folder) all of it is in memory. Bounded in bytes; any thread.
 *
 * F1 A piece that somebody has does not change, and lives until everybody who has it gave it back. F2 What was used a
 * short while ago is not pushed out: when there is no room, rows are decoded each time. F3 What is in the file is
 * checked as any chunk is: should it be damaged, that is told, and no value is wrong.
 */
#pragma once

#include "codec/chunk.h"
#include "model/fact.h"

#define FRESH_ROWS   4u /* fewer rows are not worth a piece */
#define FRESH_PIECES 8u /* of a node and log; then they become one */

struct fresh_chunk {
    int64_t from_ms, to_ms; /* first and last tick */
    struct chunk c;         /* of bytes */
    char *bytes;            /* all of them, or of what is in the file the head; NULL: it is read when needed */
    size_t len, head;       /* of all, of the head */
    int64_t off;            /* in the file */
};

struct fresh_file;

struct fresh_piece {
    int64_t first_row, last_row;
    size_t n, cap, bytes;
    struct fresh_chunk *v;
    struct fresh_file *file; /* NULL: none of it is in one */
    uint32_t damaged;        /* rows that could not be decoded */
    unsigned refs;           /* log_chunks.c's own business */
};
struct fresh_piece *fresh_piece_new(int64_t first_row, int64_t last_row);
int fresh_piece_add(struct fresh_piece *p, int64_t from_ms, int64_t to_ms, struct str bytes); /* copies. 0 or -errno */

/* The i-th chunk's head: as it is kept, or read into *room and *head, which the caller ends. NULL: it cannot be read.
 */
const struct chunk *fresh_piece_head(const struct fresh_piece *p, size_t i, struct chunk *room, struct buf *head);
/* A column's bytes where the chunk has only its head, or all of the chunk: in room. 0 or -EBADMSG. */
int fresh_piece_column(const struct fresh_piece *p, size_t i, const struct chunk_part *column, struct buf *room,
                       struct str *ret);
int fresh_piece_whole(const struct fresh_piece *p, size_t i, struct buf *room, struct str *ret);

struct fresh;
struct fresh *fresh_new(const char *dir, size_t max_bytes, size_t max_file); /* dir NULL: no files */
void fresh_piece_free(struct fresh *f, struct fresh_piece *p);               /* one that was not put */
void fresh_free(struct fresh *f);

/* The pieces there are, in order: how many. Each is given back with fresh_done. */
size_t fresh_get(struct fresh *f, const char *node, int64_t log, int64_t now_ms, struct fresh_piece *ret[FRESH_PIECES]);
void fresh_done(struct fresh *f, struct fresh_piece *const *v, size_t n);
bool fresh_room(struct fresh *f, int64_t now_ms); /* one more would be kept */
/*
 * Takes p: behind the last, or in place of the first `instead` pieces when they are still the ones given. False: it was
 * not kept (another was faster), and is still the caller's.
 */
bool fresh_put(struct fresh *f, const char *node, int64_t log, struct fresh_piece *const *instead, size_t n_instead,
               struct fresh_piece *p, int64_t now_ms);
void fresh_drop_before(struct fresh *f, int64_t log); /* logs before this one are in chunks */
