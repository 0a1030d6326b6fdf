/*
 * logs.h: all the log files of a folder: the one being written, the sealed ones, when to start a new one, which to
 * drop. Owned by the writer thread once it runs.
 *
 * Sealing is one transaction in muster.db: the file's row in `logs`, and the ranges of the runs it touched in `seen`.
 * A file without a row is read again at the next open, so a crash at any point loses nothing. Dropping unlinks first
 * and forgets the row after, for the same reason.
 *
 * On PostgreSQL there are only this hub's own: the one being written, and a new one begun; what follows a log's end is
 * the compactor's (compact.c), and log_rows.h says in which order.
 * With an archive (archive.h) the file of a log that is in chunks stays until it was sent there or is too old: it is
 * due, and in none of the other lists.
 */
#pragma once

#include "store/log.h"
#include "store/main_db.h"

struct logs;
/*
 * Reads what the files hold into the index. Damaged files are set aside, and err->msg tells (0 is still returned, see
 * store_open); files of a newer version are refused.
 */
int logs_open(struct logs **ret, const struct store_conf *conf, struct records *r, struct index *x, struct err *err);
void logs_close(struct logs *g);

/* The log to write to is made if there is none: then one of the two below is not NULL. */
int logs_current(struct logs *g, struct err *err);
struct log *logs_file(struct logs *g);
struct rows_log *logs_rows(struct logs *g);
int64_t logs_number(const struct logs *g); /* of the current one; 0: none */
void logs_set_aside(struct logs *g);       /* the current one is damaged; as rows: it is given up, another follows */

bool logs_full(const struct logs *g); /* the current one should be sealed */
bool logs_any(const struct logs *g);  /* it has anything in it */
/* Seal it and begin the next. nodes: everyone in the index. On failure nothing changes but the file may go on. */
int logs_rotate(struct logs *g, struct index_node *const *nodes, size_t n, struct err *err);
/* Drop what is too old or too much. The oldest log left when any was dropped, else 0. */
int64_t logs_retain(struct logs *g);
struct log_ref {
    int64_t n;
    bool sealed;
};
size_t logs_list(const struct logs *g, struct log_ref **ret); /* all that have a file, by number; the caller frees */
/*
 * A sealed log is in chunks: its file goes. Its row stays until what it speaks of is older than keep_raw_ms, so that a
 * batch that comes again is still known. *ret_oldest: as logs_retain says.
 */
int logs_compacted(struct logs *g, int64_t n, int64_t *ret_oldest, struct err *err);
size_t logs_due(const struct logs *g, struct log_sum **ret); /* by number; the caller frees */
int logs_sent(struct logs *g, int64_t n);                    /* the archive has it: its file goes. 0 or -errno */
uint64_t logs_missed(const struct logs *g);                  /* how many were due and had to go */
void logs_tidy(struct logs *g);
int64_t logs_bytes(const struct logs *g);
uint32_t logs_damaged(const struct logs *g);
