/*
 * store.h: the Weights & Biases runs in a separate file: DIR/wandb.db, or in tables next to those of hubs that share a
 * server. It holds runs, their days, the progress of each pull, and events for users. One process writes at a time;
 * others may read meanwhile.
 *
 * W1 A put is stored completely or not at all, in the order of puts. After kill -9 or a power failure, all puts up to
 *    some put are there, including all that wandb_store_flush has confirmed, and no later ones.
 * W2 An interrupted pull resumes where it was, and ends with the same rows.
 * W3 A day of a run is replaced only by one that was logged later (by the same pull: by the newer put), as a whole row.
 *    Days and runs are never deleted.
 * W4 Rows that a failed page or request did not deliver stay unchanged.
 * W5 Damaged files, files of a newer muster and unrelated files are rejected with a message.
 * W6 The order of returned rows depends only on the rows.
 * W7 This module does not log and reads no clock.
 * W8 All days of a file are days of one zone.
 *
 * Text passed to a put is borrowed for the call. Returned text is valid during the callback, which must not call the
 * store again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/record.h"

#define WANDB_FILE      "wandb.db"
#define WANDB_NAME_MAX  256             /* bytes of a team, a project, a run's id, host, user, state */
#define WANDB_TEXT_MAX  16384           /* of tags, a display name, a rule, a cursor, a message */
#define WANDB_RESUME_MS (24 * 3600000l) /* an unfinished pull that was started longer ago is not resumed */

enum wandb_exists {
    WANDB_NOT_TOLD, /* not checked; null in a dataset */
    WANDB_EXISTS,
    WANDB_DELETED, /* removed from W&B: its rows are kept, but are in no table */
    WANDB_ERROR,   /* the check got no reply */
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
 * where: a folder with wandb.db in it, or postgres://..., with its own tables. For writing, the store is created if
 * missing (a folder must exist), upgraded if older, and locked:
 * -EBUSY: another process has it. For reading: -ENOENT if it does not exist yet (treat that as no runs).
 * -EUCLEAN: damaged; -ENOTSUP: of a newer muster; -EINVAL: a database, but not this one. One thread uses a store.
 */
int wandb_store_open(struct wandb_store **ret, const char *where, bool write, struct err *err);
/*
 * On a server: from now on puts are stored only while the hub with this epoch leads (sql/lease.h); 0: always. If it
 * does not lead, a put or a flush returns -ESTALE.
 */
void wandb_store_lead(struct wandb_store *s, int64_t epoch);
/* Locks a folder for writing, until *ret is closed or the process ends. -EBUSY with a message in err. */
int wandb_store_lock(const char *dir, int *ret, struct err *err);
/* Flushes pending puts; if that fails they are lost. Accepts NULL. */
void wandb_store_close(struct wandb_store *s);
void wandb_store_close_ptr(struct wandb_store **s);
#define AUTO_WANDB_STORE __attribute__((cleanup(wandb_store_close_ptr))) struct wandb_store
/*
 * Puts are collected in one transaction, which is committed every WANDB_GROUP puts and here. Call it at least every 200
 * ms while there are puts. If a put or a flush fails, the puts since the last flush are lost, and the pull must end:
 * when started again it resumes from there. -ENOSPC: the disk is full.
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
    uint64_t config;  /* a hash of the other settings that determine the rows */
    int64_t begun_ms; /* the logged_ms of every row it writes */
    bool resumed;     /* out: it was started before */
};

/*
 * Resumes the unfinished pull with the same from, to, zone and config that was started within WANDB_RESUME_MS, and sets
 * id, begun_ms and resumed. Otherwise starts a new one at now_ms. -EINVAL: the file's days are of another zone. pull's
 * text must outlive it.
 */
int wandb_pull_begin(struct wandb_store *s, struct wandb_pull *pull, int64_t now_ms, struct err *err);
/*
 * Ends a pull. whole: every project and every run was pulled; otherwise a part failed, and it can be resumed. Flushes.
 */
int wandb_pull_end(struct wandb_store *s, const struct wandb_pull *pull, bool whole, struct err *err);

