/* store_read.c: the reading side of wandb.db: one statement per question, so each answer is as of one moment. */
#include <errno.h>

#include "base/mem.h"
#include "wandb/store_sql.h"

void wandb_run_of(sqlite3_stmt *st, struct wandb_run *ret)
{
    *ret = (struct wandb_run){
        .team = db_text(st, 0),
        .project = db_text(st, 1),
        .id = db_text(st, 2),
        .storage_id = db_text(st, 3),
        .display = db_text(st, 4),
        .state = db_text(st, 5),
        .host = db_text(st, 6),
        .user = db_text(st, 7),
        .tags = db_text(st, 8),
        .rule = db_text(st, 9),
        .created_ms = sqlite3_column_int64(st, 10),
        .heartbeat_ms = sqlite3_column_int64(st, 11),
        .gpus = sqlite3_column_int(st, 12),
        .cpus = sqlite3_column_int(st, 13),
        .gpu_info = sqlite3_column_int(st, 14),
        .exists = (enum wandb_exists)sqlite3_column_int(st, 15),
        .logged_ms = sqlite3_column_int64(st, 16),
        .metrics_ms = sqlite3_column_int64(st, 17),
        .metrics_from = sqlite3_column_int(st, 18),
        .metrics_to = sqlite3_column_int(st, 19),
    };
    if ((unsigned)ret->exists >= WANDB_EXISTS_COUNT) /* a damaged row */
        ret->exists = WANDB_NOT_TOLD;
}

static void day_of(sqlite3_stmt *st, struct wandb_day *ret)
{
    const int at = WANDB_RUN_WIDTH;

    *ret = (struct wandb_day){
        .day = sqlite3_column_int(st, at),
        .minutes = sqlite3_column_int(st, at + 1),
        .have = (unsigned)sqlite3_column_int(st, at + 2) & (WANDB_UTIL | WANDB_MEM),
        .util_avg = sqlite3_column_int64(st, at + 3),
        .util_max = sqlite3_column_int64(st, at + 4),
        .mem_avg = sqlite3_column_int64(st, at + 5),
        .mem_max = sqlite3_column_int64(st, at + 6),
        .gpus = sqlite3_column_int(st, at + 7),
        .cpus = sqlite3_column_int(st, at + 8),
        .created_ms = sqlite3_column_int64(st, at + 9),
        .heartbeat_ms = sqlite3_column_int64(st, at + 10),
        .logged_ms = sqlite3_column_int64(st, at + 11),
        .state = db_text(st, at + 12),
        .host = db_text(st, at + 13),
        .tags = db_text(st, at + 14),
    };
}

static int no_stmt(struct wandb_store *s, struct err *err)
{
    return db_fail(s->h, sqlite3_errcode(s->h), "read", err);
}

/* Steps it to its end, or until each returns other than 0. The statement is ready again then. */
struct reading {
    wandb_run_fn *run;
    wandb_day_fn *day;
    void *arg;
    int64_t last; /* W_DUE: the key of the newest */
};

static int64_t read_all(struct wandb_store *s, sqlite3_stmt *st, struct reading *x, struct err *err)
{
    int64_t n = 0;
    int rc, r = 0;

    while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct wandb_run run;
        struct wandb_day day;
        wandb_run_of(st, &run);
        if (x->day)
            day_of(st, &day);
        else
            x->last = sqlite3_column_int64(st, WANDB_RUN_WIDTH);
        r = x->day ? x->day(x->arg, &run, &day) : x->run(x->arg, &run);
        n++;
    }
    if (r == 0 && rc != SQLITE_DONE)
        r = db_fail(s->h, rc, "read", err);
    sqlite3_reset(st);
    return r ? r : n;
}

static int64_t read_window(struct wandb_store *s, size_t i, const struct wandb_ask *ask, struct reading *x,
                           struct err *err)
{
    sqlite3_stmt *st = wandb_stmt(s, i);

    if (!st)
        return no_stmt(s, err);
    db_bind_int(st, 1, ask->from);
    db_bind_int(st, 2, ask->to);
    if (ask->team)
        db_bind_text(st, 3, ask->team);
    else
        sqlite3_bind_null(st, 3);
    db_bind_int(st, 4, ask->deleted);
    db_bind_int(st, 5, ask->barred);
    return read_all(s, st, x, err);
}

int64_t wandb_days_each(struct wandb_store *s, const struct wandb_ask *ask, wandb_day_fn *each, void *arg,
                        struct err *err)
{
    struct reading x = {.day = each, .arg = arg};

    return read_window(s, ask->order == WANDB_BY_DATASET ? W_DAYS_DATASET : W_DAYS, ask, &x, err);
}

int64_t wandb_runs_each(struct wandb_store *s, const struct wandb_ask *ask, wandb_run_fn *each, void *arg,
                        struct err *err)
{
    struct reading x = {.run = each, .arg = arg};

    return read_window(s, W_RUNS, ask, &x, err);
}

int64_t wandb_deleted_each(struct wandb_store *s, int64_t since_ms, wandb_run_fn *each, void *arg, struct err *err)
{
    sqlite3_stmt *st = wandb_stmt(s, W_DELETED);
    struct reading x = {.run = each, .arg = arg};

    if (!st)
        return no_stmt(s, err);
    db_bind_int(st, 1, since_ms);
    return read_all(s, st, &x, err);
}

int wandb_run_find(struct wandb_store *s, const char *team, const char *project, const char *id, wandb_run_fn *each,
                   void *arg, struct err *err)
{
    sqlite3_stmt *st = wandb_stmt(s, W_RUN);
    struct reading x = {.run = each, .arg = arg};

    if (!st)
        return no_stmt(s, err);
    db_bind_text(st, 1, team);
    db_bind_text(st, 2, project);
    db_bind_text(st, 3, id);
    return (int)read_all(s, st, &x, err);
}

