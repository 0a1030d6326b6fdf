/* writer_parts.h: the struct shared by the writer's thread (writer.c) and its callers' side (writer_query.c). */
#pragma once

#include "store/archive.h"
#include "store/group.h"
#include "store/writer.h"

#define QUEUE_BYTES (64 << 20)

struct writer {
    /* set at open */
    int64_t commit_ms;
    size_t queue_max;
    struct done_queue *done;
    char *dir;
    pthread_t thread;
    bool running;
    int wake_fd;

    /* owned by the thread */
    struct records *rec;
    struct logs *logs;
    bool shared; /* with other hubs, on PostgreSQL */
    struct commit_group group;
    unsigned rounds;
    int64_t keep_records_ms, keep_usage_ms, keep_audit_ms;
    int64_t (*now_ms)(void);
    bool dropping;  /* more old records exist: continue in the next round */
    int64_t listed; /* number of the current log when logs_now was made */

    struct due_logs due; /* has its own lock */

    /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t flushed;
    struct index index; /* W3 */
    struct op_list queue;
    struct store_op *flying; /* being committed */
    size_t bytes;            /* of queue and flying */
    bool news;               /* there is work to do immediately */
    bool idle;               /* the thread sleeps until woken */
    bool hurry;              /* skip the rest: a caller waits */
    bool resting;            /* resting after a commit; can be woken */
    bool nudged;             /* end the rest as soon as allowed */
    bool stop;
    uint64_t flush_asked, flush_done;
    struct log_ref *logs_now; /* as of the last change */
    uint64_t take_overs;      /* on disk */
    size_t n_logs_now;
    int64_t *compacted; /* logs to delete */
    size_t n_compacted, cap_compacted;
    bool seal, notes;    /* notes: node rows are recorded */
    uint64_t notes_from; /* the first recorded row */
    void (*on_seal)(void *arg);
    void *on_seal_arg;
    int64_t history_bytes;
    uint32_t history_damaged;
    _Atomic uint64_t history_versions; /* not under the lock: every query reads it */
    struct changes changes;
    /* last: error of the last commit; failed: of the last commit that failed an append since the last flush */
    struct err last, failed;
    struct store_stat stat;
};
