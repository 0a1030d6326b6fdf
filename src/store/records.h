/*
 * records.h: a durable home for batches, blobs, records. One backend: embedded (SQLite). Nothing above here knows
 * SQLite exists.
 *
 * T1 When done is called with 0 the batches survive kill -9 and power loss. T2 A batch (node, run, number) given twice
 * is kept once. T3 A batch is kept whole or not at all. T4 The caller's thread never waits for the disk: one writer
 * thread commits at most every commit_ms. T5 done is called on the caller's loop, in the order of appends, exactly once
 * each; only what is refused before it is queued (queue full, -EAGAIN; bad, -EINVAL) is told at once. T6 Nothing here
 * logs or reads a wall clock. T7 Every file carries a version; a newer one is refused with a sentence. T8 When the disk
 * is full, appends fail with -ENOSPC and work again when there is space.
 *
 * All calls on one store come from one thread, but for those samples.h lets any thread make; done may call anything
 * here but store_close. Puts without a result (blobs, nodes, processes, events) are tried again until they are durable;
 * queries show them after the next commit.
 */
#ifndef STORE_RECORDS_H
#define STORE_RECORDS_H

#include "base/err.h"
#include "model/batch.h"
#include "model/booking.h"
#include "model/event.h"
#include "model/fact.h"
#include "model/job.h"
#include "model/note.h"
#include "model/usage.h"

struct event_base;
struct store_decoder;

struct store_conf {
    const char *dir;
    int64_t commit_ms;   /* group commit, default 200 */
    int64_t keep_raw_ms; /* samples older than this go; 0: for ever. So for the tiers of samples.h: */
    int64_t keep_minute_ms, keep_hour_ms;
    int64_t keep_records_ms;             /* so for processes, events, jobs and bookings: since they were over */
    int64_t keep_usage_ms;               /* so for counted hours and days */
    int64_t keep_bytes;                  /* and the oldest beyond this; 0: no limit */
    int64_t (*now_ms)(void);             /* the wall clock, asked by the store's threads; NULL, or 0: not known, and
                                            nothing goes by age */
    int64_t rotate_ms, rotate_bytes;     /* when a log file is full; 0: 1 h (10 min with a decoder), 64 MiB, less when
                                            little is kept */
    const struct store_decoder *decoder; /* samples.h; NULL: batches stay in their logs, and there is no history */
    int64_t queue_bytes;                 /* what may wait for the disk; 0: 64 MiB */
};

enum blob_kind { BLOB_FACTS = 1, BLOB_PROCS = 2 };

struct store_batch {
    const char *node; /* key text */
    uint64_t run, number, facts, procs;
    int64_t at_ms;    /* first tick, hub's clock */
    int64_t shift_ms; /* to be added to the times inside */
    struct str bytes; /* the frame, kept as it came */
};

struct store_node {
    char key[NODE_KEY_MAX], name[NAME_MAX_LEN] /* an admin's, or empty */, own_name[NAME_MAX_LEN], address[64];
    bool retired, maintenance, demo;
    int64_t first_ms, last_ms;
    uint64_t facts, procs; /* newest blobs */
    char secret[72];       /* vesta: its id; else empty */
    int64_t sampled_ms;    /* when it last sent a sample; 0: never */
};

struct store_proc {            /* a process on a device: start and end */
    const char *node, *device; /* key, uuid */
    struct proc_fact fact;
    int64_t first_ms, last_ms; /* seen */
    int64_t mem_max;
    bool ended;
    uint8_t kind; /* enum proc_kind bits; 0 unknown */
    int32_t sm;   /* mean, 0.01 %, so far; -1 unknown */
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
    uint32_t damaged_columns; /* of history that could not be read when it was merged, since open */
};

struct store;
typedef void store_done_fn(void *arg, int result);

/*
 * loop NULL: done is called from store_flush and store_close. One at a time may have a folder open: a second is refused
 * with -EBUSY. A damaged log file does not stop it: it is renamed NAME.damaged, 0 is returned, and err->msg has a
 * sentence to log (it is empty otherwise).
 */
