/*
 * store.c: the writing side of wandb.db: progress of pulls, runs, days, events. Puts share one transaction. The first
 * failed put ends all writing, since later ones depend on it (a cursor depends on the pages before).
 */
#include "wandb/store.h"

#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "sql/pg_place.h"
#include "store/lock.h"
#include "wandb/store_sql.h"

int wandb_store_lock(const char *dir, int *ret, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/wandb.lock", dir);
    char pid[24] = "";
    int r = store_lock_file(path, ret, pid, err);

    if (r == -EBUSY)
        return err_set(err, r,
                       "cannot write to the W&B runs in '%s': process %s is doing so (a pull or an import); wait for "
                       "it, or stop it: a pull resumes where it stopped",
                       dir, pid);
    return r;
}

int wandb_store_open(struct wandb_store **ret, const char *where, bool write, struct err *err)
{
    AUTO_FREE char *place = db_place_of(where, WANDB_FILE);
    struct wandb_store *s = NEW(struct wandb_store, .write = write, .logged_ms = INT64_MIN, .lock_fd = -1);
    bool server = pg_is_place(where);
    int r = !write ? 0 : server ? wandb_claim_take(&s->claim, where, err) : wandb_store_lock(where, &s->lock_fd, err);

    r = r ?: db_open(&s->db, place, &wandb_kind, write ? DB_BESIDE : DB_READ, err);
    if (r == -ENODATA) /* another process is creating it now, or there was no pull yet */
        r = err_set(err, -ENOENT, "cannot read '%s': nothing is in it yet",
                    server ? "the W&B runs of the store" : place);
    if (r < 0) {
        wandb_store_close(s);
        return r;
    }
    db_stmts_init(&s->st, s->db, wandb_sql, W_COUNT);
    s->st.records = wandb_records;
    if (server)
        leases_init(&s->leases, s->db);
    *ret = s;
    return 0;
}

void wandb_store_lead(struct wandb_store *s, int64_t epoch)
{
    s->epoch = epoch;
}

void wandb_store_close(struct wandb_store *s)
{
    if (!s)
        return;
    if (s->db)
        wandb_store_flush(s, NULL);
    leases_fini(&s->leases);
    db_stmts_fini(&s->st);
    db_close(s->db);
    wandb_claim_drop(s->claim);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    free(s->taken);
    free(s);
}

void wandb_store_close_ptr(struct wandb_store **s)
{
    wandb_store_close(*s);
}

/* ---- transactions ---- */

static int fail_put(struct wandb_store *s, int rc, struct err *err)
{
    if (s->failed.code == 0)
        db_fail(s->db, rc, "write to", &s->failed);
    if (s->failed.code == 0) /* never: rc was not one of success */
        err_set(&s->failed, -EIO, "cannot write W&B runs");
    db_rollback(s->db);
    s->put = 0;
    return err_set(err, s->failed.code, "%s", s->failed.msg);
}

/* On a server, within a transaction: rejects a process that was suspended while another one took over. */
static int check_turn(struct wandb_store *s)
{
    int rc = lease_fence(&s->leases, WANDB_LEASE, wandb_claim_epoch(s->claim), NULL);

    if (rc == 0)
        err_set(&s->failed, -EBUSY, "cannot write W&B runs: another process does so by now");
    if (rc == 1 && s->epoch) {
        rc = lease_fence(&s->leases, LEASE_LEADER, s->epoch, NULL);
        if (rc == 0)
            err_set(&s->failed, -ESTALE, "cannot write W&B runs: another hub leads by now, and pulls them");
    }
    return s->failed.code ? s->failed.code : MIN(rc, 0);
}

int wandb_put_begin(struct wandb_store *s, struct err *err)
{
    if (!s->write)
        return err_set(err, -EROFS, "cannot write W&B runs: they were opened for reading");
    if (s->failed.code)
        return err_set(err, s->failed.code, "%s", s->failed.msg);
    if (s->put)
        return 0;
    int rc = db_begin(s->db, true);
    if (rc == 0 && s->claim)
        rc = check_turn(s);
    if (rc < 0)
        return fail_put(s, rc, err);
    s->put = 1;
    return 0;
}

int wandb_put_end(struct wandb_store *s, int rc, struct err *err)
{
    if (rc < 0)
        return fail_put(s, rc, err);
    return ++s->put > WANDB_GROUP ? wandb_store_flush(s, err) : 0;
}

