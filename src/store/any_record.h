/*
 * any_record.h: records of any kind, on their way into a backend or out of it. records.h has functions for every kind
 * and says what they promise; behind them records are put, got or given by this. All pointers are borrowed for the
 * call.
 */
#ifndef STORE_ANY_RECORD_H
#define STORE_ANY_RECORD_H

#include "store/records.h"

enum store_kind {
    STORE_NODE,       /* struct store_node */
    STORE_PROC,       /* struct store_proc */
    STORE_EVENT,      /* struct store_event */
    STORE_JOB,        /* struct job_fact */
    STORE_BOOKING,    /* struct booking */
    STORE_NOTE,       /* struct note */
    STORE_TOKEN,      /* struct store_token */
    STORE_SETTING,    /* struct store_setting */
    STORE_USAGE_MARK, /* struct usage_mark */
    STORE_TABLES,     /* those above have a table of fields: kinds.h */

    STORE_JOB_CHANGE = STORE_TABLES, /* put: what is different about a job: struct job_change */
    STORE_USAGE,                     /* put: struct usage_put; each: struct usage_span */
    STORE_USAGE_REACH,               /* each: the first and the last hour of each node, as a usage_mark */
};

struct store_get { /* which one, and where it goes */
    enum store_kind kind;
    int64_t id;       /* of a job or a booking */
    const char *name; /* of a token or a setting */
    union {
        struct job_fact **job;
        struct booking **booking;
        struct store_token *token;
        struct buf *setting;
    } ret;
};

struct store_each { /* which ones, and who is given each of them; what a kind does not name is not asked */
    enum store_kind kind;
    const char *node;       /* of processes, events, tokens. "": all */
    int64_t from_ms, to_ms; /* of processes, events, bookings. to 0: without end */
    int64_t at_ms;          /* of processes: those that were there then; 0: not asked */
    size_t limit;           /* of events */
    int32_t note;           /* of notes: their kind; */
    bool open;              /* those alone that are not over */
    const struct job_ask *jobs;
    const struct usage_ask *usage;
    union {
        void (*node)(void *arg, const struct store_node *n);
        void (*proc)(void *arg, const struct store_proc *p);
        void (*event)(void *arg, const char *node, const char *device, const struct node_event *e);
        void (*job)(void *arg, const struct job_fact *j);
        void (*booking)(void *arg, const struct booking *h);
        void (*note)(void *arg, const struct note *n);
        void (*token)(void *arg, const struct store_token *t);
        int (*usage)(void *arg, const char *node, const struct usage_span *span);
        void (*usage_mark)(void *arg, const char *node, int64_t at_ms, int64_t seq); /* of usage_reach, too */
    } give;
    void *arg;
};

#endif
