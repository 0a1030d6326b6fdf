/*
 * store.h: what Weights & Biases said of runs, in one file of its own: DIR/wandb.db, or in tables beside those of hubs
 * that share a server. Runs, their days, how far each pull came, and what is to be told to people. One process writes
 * at a time, anybody reads meanwhile.
 *
 * W1 A put is kept whole or not at all, and in the order of puts: after kill -9 or a loss of power everything up to
 * some put is there, all of what wandb_store_flush was told of, and nothing of what came later. W2 A pull that was cut
 * off goes on where it was and ends with the same rows. W3 A day of a run is replaced only by one that was logged later
 * (by the same pull: by the newer put), as a whole row; days and runs are never deleted. W4 What a failed page or
 * request left out stays as it was. W5 A damaged file, one of a newer muster and one that is not ours are refused with
 * a sentence. W6 Rows are handed out in an order that depends on nothing but the rows. W7 Nothing here logs or reads a
 * clock. W8 All days of a file are days of one zone.
 *
 * Text that is put is borrowed until the call returns. Text that is handed out is valid during the callback, which must
 * not call the store again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/record.h"

#define WANDB_FILE      "wandb.db"
#define WANDB_NAME_MAX  256             /* bytes of a team, a project, a run's id, host, user, state */
#define WANDB_TEXT_MAX  16384           /* of tags, a display name, a rule, a cursor, a sentence */
#define WANDB_RESUME_MS (24 * 3600000l) /* an unfinished pull that began longer ago is not gone on with */

enum wandb_exists {
    WANDB_NOT_TOLD, /* nobody looked; null in a dataset */
    WANDB_EXISTS,
    WANDB_DELETED, /* not on W&B any more: its rows are kept, and are in no table */
    WANDB_ERROR,   /* somebody looked and got no answer */
    WANDB_EXISTS_COUNT
};
extern const char *const wandb_exists_words[WANDB_EXISTS_COUNT]; /* "", "exists", "deleted", "error" */

enum wandb_have { WANDB_UTIL = 1, WANDB_MEM = 2 }; /* the numbers of report/report.h's enum run_have */

#define FIELD(no, field, type, column, json, most) RECORD_##type field;
#define KEY                                        FIELD
#define KEPT                                       FIELD
struct wandb_run {
#include "wandb/run.def"
};
struct wandb_day {
#include "wandb/day.def"
};
#undef KEPT
#undef KEY
#undef FIELD
extern const struct record_kind wandb_run_record, wandb_day_record;

struct wandb_store;
/*
 * where: a folder, with wandb.db in it, or postgres://..., with tables of its own. For writing it is made when missing
 * (a folder must be there), brought up to date when older, and locked:
 * -EBUSY: another process has it. For reading: -ENOENT when there is none yet (take it for no runs).
 * -EUCLEAN: damaged; -ENOTSUP: of a newer muster; -EINVAL: a database, but not this one. One thread uses a store.
 */
int wandb_store_open(struct wandb_store **ret, const char *where, bool write, struct err *err);
/* On a server: from now on what is put is kept only while the hub leads that has this epoch (sql/lease.h); 0: anyhow.
 * A put or a flush says -ESTALE when it does not. */
void wandb_store_lead(struct wandb_store *s, int64_t epoch);
/* Of a folder. Taken by whoever writes: held until *ret is closed, however the process ends. -EBUSY with a sentence. */
int wandb_store_lock(const char *dir, int *ret, struct err *err);
/* What was put since the last flush is flushed; when that fails it is as if it had not been put. Accepts NULL. */
void wandb_store_close(struct wandb_store *s);
void wandb_store_close_ptr(struct wandb_store **s);
#define AUTO_WANDB_STORE __attribute__((cleanup(wandb_store_close_ptr))) struct wandb_store
/*
 * Puts gather in one transaction, which is committed every WANDB_GROUP puts and here; call it at least every 200 ms
 * while there are puts. When a put or a flush fails, what was put since the last flush is gone, and the pull is to end:
 * begun again it goes on from there. -ENOSPC: the disk is full.
 */
#define WANDB_GROUP 64
int wandb_store_flush(struct wandb_store *s, struct err *err);
/* The zone of all days in it ("Asia/Tokyo"); "" before the first pull or import. Valid until the next call. */
const char *wandb_store_zone(struct wandb_store *s);

/* ---- a pull ---- */

struct wandb_pull {
    int64_t id;
    int32_t from, to; /* days, both counted */
    const char *zone; /* its name; the file's own once it has one */
    uint64_t config;  /* a hash of what else decides which rows come out */
    int64_t begun_ms; /* the logged_ms of every row it writes */
    bool resumed;     /* out: it was begun before */
};