int wandb_store_flush(struct wandb_store *s, struct err *err)
{
    if (s->failed.code)
        return err_set(err, s->failed.code, "%s", s->failed.msg);
    if (s->put == 0)
        return 0;
    int rc = db_commit(s->db);
    if (rc < 0)
        return fail_put(s, rc, err);
    s->put = 0;
    return 0;
}

static int check_name(const char *name, const char *what, struct err *err)
{
    size_t n = name ? strnlen(name, WANDB_NAME_MAX + 1) : 0;

    if (n == 0)
        return err_set(err, -EINVAL, "a run has no %s", what);
    if (n > WANDB_NAME_MAX)
        return err_set(err, -EINVAL, "%s '%.40s...' has more than %d bytes", what, name, WANDB_NAME_MAX);
    return 0;
}

static int check_id(const char *team, const char *project, const char *id, struct err *err)
{
    return check_name(team, "team", err) ?: check_name(project, "project", err) ?: check_name(id, "id", err);
}

/* ---- the zone ---- */

const char *wandb_store_zone(struct wandb_store *s)
{
    struct db_stmt *st = db_stmt(&s->st, W_ZONE);

    if (!s->zone[0] && db_step(st) == 1)
        mem_copy_str(s->zone, sizeof(s->zone), db_text(st, 0));
    db_reset(st);
    return s->zone;
}

/* Without any run, the zone of an earlier pull or import does not apply. */
static bool has_any_run(struct wandb_store *s)
{
    int64_t any = 1;

    wandb_ints(db_stmt(&s->st, W_ANY_RUN), &any, 1);
    return any;
}

int wandb_zone_set(struct wandb_store *s, const char *zone, struct err *err)
{
    const char *has = wandb_store_zone(s);

    if (strcmp(has, zone) == 0 && has[0])
        return 0;
    if (has[0] && has_any_run(s))
        return err_set(err, -EINVAL,
                       "cannot add days of zone '%s': those that are stored are days of '%s'; use that zone, or "
                       "another folder with --data",
                       zone, has);
    if (!zone[0] || strlen(zone) >= sizeof(s->zone))
        return err_set(err, -EINVAL, "'%.60s' cannot be the zone of W&B runs", zone);
    int r = wandb_put_begin(s, err) ?: wandb_put_end(s, DB_RUN(&s->st, W_PUT_ZONE, DB_TEXT(zone)), err);
    if (r == 0)
        mem_copy_str(s->zone, sizeof(s->zone), zone);
    return r;
}

/* ---- pulls ---- */

/* Returns 1 if there is a pull to resume. */
static int find_pull(struct wandb_store *s, struct wandb_pull *pull, int64_t now_ms)
{
    /* the last: a clock that was set back */
    struct db_stmt *st =
        DB_STMT(&s->st, W_FIND_PULL, DB_INT(pull->from), DB_INT(pull->to), DB_INT((int64_t)pull->config),
                DB_INT(now_ms - WANDB_RESUME_MS), DB_INT(now_ms + WANDB_RESUME_MS));
    int rc = db_step(st);

    if (rc == 1)
        record_read(st, &wandb_pull_record, pull);
    db_reset(st);
    return rc;
}

int wandb_pull_begin(struct wandb_store *s, struct wandb_pull *pull, int64_t now_ms, struct err *err)
{
    if (pull->from > pull->to)
        return err_set(err, -EINVAL, "the first day of a pull is after its last");
    int r = wandb_zone_set(s, pull->zone, err) ?: wandb_put_begin(s, err);
    if (r < 0)
        return r;
    int rc = find_pull(s, pull, now_ms);
    pull->resumed = rc == 1;
    if (rc == 1)
        return wandb_store_flush(s, err);
    if (rc < 0)
        return fail_put(s, rc, err);
    pull->begun_ms = now_ms;
    rc = wandb_ints(wandb_stmt_record(s, W_PUT_PULL, &wandb_pull_record, pull), &pull->id, 1);
    if (rc >= 0) /* lists of pulls that cannot be resumed */
        rc = DB_RUN(&s->st, W_DROP_STALE, DB_INT(now_ms - WANDB_RESUME_MS));
    return rc == 0 ? wandb_store_flush(s, err) : fail_put(s, rc, err);
}

int wandb_pull_end(struct wandb_store *s, const struct wandb_pull *pull, bool whole, struct err *err)
{
    int64_t done = whole ? 1 : 2;
    int r =
        wandb_put_begin(s, err) ?: wandb_put_end(s, DB_RUN(&s->st, W_END_PULL, DB_INT(pull->id), DB_INT(done)), err);

    return r ?: wandb_store_flush(s, err);
}

