/*
 * log.h: one append-only file of batches, log-N.db. It stands alone: any SQLite reads it.
 *
 *   node(id, key)                                            who, numbered within this file
 *   batch(id, node, run, number, at, shift, facts, procs, bytes)   in the order of arrival; 64-bit names as signed
 *
 * G1 A batch is in it whole or not at all. G2 Once log_commit returned 0 it survives power loss. G3 Nothing is ever
 * changed or deleted in it. G4 It does not look for repeats: the index does, over all files.
 */
#ifndef STORE_LOG_H
#define STORE_LOG_H

#include "store/index.h"
#include "store/store.h"

struct log_sum {
    int64_t n;                 /* which file */
    int64_t batches, bytes;    /* bytes: estimated size while open, of the file once sealed */
    int64_t first_ms, last_ms; /* earliest and latest at_ms; 0, 0 when empty */
};

struct log;
/* Made if missing. What is already in it goes into the index. -EUCLEAN: damaged, nothing was taken from it. */
int log_open(struct log **ret, const char *dir, int64_t n, struct index *x, struct err *err);
void log_close(struct log *l);
const struct log_sum *log_sum(const struct log *l);
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

/* Read-only, beside a writer or not. each gets the row's number too. */
int log_scan(const char *dir, int64_t n, bool sealed, int (*each)(void *arg, const struct store_batch *b, int64_t row),
             void *arg, struct err *err);

void log_path(char out[4096], const char *dir, int64_t n);
/* Numbers of the log files there, ascending; the caller frees *ret. ret_last: the highest ever used, set-aside ones
 * counted. */
int log_list(const char *dir, int64_t **ret, size_t *ret_n, int64_t *ret_last, struct err *err);
int log_set_aside(const char *dir, int64_t n); /* rename to log-N.db.damaged; 0 or -errno */
int log_unlink(const char *dir, int64_t n);    /* 0 also when it was not there */
int64_t log_file_bytes(const char *dir, int64_t n);

#endif
