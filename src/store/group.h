/*
 * group.h: one commit: writes everything that was queued in one transaction per file; on PostgreSQL, in one
 * transaction.
 */
#pragma once

#include "store/log_rows.h"
#include "store/logs.h"
#include "store/op.h"

struct group_key {
    struct index_node *node; /* NULL: free slot */
    uint64_t run, number;
};

/* Reused from commit to commit; zero-initialise. */
struct commit_group {
    struct blob_touch *touches; /* filled by the caller, under its lock */
    size_t n_touches, cap_touches;
    struct group_key *keys; /* batches of this commit, by hash */
    size_t n_keys;
    uint64_t put, bytes, repeats, lost, records; /* counts of the last commit */
    bool wrote;                                  /* it wrote anything to the disk */
    /* wait for the server's reply to each record, because one of them failed */
    bool careful;
    size_t n_missing;  /* blobs that are missing; batches that name one are not written */
    int64_t named_log; /* STORE_LOG_NAMED has this value in muster.db; not reset */
};

void group_fini(struct commit_group *g);
void group_reset(struct commit_group *g); /* for the next commit */
/*
 * Writes the records and blobs of ops, and the touches, to muster.db; sets op->durable. Returns 0 if there is nothing
 * to do.
 */
int group_write_records(struct commit_group *g, struct store_op *ops, struct records *r, struct log *log,
                        struct err *err);
/*
 * Writes the batches of ops to the log and sets batch->put. Clears append->fresh if all of them are stored already.
 * Sets append->refused if a blob is missing. Returns 0 if there is nothing to do.
 */
int group_write_batches(struct commit_group *g, struct store_op *ops, struct log *log, struct err *err);
/*
 * Writes both on PostgreSQL. Batches that any hub has stored already are marked known. Returns -ESTALE if the log is no
 * longer ours, or -EBUSY if another hub was in the way and the caller should retry.
 */
int group_write_rows(struct commit_group *g, struct store_op *ops, struct records *r, struct rows_log *log,
                     struct err *err);
