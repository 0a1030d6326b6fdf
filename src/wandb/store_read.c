/* store_read.c: the reading side of wandb.db: one statement per query, so that each result is a consistent snapshot. */

#include "base/mem.h"
#include "wandb/store_sql.h"

struct reading { /* the callbacks */
    wandb_run_fn *run;
    wandb_day_fn *day;
    wandb_failed_fn *failed;
    wandb_event_fn *event;
    wandb_span_fn *span;
    void *arg;
    int64_t last; /* the number of the newest run */
};

/*
 * Reads a statement's rows to the end, or until each returns nonzero, and resets it. Returns the number of rows, or the
 * result of each, or -errno.
 */
static int64_t read_rows(struct db_stmt *st, int (*each)(void *arg, struct db_stmt *st), void *arg, struct err *err)
{
    int64_t n = 0;
    int r, code = 0;

    while (code == 0 && (r = db_next(st, err)) == 1) {
        code = each(arg, st);
        n++;
    }
    if (code)
        db_reset(st);
    return code ? code : r < 0 ? r : n;
}

/* ---- runs and days ---- */

static int give_row(void *arg, struct db_stmt *st)
{
    struct reading *x = arg;
    struct wandb_run run;
    struct wandb_day day;
    const int width = (int)wandb_run_record.n;

    record_read(st, &wandb_run_record, &run);
    if (run.exists < 0 || run.exists >= WANDB_EXISTS_COUNT) /* a damaged row */
        run.exists = WANDB_NOT_TOLD;
    x->last = db_number(st, width);
    if (!x->day)
        return x->run(x->arg, &run);
    record_read_at(st, width + 1, &wandb_day_record, &day);
    day.have &= WANDB_UTIL | WANDB_MEM;
    return x->day(x->arg, &run, &day);
}

int64_t wandb_days_each(struct wandb_store *s, const struct wandb_query *ask, wandb_day_fn *each, void *arg,
                        struct err *err)
{
    struct reading x = {.day = each, .arg = arg};
    struct db_stmt *st = DB_STMT(&s->st, ask->order == WANDB_BY_DATASET ? W_DAYS_DATASET : W_DAYS, DB_INT(ask->from),
                                 DB_INT(ask->to), DB_INT(ask->deleted));

    return read_rows(st, give_row, &x, err);
}

int64_t wandb_deleted_each(struct wandb_store *s, int64_t since_ms, wandb_run_fn *each, void *arg, struct err *err)
{
    struct reading x = {.run = each, .arg = arg};

    return read_rows(DB_STMT(&s->st, W_DELETED, DB_INT(since_ms)), give_row, &x, err);
}

int64_t wandb_logged_each(struct wandb_store *s, int64_t since_ms, wandb_run_fn *each, void *arg, struct err *err)
{
    struct reading x = {.run = each, .arg = arg};

    return read_rows(DB_STMT(&s->st, W_LOGGED, DB_INT(since_ms)), give_row, &x, err);
}

int wandb_run_find(struct wandb_store *s, const char *team, const char *project, const char *id, wandb_run_fn *each,
                   void *arg, struct err *err)
{
    struct reading x = {.run = each, .arg = arg};

    return (int)read_rows(DB_STMT(&s->st, W_RUN, DB_TEXT(team), DB_TEXT(project), DB_TEXT(id)), give_row, &x, err);
}

int wandb_barred(struct wandb_store *s, const char *team, const char *project, const char *id, struct err *err)
{
    int64_t barred = 0;
    int r = wandb_ints(DB_STMT(&s->st, W_BARRED, DB_TEXT(team), DB_TEXT(project), DB_TEXT(id)), &barred, 1);

    return r == 1 ? barred != 0 : db_fail(s->db, r, "read", err);
}