/*
 * Progress of a project's list of runs. Project "" is the team's list of projects. cursor: start of the next page (""
 * or no record: the first). error: reason of the last failure, "" if none; the next page clears it.
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
 * all runs on the page, counted or not. cursor: of the next page.
 *
 * The last page completes the project. Unless all_before_ms was 0 on one of its pages, stored runs created before it
 * become WANDB_EXISTS if they were on a page, else WANDB_DELETED. For project "" (the team's list of projects), listed
 * has the names of all projects, counted or not. Runs of other projects become deleted, unless no project was listed at
 * all.
 */
struct wandb_page {
    const char *team, *project, *cursor;
    bool last;
    size_t n_runs, n_listed;
    const struct wandb_run *runs; /* their team and project come from the page */
    const char *const *listed;
    int64_t all_before_ms; /* the query was for createdAt before this; INT64_MAX: all */
};
int wandb_page_put(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_page *page,
                   struct err *err);

/*
 * Lists runs whose days this pull has not put yet, at most max, in the order of keys above `after` (0: from the start).
 * *ret_after: the key of the last one, to continue. Returns the number of runs or -errno. each returns nonzero to stop.
 */
typedef int wandb_run_fn(void *arg, const struct wandb_run *run);
int wandb_due(struct wandb_store *s, const struct wandb_pull *pull, int64_t after, size_t max, wandb_run_fn *each,
              void *arg, int64_t *ret_after, struct err *err);

/*
 * Puts the days of a run within the pull's window, and the current run. Of days, only day, minutes and the metrics are
 * used: the rest comes from the run. fetched: the metrics were fetched; otherwise the stored metrics and metrics_ms
 * stay. done: it is no longer due; not set if its metrics could not be fetched. n may be 0.
 */
int wandb_days_put(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_run *run,
                   const struct wandb_day *days, size_t n, bool fetched, bool done, struct err *err);

struct wandb_pull_sum {
    uint64_t projects, done, failed; /* projects with a known list of runs, completed, failed last */
    uint64_t runs, due;              /* runs that count; runs whose days are still missing */
};
int wandb_pull_count(struct wandb_store *s, const struct wandb_pull *pull, struct wandb_pull_sum *ret, struct err *err);
/* Projects (or teams: project "") that failed last and are not done, by name. */
typedef int wandb_failed_fn(void *arg, const char *team, const char *project, const char *sentence);
int wandb_failed_each(struct wandb_store *s, const struct wandb_pull *pull, wandb_failed_fn *each, void *arg,
                      struct err *err);
/*
 * The completed pull that reaches furthest, and of these the newest. Returns 1, or 0 if not found. zone: valid until
 * the next call.
 */
int wandb_pull_last(struct wandb_store *s, struct wandb_pull *ret, struct err *err);

/*
 * Known days from..to of a team ("": of all teams), or stale ones: the team's list of projects (project "") or a
 * project could not be read, and that day not since. Ordered by team, project, from.
 */
struct wandb_span {
    const char *team, *project;
    int32_t from, to;
};
typedef int wandb_span_fn(void *arg, const struct wandb_span *span);
int wandb_known_each(struct wandb_store *s, bool stale, wandb_span_fn *each, void *arg, struct err *err);

/* ---- rows from elsewhere ---- */

/* Sets the zone of a file without a zone or without runs. -EINVAL: its days are of another one. */
int wandb_zone_set(struct wandb_store *s, const char *zone, struct err *err);

enum wandb_put {
    WANDB_ROW_NEW,   /* that day of that run was not there */
    WANDB_ROW_NEWER, /* it was, and was logged before: replaced */
    WANDB_ROW_SAME,  /* logged at the same time: the stored row stays */
    WANDB_ROW_OLDER, /* the stored row was logged later and stays */
    WANDB_ROW_KINDS
};
/*
 * Puts a row of a dataset. run has its key, exists and, if known, fields that a dataset lacks; the rest is in day. The
 * stored run changes if the row was logged later. Its `exists` changes if the row was logged after it was set, or if
 * the row was logged at the same time and is a deletion.
 */