/*
 * The unfinished pull with the same from, to, zone and config that began within WANDB_RESUME_MS is gone on with: id,
 * begun_ms and resumed say so. Else a new one begins at now_ms. -EINVAL: the file's days are of another zone.
 * pull's text must outlive it.
 */
int wandb_pull_begin(struct wandb_store *s, struct wandb_pull *pull, int64_t now_ms, struct err *err);
/* It came to its end. whole: every project and every run of it; else something failed, and it can be resumed. Flushes.
 */
int wandb_pull_end(struct wandb_store *s, const struct wandb_pull *pull, bool whole, struct err *err);

/*
 * How far a project's list of runs came. Project "" stands for the team's list of projects. cursor: where the next page
 * begins ("" or never heard of: at the first). error: why it failed last, "" when it did not; the next page clears it.
 */
struct wandb_progress {
    char cursor[WANDB_TEXT_MAX], error[512];
    bool done;
};
int wandb_project_state(struct wandb_store *s, const struct wandb_pull *pull, const char *team, const char *project,
                        struct wandb_progress *ret, struct err *err);
int wandb_project_fail(struct wandb_store *s, const struct wandb_pull *pull, const char *team, const char *project,
                       const char *sentence, struct err *err);

/*
 * A page of a project's runs. runs: those that count, whose days are due from then on (wandb_due). listed: the ids of
 * all runs on the page, counted or not. cursor: of the next page. With the last page the project is done; and, when
 * all_before_ms was not 0 on any of its pages, stored runs that were created before it and were on no page are
 * WANDB_DELETED, and those that were are WANDB_EXISTS. Of project "" (the team's list of projects) listed are the names
 * of all projects, counted or not: runs of others are deleted, unless no project was listed at all.
 */
struct wandb_page {
    const char *team, *project, *cursor;
    bool last;
    size_t n_runs, n_listed;
    const struct wandb_run *runs; /* team and project are taken from the page */
    const char *const *listed;
    int64_t all_before_ms; /* what the server was asked for: createdAt before this; INT64_MAX: all */
};
int wandb_page_put(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_page *page,
                   struct err *err);

/*
 * Runs whose days are not put yet in this pull, at most max, in the order of keys above `after` (0: from the
 * beginning). *ret_after: the last one's, to go on with. How many, or -errno. each returns other than 0 to stop.
 */
typedef int wandb_run_fn(void *arg, const struct wandb_run *run);
int wandb_due(struct wandb_store *s, const struct wandb_pull *pull, int64_t after, size_t max, wandb_run_fn *each,
              void *arg, int64_t *ret_after, struct err *err);

/*
 * The days of a run within the pull's window, and the run as it is now. Of days, only day, minutes and the metrics are
 * taken: the rest is the run's. fetched: metrics were asked for and these are they; else those that are stored stay,
 * and metrics_ms stays. done: it is not due any more; not done where its metrics could not be had. n may be 0.
 */
int wandb_days_put(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_run *run,
                   const struct wandb_day *days, size_t n, bool fetched, bool done, struct err *err);

struct wandb_pull_sum {
    uint64_t projects, done, failed; /* of which the list of runs is known, complete, failed last */
    uint64_t runs, due;              /* that count; whose days are still to come */
};
int wandb_pull_count(struct wandb_store *s, const struct wandb_pull *pull, struct wandb_pull_sum *ret, struct err *err);
/* Projects (or teams: project "") that failed last and are not done, by name. */
typedef int wandb_failed_fn(void *arg, const char *team, const char *project, const char *sentence);
int wandb_failed_each(struct wandb_store *s, const struct wandb_pull *pull, wandb_failed_fn *each, void *arg,
                      struct err *err);
/* Of the pulls that came to their end the one that reaches furthest, and of these the newest: 1, or 0: there is none.
 * zone: valid until the next call. */
int wandb_pull_last(struct wandb_store *s, struct wandb_pull *ret, struct err *err);

/* Days from..to of a team ("": of all) that are known; or that are stale: the team's list of projects (project "") or
 * a project could not be read, and that day not since. Ordered by team, project, from. */
struct wandb_span {
    const char *team, *project;
    int32_t from, to;
};
typedef int wandb_span_fn(void *arg, const struct wandb_span *span);
int wandb_known_each(struct wandb_store *s, bool stale, wandb_span_fn *each, void *arg, struct err *err);

/* ---- rows from elsewhere ---- */

/* The days of a file without a zone, or without runs, become days of this one. -EINVAL: they are of another. */
int wandb_zone_set(struct wandb_store *s, const char *zone, struct err *err);

