/*
 * main_db.h: one connection to muster.db: everything that is not a batch, and the state of the log files. The writer
 * thread has one, the caller has another; SQLite isolates them. Calls return 0 or -errno; calls with an err parameter
 * also set it.
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
void records_stat(const char *dir, int64_t ret[4]); /* mtimes (ms) and sizes of its two files */
struct db *records_db(struct records *r);           /* for other writes in the same transaction */

bool records_half_moved(struct records *r); /* an unfinished `muster store move` wrote to it */

/* Writes go between begin and end. After any failure nothing is kept. */
int records_begin(struct records *r, struct err *err);
/*
 * posts: do not wait for the server's reply to each put (db_post). Without, each put waits, so that a failure can be
 * attributed to its record.
 */
void records_set_posts(struct records *r, bool posts);
/* Within a transaction: returns 1; 0 if another hub leads by now, and the work of this epoch must not be done. */
int records_leads(struct records *r, int64_t epoch);
/* the same for parts, a bit mask */
int records_parts(struct records *r, uint32_t parts, int64_t ret_epochs[LEASE_PARTS]);
int records_lock_bookings(
    struct records *r); /* on a server, before any put: no other hub puts a booking until the transaction ends */
/* the hub that holds the node's part waits for this transaction */
int records_stop_part(struct records *r, const char *node);
/* Commits. Rolls back if code < 0 or the commit fails. Returns 0, or -errno with a message in err. */
int records_end(struct records *r, int code, struct err *err);
void records_rollback(struct records *r);
void records_tidy(struct records *r);                           /* checkpoint when the WAL has grown */
uint64_t records_steps(struct records *r);                      /* see db_stmts_steps() */
int records_fail(struct records *r, int code, struct err *err); /* sets err for the call that failed last */

int records_put_blob(struct records *r, const char *node, enum blob_kind kind, uint64_t id, int64_t log,
                     struct str bytes);
struct blob_touch { /* a log names this blob for the first time */
    struct index_node *node;
    uint64_t id;
    int64_t until; /* the blob is kept as long as this log */
    bool missing;  /* result: the blob is gone. It expired after the hub confirmed it to the sender */
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
                      int64_t now_ms); /* all of that log is in chunks; its row gets this time */
/* deletes compacted logs whose newest batch is older */
int records_drop_old_logs(struct records *r, int64_t before_ms);
int records_oldest_log(struct records *r, int64_t *ret); /* 0 if none */
/*
 * Deletes processes, events, jobs and bookings that ended before then, at most max of each. Returns their number or
 * -errno.
 */
int records_drop_old(struct records *r, int64_t before_ms, int64_t max);
/* Deletes notes of this kind with an id below first, and the lowest ids until `most` remain; at most max notes. Returns
 * their number, or -errno. */
int records_drop_first_notes(struct records *r, int32_t kind, int64_t first, int64_t most, int64_t max);
/* Deletes runs and blobs that only logs before this one referenced; a node's newest blobs stay. */
int records_drop_before(struct records *r, int64_t oldest_log);

/* Reading. */
int records_load_seen(struct records *r, struct index *x, struct err *err);
int records_load_logs(struct records *r, struct log_sum **ret, size_t *ret_n, struct err *err); /* by number */
int records_last_log(struct records *r, int64_t *ret, struct err *err); /* the highest log number in any table */
int records_newest_log(struct records *r, int64_t *ret);                /* of all hubs */

struct alias { /* from's batches up to and including (log, row) are to's */
    char from[NODE_KEY_MAX], to[NODE_KEY_MAX];
    int64_t log, row;
};
int records_aliases(struct records *r, struct alias **ret, size_t *ret_n, struct err *err); /* oldest first */

int records_has_blob(struct records *r, const char *node, uint64_t id); /* 1, 0, -errno */
/* Same contract as store_put_few() and store_take_note() (records.h). */
int records_put_few(struct records *r, const struct note *n, int64_t now_ms, int64_t most, struct err *err);
int records_take_note(struct records *r, int32_t kind, int64_t id, int64_t *ret_over_ms, struct buf *ret,
                      struct err *err);
int records_get_blob(struct records *r, const char *node, uint64_t id, struct buf *ret, struct err *err);
/* Sets ret except for its fact, whose id goes to *ret_facts. Returns 1, 0 (only hung_since_ms is known) or -errno. */
struct node_at;
int records_node_at(struct records *r, const char *node, int64_t at_ms, struct node_at *ret, uint64_t *ret_facts,
                    struct err *err);
/*
 * Passes the facts that were current then and their start. Empty bytes: the blob is stored under an older key of the
 * node. Returns 1, 0 or -errno.
 */
int records_facts_at(struct records *r, const char *node, int64_t at_ms,
                     void (*give)(void *arg, uint64_t id, int64_t from_ms, struct str bytes), void *arg,
                     struct err *err);
int records_get(struct records *r, const struct store_get *g, struct err *err); /* 1, 0, -errno */
int records_each(struct records *r, const struct store_each *e, struct err *err);
int records_has_jobs(struct records *r, struct err *err); /* see store_has_jobs() */
int records_jobs(struct records *r, const struct job_query *ask, void (*each)(void *arg, const struct job_fact *j),
                 void *arg, struct err *err);

int records_put_node(struct records *r, const struct store_node *n);
int records_find_facts(struct records *r, struct err *err); /* see store_find_facts() */
/* Writes a token or a setting in its own transaction. */
int records_put_now(struct records *r, enum store_kind kind, const void *record, struct err *err);