int wandb_project_fail(struct wandb_store *s, const struct wandb_pull *pull, const char *team, const char *project,
                       const char *sentence, struct err *err)
{
    char why[sizeof(((struct wandb_progress *)0)->error)];
    int r = wandb_put_begin(s, err);

    mem_copy_str(why, sizeof(why), sentence && sentence[0] ? sentence : "it failed");
    if (r < 0)
        return r;
    int rc = DB_RUN(&s->st, W_PUT_FAILURE, DB_TEXT(team), DB_TEXT(project), DB_INT(pull->id), DB_TEXT(why));
    return wandb_put_end(s, rc, err);
}

/* ---- runs ---- */

/* Puts a run as seen by a pull. */
static int put_run(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_run *r, bool days_done)
{
    struct wandb_run run = *r;

    run.exists = WANDB_EXISTS;
    run.logged_ms = pull->begun_ms;
    run.metrics_ms = run.metrics_from = run.metrics_to = 0;
    return db_run(wandb_stmt_record(s, W_PUT_RUN, &wandb_run_record, &run))
               ?: DB_RUN(&s->st, W_SEE_RUN, RUN_ID(r), DB_INT(pull->id), DB_INT(pull->begun_ms), DB_INT(days_done));
}

struct known_run { /* of a run that is stored */
    int64_t key, found, found_ms;
};

/* 1: there is one. */
static int find_run(struct wandb_store *s, const char *team, const char *project, const char *id, struct known_run *ret)
{
    int64_t v[3];
    int rc = wandb_ints(DB_STMT(&s->st, W_RUN_KEY, DB_TEXT(team), DB_TEXT(project), DB_TEXT(id)), v, 3);

    if (rc == 1)
        *ret = (struct known_run){v[0], v[1], v[2]};
    return rc;
}

/* Finds a run that was just put. */
static int find_put_run(struct wandb_store *s, const struct wandb_run *run, struct known_run *ret)
{
    int rc = find_run(s, run->team, run->project, run->id, ret);

    return rc == 1 ? 0 : rc == 0 ? -EIO : rc;
}

/* The list is complete: marks stored runs that are not in it as deleted. */
static int mark_gone(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_page *p,
                     int64_t all_before)
{
    int rc = 0;

    if (all_before > 0 && !p->project[0]) {
        rc = DB_RUN(&s->st, W_MARK_PROJECTS_GONE, DB_TEXT(p->team), DB_INT(pull->id), DB_INT(all_before),
                    DB_INT(pull->begun_ms));
    } else if (all_before > 0) {
        rc = DB_RUN(&s->st, W_MARK_GONE, DB_TEXT(p->team), DB_TEXT(p->project), DB_INT(pull->id), DB_INT(all_before),
                    DB_INT(pull->begun_ms));
        if (rc == 0)
            rc = DB_RUN(&s->st, W_MARK_FOUND, DB_TEXT(p->team), DB_TEXT(p->project), DB_INT(pull->id),
                        DB_INT(pull->begun_ms));
    }
    return rc == 0 ? DB_RUN(&s->st, W_DROP_LISTED, DB_TEXT(p->team), DB_TEXT(p->project), DB_INT(pull->id)) : rc;
}

static int put_page(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_page *p)
{
    int64_t all_before = 0; /* minimum over all of its pages */
    int rc = wandb_ints(DB_STMT(&s->st, W_PUT_PAGE, DB_TEXT(p->team), DB_TEXT(p->project), DB_INT(pull->id),
                                DB_TEXT(p->cursor), DB_INT(p->last), DB_INT(p->all_before_ms)),
                        &all_before, 1);

    rc = MIN(rc, 0);
    for (size_t i = 0; rc == 0 && i < p->n_runs; i++) {
        struct wandb_run run = p->runs[i];
        run.team = p->team;
        run.project = p->project;
        rc = put_run(s, pull, &run, false);
    }
    for (size_t i = 0; rc == 0 && all_before > 0 && i < p->n_listed; i++)
        rc = DB_RUN(&s->st, W_PUT_LISTED, DB_TEXT(p->team), DB_TEXT(p->project), DB_INT(pull->id),
                    DB_TEXT(p->listed[i]));
    return rc == 0 && p->last ? mark_gone(s, pull, p, all_before) : rc;
}

