/*
 * log_rows.h: logs on PostgreSQL, where several hubs share them: rows of `batch` in place of files, and a row of `logs`
 * for each log. Each hub writes its own log; log numbers come from a sequence.
 *
 * R1 A batch is acknowledged by a transaction that inserted it, or found it, and that changed the log's own row. A
 *    transaction without writes would not wait for the standby.
 * R2 Sealing a log takes its row from the writer, however late that writer is: its later commits fail and go to a new
 *    log.
 * R3 The key of a batch is in `batch` or in `taken` at all times. Sealing copies it, and the frames stay for
 *    ROWS_GRACE_S after that, longer than any statement of a writer lasts.
 * R4 The owner of a log seals it and compacts it. Another hub adopts the log of a dead hub: it changes the owner and
 *    the epoch, so that the old owner's transaction is rolled back.
 * R5 Rows of a log arrive in the order of their numbers: if the outcome of a commit is unknown, the writer starts a new
 *    log.
 */
#pragma once

#include "store/log.h"

#define ROWS_GRACE_S  60
#define ROWS_LIMIT_MS 10000 /* a writer treats the server as unreachable after this */

/* Statements over a connection that another object owns. */
struct batch_rows;
struct batch_rows *rows_new(struct db *db);
void rows_free(struct batch_rows *x);
void rows_rest(struct batch_rows *x); /* call before the transaction ends; ends the read that rows_get() started */

/* ---- writing ---- */
struct rows_log;
/* Creates a new log of this hub and commits its row. now_ms 0: unknown, no partitions are created ahead. */
int rows_log_begin(struct rows_log **ret, struct batch_rows *x, int64_t hub, int64_t now_ms, struct err *err);
void rows_log_free(struct rows_log *l);
const struct log_sum *rows_log_sum(const struct rows_log *l);
int64_t rows_log_nodes(const struct rows_log *l); /* number of nodes that sent a batch to this hub */

void rows_log_reset(struct rows_log *l); /* discards the queued batches */
/* Copies b. Returns the row it will get. */
int64_t rows_log_put(struct rows_log *l, struct index_node *node, const struct store_batch *b);
/* Within a transaction: sends all batches put since the reset. Returns -ESTALE if the log is no longer ours. */
int rows_log_send(struct rows_log *l);
bool rows_log_accepted(const struct rows_log *l, int64_t row); /* false: the batch was stored already */
/* Reports the outcome of the transaction; committed false: the batches count as not put. */
void rows_log_done(struct rows_log *l, bool committed);

/* ---- logs ---- */
struct row_log {
    int64_t n, owner, epoch;
    bool sealed, ripe; /* ripe: its frames may be deleted */
};
int rows_list(struct batch_rows *x, struct row_log **ret, size_t *ret_n,
              struct err *err); /* not compacted, by number */
/* Each is its own transaction. Return 1; 0 if another hub was faster; -errno. */
int rows_seal(struct batch_rows *x, const struct row_log *l, int64_t now_ms, struct err *err);
int rows_adopt(struct batch_rows *x, const struct row_log *l, int64_t hub, struct err *err);
/* Deletes the frames of a ripe log that is in chunks, and its mark. */
int rows_drop(struct batch_rows *x, const struct row_log *l, struct err *err);
/*
 * Within a transaction: returns 1 if the log is still its owner's; that holds until the transaction ends. 0 or -errno
 * otherwise.
 */
int rows_fence(struct batch_rows *x, const struct row_log *l);
/* Without chunks: deletes logs of this hub whose newest batch is older. Returns their number or -errno. */
int rows_drop_older(struct batch_rows *x, int64_t hub, int64_t current, int64_t before_ms, struct err *err);
int rows_tidy_days(struct batch_rows *x,
                   int64_t now_ms);       /* deletes empty partitions of days long past; returns 0 or -errno */
int64_t rows_bytes(struct batch_rows *x); /* size of the whole database; 0 if unknown */

/* ---- reading ---- */
/* sets *ret to its number; 1, 0, -errno */
int rows_node(struct batch_rows *x, const char *key, int64_t *ret, struct err *err);
int rows_nodes(struct batch_rows *x, int64_t log, struct log_key **ret, size_t *ret_n, struct err *err);
int rows_each(struct batch_rows *x, int64_t log, int64_t before,
              void (*each)(void *arg, int64_t row, int64_t node, int64_t at_ms), void *arg, struct err *err);
/*
 * Numbers of a node's rows in a log after this one, ascending; the caller frees *ret. ret_node: its number; 0 if it has
 * no rows.
 */
int rows_of(struct batch_rows *x, int64_t log, const char *key, int64_t after, int64_t *ret_node, int64_t **ret,
            size_t *ret_n, struct err *err);
/* Same contract as log_reader_get(). Called in row order it costs one query for each node and log. */
int rows_get(struct batch_rows *x, int64_t log, int64_t node, int64_t row, struct store_batch *ret, struct err *err);
/* Same contract as newest_each(), for all hubs. each also gets log and row, to resolve aliases. */
int rows_newest(struct batch_rows *x, int64_t back_ms, size_t max,
                int (*each)(void *arg, const struct store_batch *b, int64_t log, int64_t row), void *arg,
                struct err *err);