int wandb_row_put(struct wandb_store *s, const struct wandb_run *run, const struct wandb_day *day, enum wandb_put *ret,
                  struct err *err);
/*
 * Ends the rows of a dataset. Each day with a row, of any team, that no pull of this file logged counts as known from
 * now on. A day between them without a row may be a day that was never pulled. Flushes.
 */
int wandb_rows_end(struct wandb_store *s, int64_t now_ms, struct err *err);
/* One run: 0 or -ENOENT when it is not stored. */
int wandb_exists_set(struct wandb_store *s, const char *team, const char *project, const char *id,
                     enum wandb_exists exists, int64_t now_ms, struct err *err);

/*
 * Sets the blacklist: runs that are in no table and no dataset. Replaces the previous list; the rows of the runs are
 * kept. Only the keys are used.
 */
int wandb_barred_set(struct wandb_store *s, const struct wandb_run *runs, size_t n, struct err *err);

/* ---- reading ---- */

enum wandb_order {
    WANDB_BY_RUN,     /* team, project, run id, day: a run's days follow each other */
    WANDB_BY_DATASET, /* team, newest day first, run id, project */
};
struct wandb_query {
    int32_t from, to; /* days, both counted */
    enum wandb_order order;
    bool deleted; /* include deleted runs */
};
#define WANDB_ASK_ALL ((struct wandb_query){.from = INT32_MIN, .to = INT32_MAX})

/*
 * Reads all days in one snapshot, independent of concurrent writes. Returns the number of days, or the result of each,
 * or -errno.
 */
typedef int wandb_day_fn(void *arg, const struct wandb_run *run, const struct wandb_day *day);
int64_t wandb_days_each(struct wandb_store *s, const struct wandb_query *ask, wandb_day_fn *each, void *arg,
                        struct err *err);
/* Deleted runs whose deletion was found at since_ms or later, by team, project, id. */
int64_t wandb_deleted_each(struct wandb_store *s, int64_t since_ms, wandb_run_fn *each, void *arg, struct err *err);
/* Runs with a host that were seen at since_ms or later and are not deleted. */
int64_t wandb_logged_each(struct wandb_store *s, int64_t since_ms, wandb_run_fn *each, void *arg, struct err *err);
/* 1: found, and each was called; 0: no such run. */
int wandb_run_find(struct wandb_store *s, const char *team, const char *project, const char *id, wandb_run_fn *each,
                   void *arg, struct err *err);

/* 1: the blacklist has it; 0: not. */
int wandb_barred(struct wandb_store *s, const char *team, const char *project, const char *id, struct err *err);

/* ---- events for users ---- */

enum wandb_event_kind {
    WANDB_EVENT_OVERLAP = 1, /* runs share a host */
    WANDB_EVENT_FAILED,      /* a project could not be read */
    WANDB_EVENT_CHECK,       /* the dashboard is not as it must be */
    WANDB_EVENT_LOW,         /* a company uses too little */
    WANDB_EVENT_DONE,        /* a pull came to its end */
    WANDB_EVENT_KINDS
};
extern const char *const wandb_event_words[WANDB_EVENT_KINDS]; /* "", "overlap", "failed", "check", "low", "done" */

/* id: increasing, and larger than all earlier ones even if the file was created again. */
struct wandb_event {
    int64_t id, at_ms;
    enum wandb_event_kind kind;
    const char *subject; /* company, or team/project; "" */
    const char *text;    /* at most WANDB_TEXT_MAX; cut */
};
#define WANDB_EVENTS_KEPT 10000                                                           /* older ones are dropped */
int wandb_event_put(struct wandb_store *s, const struct wandb_event *e, struct err *err); /* id is ignored */
/* Events after an id, oldest first: the caller keeps the last id. */
typedef int wandb_event_fn(void *arg, const struct wandb_event *e);
int64_t wandb_events_each(struct wandb_store *s, int64_t after, wandb_event_fn *each, void *arg, struct err *err);