int store_open(struct store **ret, const struct store_conf *conf, struct event_base *loop, struct err *err);
/*
 * Beside a running hub, for the command line: tokens and settings may be read and written, everything else only read.
 * Makes the folder if it is not there. Appends fail with -EROFS, other puts do
 * nothing.
 */
int store_open_tools(struct store **ret, const char *dir, struct err *err);
void store_close(struct store *s); /* commits what is queued first, and calls every done still due */
/* Wait until everything queued is durable: 0, or -errno if it is not, or if an append failed since the last flush. */
int store_flush(struct store *s, struct err *err);

/* Copies what it needs. Already kept: counted as a repeat, done still gets 0. */
void store_append(struct store *s, const struct store_batch *b, size_t n, store_done_fn *done, void *arg);
bool store_has(const struct store *s, const char *node, uint64_t run, uint64_t number); /* durable already */

void store_put_blob(struct store *s, const char *node, enum blob_kind kind, uint64_t id,
                    struct str bytes);                                     /* durable with the next append */
bool store_has_blob(const struct store *s, const char *node, uint64_t id); /* kept or queued */
int store_get_blob(struct store *s, const char *node, uint64_t id, struct buf *ret,
                   struct err *err); /* 1, 0 or -errno */

void store_put_node(struct store *s, const struct store_node *n);
int store_nodes(struct store *s, void (*each)(void *arg, const struct store_node *n), void *arg, struct err *err);
/* History of from becomes to's: batches kept so far, blobs, processes, events; its node record goes. */
void store_take_over(struct store *s, const char *from, const char *to);
/* A node that never sent a sample goes: its record, events and agent tokens. */
void store_drop_node(struct store *s, const char *key);

void store_put_proc(struct store *s, const struct store_proc *p); /* insert or extend by (node, device, pid, start) */
/* Those seen at or after from_ms, by node, device, start. node NULL: all. */
int store_procs(struct store *s, const char *node, int64_t from_ms, void (*each)(void *arg, const struct store_proc *p),
                void *arg, struct err *err);
/* Of one node, those of them that came before to_ms: it costs what it returns. */
int store_procs_in(struct store *s, const char *node, int64_t from_ms, int64_t to_ms,
                   void (*each)(void *arg, const struct store_proc *p), void *arg, struct err *err);
/* Given twice (same node, device, moment, kind, code) it is kept once. */
void store_put_event(struct store *s, const char *node, const char *device, const struct node_event *e);
/* The newest limit of those at or after from_ms, newest first. node NULL: all. */
int store_events(struct store *s, const char *node, int64_t from_ms, size_t limit,
                 void (*each)(void *arg, const char *node, const char *device, const struct node_event *e), void *arg,
                 struct err *err);

/*
 * Jobs (model/job.h). Both puts have a result: done gets 0 once it is durable, or -errno, as an append. A job whose id
 * is there already is a repeat: what is kept stays. A change of one that is not there does nothing.
 */
void store_job_put(struct store *s, const struct job_fact *j, store_done_fn *done, void *arg);
void store_job_change(struct store *s, const struct job_change *c, store_done_fn *done, void *arg);
/* A durable one, for free(): 1, 0 or -errno. */
int store_job_get(struct store *s, int64_t id, struct job_fact **ret, struct err *err);
/* The newest ask->limit of those that overlap the time asked for, newest start first. It costs what it returns: time
 * and one of parent, device, node, person are looked up, the others compared. -ECANCELED when stopped. */
int store_jobs(struct store *s, const struct job_ask *ask, void (*each)(void *arg, const struct job_fact *j), void *arg,
               struct err *err);

/*
 * Notes (model/note.h): all of v or none of it; done as with jobs. By id; open: those that are not over alone. What is
 * queued is not seen.
 */
void store_notes_put(struct store *s, const struct note *v, size_t n, store_done_fn *done, void *arg);
int store_notes(struct store *s, int32_t kind, bool open, void (*each)(void *arg, const struct note *n), void *arg,
                struct err *err);

/*
 * Holds (model/booking.h). A put is of a new one, or of one as it is now, by its id; done as with jobs.
 */
