/*
 * main_db.h: one connection to muster.db: everything that is not a batch, and what the store must remember about its
 * log files. The writer thread has one, the caller has another; SQLite keeps them apart.
 * Calls return 0 or -errno; those that say so also fill err.
 */
#pragma once

#include "sql/db.h"
#include "sql/lease.h"
#include "store/index.h"
#include "store/log.h"
#include "store/samples.h"

struct records;
int records_open(struct records **ret, const char *dir, enum db_mode mode, struct err *err);
void records_close(struct records *r);
int64_t records_file_bytes(const char *dir);
void records_look(const char *dir, int64_t ret[4]); /* when its two files were written to last, ms, and their sizes */
struct db *records_db(struct records *r);           /* for what goes into the same transaction */

bool records_half_moved(struct records *r); /* a move into it is not finished */

/* Writing: between begin and end. After any failure nothing was kept. */
int records_begin(struct records *r, struct err *err);
/* Puts are not waited for on a server (db_post), or they are, so that whoever failed is known. */
void records_set_posts(struct records *r, bool posts);
/* Within a transaction: 1, or 0: another hub leads by now, and what was to be done in this epoch must not be. */
int records_leads(struct records *r, int64_t epoch);
int records_parts(struct records *r, uint32_t parts, int64_t ret_epochs[LEASE_PARTS]); /* so of parts, bits of a mask */
int records_lock_bookings(
    struct records *r); /* on a server, before any put: no other hub puts a booking until the end */
int records_stop_part(struct records *r, const char *node); /* its part's holder waits for this transaction */
/* Commits or, where something failed (code < 0) or fails now, rolls back: 0, or -errno with a sentence. */
int records_end(struct records *r, int code, struct err *err);
void records_rollback(struct records *r);
void records_tidy(struct records *r);                           /* checkpoint when the WAL has grown */
uint64_t records_steps(struct records *r);                      /* as db_stmts_steps says */
int records_fail(struct records *r, int code, struct err *err); /* the sentence for the call that failed last */

int records_put_blob(struct records *r, const char *node, enum blob_kind kind, uint64_t id, int64_t log,
                     struct str bytes);
struct blob_touch { /* a blob that a log names for the first time */
    struct index_node *node;
    uint64_t id;
    int64_t until; /* it is kept as long as this log */
    bool missing;  /* set: it is not there. It went for its age after its sender was told that it is kept */
};
int records_touch_blobs(struct records *r, struct blob_touch *v, size_t n);
int records_put(struct records *r, enum store_kind kind, const void *record);
int records_put_job(struct records *r, const struct job_fact *j); /* job_table.c */
int records_change_job(struct records *r, const struct job_change *c);
int records_take_over(struct records *r, const char *from, const char *to, int64_t log, int64_t row);
int records_drop_node(struct records *r, const char *key);
int records_put_log(struct records *r, const struct log_sum *sum); /* sealed */
int records_put_seen(struct records *r, const char *node, const struct seen_run *run);
int records_drop_log(struct records *r, int64_t n);
int records_compacted(struct records *r, int64_t n,
                      int64_t now_ms); /* that log is in chunks, all of it; its row is as old as that */
int records_drop_old_logs(struct records *r, int64_t before_ms); /* compacted ones whose newest batch is older */
int records_oldest_log(struct records *r, int64_t *ret);         /* 0: none */
/* Processes, events, jobs and bookings that were over before then, at most max of each: how many went, or -errno. */
int records_drop_old(struct records *r, int64_t before_ms, int64_t max);
/* Deletes notes of this kind with an id below first, and the lowest ids until `most` remain; at most max notes. Returns
 * their number, or -errno. */
int records_drop_first_notes(struct records *r, int32_t kind, int64_t first, int64_t most, int64_t max);
/* Forget runs and blobs that only logs before this one spoke of; a node's newest blobs stay. */
int records_drop_before(struct records *r, int64_t oldest_log);

/* Reading. */
int records_load_seen(struct records *r, struct index *x, struct err *err);
int records_load_logs(struct records *r, struct log_sum **ret, size_t *ret_n, struct err *err); /* by number */
int records_last_log(struct records *r, int64_t *ret, struct err *err); /* the highest number anything here speaks of */
int records_newest_log(struct records *r, int64_t *ret);                /* of several hubs' */

struct alias { /* from's batches up to and including (log, row) are to's */
    char from[NODE_KEY_MAX], to[NODE_KEY_MAX];
    int64_t log, row;
};
int records_aliases(struct records *r, struct alias **ret, size_t *ret_n, struct err *err); /* oldest first */

int records_has_blob(struct records *r, const char *node, uint64_t id); /* 1, 0, -errno */
/* As store_put_few, store_take_note (records.h). */
int records_put_few(struct records *r, const struct note *n, int64_t now_ms, int64_t most, struct err *err);
int records_take_note(struct records *r, int32_t kind, int64_t id, int64_t *ret_over_ms, struct buf *ret,
                      struct err *err);
int records_get_blob(struct records *r, const char *node, uint64_t id, struct buf *ret, struct err *err);
/* ret but for its fact, whose id is *ret_facts: 1, 0 (only whether it hung), -errno. */
struct node_was;
int records_node_at(struct records *r, const char *node, int64_t at_ms, struct node_was *ret, uint64_t *ret_facts,
                    struct err *err);
/* Facts in force then, and since when; no bytes: they are under an older name. 1, 0, -errno. */
int records_facts_at(struct records *r, const char *node, int64_t at_ms,
                     void (*give)(void *arg, uint64_t id, int64_t from_ms, struct str bytes), void *arg,
                     struct err *err);
int records_get(struct records *r, const struct store_get *g, struct err *err); /* 1, 0, -errno */
int records_each(struct records *r, const struct store_each *e, struct err *err);
int records_has_jobs(struct records *r, struct err *err); /* as store_has_jobs */
int records_jobs(struct records *r, const struct job_ask *ask, void (*each)(void *arg, const struct job_fact *j),
                 void *arg, struct err *err);

int records_put_node(struct records *r, const struct store_node *n);
int records_find_facts(struct records *r, struct err *err); /* as store_find_facts */
/* A token or a setting, in a transaction of its own. */
int records_put_now(struct records *r, enum store_kind kind, const void *record, struct err *err);