int wandb_due(struct wandb_store *s, const struct wandb_pull *pull, int64_t after, size_t max, wandb_run_fn *each,
              void *arg, int64_t *ret_after, struct err *err)
{
    sqlite3_stmt *st = wandb_stmt(s, W_DUE);
    struct reading x = {.run = each, .arg = arg, .last = after};

    if (!st)
        return no_stmt(s, err);
    db_bind_int(st, 1, pull->id);
    db_bind_int(st, 2, after);
    db_bind_int(st, 3, (int64_t)MIN(max, (size_t)INT32_MAX));
    int64_t n = read_all(s, st, &x, err);
    if (n >= 0)
        *ret_after = x.last;
    return (int)n;
}

/* ---- pulls ---- */

int wandb_project_state(struct wandb_store *s, const struct wandb_pull *pull, const char *team, const char *project,
                        struct wandb_progress *ret, struct err *err)
{
    sqlite3_stmt *st = wandb_stmt(s, W_PROJECT);

    if (!st)
        return no_stmt(s, err);
    db_bind_text(st, 1, team);
    db_bind_text(st, 2, project);
    db_bind_int(st, 3, pull->id);
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        mem_copy_str(ret->cursor, sizeof(ret->cursor), db_text(st, 0));
        mem_copy_str(ret->error, sizeof(ret->error), db_text(st, 2));
        ret->done = sqlite3_column_int(st, 1);
    } else if (rc == SQLITE_DONE) {
        ret->cursor[0] = ret->error[0] = 0;
        ret->done = false;
    }
    sqlite3_reset(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : db_fail(s->h, rc, "read", err);
}

static int count(struct wandb_store *s, size_t i, const struct wandb_pull *pull, uint64_t *ret, int n, struct err *err)
{
    sqlite3_stmt *st = wandb_stmt(s, i);

    if (!st)
        return no_stmt(s, err);
    db_bind_int(st, 1, pull->id);
    int rc = sqlite3_step(st);
    for (int k = 0; rc == SQLITE_ROW && k < n; k++)
        ret[k] = (uint64_t)sqlite3_column_int64(st, k);
    sqlite3_reset(st);
    return rc == SQLITE_ROW ? 0 : db_fail(s->h, rc, "read", err);
}

int wandb_pull_count(struct wandb_store *s, const struct wandb_pull *pull, struct wandb_pull_sum *ret, struct err *err)
{
    uint64_t projects[3] = {0}, runs = 0, due = 0;
    int r = count(s, W_COUNT_PROJECTS, pull, projects, 3, err);

    if (r == 0)
        r = count(s, W_COUNT_RUNS, pull, &runs, 1, err);
    if (r == 0)
        r = count(s, W_COUNT_DUE, pull, &due, 1, err);
    if (r == 0)
        *ret = (struct wandb_pull_sum){projects[0], projects[1], projects[2], runs, due};
    return r;
}

int wandb_failed_each(struct wandb_store *s, const struct wandb_pull *pull, wandb_failed_fn *each, void *arg,
                      struct err *err)
{
    sqlite3_stmt *st = wandb_stmt(s, W_FAILED);
    int rc, n = 0, r = 0;

    if (!st)
        return no_stmt(s, err);
    db_bind_int(st, 1, pull->id);
    while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        r = each(arg, db_text(st, 0), db_text(st, 1), db_text(st, 2));
        n++;
    }
    if (r == 0 && rc != SQLITE_DONE)
        r = db_fail(s->h, rc, "read", err);
    sqlite3_reset(st);
    return r ? r : n;
}

int wandb_pull_last(struct wandb_store *s, struct wandb_pull *ret, struct err *err)
{
    sqlite3_stmt *st = wandb_stmt(s, W_LAST_PULL);

    if (!st)
        return no_stmt(s, err);
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        *ret = (struct wandb_pull){
            .id = sqlite3_column_int64(st, 0),
            .from = sqlite3_column_int(st, 1),
            .to = sqlite3_column_int(st, 2),
            .config = (uint64_t)sqlite3_column_int64(st, 3),
            .begun_ms = sqlite3_column_int64(st, 4),
        };
    sqlite3_reset(st);
    if (rc == SQLITE_ROW)
        ret->zone = wandb_store_zone(s);
    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : db_fail(s->h, rc, "read", err);
}

int64_t wandb_barred_count(struct wandb_store *s, struct err *err)
{
    sqlite3_stmt *st = wandb_stmt(s, W_COUNT_BARRED);

    if (!st)
        return no_stmt(s, err);
    int rc = sqlite3_step(st);
    int64_t n = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : db_fail(s->h, rc, "read", err);
    sqlite3_reset(st);
    return n;
}

/* ---- events ---- */

int64_t wandb_events_each(struct wandb_store *s, int64_t after, wandb_event_fn *each, void *arg, struct err *err)
{
    sqlite3_stmt *st = wandb_stmt(s, W_EVENTS);
    int64_t n = 0;
    int rc, r = 0;

    if (!st)
        return no_stmt(s, err);
    db_bind_int(st, 1, after);
    while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        int kind = sqlite3_column_int(st, 2);
        struct wandb_event e = {
            .id = sqlite3_column_int64(st, 0),
            .at_ms = sqlite3_column_int64(st, 1),
            .kind = (enum wandb_event_kind)(kind > 0 && kind < WANDB_EVENT_KINDS ? kind : 0),
            .subject = db_text(st, 3),
            .text = db_text(st, 4),
        };
        r = each(arg, &e);
        n++;
    }
    if (r == 0 && rc != SQLITE_DONE)
        r = db_fail(s->h, rc, "read", err);
    sqlite3_reset(st);
    return r ? r : n;
}