void store_booking_put(struct store *s, const struct booking *h, store_done_fn *done, void *arg);
/* A durable one, for free(): 1, 0 or -errno. id 0: the one with the highest id ever given. */
int store_booking_get(struct store *s, int64_t id, struct booking **ret, struct err *err);
/*
 * Those that were to cover some of [from, to), by start; to 0: without end. Released and cancelled ones are among them:
 * booking_overlaps tells what they really covered.
 */
int store_holds(struct store *s, int64_t from_ms, int64_t to_ms, void (*each)(void *arg, const struct booking *h),
                void *arg, struct err *err);

/*
 * Usage (model/usage.h): counted hours of nodes, and days, which are those hours added up. A mark says that an hour is
 * to be counted (again); it is durable no later than what is appended after it.
 */
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
void store_usage_put(struct store *s, const struct usage_put *u);
void store_usage_mark(struct store *s, const char *node, int64_t at_ms, int64_t seq);

struct usage_ask { /* hours that begin in [from, to) */
    int64_t from_ms, to_ms;
    const struct usage_day *days; /* stretches of whole days in between, rising: there days are given instead */
    size_t n_days;
    const char *zone;        /* of the days */
    const char *node;        /* key; NULL: all */
    bool (*stop)(void *arg); /* asked now and then; NULL: never */
    void *stop_arg;
};
/*
 * By time; nodes of one hour in any order. Within one call the same name is the same pointer. Stops when each returns
 * other than 0, and returns that. -ECANCELED when stopped.
 */
int store_usage(struct store *s, const struct usage_ask *ask,
                int (*each)(void *arg, const char *node, const struct usage_span *span), void *arg, struct err *err);
int store_usage_marks(struct store *s, void (*each)(void *arg, const char *node, int64_t at_ms, int64_t seq), void *arg,
                      struct err *err);
/* The first and the last counted hour of each node. */
int store_usage_reach(struct store *s, void (*each)(void *arg, const char *node, int64_t first_ms, int64_t last_ms),
                      void *arg, struct err *err);

/* Tokens are written at once (the command line beside a running hub) and looked up by their public part, always fresh.
 */
int store_token_put(struct store *s, const struct store_token *t, struct err *err);
/*
 * The same without waiting for the disk: found after the next commit, and durable then, as a blob is. Of a token that
 * is there already only node, hash and used_ms change, and nothing of one that was revoked meanwhile. -EAGAIN: the
 * queue is full.
 */
int store_token_put_soon(struct store *s, const struct store_token *t, struct err *err);
int store_token_get(struct store *s, const char *id, struct store_token *ret, struct err *err); /* 1, 0, -errno */
/* node NULL: all, by age. */
int store_tokens(struct store *s, const char *node, void (*each)(void *arg, const struct store_token *t), void *arg,
                 struct err *err);
/* The setting that says something else after each token that was put, from whichever process. */
#define STORE_TOKENS_VERSION "tokens_version"
/* Small named secrets (cookie key), made by the caller once. */
int store_setting_get(struct store *s, const char *name, struct buf *ret, struct err *err); /* 1, 0, -errno */
int store_setting_put(struct store *s, const char *name, struct str value, struct err *err);

/*
 * For the start, before anything is appended: the newest batches of every node that are still in logs, each node's in
 * the order they came, with nothing older than back_ms before its newest, and about max of them in all but at least the
 * newest of each. Stops as store_scan does, and reads around damage as that does.
 */
int store_newest(struct store *s, int64_t back_ms, size_t max, int (*each)(void *arg, const struct store_batch *b),
                 void *arg, struct err *err);
/*
 * Every durable batch, oldest log first, in the order of appends: for tools and tests. Stops
 * when each returns other than 0, and returns that. A damaged log costs only itself: the others are read, then -EUCLEAN
 * is returned with a sentence naming it.
 */
int store_scan(struct store *s, int (*each)(void *arg, const struct store_batch *b), void *arg, struct err *err);
void store_stat(const struct store *s, struct store_stat *ret);

#endif
