/*
 * records.h: durable storage of batches, blobs and records, in SQLite files or on a PostgreSQL server that several hubs
 * share. Callers do not depend on which.
 *
 * T1 When done is called with 0 the batches survive kill -9 and power loss.
 * T2 A batch (node, run, number) that is appended twice is kept once.
 * T3 A batch is kept whole or not at all.
 * T4 The caller's thread never waits for the disk: one writer thread commits, and rests for commit_ms unless nudged.
 * T5 done is called on the caller's loop, in the order of appends, exactly once each. Only appends that fail before
 *    they are queued (-EAGAIN: queue full, -EINVAL: invalid) call it immediately.
 * T6 Nothing here logs or reads a wall clock.
 * T7 Every file has a version; opening a newer one fails with a message in err.
 * T8 When the disk is full, appends fail with -ENOSPC and work again when there is space. When the server is
 *    unreachable, they fail with -ENOTCONN until it is back.
 *
 * On a server T2 holds across all its hubs, and a synchronous standby counts as T1's disk.
 *
 * All calls on one store come from one thread, except the thread-safe ones in samples.h. done may call any function
 * here except store_close. Puts without a result (blobs, nodes, processes, events) are retried until they are durable;
 * queries show them after the next commit.
 */
#pragma once

#include "base/err.h"
#include "model/booking.h"
#include "model/event.h"
#include "model/fact.h"
#include "model/job.h"
#include "model/note.h"
#include "model/usage.h"

struct archive;
struct event_base;
struct store_decoder;

#define AUDIT_MAX 1000000 /* maximum entries of the audit log: NOTE_AUDIT */

struct store_conf {
    const char *dir;
    int64_t commit_ms;   /* group commit interval, default 200 */
    int64_t keep_raw_ms; /* retention of raw samples; 0: forever. The same for the tiers of samples.h: */
    int64_t keep_minute_ms, keep_hour_ms;
    int64_t keep_records_ms; /* for processes, events, jobs and bookings, from their end */
    int64_t keep_usage_ms;   /* for usage hours and days */
    int64_t keep_audit_ms;   /* for the audit log, which also keeps only the newest AUDIT_MAX */
    int64_t keep_bytes;      /* size limit, the oldest data is deleted first; 0: no limit */
    /* wall clock, called on the store's threads. NULL, or result 0: unknown, and nothing expires by age */
    int64_t (*now_ms)(void);
    /* limits of a log file; 0: 1 h (10 min with a decoder), 64 MiB, less if retention is short */
    int64_t rotate_ms, rotate_bytes;
    const struct store_decoder *decoder; /* samples.h; NULL: batches stay in their logs, and there is no history */
    int64_t queue_bytes;                 /* maximum bytes waiting for the disk; 0: 64 MiB */

    /* Several hubs share one store on PostgreSQL: */
    /* postgres://..., in place of dir, which then only holds temporary files; NULL: a folder */
    const char *url;
    int64_t hub;                              /* number of this hub, new at each start */
    bool (*gone)(void *cluster, int64_t hub); /* whether that hub will write no more; NULL: never */
    bool (*leads)(void *cluster);             /* whether this hub does the work that only one hub must do; NULL: yes */
    void *cluster;                            /* argument of both, which any thread calls */
    struct archive *archive; /* archive.h: keeps samples longer than the store; outlives it. NULL if none */
};

struct store_node {
    char key[NODE_KEY_MAX], name[NAME_MAX_LEN] /* set by an admin, or empty */, own_name[NAME_MAX_LEN], address[64];
    bool retired, maintenance, demo;
    int64_t first_ms, last_ms;
    uint64_t facts, procs; /* newest blobs; 0 when put: keep the stored ones */
    char secret[72];       /* vesta: its id; else empty */
    int64_t sampled_ms;    /* when it last sent a sample; 0: never */
    bool named;            /* when put: also store name, retired and maintenance of a node that is stored already */
};

struct store_event { /* an event and the node and device it belongs to */
    const char *node, *device;
    struct node_event event;
};

struct store_setting {
    const char *name;
    struct str value;
};

struct usage_mark { /* a pending usage count of that hour of the node; seq counts up, 0: no mark needed any longer */
    const char *node;
    int64_t at_ms, seq;
};

