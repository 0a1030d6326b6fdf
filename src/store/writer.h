/*
 * writer.h: the store's queue, and the only thread that writes.
 *
 * W1 The caller's thread only takes the lock, which is never held across a disk access.
 * W2 A commit writes muster.db before the log, so a blob is durable no later than the batch that names it.
 * W3 The index: the caller adds nodes, the thread adds seen numbers, both under the lock. The thread may read seen
 *    without it.
 * W4 Records and blobs, which have no result, go back to the head of the queue if the write failed.
 */
#pragma once

#include "store/done.h"
#include "store/logs.h"
#include "store/samples.h"

struct writer;
int writer_open(struct writer **ret, const struct store_conf *conf, struct done_queue *done, struct err *err);
void writer_close(struct writer *w); /* commits the queue first */
int writer_flush(struct writer *w, struct err *err);

void writer_append(struct writer *w, const struct store_batch *b, size_t n, store_done_fn *done, void *arg);
void writer_nudge(struct writer *w); /* commit now, nothing more follows */
bool writer_has(struct writer *w, const char *node, uint64_t run, uint64_t number);
void writer_put_blob(struct writer *w, const char *node, enum blob_kind kind, uint64_t id, struct str bytes);
bool writer_has_blob(struct writer *w, const char *node, uint64_t id);                  /* false: possibly on disk */
void writer_know_blob(struct writer *w, const char *node, uint64_t id);                 /* the blob was found on disk */
bool writer_get_blob(struct writer *w, const char *node, uint64_t id, struct buf *ret); /* still queued */
/* See records.h. Only the newest queued record of a node is kept. */
int writer_put(struct writer *w, unsigned part, int64_t epoch, enum store_kind kind, const void *v, size_t n,
               store_done_fn *done, void *arg);
void writer_take_over(struct writer *w, const char *from, const char *to);
void writer_stat(struct writer *w, struct store_stat *ret);
/* Stamp of the newest change of data that starts before to_ms, see changes_before(); INT64_MAX: of any data. */
uint64_t writer_changes(struct writer *w, int64_t to_ms);
void writer_changed(struct writer *w); /* all data may read differently now: it was compacted, merged or deleted */

/* For compaction and history, thread-safe. */
uint64_t writer_take_overs(struct writer *w);                /* takeovers on disk since open */
_Atomic uint64_t *writer_history_versions(struct writer *w); /* versions of history.db since open */
/* logs that have a file, by number; the caller frees *ret */
size_t writer_logs(struct writer *w, struct log_ref **ret);
bool writer_has_logs(struct writer *w, const struct log_ref *v, size_t n); /* whether all of these still have a file */
/*
 * The rows of a node's batches in logs written since open: index_row(), ascending; the caller frees *ret. *ret_from:
 * for rows before it the caller must search the files.
 */
size_t writer_rows(struct writer *w, const char *node, uint64_t **ret, uint64_t *ret_from);
void writer_seal(struct writer *w);                   /* the next commit or flush starts a new log */
void writer_compacted(struct writer *w, int64_t log); /* the log is in chunks and may be deleted */
/* fn is called on the writer's thread; NULL: none */
void writer_on_seal(struct writer *w, void (*fn)(void *arg), void *arg);
struct due_logs *writer_due(struct writer *w); /* archive.h */
/* the archive has the log: its file is deleted */
void writer_sent(struct writer *w, int64_t log);
/* For writer_stat. why: the result of the last compaction round, code 0: success. */
void writer_set_history(struct writer *w, int64_t files_bytes, uint32_t damaged, const struct err *why);
