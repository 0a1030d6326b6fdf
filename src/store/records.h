/*
 * records.h: a durable home for batches, blobs, records, in files of SQLite, or on a PostgreSQL server that several
 * hubs share. Nothing above here knows that either exists.
 *
 * T1 When done is called with 0 the batches survive kill -9 and power loss. T2 A batch (node, run, number) given twice
 * is kept once. T3 A batch is kept whole or not at all. T4 The caller's thread never waits for the disk: one writer
 * thread commits, and rests for commit_ms if nobody nudges it. T5 done is called on the caller's loop, in the order of
 * appends, exactly once each; only what is refused before it is queued (queue full, -EAGAIN; bad, -EINVAL) is told at
 * once. T6 Nothing here logs or reads a wall clock. T7 Every file carries a version; a newer one is refused with a
 * sentence. T8 When the disk is full, appends fail with -ENOSPC and work again when there is space; when the server is
 * away, with -ENOTCONN, and when it is back. On a server T2 holds for all its hubs together, and a synchronous standby
 * counts as T1's disk.
 *
 * All calls on one store come from one thread, but for those samples.h lets any thread make; done may call anything
 * here but store_close. Puts without a result (blobs, nodes, processes, events) are tried again until they are durable;
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

#define AUDIT_MAX 1000000 /* entries of the audit log that are kept: NOTE_AUDIT */

struct store_conf {
    const char *dir;
    int64_t commit_ms;   /* group commit, default 200 */
    int64_t keep_raw_ms; /* samples older than this go; 0: for ever. So for the tiers of samples.h: */
    int64_t keep_minute_ms, keep_hour_ms;
    int64_t keep_records_ms;             /* so for processes, events, jobs and bookings: since they were over */
    int64_t keep_usage_ms;               /* so for counted hours and days */
    int64_t keep_audit_ms;               /* so for the audit log, of which the newest AUDIT_MAX stay */
    int64_t keep_bytes;                  /* and the oldest beyond this; 0: no limit */
    int64_t (*now_ms)(void);             /* the wall clock, asked by the store's threads; NULL, or 0: not known, and
                                            nothing goes by age */
    int64_t rotate_ms, rotate_bytes;     /* when a log file is full; 0: 1 h (10 min with a decoder), 64 MiB, less when
                                            little is kept */
    const struct store_decoder *decoder; /* samples.h; NULL: batches stay in their logs, and there is no history */
    int64_t queue_bytes;                 /* what may wait for the disk; 0: 64 MiB */

    /* Several hubs share one store on PostgreSQL: */
    const char *url;                          /* postgres://..., in place of dir, where then only files of a moment
                                                 are; NULL: a folder */
    int64_t hub;                              /* the number of this one, which no other start of one has */
    bool (*gone)(void *cluster, int64_t hub); /* that hub will write no more; NULL: nobody ever is */
    bool (*leads)(void *cluster);             /* this one does what needs no more than one; NULL: it does */
    void *cluster;                            /* for these two, which any thread asks */
    struct archive *archive; /* archive.h: keeps samples for longer than the store; outlives it. NULL: none */
};

struct store_node {
    char key[NODE_KEY_MAX], name[NAME_MAX_LEN] /* an admin's, or empty */, own_name[NAME_MAX_LEN], address[64];
    bool retired, maintenance, demo;
    int64_t first_ms, last_ms;
    uint64_t facts, procs; /* newest blobs; 0 when put: keep the stored ones */
    char secret[72];       /* vesta: its id; else empty */
    int64_t sampled_ms;    /* when it last sent a sample; 0: never */
    bool named;            /* when put: also store name, retired and maintenance of a node that is stored already */
};

struct store_event { /* what happened, and to whom */
    const char *node, *device;
    struct node_event event;
};

struct store_setting {
    const char *name;
    struct str value;
};

struct usage_mark { /* that hour of the node is to be counted; seq counts up, 0: it needs no mark any more */
    const char *node;
    int64_t at_ms, seq;
};

/* Usage (model/usage.h): counted hours of nodes, and days, which are those hours added up. */
struct usage_day {
    int64_t from_ms, to_ms; /* its hours are those that begin in between */
};
struct usage_put {
    const char *node;
    size_t n, n_days;
    const struct usage_span *hours; /* each takes the place of what was kept of that hour; without devices: it goes */
    const int64_t *marks;           /* of each hour: its mark goes if it is this one or older; 0: stays; NULL: all */
    const char *zone;               /* whose days these are */
    const struct usage_day *days;   /* to be added up again */
};
struct usage_ask { /* hours that begin in [from, to) */
    int64_t from_ms, to_ms;
    const struct usage_day *days; /* stretches of whole days in between, rising: there days are given instead */
    size_t n_days;
    const char *zone;        /* of the days */
    const char *node;        /* key; NULL: all */
    bool (*stop)(void *arg); /* asked now and then; NULL: never */
    void *stop_arg;
};

