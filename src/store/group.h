/* group.h: one commit: everything that was queued, written in one transaction per file; on PostgreSQL, in one. */
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
    uint64_t put, bytes, repeats, lost, records; /* what the last commit did */
    bool wrote;                                  /* it reached the disk at all */
    bool careful;                                /* the server is waited for with each record: one of them failed */
    size_t n_missing;                            /* blobs: batches that name one are not written */
    int64_t named_log;                           /* muster.db has this number, STORE_LOG_NAMED. Not reset */
};

void group_fini(struct commit_group *g);
void group_reset(struct commit_group *g); /* for the next commit */
/* Records and blobs of ops, and the touches, into muster.db; sets op->durable. Nothing to do is 0. */
int group_write_records(struct commit_group *g, struct store_op *ops, struct records *r, struct log *log,
                        struct err *err);
/* Batches of ops into the log; sets batch->put, clears append->fresh where all is kept already, sets append->refused
 * where a blob is missing. Nothing to do is 0. */
int group_write_batches(struct commit_group *g, struct store_op *ops, struct log *log, struct err *err);
/* Both on PostgreSQL; batches that are there already, from whichever hub, are known. -ESTALE: the log is not ours any
 * more; -EBUSY: another hub was in the way, and it is worth another try. */
int group_write_rows(struct commit_group *g, struct store_op *ops, struct records *r, struct rows_log *log,
                     struct err *err);
