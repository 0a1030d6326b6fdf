/*
 * records.h: one connection to muster.db: everything that is not a batch, and what the store must remember about its
 * log files. The writer thread has one, the caller has another; SQLite keeps them apart.
 * Calls return 0 or -errno; those that say so also fill err.
 */
#ifndef STORE_RECORDS_H
#define STORE_RECORDS_H

#include "store/db.h"
#include "store/index.h"
#include "store/log.h"
#include "store/store.h"

struct records;
int records_open(struct records **ret, const char *dir, enum db_mode mode, struct err *err);
void records_close(struct records *r);
int64_t records_file_bytes(const char *dir);

/* Writing: between begin and commit. After any failure: rollback, nothing was kept. */
int records_begin(struct records *r, struct err *err);
int records_commit(struct records *r, struct err *err); /* rolls back when it fails */
void records_rollback(struct records *r);
void records_tidy(struct records *r);                 /* checkpoint when the WAL has grown */
uint64_t records_steps(struct records *r);            /* as db_stmts_steps says */
int records_fail(struct records *r, struct err *err); /* the sentence for the call that failed last */

int records_put_blob(struct records *r, const char *node, enum blob_kind kind, uint64_t id, int64_t log,
                     struct str bytes);
int records_touch_blob(struct records *r, const char *node, uint64_t id, int64_t log); /* log names it too */
int records_put_node(struct records *r, const struct store_node *n);
int records_put_proc(struct records *r, const struct store_proc *p);
int records_put_event(struct records *r, const char *node, const char *device, const struct node_event *e);
int records_put_job(struct records *r, const struct job_fact *j); /* job_table.c */
int records_change_job(struct records *r, const struct job_change *c);
int records_put_note(struct records *r, const struct note *n);       /* note_table.c */
int records_put_booking(struct records *r, const struct booking *h); /* booking_table.c: new, or as it is now */
int records_take_over(struct records *r, const char *from, const char *to, int64_t log, int64_t row);
int records_drop_node(struct records *r, const char *key);
int records_put_log(struct records *r, const struct log_sum *sum); /* sealed */
int records_put_seen(struct records *r, const char *node, const struct seen_run *run);
int records_drop_log(struct records *r, int64_t n);
int records_compacted(struct records *r, int64_t n);             /* that log is in chunks, all of it */
int records_drop_old_logs(struct records *r, int64_t before_ms); /* compacted ones whose newest batch is older */
int records_oldest_log(struct records *r, int64_t *ret);         /* 0: none */
/* Processes, events, jobs and bookings that were over before then, at most max of each: how many went, or -errno. */
int records_drop_old(struct records *r, int64_t before_ms, int64_t max);
/* Forget runs and blobs that only logs before this one spoke of; a node's newest blobs stay. */
int records_drop_before(struct records *r, int64_t oldest_log);

/* Reading. */
int records_load_seen(struct records *r, struct index *x, struct err *err);
int records_load_logs(struct records *r, struct log_sum **ret, size_t *ret_n, struct err *err); /* by number */
int records_last_log(struct records *r, int64_t *ret, struct err *err); /* the highest number anything here speaks of */

struct alias { /* from's batches up to and including (log, row) are to's */
    char from[NODE_KEY_MAX], to[NODE_KEY_MAX];
    int64_t log, row;
};
int records_aliases(struct records *r, struct alias **ret, size_t *ret_n, struct err *err); /* oldest first */

int records_has_blob(struct records *r, const char *node, uint64_t id); /* 1, 0, -errno */
int records_get_blob(struct records *r, const char *node, uint64_t id, struct buf *ret, struct err *err);
int records_nodes(struct records *r, void (*each)(void *arg, const struct store_node *n), void *arg, struct err *err);
int records_procs_at(struct records *r, const char *node, int64_t at_ms,
                     void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err);
/* Those seen at or after from_ms that came before to_ms. */
int records_procs_in(struct records *r, const char *node, int64_t from_ms, int64_t to_ms,
                     void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err);
/* ret but for its fact, whose id is *ret_facts: 1, 0 (only whether it hung), -errno. */
struct node_was;
int records_node_at(struct records *r, const char *node, int64_t at_ms, struct node_was *ret, uint64_t *ret_facts,
                    struct err *err);
int records_procs(struct records *r, const char *node, int64_t from_ms,
                  void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err);
int records_events(struct records *r, const char *node, int64_t from_ms, size_t limit,
                   void (*each)(void *arg, const char *node, const char *device, const struct node_event *e), void *arg,
                   struct err *err);

int records_job(struct records *r, int64_t id, struct job_fact **ret, struct err *err); /* 1, 0, -errno */
int records_jobs(struct records *r, const struct job_ask *ask, void (*each)(void *arg, const struct job_fact *j),
                 void *arg, struct err *err);

int records_notes(struct records *r, int32_t kind, bool open, void (*each)(void *arg, const struct note *n), void *arg,
                  struct err *err);
int records_booking(struct records *r, int64_t id, struct booking **ret,
                    struct err *err); /* 0: the newest; 1, 0, -errno */
int records_holds(struct records *r, int64_t from_ms, int64_t to_ms, void (*each)(void *arg, const struct booking *h),
                  void *arg, struct err *err);

/* Tokens and settings: each put is a transaction of its own. */
int records_token_put(struct records *r, const struct store_token *t, struct err *err);
int records_token_note(struct records *r, const struct store_token *t); /* as store_token_put_soon says */
int records_token_get(struct records *r, const char *id, struct store_token *ret, struct err *err);
int records_tokens(struct records *r, const char *node, void (*each)(void *arg, const struct store_token *t), void *arg,
                   struct err *err);
int records_setting_get(struct records *r, const char *name, struct buf *ret, struct err *err);
int records_setting_put(struct records *r, const char *name, struct str value, struct err *err);

#endif