/* Usage (model/usage.h): usage hours of nodes, and days, which are sums of hours. */
struct usage_day {
    int64_t from_ms, to_ms; /* covers the hours that start in [from_ms, to_ms) */
};
struct usage_put {
    const char *node;
    size_t n, n_days;
    const struct usage_span *hours; /* each replaces the stored hour; without devices: deletes it */
    /* of each hour: deletes its mark if not newer than this; 0: keeps it; NULL: deletes all */
    const int64_t *marks;
    const char *zone;             /* time zone of the days */
    const struct usage_day *days; /* to recompute from hours */
};
struct usage_query { /* hours that start in [from, to) */
    int64_t from_ms, to_ms;
    /* ascending stretches of whole days within; days are returned there instead of hours */
    const struct usage_day *days;
    size_t n_days;
    const char *zone;        /* of the days */
    const char *node;        /* key; NULL: all */
    bool (*stop)(void *arg); /* called periodically; NULL: never */
    void *stop_arg;
};

struct store_token {
    char id[20]; /* public part */
    char role[12], person[64], node[NODE_KEY_MAX], note[128];
    uint8_t hash[32];
    int64_t created_ms, revoked_ms, used_ms;
    int64_t expires_ms; /* expires then; 0: never */
    int64_t uses;       /* enroll: maximum number of nodes it may add; 0: no limit */
    int64_t enrolled;   /* enroll: nodes it has added. The store counts it with each put of a token created by it */
};
/* Prefix of the note of a node's token that an enroll token created; the enroll token's id follows. */
#define STORE_ENROLLED_WITH "enrolled with "

#define STORE_LOG_NAMED "log_named" /* the setting with the number of the newest log */
/* The setting whose value changes after each token put, from any process. */
#define STORE_TOKENS_VERSION "tokens_version"

struct store_stat {
    uint64_t batches, bytes, commits, repeats; /* since open */
    uint64_t records,
        steps;         /* puts other than batches, and their cost in SQLite VM steps, which do not depend on a clock */
    int last_error;    /* 0, or -errno of the last commit: -ENOSPC shows as "store full" */
    char error[200];   /* message of last_error */
    int history_error; /* the same for background work: compaction, merging, retention */
    char history_why[200];
    int64_t files_bytes;      /* on disk now */
    size_t queue_bytes;       /* waiting for the disk now */
    size_t usage_queued;      /* usage puts that are not readable yet */
    uint64_t lost;            /* puts dropped because the queue was full */
    uint32_t damaged;         /* log files renamed to NAME.damaged since open */
    uint64_t damaged_columns; /* failed reads or merges of history columns, counted each time, since open */
    uint64_t waits;           /* how often the thread that called store_loaded waited for the disk */
    int archive_error;        /* 0, or -errno of the last archive call */
    char archive_why[200];    /* message of archive_error */
    uint64_t archive_rows;    /* rows that it accepted since open */
    uint64_t archive_logs;    /* logs that wait for it */
    int64_t archive_bytes;    /* size of these logs */
    uint64_t archive_missed;  /* logs that expired before it accepted them, since open */
};

struct store;
typedef void store_done_fn(void *arg, int result);
const char *store_error_text(int result); /* text for a negative result, as part of a sentence */

/*
 * loop NULL: store_flush and store_close call done. Only one process can open a folder: a second gets -EBUSY. A damaged
 * log file is not an error: it is renamed NAME.damaged, the result is 0, and err->msg has a message to log (empty
 * otherwise).
 */
int store_open(struct store **ret, const struct store_conf *conf, struct event_base *loop, struct err *err);
/*
 * For the command line while the hub is running: tokens and settings can be read and written, everything else is
 * read-only; history needs a decoder. Creates the folder if missing. Appends fail with -EROFS, other puts do nothing.
 */
int store_open_tools(struct store **ret, const char *dir, const struct store_decoder *decoder, struct err *err);
/* Returns r. If r means damage in muster.db, adds the repair instructions to err. Call it once per error. */
int store_explain_damage(const char *dir, int r, struct err *err);
void store_close(struct store *s); /* commits the queue first, and calls every pending done */
/*
 * From now on this thread is a loop that must not wait for the disk. Reads and puts that wait still work, but are
 * counted as bugs. Only blobs are not read from the disk: samples.h.
 */
void store_loaded(struct store *s);
/*
 * Waits until everything queued is durable. Returns 0; -errno if it is not, or if an append failed since the last
 * flush.
 */
int store_flush(struct store *s, struct err *err);

