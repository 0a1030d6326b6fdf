/*
 * log_rows.h: logs on PostgreSQL, where several hubs share them: no files but rows of `batch`, and a row of `logs` for
 * each. Each hub writes a log of its own; numbers of logs come from a sequence.
 *
 * R1 A batch is acknowledged by a transaction that has it, or found it there, and that changed the log's own row: one
 * that writes nothing would not wait for the standby. R2 Whoever seals a log takes that row from its writer, however
 * late that one is: what it then commits fails, and goes to a new log. R3 The key of a batch is in `batch` or in
 * `taken` at every moment: sealing copies it, and the frames stay for ROWS_GRACE_S after that, which no statement of a
 * writer lasts. R4 A log is sealed and made into chunks by its owner. That of a hub that is gone is adopted: the owner
 * changes, and the epoch, so that the old one's transaction is rolled back. R5 Rows of a log come in the order of their
 * numbers: where it is not known whether a commit happened, a new log is begun.
 */
#pragma once

#include "store/log.h"

#define ROWS_GRACE_S  60
#define ROWS_LIMIT_MS 10000 /* so long a writer waits for the server: then it is away */

/* Statements over somebody's connection. */
struct batch_rows;
struct batch_rows *rows_new(struct db *db);
void rows_free(struct batch_rows *x);
void rows_rest(struct batch_rows *x); /* before a transaction ends: nothing more is read of what rows_get gave */

/* ---- writing ---- */
struct rows_log;
/* A new log of this hub, its row committed. now_ms 0: not known, and no partitions are made ahead. */
int rows_log_begin(struct rows_log **ret, struct batch_rows *x, int64_t hub, int64_t now_ms, struct err *err);
void rows_log_free(struct rows_log *l);
const struct log_sum *rows_log_sum(const struct rows_log *l);
int64_t rows_log_nodes(const struct rows_log *l); /* that sent this hub anything */

void rows_log_reset(struct rows_log *l); /* nothing is to be put */
/* Copies. Which row it will be. */
int64_t rows_log_put(struct rows_log *l, struct index_node *node, const struct store_batch *b);
/* Within a transaction: all that was put since the reset. -ESTALE: the log is not ours any more. */
int rows_log_send(struct rows_log *l);
bool rows_log_took(const struct rows_log *l, int64_t row); /* false: such a batch was there already */
/* How the transaction ended; false: as if nothing had been put. */
void rows_log_done(struct rows_log *l, bool committed);

/* ---- logs ---- */
struct row_log {
    int64_t n, owner, epoch;
    bool sealed, ripe; /* ripe: its frames may go */
};
int rows_list(struct batch_rows *x, struct row_log **ret, size_t *ret_n,
              struct err *err); /* not compacted, by number */
/* These are transactions of their own: 1; 0: somebody else was faster; -errno. */
int rows_seal(struct batch_rows *x, const struct row_log *l, int64_t now_ms, struct err *err);
int rows_adopt(struct batch_rows *x, const struct row_log *l, int64_t hub, struct err *err);
/* Frames of a log that is in chunks, and is ripe, go, and its mark. */
int rows_drop(struct batch_rows *x, const struct row_log *l, struct err *err);
/* Within a transaction: 1 while the log is still its owner's; it stays so until the end. 0, -errno. */
int rows_fence(struct batch_rows *x, const struct row_log *l);
/* Without chunks: logs of this hub whose newest batch is older go. How many, or -errno. */
int rows_drop_older(struct batch_rows *x, int64_t hub, int64_t current, int64_t before_ms, struct err *err);
int rows_tidy_days(struct batch_rows *x,
                   int64_t now_ms);       /* partitions of days long gone that are empty go. 0 or -errno */
int64_t rows_bytes(struct batch_rows *x); /* of the whole database; 0: not known */

/* ---- reading ---- */
int rows_node(struct batch_rows *x, const char *key, int64_t *ret, struct err *err); /* its number: 1, 0, -errno */
int rows_nodes(struct batch_rows *x, int64_t log, struct log_key **ret, size_t *ret_n, struct err *err);
int rows_each(struct batch_rows *x, int64_t log, int64_t before,
              void (*each)(void *arg, int64_t row, int64_t node, int64_t at_ms), void *arg, struct err *err);
/* Numbers of a node's rows in a log behind this one, ascending; the caller frees. ret_node: its number; 0: no rows. */
int rows_of(struct batch_rows *x, int64_t log, const char *key, int64_t after, int64_t *ret_node, int64_t **ret,
            size_t *ret_n, struct err *err);
/* As log_reader_get; asked in the order of rows it costs one question for each node and log. */
int rows_get(struct batch_rows *x, int64_t log, int64_t node, int64_t row, struct store_batch *ret, struct err *err);
/* As newest_each says, of all hubs. where: log and row, for aliases. */
int rows_newest(struct batch_rows *x, int64_t back_ms, size_t max,
                int (*each)(void *arg, const struct store_batch *b, int64_t log, int64_t row), void *arg,
                struct err *err);
