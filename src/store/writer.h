/*
 * writer.h: the store's queue, and the one thread that writes.
 *
 * W1 The caller's thread only ever takes the lock, which is never held across a disk access. W2 A commit writes
 * muster.db before the log, so a blob is durable no later than the batch that names it. W3 The index: nodes are added
 * by the caller, seen numbers by the thread, both under the lock; the thread may read seen without it. W4 What has no
 * result (records, blobs) and could not be written goes back to the head of the queue.
 */
#pragma once

#include "store/done.h"
#include "store/logs.h"
#include "store/samples.h"

struct writer;
int writer_open(struct writer **ret, const struct store_conf *conf, struct done_queue *done, struct err *err);
void writer_close(struct writer *w); /* after one last commit */
int writer_flush(struct writer *w, struct err *err);

void writer_append(struct writer *w, const struct store_batch *b, size_t n, store_done_fn *done, void *arg);
void writer_nudge(struct writer *w); /* what is queued need not wait for more */
bool writer_has(struct writer *w, const char *node, uint64_t run, uint64_t number);
void writer_put_blob(struct writer *w, const char *node, enum blob_kind kind, uint64_t id, struct str bytes);
bool writer_has_blob(struct writer *w, const char *node, uint64_t id);                  /* false: perhaps on disk */
void writer_know_blob(struct writer *w, const char *node, uint64_t id);                 /* it was found on disk */
bool writer_get_blob(struct writer *w, const char *node, uint64_t id, struct buf *ret); /* still queued */
/* As records.h says. A node's alone: the newest of them is the one that waits. */
int writer_put(struct writer *w, unsigned part, int64_t epoch, enum store_kind kind, const void *v, size_t n,
               store_done_fn *done, void *arg);
void writer_take_over(struct writer *w, const char *from, const char *to);
void writer_stat(struct writer *w, struct store_stat *ret);
/* What was stored when, of what a question may be about: as changes_before says; INT64_MAX: of everything. */
uint64_t writer_changes(struct writer *w, int64_t to_ms);
void writer_changed(struct writer *w); /* all of it may read otherwise now: it was compacted, merged or dropped */

/* For compaction and history, from any thread. */
uint64_t writer_take_overs(struct writer *w);                /* how many are on disk, since it was opened */
_Atomic uint64_t *writer_history_versions(struct writer *w); /* how many history.db had since then */
size_t writer_logs(struct writer *w, struct log_ref **ret);  /* that have a file, by number; the caller frees */
bool writer_has_logs(struct writer *w, const struct log_ref *v, size_t n); /* each of these still has */
/*
 * Where a node's batches are, in logs that were written since we opened: index_row(), ascending; the caller frees.
 * *ret_from: what lies before must be looked for in the files.
 */
size_t writer_rows(struct writer *w, const char *node, uint64_t **ret, uint64_t *ret_from);
void writer_seal(struct writer *w);                   /* begin a new log with the next commit or flush */
void writer_compacted(struct writer *w, int64_t log); /* it is in chunks and may go */
void writer_on_seal(struct writer *w, void (*fn)(void *arg), void *arg); /* called on the writer's thread; NULL: none */
struct due_logs *writer_due(struct writer *w);                           /* archive.h */
void writer_sent(struct writer *w, int64_t log);                         /* the archive has it: its file goes */
/* For writer_stat; why: how the last round behind ended, code 0: well. */
void writer_set_history(struct writer *w, int64_t files_bytes, uint32_t damaged, const struct err *why);
void writer_damaged(struct writer *w, uint32_t columns); /* that a reader could not read; on any thread */