int wandb_due(struct wandb_store *s, const struct wandb_pull *pull, int64_t after, size_t max, wandb_run_fn *each,
              void *arg, int64_t *ret_after, struct err *err)
{
    struct reading x = {.run = each, .arg = arg, .last = after};
    struct db_stmt *st =
        DB_STMT(&s->st, W_DUE, DB_INT(pull->id), DB_INT(after), DB_INT((int64_t)MIN(max, (size_t)INT32_MAX)));
    int64_t n = read_rows(st, give_row, &x, err);

    if (n >= 0)
        *ret_after = x.last;
    return (int)n;
}

/* ---- pulls ---- */

int wandb_project_state(struct wandb_store *s, const struct wandb_pull *pull, const char *team, const char *project,
                        struct wandb_progress *ret, struct err *err)
{
    struct db_stmt *st = DB_STMT(&s->st, W_PROJECT, DB_TEXT(team), DB_TEXT(project), DB_INT(pull->id));
    int r = db_next(st, err);

    if (r < 0)
        return r;
    mem_copy_str(ret->cursor, sizeof(ret->cursor), r ? db_text(st, 0) : "");
    mem_copy_str(ret->error, sizeof(ret->error), r ? db_text(st, 2) : "");
    ret->done = r && db_number(st, 1);
    db_reset(st);
    return 0;
}

int wandb_pull_count(struct wandb_store *s, const struct wandb_pull *pull, struct wandb_pull_sum *ret, struct err *err)
{
    int64_t v[5] = {0};
    int r = wandb_ints(DB_STMT(&s->st, W_COUNT_PULL, DB_INT(pull->id)), v, 5);

    if (r != 1)
        return db_fail(s->db, r, "read", err);
    *ret = (struct wandb_pull_sum){(uint64_t)v[0], (uint64_t)v[1], (uint64_t)v[2], (uint64_t)v[3], (uint64_t)v[4]};
    return 0;
}

static int give_failed(void *arg, struct db_stmt *st)
{
    const struct reading *x = arg;

    return x->failed(x->arg, db_text(st, 0), db_text(st, 1), db_text(st, 2));
}

int wandb_failed_each(struct wandb_store *s, const struct wandb_pull *pull, wandb_failed_fn *each, void *arg,
                      struct err *err)
{
    struct reading x = {.failed = each, .arg = arg};

    return (int)read_rows(DB_STMT(&s->st, W_FAILED, DB_INT(pull->id)), give_failed, &x, err);
}

static int give_span(void *arg, struct db_stmt *st)
{
    const struct reading *x = arg;
    struct wandb_span span = {db_text(st, 0), db_text(st, 1), (int)db_number(st, 2), (int)db_number(st, 3)};

    return x->span(x->arg, &span);
}

int wandb_known_each(struct wandb_store *s, bool stale, wandb_span_fn *each, void *arg, struct err *err)
{
    struct reading x = {.span = each, .arg = arg};

    return (int)read_rows(db_stmt(&s->st, stale ? W_STALE : W_KNOWN), give_span, &x, err);
}

int wandb_pull_last(struct wandb_store *s, struct wandb_pull *ret, struct err *err)
{
    struct db_stmt *st = db_stmt(&s->st, W_LAST_PULL);
    int r = db_next(st, err);

    if (r == 1) {
        *ret = (struct wandb_pull){.zone = wandb_store_zone(s)};
        record_read(st, &wandb_pull_record, ret);
        db_reset(st);
    }
    return r;
}

/* ---- events ---- */

static int give_event(void *arg, struct db_stmt *st)
{
    const struct reading *x = arg;
    struct wandb_event e;

    record_read(st, &wandb_event_record, &e);
    if ((unsigned)e.kind >= WANDB_EVENT_KINDS)
        e.kind = 0;
    return x->event(x->arg, &e);
}

int64_t wandb_events_each(struct wandb_store *s, int64_t after, wandb_event_fn *each, void *arg, struct err *err)
{
    struct reading x = {.event = each, .arg = arg};

    return read_rows(DB_STMT(&s->st, W_EVENTS, DB_INT(after)), give_event, &x, err);
}
