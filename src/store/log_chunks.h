/*
 * log_chunks.h: a cache of batches that are still in a log. After the first read they are kept as chunks, so that the
 * next query does not decode each batch again. A piece covers a range of one node's rows in one log. The pieces of a
 * node start with its first row there and have no gaps. Column data is in an unnamed file per log, which goes away with
 * the log; as many heads as fit are in memory. Without such a file (a nearly full disk, no folder) everything is in
 * memory. Bounded in bytes; thread-safe.
 *
 * F1 A piece does not change while a caller holds it, and lives until all holders have released it.
 * F2 Recently used pieces are not evicted: if there is no room, rows are decoded each time.
 * F3 Data in the file has the checks of any chunk: damage is reported, and never yields a wrong value.
 */
#pragma once

#include "codec/chunk.h"
#include "model/fact.h"

#define FRESH_ROWS   4u /* fewer rows are not worth a piece */
#define FRESH_PIECES 8u /* per node and log; beyond that they are merged into one */

struct fresh_chunk {
    int64_t from_ms, to_ms; /* first and last tick */
    struct chunk c;         /* of bytes */
    char *bytes;            /* all bytes, or only the head if the rest is in the file; NULL: read on demand */
    size_t len, head;       /* of all, of the head */
    int64_t off;            /* offset in the file */
};

struct fresh_file;

struct fresh_piece {
    int64_t first_row, last_row;
    size_t n, cap, bytes;
    struct fresh_chunk *v;
    struct fresh_file *file; /* NULL: all in memory */
    uint32_t damaged;        /* rows that could not be decoded */
    unsigned refs;           /* private to log_chunks.c */
};
struct fresh_piece *fresh_piece_new(int64_t first_row, int64_t last_row);
int fresh_piece_add(struct fresh_piece *p, int64_t from_ms, int64_t to_ms, struct str bytes); /* copies. 0 or -errno */

/*
 * The i-th chunk's head: the cached one, or read into *room and *head, which the caller frees. Returns NULL if it
 * cannot be read.
 */
const struct chunk *fresh_piece_head(const struct fresh_piece *p, size_t i, struct chunk *room, struct buf *head);
/*
 * Read into room the bytes of one column of a chunk that has only its head, or of the whole chunk. Return 0 or
 * -EBADMSG.
 */
int fresh_piece_column(const struct fresh_piece *p, size_t i, const struct chunk_part *column, struct buf *room,
                       struct str *ret);
int fresh_piece_whole(const struct fresh_piece *p, size_t i, struct buf *room, struct str *ret);

struct fresh;
struct fresh *fresh_new(const char *dir, size_t max_bytes, size_t max_file); /* dir NULL: no files */
void fresh_piece_free(struct fresh *f, struct fresh_piece *p);               /* a piece that was not put */
void fresh_free(struct fresh *f);

/* Returns the number of cached pieces and stores them in order. Release them with fresh_done(). */
size_t fresh_get(struct fresh *f, const char *node, int64_t log, int64_t now_ms, struct fresh_piece *ret[FRESH_PIECES]);
void fresh_done(struct fresh *f, struct fresh_piece *const *v, size_t n);
bool fresh_room(struct fresh *f, int64_t now_ms); /* whether another piece would be kept */
/*
 * Takes ownership of p and adds it after the last piece, or replaces the first n_instead pieces if these are still
 * `instead`. Returns false if it was not kept (another thread was faster); the caller still owns p then.
 */
bool fresh_put(struct fresh *f, const char *node, int64_t log, struct fresh_piece *const *instead, size_t n_instead,
               struct fresh_piece *p, int64_t now_ms);
void fresh_drop_before(struct fresh *f, int64_t log); /* logs before this one are in chunks */