enum wandb_put {
    WANDB_ROW_NEW,   /* that day of that run was not there */
    WANDB_ROW_NEWER, /* it was, and was logged before: replaced */
    WANDB_ROW_SAME,  /* logged at the same moment: what is stored stays */
    WANDB_ROW_OLDER, /* what is stored was logged later and stays */
    WANDB_ROW_KINDS
};
/*
 * A row of a dataset: run has its key, exists and, where known, what a dataset does not say; the rest is day's. What is
 * known of the run changes when the row was logged later than that; whether it exists, when the row was logged after
 * that was found out, or tells of a deletion and was logged with what said otherwise.
 */
int wandb_row_put(struct wandb_store *s, const struct wandb_run *run, const struct wandb_day *day, enum wandb_put *ret,
                  struct err *err);
/* These were all: each day of which there was one, of whichever team, that no pull of this file logged is known from
 * now on; a day between them of which there was none may be one that was never pulled. Flushes. */
int wandb_rows_end(struct wandb_store *s, int64_t now_ms, struct err *err);
/* One run: 0 or -ENOENT when it is not stored. */
int wandb_exists_set(struct wandb_store *s, const char *team, const char *project, const char *id,
                     enum wandb_exists exists, int64_t now_ms, struct err *err);

/*
 * Runs that are in no table and no dataset, whatever is known of them: the blacklist. The list takes the place of the
 * one before; their rows are kept. Only the keys are looked at.
 */
int wandb_barred_set(struct wandb_store *s, const struct wandb_run *runs, size_t n, struct err *err);

/* ---- reading ---- */

enum wandb_order {
    WANDB_BY_RUN,     /* team, project, run id, day: a run's days follow each other */
    WANDB_BY_DATASET, /* team, newest day first, run id, project */
};
struct wandb_ask {
    int32_t from, to; /* days, both counted */
    enum wandb_order order;
    bool deleted; /* those of deleted runs, too */
};
#define WANDB_ASK_ALL ((struct wandb_ask){.from = INT32_MIN, .to = INT32_MAX})

/* All as of one moment, whatever is written meanwhile. The count, or what each returned, or -errno. */
typedef int wandb_day_fn(void *arg, const struct wandb_run *run, const struct wandb_day *day);
int64_t wandb_days_each(struct wandb_store *s, const struct wandb_ask *ask, wandb_day_fn *each, void *arg,
                        struct err *err);
/* Deleted runs that were found so at since_ms or later, by team, project, id. */
int64_t wandb_deleted_each(struct wandb_store *s, int64_t since_ms, wandb_run_fn *each, void *arg, struct err *err);
/* Those with a host that were heard of at since_ms or later and are not deleted. */
int64_t wandb_logged_each(struct wandb_store *s, int64_t since_ms, wandb_run_fn *each, void *arg, struct err *err);
/* 1: found, and each was called; 0: no such run. */
int wandb_run_find(struct wandb_store *s, const char *team, const char *project, const char *id, wandb_run_fn *each,
                   void *arg, struct err *err);

/* 1: the blacklist has it; 0: not. */
int wandb_barred(struct wandb_store *s, const char *team, const char *project, const char *id, struct err *err);

/* ---- what people are to be told ---- */

enum wandb_event_kind {
    WANDB_EVENT_OVERLAP = 1, /* runs share a host */
    WANDB_EVENT_FAILED,      /* a project could not be read */
    WANDB_EVENT_CHECK,       /* the dashboard is not as it must be */
    WANDB_EVENT_LOW,         /* a company uses too little */
    WANDB_EVENT_DONE,        /* a pull came to its end */
    WANDB_EVENT_KINDS
};
extern const char *const wandb_event_words[WANDB_EVENT_KINDS]; /* "", "overlap", "failed", "check", "low", "done" */

/* id: grows, and is larger than every one before even when the file was made anew. */
struct wandb_event {
    int64_t id, at_ms;
    enum wandb_event_kind kind;
    const char *subject; /* company, or team/project; "" */
    const char *text;    /* at most WANDB_TEXT_MAX; cut */
};
#define WANDB_EVENTS_KEPT 10000                                                           /* older ones are dropped */
int wandb_event_put(struct wandb_store *s, const struct wandb_event *e, struct err *err); /* id is ignored */
/* Those after an id, oldest first: whoever passes them on keeps the last id. */
typedef int wandb_event_fn(void *arg, const struct wandb_event *e);
int64_t wandb_events_each(struct wandb_store *s, int64_t after, wandb_event_fn *each, void *arg, struct err *err);