enum store_kind {
    STORE_NODE,       /* struct store_node */
    STORE_PROC,       /* struct proc_span */
    STORE_EVENT,      /* struct store_event */
    STORE_JOB,        /* struct job_fact */
    STORE_BOOKING,    /* struct booking */
    STORE_NOTE,       /* struct note */
    STORE_TOKEN,      /* struct store_token */
    STORE_SETTING,    /* struct store_setting */
    STORE_USAGE_MARK, /* struct usage_mark */
    STORE_TABLES,     /* the kinds above have a table of fields: kinds.h */

    STORE_JOB_CHANGE = STORE_TABLES, /* put: the changes of a job: struct job_change */
    STORE_USAGE,                     /* put: struct usage_put; each: struct usage_span */
    STORE_USAGE_REACH,               /* each: the first and the last hour of each node, as a usage_mark */
};

/* Returns 0 if there are no jobs, 1 if there may be some, or -errno. */
int store_has_jobs(struct store *s, struct err *err);
/*
 * Puts n records of a kind, all of them or none. The key identifies a record. Returns 0 if they are queued, or -errno.
 * Jobs, bookings, notes and job changes have a result: done gets 0 once they are durable, or -errno, as for an append,
 * also if they are not queued. Other kinds are retried until they are durable.
 *
 *   process: inserted, or extends the stored one
 *   event, job: an existing one stays unchanged
 *   job change: ignored if the job does not exist
 *   note: replaces the stored one; queued notes are not visible
 *   node: replaces the stored one, except for fields the put does not know (struct store_node)
 *   booking: replaces the stored one if it was changed more often, else the result is -ESTALE; on a server -EEXIST if
 *     it overlaps another one
 *   usage mark: durable no later than appends after it
 *   token: of an existing one only node, hash and used_ms change; nothing changes if it was revoked meanwhile
 */
int store_put(struct store *s, enum store_kind kind, const void *v, size_t n, store_done_fn *done, void *arg);
/*
 * The same for the leader of this epoch (sql/lease.h): -ESTALE, also as a result, if another hub leads by now. Epoch 0:
 * any hub; negative: none.
 */
int store_put_led(struct store *s, int64_t epoch, enum store_kind kind, const void *v, size_t n, store_done_fn *done,
                  void *arg);
/* The same for records without a result, by the owner of this part of the nodes in this epoch. */
#define STORE_PARTS 12
unsigned store_part_of(const char *node); /* the node's part, by its key */
int store_put_part(struct store *s, unsigned part, int64_t epoch, enum store_kind kind, const void *v, size_t n);
/*
 * Writes a token or a setting (a small named secret, created once by the caller). Durable on return, also while another
 * process runs the hub.
 */
int store_put_now(struct store *s, enum store_kind kind, const void *record, struct err *err);
/*
 * The same for a note that ends. Deletes ended notes of its kind, and those that end first if more than `most` remain.
 */
int store_put_few(struct store *s, const struct note *n, int64_t now_ms, int64_t most, struct err *err);
/*
 * Removes a note. Returns 1 with its end and content, 0 if it does not exist, or -errno. Of several callers only one
 * gets it.
 */
int store_take_note(struct store *s, int32_t kind, int64_t id, int64_t *ret_over_ms, struct buf *ret, struct err *err);
/*
 * Restores the facts of nodes that are stored without any: their last ones, or those that their newest batches name.
 * Returns the number of nodes, or -errno.
 */
int store_find_facts(struct store *s, struct err *err);

struct store_get { /* the key, and where the result goes: jobs and bookings to free() */
    enum store_kind kind;
    int64_t id;       /* of a job or a booking; 0: the booking with the highest id ever given */
    const char *name; /* of a token or a setting */
    union {
        struct job_fact **job;
        struct booking **booking;
        struct store_token *token;
        struct buf *setting;
    } ret;
};

#define GET_JOB(number, to)     (&(struct store_get){.kind = STORE_JOB, .id = (number), .ret.job = (to)})
#define GET_BOOKING(number, to) (&(struct store_get){.kind = STORE_BOOKING, .id = (number), .ret.booking = (to)})
#define GET_TOKEN(word, to)     (&(struct store_get){.kind = STORE_TOKEN, .name = (word), .ret.token = (to)})
#define GET_SETTING(word, to)   (&(struct store_get){.kind = STORE_SETTING, .name = (word), .ret.setting = (to)})
int store_get(struct store *s, const struct store_get *g, struct err *err); /* 1, 0 or -errno */

