/*
 * log.h: one append-only file of batches, log-N.db. It is self-contained: any SQLite reads it.
 *
 *   node(id, key)                                                  nodes, numbered within this file
 *   batch(id, node, run, number, at, shift, facts, procs, bytes)   in the order of arrival; 64-bit names as signed
 *
 * G1 A batch is stored whole or not at all.
 * G2 Once log_commit returned 0 it survives power loss.
 * G3 Rows are never changed or deleted.
 * G4 The log does not check for repeats: the index does, over all files.
 *
 * On PostgreSQL logs are rows: log_rows.h. A reader need not know which kind it has.
 */
#pragma once

#include "sql/db.h"
#include "store/index.h"
#include "store/quarantine.h"
#include "store/samples.h"

struct log_sum {
    int64_t n;                 /* number of the file */
    int64_t batches, bytes;    /* bytes: estimated size while open, of the file once sealed */
    int64_t first_ms, last_ms; /* earliest and latest at_ms; 0, 0 when empty */
    bool compacted;            /* all of it is in chunks: the file is deleted soon, or already */
};

extern const struct db_kind log_kind;
struct log;
/*
 * Creates the file if missing. Adds its existing rows to the index. Returns -EUCLEAN if it is damaged; the index is
 * unchanged then.
 */
int log_open(struct log **ret, const char *dir, int64_t n, struct index *x, struct err *err);
void log_close(struct log *l);
const struct log_sum *log_sum(const struct log *l);
int64_t log_nodes(const struct log *l); /* number of nodes that have a batch in it */
int64_t log_last_row(const struct log *l);

int log_begin(struct log *l, struct err *err);
int log_put(struct log *l, struct index_node *node, const struct store_batch *b, struct err *err);
int log_commit(struct log *l, struct err *err); /* on failure everything since log_begin is undone */
void log_rollback(struct log *l);
void log_tidy(struct log *l); /* checkpoint when the WAL has grown */

/* checks that it is sealed, a muster log, readable and not of a newer version; errors as db_open() */
int log_probe(const char *dir, int64_t n, struct err *err);

/* Converts the finished log to one plain file without a WAL. Best effort, closes it. */
void log_seal(struct log *l);
void log_finish(const char *dir, int64_t n); /* same for a log sealed before a crash, if it still has a WAL */

/* for readers with their own statements */
int log_open_read(struct db **ret, const char *path, bool sealed, struct err *err);

/* A log open for reading one node at a time: a file, or rows (log_rows.h), which must outlive the reader. */
struct log_reader;
struct batch_rows;
int log_reader_open(struct log_reader **ret, const char *dir, int64_t n, bool sealed, struct err *err);
struct log_reader *log_reader_of_rows(struct batch_rows *rows, int64_t n);
void log_reader_close(struct log_reader *l);
struct log_key {
    int64_t id;
    char key[NODE_KEY_MAX];
};
int log_reader_nodes(struct log_reader *l, struct log_key **ret, size_t *ret_n,
                     struct err *err); /* by id; caller frees */
/* Calls each for rows below before, in row order, with the row's node and time. */
int log_reader_rows(struct log_reader *l, int64_t before,
                    void (*each)(void *arg, int64_t row, int64_t node, int64_t at_ms), void *arg, struct err *err);
/* Starts a snapshot until log_reader_end(); reads within it are faster. */
void log_reader_begin(struct log_reader *l);
void log_reader_whole(struct log_reader *l); /* same as begin, for a caller that reads the whole log, node by node */
void log_reader_end(struct log_reader *l);
/*
 * Reads one row of the node with this number. ret's bytes are valid until the next call. Returns 1, 0 (no such row) or
 * -errno. Does not set ret->node.
 */
int log_reader_get(struct log_reader *l, int64_t node, int64_t row, struct store_batch *ret, struct err *err);

char *log_path(const char *dir, int64_t n); /* the caller frees it */
/*
 * Numbers of the log files in dir, ascending; the caller frees *ret. ret_last: the highest number ever used, including
 * quarantined files.
 */
int log_list(const char *dir, int64_t **ret, size_t *ret_n, int64_t *ret_last, struct err *err);
int log_quarantine(const char *dir, int64_t n, char ret[ASIDE_NAME]); /* see quarantine_file() */
int log_unlink(const char *dir, int64_t n);                           /* returns 0 also if the file did not exist */
int64_t log_file_bytes(const char *dir, int64_t n);