int wandb_page_put(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_page *page, struct err *err)
{
    int r = check_name(page->team, "team", err);

    for (size_t i = 0; r == 0 && i < page->n_runs; i++)
        r = check_id(page->team, page->project, page->runs[i].id, err);
    if (r == 0 && page->cursor && strlen(page->cursor) >= WANDB_TEXT_MAX)
        r = err_set(err, -EMSGSIZE, "the cursor of '%.100s/%.100s' is longer than can be kept", page->team,
                    page->project);
    r = r ?: wandb_put_begin(s, err);
    return r ?: wandb_put_end(s, put_page(s, pull, page), err);
}

/* ---- days ---- */

static int put_day(struct wandb_store *s, int64_t run, const struct wandb_day *day, bool metrics)
{
    struct wandb_day d = *day;

    d.have &= WANDB_UTIL | WANDB_MEM;
    if (!(d.have & WANDB_UTIL))
        d.util_avg = d.util_max = 0;
    if (!(d.have & WANDB_MEM))
        d.mem_avg = d.mem_max = 0;
    struct db_stmt *st = wandb_stmt_record(s, metrics ? W_PUT_DAY : W_PUT_DAY_HOURS, &wandb_day_record, &d);

    db_bind_int(st, RECORD_MORE, run);
    return db_run(st);
}

static int put_days(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_run *run,
                    const struct wandb_day *days, size_t n, bool fetched, bool done)
{
    struct known_run k = {0};
    int rc = put_run(s, pull, run, done) ?: find_put_run(s, run, &k);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct wandb_day d = days[i];
        d.gpus = run->gpus;
        d.cpus = run->cpus;
        d.created_ms = run->created_ms;
        d.heartbeat_ms = run->heartbeat_ms;
        d.logged_ms = pull->begun_ms;
        d.state = run->state;
        d.host = run->host;
        d.tags = run->tags;
        if (!fetched)
            d.have = 0;
        rc = put_day(s, k.key, &d, fetched);
    }
    if (rc < 0 || !fetched)
        return rc;
    return DB_RUN(&s->st, W_SET_METRICS, DB_INT(k.key), DB_INT(run->heartbeat_ms), DB_INT(pull->from),
                  DB_INT(pull->to));
}

int wandb_days_put(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_run *run,
                   const struct wandb_day *days, size_t n, bool fetched, bool done, struct err *err)
{
    int r = check_id(run->team, run->project, run->id, err);

    for (size_t i = 0; r == 0 && i < n; i++)
        if (days[i].day < pull->from || days[i].day > pull->to)
            r = err_set(err, -EINVAL, "a day of run '%s' is outside of what is pulled", run->id);
    r = r ?: wandb_put_begin(s, err);
    return r ?: wandb_put_end(s, put_days(s, pull, run, days, n, fetched, done), err);
}

/* ---- rows from elsewhere ---- */

static int put_run_of_row(struct wandb_store *s, const struct wandb_run *run, const struct wandb_day *d)
{
    struct wandb_run told = {
        .team = run->team,
        .project = run->project,
        .id = run->id,
        .state = d->state,
        .host = d->host,
        .tags = d->tags,
        .created_ms = d->created_ms,
        .heartbeat_ms = d->heartbeat_ms,
        .gpus = d->gpus,
        .cpus = d->cpus,
        .exists = run->exists,
        .logged_ms = d->logged_ms,
    };

    return db_run(wandb_stmt_record(s, W_PUT_RUN_OF_ROW, &wandb_run_record, &told));
}

/*
 * The row logged last decides whether a run exists. Among rows logged together, deleted has priority over exists, and
 * exists over error.
 */
static bool tells_more(const struct wandb_run *run, int64_t logged_ms, const struct known_run *k)
{
    static const int rank[WANDB_EXISTS_COUNT] = {[WANDB_ERROR] = 1, [WANDB_EXISTS] = 2, [WANDB_DELETED] = 3};

    if (run->exists == WANDB_NOT_TOLD)
        return false;
    if (k->found == WANDB_NOT_TOLD || logged_ms > k->found_ms)
        return true;
    return logged_ms == k->found_ms && rank[run->exists] > rank[k->found];
}

/*
 * Notes days that come from elsewhere. Days logged by a pull of this file may be in the dataset too, but prove nothing
 * about other days.
 */