struct store_token {
    char id[20]; /* public part */
    char role[12], person[64], node[NODE_KEY_MAX], note[128];
    uint8_t hash[32];
    int64_t created_ms, revoked_ms, used_ms;
    int64_t expires_ms; /* from then on it is no good; 0: never */
    int64_t uses;       /* enroll: nodes it may add in all; 0: any number */
    int64_t enrolled;   /* enroll: nodes it has added. Counted here, with each token that is put as one of theirs */
};
/* What is noted of a node's token that came by an enroll token, before that one's id. */
#define STORE_ENROLLED_WITH "enrolled with "

#define STORE_LOG_NAMED "log_named" /* the setting with the number of the newest log */
/* The setting that says something else after each token that was put, from whichever process. */
#define STORE_TOKENS_VERSION "tokens_version"

struct store_stat {
    uint64_t batches, bytes, commits, repeats; /* since open */
    uint64_t records,
        steps;         /* put besides batches, and what that cost in steps of SQLite's machine: no clock is in it */
    int last_error;    /* 0, or -errno of the last commit: -ENOSPC shows as "store full" */
    char error[200];   /* the same as a sentence */
    int history_error; /* the same of what happens behind: compaction, merging, retention */
    char history_why[200];
    int64_t files_bytes;      /* on disk now */
    size_t queue_bytes;       /* waiting for the disk now */
    size_t usage_queued;      /* usage put and not to be read yet */
    uint64_t lost;            /* puts dropped because the queue was full */
    uint32_t damaged;         /* log files set aside as NAME.damaged since open */
    uint64_t damaged_columns; /* of history that could not be read or merged, each time that was tried, since open */
    uint64_t waits;           /* for the disk on the thread that called store_loaded */
    int archive_error;        /* 0, or -errno of what was last asked of the archive */
    char archive_why[200];    /* the same as a sentence */
    uint64_t archive_rows;    /* that it took since open */
    uint64_t archive_logs;    /* that wait for it now, */
    int64_t archive_bytes;    /* their size */
    uint64_t archive_missed;  /* logs that were too old before it took them, since open */
};

struct store;
typedef void store_done_fn(void *arg, int result);
const char *store_why(int result); /* what a result below 0 means, as a part of a sentence */

/*
 * loop NULL: done is called from store_flush and store_close. One at a time may have a folder open: a second is refused
 * with -EBUSY. A damaged log file does not stop it: it is renamed NAME.damaged, 0 is returned, and err->msg has a
 * sentence to log (it is empty otherwise).
 */
int store_open(struct store **ret, const struct store_conf *conf, struct event_base *loop, struct err *err);
/*
 * Beside a running hub, for the command line: tokens and settings may be read and written, everything else only read;
 * history with a decoder. Makes the folder if it is not there. Appends fail with -EROFS, other puts do nothing.
 */
int store_open_tools(struct store **ret, const char *dir, const struct store_decoder *decoder, struct err *err);
/* Returns r. Where r means damage in muster.db, err gets the advice on what to do. Call it once for an error. */
int store_explain_damage(const char *dir, int r, struct err *err);
void store_close(struct store *s); /* commits what is queued first, and calls every done still due */
/* From now on this thread is a loop that must wait for no disk. What it reads or puts and waits for is done all the
 * same, and counted: there is a mistake. Blobs alone it is not given from the disk: samples.h. */
void store_loaded(struct store *s);
/* Wait until everything queued is durable: 0, or -errno if it is not, or if an append failed since the last flush. */
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
    STORE_TABLES,     /* those above have a table of fields: kinds.h */

    STORE_JOB_CHANGE = STORE_TABLES, /* put: what is different about a job: struct job_change */
    STORE_USAGE,                     /* put: struct usage_put; each: struct usage_span */
    STORE_USAGE_REACH,               /* each: the first and the last hour of each node, as a usage_mark */
};

