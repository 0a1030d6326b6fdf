/*
 * any_record.h: a record of any kind, on its way into a backend or out of it. store.h has functions for every kind and
 * says what they promise; behind them a record is put, got or given by this. All pointers are borrowed for the call.
 */
#ifndef STORE_ANY_RECORD_H
#define STORE_ANY_RECORD_H

#include "store/store.h"

enum store_kind {
    STORE_NODE,
    STORE_PROC,
    STORE_EVENT,
    STORE_JOB,
    STORE_JOB_CHANGE, /* put: what is different about a job */
    STORE_BOOKING,
    STORE_NOTES,
    STORE_TOKEN,
    STORE_SETTING,
    STORE_USAGE,
    STORE_USAGE_MARK,
    STORE_USAGE_REACH, /* each: the first and the last hour of each node */
};

struct store_record {
    enum store_kind kind;
    union {
        const struct store_node *node;
        const struct store_proc *proc;
        struct {
            const char *node, *device;
            const struct node_event *e;
        } event;
        const struct job_fact *job;
        const struct job_change *job_change;
        const struct booking *booking;
        struct {
            const struct note *v;
            size_t n;
        } notes;
        const struct store_token *token;
        struct {
            const char *name;
            struct str value;
        } setting;
        const struct usage_put *usage;
        struct {
            const char *node;
            int64_t at_ms, seq;
        } usage_mark;
    };
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
        void (*usage_mark)(void *arg, const char *node, int64_t at_ms, int64_t seq);
        void (*usage_reach)(void *arg, const char *node, int64_t first_ms, int64_t last_ms);
    } give;
    void *arg;
};

#endif