static void note_day(struct wandb_store *s, const struct wandb_day *day)
{
    int64_t here = 0;

    if (s->logged_ms != day->logged_ms)
        s->logged_here = wandb_ints(DB_STMT(&s->st, W_LOGGED_HERE, DB_INT(day->logged_ms)), &here, 1) == 1 && here;
    s->logged_ms = day->logged_ms;
    if (s->logged_here)
        return;
    size_t at = COUNT_BEFORE(s->n_taken, i, s->taken[i] < day->day);
    if (at == s->n_taken || s->taken[at] != day->day)
        VEC_INSERT(s->taken, s->n_taken, s->cap_taken, at, day->day);
}

static int put_row(struct wandb_store *s, const struct wandb_run *run, const struct wandb_day *day, enum wandb_put *ret)
{
    struct known_run k = {0};
    int64_t logged = 0;
    int rc = put_run_of_row(s, run, day) ?: find_put_run(s, run, &k);

    if (rc == 0 && tells_more(run, day->logged_ms, &k))
        rc = DB_RUN(&s->st, W_SET_FOUND, RUN_ID(run), DB_INT(run->exists), DB_INT(day->logged_ms));
    if (rc < 0)
        return rc;
    rc = wandb_ints(DB_STMT(&s->st, W_DAY_LOGGED, DB_INT(k.key), DB_INT(day->day)), &logged, 1);
    if (rc < 0)
        return rc;
    note_day(s, day);
    *ret = rc == 0                    ? WANDB_ROW_NEW
           : logged < day->logged_ms  ? WANDB_ROW_NEWER
           : logged == day->logged_ms ? WANDB_ROW_SAME
                                      : WANDB_ROW_OLDER;
    return *ret == WANDB_ROW_NEW || *ret == WANDB_ROW_NEWER ? put_day(s, k.key, day, true) : 0;
}

int wandb_row_put(struct wandb_store *s, const struct wandb_run *run, const struct wandb_day *day, enum wandb_put *ret,
                  struct err *err)
{
    enum wandb_put put = WANDB_ROW_NEW;
    int r = check_id(run->team, run->project, run->id, err) ?: wandb_put_begin(s, err);

    r = r ?: wandb_put_end(s, put_row(s, run, day, &put), err);
    if (r == 0)
        *ret = put;
    return r;
}

int wandb_rows_end(struct wandb_store *s, int64_t now_ms, struct err *err)
{
    int r = 0;

    for (size_t i = 0, next; r == 0 && i < s->n_taken; i = next) { /* days that follow each other together */
        int32_t first = s->taken[i];
        next = i + FIRST(s->n_taken - i, e, s->taken[i + e] != first + (int32_t)e);
        r = wandb_put_begin(s, err)
                ?: wandb_put_end(s,
                                 DB_RUN(&s->st, W_PUT_TAKEN, DB_INT(first), DB_INT(s->taken[next - 1]), DB_INT(now_ms)),
                                 err);
    }
    return r ?: wandb_store_flush(s, err);
}

int wandb_exists_set(struct wandb_store *s, const char *team, const char *project, const char *id,
                     enum wandb_exists exists, int64_t now_ms, struct err *err)
{
    struct known_run k;
    int r = check_id(team, project, id, err) ?: wandb_put_begin(s, err);

    if (r < 0)
        return r;
    int rc = find_run(s, team, project, id, &k);
    if (rc == 0)
        return err_set(err, -ENOENT, "run '%s/%s/%s' is not stored", team, project, id);
    if (rc == 1)
        rc = DB_RUN(&s->st, W_SET_FOUND, DB_TEXT(team), DB_TEXT(project), DB_TEXT(id), DB_INT(exists), DB_INT(now_ms));
    return wandb_put_end(s, rc, err);
}

int wandb_barred_set(struct wandb_store *s, const struct wandb_run *runs, size_t n, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = check_id(runs[i].team, runs[i].project, runs[i].id, err);
    r = r ?: wandb_put_begin(s, err);
    if (r < 0)
        return r;
    int rc = DB_RUN(&s->st, W_UNBAR_ALL);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = DB_RUN(&s->st, W_BAR, RUN_ID(&runs[i]));
    return wandb_put_end(s, rc, err);
}

/* ---- events ---- */

int wandb_event_put(struct wandb_store *s, const struct wandb_event *e, struct err *err)
{
    int r = wandb_put_begin(s, err);

    if (r < 0)
        return r;
    int rc = db_run(wandb_stmt_record(s, W_PUT_EVENT, &wandb_event_record, e));
    return wandb_put_end(s, rc ?: DB_RUN(&s->st, W_DROP_EVENTS, DB_INT(WANDB_EVENTS_KEPT)), err);
}