/* 0: there is no job at all; 1: there may be; -errno. */
int store_has_jobs(struct store *s, struct err *err);
/*
 * n of a kind, all of them or none; what they are is known by their key. 0: they are queued, or -errno. Jobs, bookings,
 * notes and changes of jobs have a result: done gets 0 once they are durable, or -errno, as an append, also when they
 * are not queued. The others are tried again until they are durable.
 *
 * A process is new or extends what is known of it. An event, or a job, that is there already stays as it is. A change
 * of a job that is not there does nothing. A note is as it was put last; what is queued is not seen. A node too, but
 * for what the put does not know (struct store_node). So is a booking, if it was changed more often than what is
 * stored; else the result is -ESTALE. On a server, where it overlaps another one, the result is -EEXIST. A usage mark
 * is durable no later than what is appended after it. Of a token that is there already only node, hash and used_ms
 * change, and nothing of one that was revoked meanwhile.
 */
int store_put(struct store *s, enum store_kind kind, const void *v, size_t n, store_done_fn *done, void *arg);
/* The same by whoever led in this epoch (sql/lease.h): -ESTALE, also as a result, if another does by now. 0: by any
 * hub; below: by none. */
int store_put_led(struct store *s, int64_t epoch, enum store_kind kind, const void *v, size_t n, store_done_fn *done,
                  void *arg);
/* The same of what has no result, by whoever had this part of the nodes in this epoch. */
#define STORE_PARTS 12
unsigned store_part_of(const char *node); /* the part that it is in, by its key */
int store_put_part(struct store *s, unsigned part, int64_t epoch, enum store_kind kind, const void *v, size_t n);
/* A token or a setting (a small named secret, made by the caller once), durable when it returns, also beside a hub. */
int store_put_now(struct store *s, enum store_kind kind, const void *record, struct err *err);
/* The same of a note that ends; of its kind those that are over go, and those that end first if there are more. */
int store_put_few(struct store *s, const struct note *n, int64_t now_ms, int64_t most, struct err *err);
/* Takes a note away: 1, when it is over and what it says; 0: nobody has it any more; -errno. Of several only one gets
 * it. */
int store_take_note(struct store *s, int32_t kind, int64_t id, int64_t *ret_over_ms, struct buf *ret, struct err *err);
/*
 * Restores the facts of nodes that are stored without any: their last ones, or those that their newest batches name.
 * The number of nodes, or -errno.
 */
int store_find_facts(struct store *s, struct err *err);

struct store_get { /* which one, and where it goes: jobs and bookings for free() */
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

struct store_each { /* which ones, and who is given each of them; what a kind does not name is not asked */
    enum store_kind kind;
    const char *node;                /* of processes, events, tokens. "": all */
    int64_t from_ms, to_ms;          /* of processes, events, bookings; of notes with a limit: ids. to 0: without end */
    int64_t at_ms;                   /* of processes: those that were there then; 0: not asked */
    size_t limit;                    /* of events; of notes, the newest first: 0: all, by id */
    int32_t note;                    /* of notes: their kind; */
    bool open;                       /* those alone that are not over */
    struct history_session *session; /* with at_ms: what several questions in a row share; NULL: nothing */
    const struct job_ask *jobs;
    const struct usage_ask *usage;
    union {
        void (*node)(void *arg, const struct store_node *n);
        void (*proc)(void *arg, const struct proc_span *p);
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
 * Nodes by key. Processes seen at or after from that came before to, by node, device and start. Events from then on
 * and before to, the newest first. Bookings that were to cover some of [from, to), by start, released and cancelled
 * ones among them: booking_overlaps tells what they really covered. Notes by id. Tokens by age. Jobs, the newest first,
 * at most jobs->limit: it costs what it returns, time and one of parent, device, node, person are looked up, the others
 * compared. Usage by time, nodes of one hour in any order; within one call the same name is the same pointer; it stops
 * when give returns other than 0, and returns that. -ECANCELED when jobs or usage are told to stop. Processes of a
 * moment (at_ms) can be asked for from any thread.
 */
int store_each(struct store *s, const struct store_each *e, struct err *err);
/* For whoever is handed one, a test's or a thread's own. */
typedef int store_each_fn(void *arg, const struct store_each *e, struct err *err);

/* History of from becomes to's: batches kept so far, blobs, processes, events; its node record goes. to "": from never
 * sent a sample and goes, its record, events and agent tokens. */
void store_take_over(struct store *s, const char *from, const char *to);
void store_stat(const struct store *s, struct store_stat *ret);

/* How the files of records looked; zeroed: never looked at. */
struct store_look {
    int64_t v[4];
};
/* Whether records may have been written since the last look, by us or another process: asks the file system, not the
 * database, for whoever reads every second what seldom changes. True on a server, and for a while after a write. */
bool store_touched(const struct store *s, struct store_look *last, int64_t now_ms);