struct store_each { /* filters, and the callback; members that do not apply to the kind are ignored */
    enum store_kind kind;
    const char *node;                /* of processes, events, tokens. "": all */
    int64_t from_ms, to_ms;          /* of processes, events, bookings; of notes with a limit: ids. to 0: no end */
    int64_t at_ms;                   /* of processes: those that ran at that time; 0: no filter */
    size_t limit;                    /* of events; of notes, newest first; 0: all, by id */
    int32_t note;                    /* of notes: their kind */
    bool open;                       /* only notes that have not ended */
    struct history_session *session; /* with at_ms: shared state of several queries; NULL: none */
    const struct job_query *jobs;
    const struct usage_query *usage;
    union {
        void (*node)(void *arg, const struct store_node *n);
        void (*proc)(void *arg, const struct proc_span *p);
        void (*event)(void *arg, const char *node, const char *device, const struct node_event *e);
        void (*job)(void *arg, const struct job_fact *j);
        void (*booking)(void *arg, const struct booking *h);
        void (*note)(void *arg, const struct note *n);
        void (*token)(void *arg, const struct store_token *t);
        int (*usage)(void *arg, const char *node, const struct usage_span *span);
        void (*usage_mark)(void *arg, const char *node, int64_t at_ms, int64_t seq); /* also for usage_reach */
    } give;
    void *arg;
};
#define EACH_OF(what, member, fn, data, ...)                                                                           \
    (&(struct store_each){.kind = (what), .give.member = (fn), .arg = (data), __VA_ARGS__})
#define EACH_NODE(fn, data)          EACH_OF(STORE_NODE, node, fn, data)
#define EACH_PROC(fn, data, ...)     EACH_OF(STORE_PROC, proc, fn, data, __VA_ARGS__)
#define EACH_EVENT(fn, data, ...)    EACH_OF(STORE_EVENT, event, fn, data, __VA_ARGS__)
#define EACH_JOB(ask, fn, data)      EACH_OF(STORE_JOB, job, fn, data, .jobs = (ask))
#define EACH_BOOKING(fn, data, ...)  EACH_OF(STORE_BOOKING, booking, fn, data, __VA_ARGS__)
#define EACH_NOTE(of, fn, data, ...) EACH_OF(STORE_NOTE, note, fn, data, .note = (of), __VA_ARGS__)
#define EACH_TOKEN(fn, data, ...)    EACH_OF(STORE_TOKEN, token, fn, data, __VA_ARGS__)
#define EACH_USAGE(ask, fn, data)    EACH_OF(STORE_USAGE, usage, fn, data, .usage = (ask))
#define EACH_USAGE_MARK(fn, data)    EACH_OF(STORE_USAGE_MARK, usage_mark, fn, data)
#define EACH_USAGE_REACH(fn, data)   EACH_OF(STORE_USAGE_REACH, usage_mark, fn, data)
/*
 * Order and filters by kind:
 *
 *   nodes: by key
 *   processes: seen at or after from, started before to; by node, device and start
 *   events: in [from, to), newest first
 *   bookings: planned to cover some of [from, to), by start, including released and cancelled ones; booking_overlaps
 *     returns what they really covered
 *   notes: by id
 *   tokens: by age
 *   jobs: newest first, at most jobs->limit. Uses an index for time and one of parent, device, node, person; the other
 *     filters are compared. The cost is proportional to the result
 *   usage: by time, nodes of one hour in any order. Within one call equal names are the same pointer. Stops when give
 *     returns other than 0, and returns that
 *
 * Returns -ECANCELED when the stop function of jobs or usage returns true. Processes with at_ms can be queried from any
 * thread.
 */
int store_each(struct store *s, const struct store_each *e, struct err *err);
/* For code that gets a reader passed in: tests, and threads with their own. */
typedef int store_each_fn(void *arg, const struct store_each *e, struct err *err);

/*
 * Moves the history of from to to: batches stored so far, blobs, processes, events; deletes its node record. to "":
 * from never sent a sample; deletes its record, events and agent tokens.
 */
void store_take_over(struct store *s, const char *from, const char *to);
void store_stat(const struct store *s, struct store_stat *ret);

/* State of the records' files at the last check; zeroed: never checked. */
struct store_file_stat {
    int64_t v[4];
};
/*
 * Whether any process may have written records since the last check. Reads file attributes, not the database, so a
 * caller can poll rarely changing data every second. Always true on a server, and for a while after a write.
 */
bool store_touched(const struct store *s, struct store_file_stat *last, int64_t now_ms);
