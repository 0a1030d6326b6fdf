/* writer_parts.h: the parts of the writer that its thread (writer.c) and those who ask it (writer_ask.c) share. */
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

    /* the thread's own */
    struct records *rec;
    struct logs *logs;
    bool shared; /* with other hubs, on PostgreSQL */
    struct commit_group group;
    unsigned rounds;
    int64_t keep_records_ms, keep_usage_ms, keep_audit_ms;
    int64_t (*now_ms)(void);
    bool dropping;  /* there are more old records: go on in the next round */
    int64_t listed; /* the current log when logs_now was made */

    struct due_logs due; /* has a lock of its own */

    /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t flushed;
    struct index index; /* W3 */
    struct op_list queue;
    struct store_op *flying; /* being committed */
    size_t bytes;            /* of both */
    bool news;               /* something to do at once */
    bool idle;               /* the thread sleeps until woken */
    bool hurry;              /* no rest: somebody waits */
    bool resting;            /* after a commit, and may be woken */
    bool nudged;             /* the rest is over when it may be */
    bool stop;
    uint64_t flush_asked, flush_done;
    struct log_ref *logs_now; /* as of the last change */
    uint64_t take_overs;      /* on disk */
    size_t n_logs_now;
    int64_t *compacted; /* to be dropped */
    size_t n_compacted, cap_compacted;
    bool seal, notes;    /* notes: rows are noted */
    uint64_t notes_from; /* which rows */
    void (*on_seal)(void *arg);
    void *on_seal_arg;
    int64_t history_bytes;
    uint32_t history_damaged;
    _Atomic uint64_t damaged_reads;    /* columns of history that readers could not read */
    _Atomic uint64_t history_versions; /* not behind the lock: it is asked for with every question */
    struct changes changes;
    struct err last, failed; /* of the last commit; of the last that took an append with it since somebody flushed */
    struct store_stat stat;
};
