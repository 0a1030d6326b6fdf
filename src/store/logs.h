/*
 * logs.h: all log files of a folder: the current one, the sealed ones, when to start a new one and which to delete.
 * Writer thread only, once that runs.
 *
 * Sealing is one transaction in muster.db: the file's row in `logs`, and the ranges of the runs it touched in `seen`. A
 * file without a row is read again at the next open, so a crash at any point loses nothing. For the same reason
 * retention unlinks the file first and deletes the row after.
 *
 * On PostgreSQL this covers only this hub's own logs: the current one and starting a new one. The compactor (compact.c)
 * seals and deletes logs there; log_rows.h defines the order. With an archive (archive.h) the file of a log that is in
 * chunks stays until it was sent or is too old. Such a log is due, and in none of the other lists.
 */
#pragma once

#include "store/log.h"
#include "store/main_db.h"

struct logs;
/*
 * Loads the files into the index. Quarantines damaged files, sets err->msg and still returns 0 (see store_open). Files
 * of a newer version are an error.
 */
int logs_open(struct logs **ret, const struct store_conf *conf, struct records *r, struct index *x, struct err *err);
void logs_close(struct logs *g);

/*
 * Creates the current log if it does not exist. On success exactly one of the two functions below does not return NULL.
 */
int logs_current(struct logs *g, struct err *err);
struct log *logs_file(struct logs *g);
struct rows_log *logs_rows(struct logs *g);
int64_t logs_number(const struct logs *g); /* number of the current log; 0 if none */
/* quarantines the damaged current log; on PostgreSQL abandons it, and a new one follows */
void logs_quarantine(struct logs *g);

bool logs_full(const struct logs *g); /* the current log should be sealed */
bool logs_any(const struct logs *g);  /* the current log has any rows */
/*
 * Seals the current log and starts the next. nodes: all nodes in the index. On failure nothing changes, except that the
 * file may continue to grow.
 */
int logs_rotate(struct logs *g, struct index_node *const *nodes, size_t n, struct err *err);
/*
 * Deletes logs that are too old or exceed the size limit. Returns the oldest remaining log if any was deleted, else 0.
 */
int64_t logs_retain(struct logs *g);
struct log_ref {
    int64_t n;
    bool sealed;
};
/* all that have a file, by number; the caller frees *ret */
size_t logs_list(const struct logs *g, struct log_ref **ret);
/*
 * The sealed log n is in chunks: deletes its file. Its row stays until its data is older than keep_raw_ms, so that
 * repeated batches are still recognised. *ret_oldest: the result of logs_retain().
 */
int logs_compacted(struct logs *g, int64_t n, int64_t *ret_oldest, struct err *err);
size_t logs_due(const struct logs *g, struct log_sum **ret); /* by number; the caller frees *ret */
/* the archive has log n: deletes its file; returns 0 or -errno */
int logs_sent(struct logs *g, int64_t n);
/* number of logs that were deleted before the archive had them */
uint64_t logs_missed(const struct logs *g);
void logs_tidy(struct logs *g);
int64_t logs_bytes(const struct logs *g);
uint32_t logs_damaged(const struct logs *g);
