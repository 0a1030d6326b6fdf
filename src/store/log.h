/*
 * log.h: one append-only file of batches, log-N.db. It stands alone: any SQLite reads it.
 *
 *   node(id, key)                                            who, numbered within this file
 *   batch(id, node, run, number, at, shift, facts, procs, bytes)   in the order of arrival; 64-bit names as signed
 *
 * G1 A batch is in it whole or not at all. G2 Once log_commit returned 0 it survives power loss. G3 Nothing is ever
 * changed or deleted in it. G4 It does not look for repeats: the index does, over all files.
 *
 * On PostgreSQL logs are rows: log_rows.h. Whoever reads one need not know which it is.
 */
#pragma once

#include "sql/db.h"
#include "store/aside.h"
#include "store/index.h"
#include "store/samples.h"

struct log_sum {
    int64_t n;                 /* which file */
    int64_t batches, bytes;    /* bytes: estimated size while open, of the file once sealed */
    int64_t first_ms, last_ms; /* earliest and latest at_ms; 0, 0 when empty */
    bool compacted;            /* all of it is in chunks: the file goes, or is gone */
};

extern const struct db_kind log_kind;
struct log;
/* Made if missing. What is already in it goes into the index. -EUCLEAN: damaged, nothing was taken from it. */
int log_open(struct log **ret, const char *dir, int64_t n, struct index *x, struct err *err);
void log_close(struct log *l);
const struct log_sum *log_sum(const struct log *l);
int64_t log_nodes(const struct log *l); /* that have a batch in it */
int64_t log_last_row(const struct log *l);

int log_begin(struct log *l, struct err *err);
int log_put(struct log *l, struct index_node *node, const struct store_batch *b, struct err *err);
int log_commit(struct log *l, struct err *err); /* on failure everything since log_begin is undone */
void log_rollback(struct log *l);
void log_tidy(struct log *l); /* checkpoint when the WAL has grown */

int log_probe(const char *dir, int64_t n, struct err *err); /* sealed, ours, readable, not newer: as db_open says */

/* Nothing more will be added: one plain file is left, without a WAL beside it. Best effort, closes it. */
void log_seal(struct log *l);
void log_finish(const char *dir, int64_t n); /* the same for one sealed before a crash, if it still has a WAL */

int log_open_read(struct db **ret, const char *path, bool sealed, struct err *err); /* for what reads it its own way */

/* A log open for reading a node at a time: a file, or rows (log_rows.h), which must outlive it. */
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
/* Which rows are whose and of when, in the order of rows, those below before. */
int log_reader_rows(struct log_reader *l, int64_t before,
                    void (*each)(void *arg, int64_t row, int64_t node, int64_t at_ms), void *arg, struct err *err);
/* Between these what is read is of one moment, and reading costs less. */
void log_reader_begin(struct log_reader *l);
void log_reader_whole(struct log_reader *l); /* as begin, for whoever will read all of it, node after node */
void log_reader_end(struct log_reader *l);
/* One row of the node with this number; ret's bytes are good until the next call. 1, 0 (no such row), -errno.
 * ret->node is not set. */
int log_reader_get(struct log_reader *l, int64_t node, int64_t row, struct store_batch *ret, struct err *err);

char *log_path(const char *dir, int64_t n); /* the caller frees it */
/* Numbers of the log files there, ascending; the caller frees *ret. ret_last: the highest ever used, set-aside ones
 * counted. */
int log_list(const char *dir, int64_t **ret, size_t *ret_n, int64_t *ret_last, struct err *err);
int log_set_aside(const char *dir, int64_t n, char ret[ASIDE_NAME]); /* as aside_put */
int log_unlink(const char *dir, int64_t n);                          /* 0 also when it was not there */
int64_t log_file_bytes(const char *dir, int64_t n);
