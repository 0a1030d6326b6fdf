/*
 * store.c: the writing side of wandb.db: how far a pull came, runs, days, events. Puts join one transaction; the first
 * one that fails ends all writing, since what comes after it rests on it (a cursor on the pages before).
 */
#include "wandb/store.h"

#include <errno.h>

#include "base/mem.h"
#include "base/str.h"
#include "store/lock.h"
#include "wandb/store_sql.h"

int wandb_store_open(struct wandb_store **ret, const char *dir, bool write, struct err *err)
{
    AUTO_FREE char *path = mem_fmt("%s/" WANDB_FILE, dir);
    AUTO_CLOSE int lock = -1;
    sqlite3 *h = NULL;
    int r = write ? store_lock_wandb(dir, &lock, err) : 0;

    if (r == 0)
        r = db_open(&h, path, &wandb_kind, write ? DB_BESIDE : DB_READ, err);
    if (r == -ENODATA) /* somebody is making it just now */
        r = err_set(err, -ENOENT, "cannot read '%s': nothing is in it yet", path);
    if (r < 0)
        return r;
    struct wandb_store *s = mem_zero(1, sizeof(*s));
    s->h = h;
    s->lock_fd = mem_take_fd(&lock);
    db_stmts_init(&s->st, h, wandb_sql, W_COUNT);
    *ret = s;
    return 0;
}

void wandb_store_close(struct wandb_store *s)
{
    if (!s)
        return;
    wandb_store_flush(s, NULL);
    db_stmts_fini(&s->st);
    db_close(s->h);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    free(s);
}

/* ---- transactions ---- */

sqlite3_stmt *wandb_stmt(struct wandb_store *s, size_t i)
{
    return db_stmt(&s->st, i);
}

void wandb_bind(sqlite3_stmt *st, int i, const char *text, size_t max)
{
    size_t n = text ? strnlen(text, max) : 0;

    if (text && text[n]) /* cut, not within a letter */
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
    sqlite3_bind_text(st, i, text ? text : "", (int)n, SQLITE_STATIC);
}

static int fail(struct wandb_store *s, int rc, struct err *err)
{
    db_fail(s->h, rc, "write to", &s->failed);
    if (s->failed.code == 0) /* never: rc was not one of success */
        err_set(&s->failed, -EIO, "cannot write W&B runs");
    if (!sqlite3_get_autocommit(s->h))
        db_exec(s->h, "ROLLBACK");
    s->put = 0;
    return err_set(err, s->failed.code, "%s", s->failed.msg);
}

/* Before a put. */
static int begin(struct wandb_store *s, struct err *err)
{
    if (s->lock_fd < 0)
        return err_set(err, -EROFS, "cannot write W&B runs: they were opened for reading");
    if (s->failed.code)
        return err_set(err, s->failed.code, "%s", s->failed.msg);
    if (s->put)
        return 0;
    int rc = db_exec(s->h, "BEGIN IMMEDIATE");
    if (rc != SQLITE_OK)
        return fail(s, rc, err);
    s->put = 1;
    return 0;
}

/* After one. */
static int end(struct wandb_store *s, int rc, struct err *err)
{
    if (rc != SQLITE_OK)
        return fail(s, rc, err);
    return ++s->put > WANDB_GROUP ? wandb_store_flush(s, err) : 0;
}

int wandb_store_flush(struct wandb_store *s, struct err *err)
{
    if (s->failed.code)
        return err_set(err, s->failed.code, "%s", s->failed.msg);
    if (s->put == 0)
        return 0;
    int rc = db_exec(s->h, "COMMIT");
    if (rc != SQLITE_OK)
        return fail(s, rc, err);
    s->put = 0;
    return 0;
}

/* A statement with a key as its first three, or two: key NULL. */
static sqlite3_stmt *with_key(struct wandb_store *s, size_t i, const char *team, const char *project, const char *run)
{
    sqlite3_stmt *st = wandb_stmt(s, i);

    if (!st)
        return NULL;
    db_bind_text(st, 1, team);
    db_bind_text(st, 2, project);
    if (run)
        db_bind_text(st, 3, run);
    return st;
}

static int run_stmt(struct wandb_store *s, sqlite3_stmt *st)
{
    return st ? db_run(st) : sqlite3_errcode(s->h);
}

static int name_check(const char *name, const char *what, struct err *err)
{
    size_t n = name ? strnlen(name, WANDB_NAME_MAX + 1) : 0;

    if (n == 0)
        return err_set(err, -EINVAL, "a run has no %s", what);
    if (n > WANDB_NAME_MAX)
        return err_set(err, -EINVAL, "%s '%.40s...' has more than %d bytes", what, name, WANDB_NAME_MAX);
    return 0;
}

static int key_check(const char *team, const char *project, const char *id, struct err *err)
{
    int r = name_check(team, "team", err);

    if (r == 0)
        r = name_check(project, "project", err);
    if (r == 0)
        r = name_check(id, "id", err);
    return r;
}

/* ---- the zone ---- */

const char *wandb_store_zone(struct wandb_store *s)
{
    sqlite3_stmt *st = s->zone[0] ? NULL : wandb_stmt(s, W_SETTING);

    if (st) {
        db_bind_text(st, 1, "zone");
        if (sqlite3_step(st) == SQLITE_ROW)
            mem_copy_str(s->zone, sizeof(s->zone), db_text(st, 0));
        sqlite3_reset(st);
    }
    return s->zone;
}

/* A zone that came with a pull or an import of which nothing was kept binds nobody. */
static bool any_run(struct wandb_store *s)
{
    sqlite3_stmt *st = wandb_stmt(s, W_ANY_RUN);
    bool any = !st || sqlite3_step(st) != SQLITE_ROW || sqlite3_column_int(st, 0);

    sqlite3_reset(st);
    return any;
}

int wandb_zone_set(struct wandb_store *s, const char *zone, struct err *err)
{
    const char *has = wandb_store_zone(s);

    if (strcmp(has, zone) == 0 && has[0])
        return 0;
    if (has[0] && any_run(s))
        return err_set(err, -EINVAL,
                       "cannot add days of zone '%s': those that are stored are days of '%s'; use that zone, or "
                       "another folder with --data",
                       zone, has);
    if (!zone[0] || strlen(zone) >= sizeof(s->zone))
        return err_set(err, -EINVAL, "'%.60s' cannot be the zone of W&B runs", zone);
    int r = begin(s, err);
    if (r < 0)
        return r;
    sqlite3_stmt *st = wandb_stmt(s, W_PUT_SETTING);
    if (st) {
        db_bind_text(st, 1, "zone");
        db_bind_text(st, 2, zone);
    }
    r = end(s, run_stmt(s, st), err);
    if (r == 0)
        mem_copy_str(s->zone, sizeof(s->zone), zone);
    return r;
}

/* ---- pulls ---- */

int wandb_pull_begin(struct wandb_store *s, struct wandb_pull *pull, int64_t now_ms, struct err *err)
{
    if (pull->from > pull->to)
        return err_set(err, -EINVAL, "the first day of a pull is after its last");
    int r = wandb_zone_set(s, pull->zone, err);
    if (r == 0)
        r = begin(s, err);
    if (r < 0)
        return r;
    sqlite3_stmt *st = wandb_stmt(s, W_FIND_PULL);
    if (!st)
        return fail(s, sqlite3_errcode(s->h), err);
    db_bind_int(st, 1, pull->from);
    db_bind_int(st, 2, pull->to);
    db_bind_int(st, 3, (int64_t)pull->config);
    db_bind_int(st, 4, now_ms - WANDB_RESUME_MS);
    db_bind_int(st, 5, now_ms + WANDB_RESUME_MS); /* a clock that was set back */
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        pull->id = sqlite3_column_int64(st, 0);
        pull->begun_ms = sqlite3_column_int64(st, 1);
        pull->resumed = true;
    }
    sqlite3_reset(st);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return fail(s, rc, err);
    if (rc == SQLITE_ROW)
        return wandb_store_flush(s, err);
    st = wandb_stmt(s, W_PUT_PULL);
    if (st) {
        db_bind_int(st, 1, pull->from);
        db_bind_int(st, 2, pull->to);
        db_bind_int(st, 3, (int64_t)pull->config);
        db_bind_int(st, 4, now_ms);
    }
    rc = run_stmt(s, st);
    if (rc != SQLITE_OK)
        return fail(s, rc, err);
    pull->id = sqlite3_last_insert_rowid(s->h);
    pull->begun_ms = now_ms;
    pull->resumed = false;
    st = wandb_stmt(s, W_DROP_STALE); /* lists of pulls that nobody goes on with */
    if (st)
        db_bind_int(st, 1, now_ms - WANDB_RESUME_MS);
    rc = run_stmt(s, st);
    return rc == SQLITE_OK ? wandb_store_flush(s, err) : fail(s, rc, err);
}

int wandb_pull_end(struct wandb_store *s, const struct wandb_pull *pull, struct err *err)
{
    int r = begin(s, err);

    if (r < 0)
        return r;
    sqlite3_stmt *st = wandb_stmt(s, W_END_PULL);
    if (st)
        db_bind_int(st, 1, pull->id);
    r = end(s, run_stmt(s, st), err);
    return r < 0 ? r : wandb_store_flush(s, err);
}

int wandb_project_fail(struct wandb_store *s, const struct wandb_pull *pull, const char *team, const char *project,
                       const char *sentence, struct err *err)
{
    int r = begin(s, err);

    if (r < 0)
        return r;
    sqlite3_stmt *st = with_key(s, W_PUT_FAILURE, team, project, NULL);
    if (st) {
        db_bind_int(st, 3, pull->id);
        wandb_bind(st, 4, sentence && sentence[0] ? sentence : "it failed",
                   sizeof(((struct wandb_progress *)0)->error) - 1);
    }
    return end(s, run_stmt(s, st), err);
}

/* ---- runs ---- */

/* What a pull was told of it. */
static int run_put(struct wandb_store *s, const struct wandb_pull *pull, const char *team, const char *project,
                   const struct wandb_run *r, bool days_done)
{
    sqlite3_stmt *st = with_key(s, W_PUT_RUN, team, project, r->id);
    const char *const text[] = {r->storage_id, r->display, r->state, r->host, r->user, r->tags, r->rule};
    const int64_t numbers[] = {r->created_ms, r->heartbeat_ms, r->gpus, r->cpus, r->gpu_info, pull->begun_ms};

    for (size_t i = 0; st && i < ARRAY_LEN(text); i++)
        wandb_bind(st, 4 + (int)i, text[i], WANDB_TEXT_MAX);
    for (size_t i = 0; st && i < ARRAY_LEN(numbers); i++)
        db_bind_int(st, 11 + (int)i, numbers[i]);
    int rc = run_stmt(s, st);
    if (rc != SQLITE_OK)
        return rc;
    st = with_key(s, W_SEE_RUN, team, project, r->id);
    if (st) {
        db_bind_int(st, 4, pull->id);
        db_bind_int(st, 5, pull->begun_ms);
        db_bind_int(st, 6, days_done);
    }
    return run_stmt(s, st);
}

struct known { /* of a run that is stored */
    int64_t key, found_ms;
    enum wandb_exists found;
};

/* SQLITE_ROW: there is one. */
static int run_key(struct wandb_store *s, const char *team, const char *project, const char *id, struct known *ret)
{
    sqlite3_stmt *st = with_key(s, W_RUN_KEY, team, project, id);

    if (!st)
        return sqlite3_errcode(s->h);
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        *ret = (struct known){sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 2),
                              (enum wandb_exists)sqlite3_column_int(st, 1)};
    sqlite3_reset(st);
    return rc;
}

/* The list is complete: what is stored and not in it is gone. */
static int mark(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_page *p, int64_t all_before)
{
    bool team = p->project[0] == 0;
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_OK;

    if (all_before > 0 && team) {
        st = wandb_stmt(s, W_MARK_PROJECTS_GONE);
        if (st) {
            db_bind_text(st, 1, p->team);
            db_bind_int(st, 2, pull->id);
            db_bind_int(st, 3, all_before);
            db_bind_int(st, 4, pull->begun_ms);
        }
        rc = run_stmt(s, st);
    } else if (all_before > 0) {
        st = with_key(s, W_MARK_GONE, p->team, p->project, NULL);
        if (st) {
            db_bind_int(st, 3, pull->id);
            db_bind_int(st, 4, all_before);
            db_bind_int(st, 5, pull->begun_ms);
        }
        rc = run_stmt(s, st);
        st = with_key(s, W_MARK_FOUND, p->team, p->project, NULL);
        if (st) {
            db_bind_int(st, 3, pull->id);
            db_bind_int(st, 4, pull->begun_ms);
        }
        rc = rc == SQLITE_OK ? run_stmt(s, st) : rc;
    }
    st = with_key(s, W_DROP_LISTED, p->team, p->project, NULL);
    if (st)
        db_bind_int(st, 3, pull->id);
    return rc == SQLITE_OK ? run_stmt(s, st) : rc;
}

/* Where the project is now; *ret: what all of its pages were asked for. */
static int page_note(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_page *p, int64_t *ret)
{
    sqlite3_stmt *st = with_key(s, W_PUT_PAGE, p->team, p->project, NULL);

    if (!st)
        return sqlite3_errcode(s->h);
    db_bind_int(st, 3, pull->id);
    db_bind_text(st, 4, p->cursor);
    db_bind_int(st, 5, p->last);
    db_bind_int(st, 6, p->all_before_ms);
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        *ret = sqlite3_column_int64(st, 0);
        rc = sqlite3_step(st);
    }
    sqlite3_reset(st);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int page_put(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_page *p)
{
    int64_t all_before = 0;
    int rc = page_note(s, pull, p, &all_before);

    for (size_t i = 0; rc == SQLITE_OK && i < p->n_runs; i++)
        rc = run_put(s, pull, p->team, p->project, &p->runs[i], false);
    for (size_t i = 0; rc == SQLITE_OK && all_before > 0 && i < p->n_listed; i++) {
        sqlite3_stmt *st = with_key(s, W_PUT_LISTED, p->team, p->project, NULL);
        if (st) {
            db_bind_int(st, 3, pull->id);
            db_bind_text(st, 4, p->listed[i]);
        }
        rc = run_stmt(s, st);
    }
    return rc == SQLITE_OK && p->last ? mark(s, pull, p, all_before) : rc;
}

int wandb_page_put(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_page *page, struct err *err)
{
    int r = name_check(page->team, "team", err);

    for (size_t i = 0; r == 0 && i < page->n_runs; i++)
        r = key_check(page->team, page->project, page->runs[i].id, err);
    if (r == 0 && page->cursor && strlen(page->cursor) >= WANDB_TEXT_MAX)
        r = err_set(err, -EMSGSIZE, "the cursor of '%.100s/%.100s' is longer than can be kept", page->team,
                    page->project);
    if (r == 0)
        r = begin(s, err);
    return r < 0 ? r : end(s, page_put(s, pull, page), err);
}

/* ---- days ---- */

static int day_put(struct wandb_store *s, int64_t run, const struct wandb_day *d, bool metrics)
{
    sqlite3_stmt *st = wandb_stmt(s, metrics ? W_PUT_DAY : W_PUT_DAY_HOURS);
    bool util = d->have & WANDB_UTIL, mem = d->have & WANDB_MEM;
    const int64_t numbers[] = {run,
                               d->day,
                               d->minutes,
                               d->have & (WANDB_UTIL | WANDB_MEM),
                               util ? d->util_avg : 0,
                               util ? d->util_max : 0,
                               mem ? d->mem_avg : 0,
                               mem ? d->mem_max : 0,
                               d->gpus,
                               d->cpus,
                               d->created_ms,
                               d->heartbeat_ms,
                               d->logged_ms};

    for (size_t i = 0; st && i < ARRAY_LEN(numbers); i++)
        db_bind_int(st, 1 + (int)i, numbers[i]);
    if (st) {
        wandb_bind(st, 14, d->state, WANDB_TEXT_MAX);
        wandb_bind(st, 15, d->host, WANDB_TEXT_MAX);
        wandb_bind(st, 16, d->tags, WANDB_TEXT_MAX);
    }
    return run_stmt(s, st);
}

static int days_put(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_run *run,
                    const struct wandb_day *days, size_t n, bool fetched, bool done)
{
    struct known k = {0};
    int rc = run_put(s, pull, run->team, run->project, run, done);

    if (rc == SQLITE_OK)
        rc = run_key(s, run->team, run->project, run->id, &k);
    rc = rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_ERROR : rc;
    for (size_t i = 0; rc == SQLITE_OK && i < n; i++) {
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
        rc = day_put(s, k.key, &d, fetched);
    }
    if (rc != SQLITE_OK || !fetched)
        return rc;
    sqlite3_stmt *st = wandb_stmt(s, W_SET_METRICS);
    if (st) {
        db_bind_int(st, 1, k.key);
        db_bind_int(st, 2, run->heartbeat_ms);
        db_bind_int(st, 3, pull->from);
        db_bind_int(st, 4, pull->to);
    }
    return run_stmt(s, st);
}

static int days_check_put(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_run *run,
                          const struct wandb_day *days, size_t n, bool fetched, bool done, struct err *err)
{
    int r = key_check(run->team, run->project, run->id, err);

    for (size_t i = 0; r == 0 && i < n; i++)
        if (days[i].day < pull->from || days[i].day > pull->to)
            r = err_set(err, -EINVAL, "a day of run '%s' is outside of what is pulled", run->id);
    if (r == 0)
        r = begin(s, err);
    return r < 0 ? r : end(s, days_put(s, pull, run, days, n, fetched, done), err);
}

int wandb_days_put(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_run *run,
                   const struct wandb_day *days, size_t n, bool fetched, struct err *err)
{
    return days_check_put(s, pull, run, days, n, fetched, true, err);
}

int wandb_days_owe(struct wandb_store *s, const struct wandb_pull *pull, const struct wandb_run *run,
                   const struct wandb_day *days, size_t n, struct err *err)
{
    return days_check_put(s, pull, run, days, n, false, false, err);
}

/* ---- rows from elsewhere ---- */

static int row_run_put(struct wandb_store *s, const struct wandb_run *run, const struct wandb_day *d)
{
    sqlite3_stmt *st = with_key(s, W_PUT_RUN_OF_ROW, run->team, run->project, run->id);
    const int64_t numbers[] = {d->created_ms, d->heartbeat_ms, d->gpus, d->cpus, run->exists, d->logged_ms};

    if (!st)
        return sqlite3_errcode(s->h);
    wandb_bind(st, 4, d->state, WANDB_TEXT_MAX);
    wandb_bind(st, 5, d->host, WANDB_TEXT_MAX);
    wandb_bind(st, 6, d->tags, WANDB_TEXT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        db_bind_int(st, 7 + (int)i, numbers[i]);
    return db_run(st);
}

static int found_put(struct wandb_store *s, const char *team, const char *project, const char *id,
                     enum wandb_exists exists, int64_t now_ms)
{
    sqlite3_stmt *st = with_key(s, W_SET_FOUND, team, project, id);

    if (!st)
        return sqlite3_errcode(s->h);
    db_bind_int(st, 4, exists);
    db_bind_int(st, 5, now_ms);
    return db_run(st);
}

/* Of the run's existence the row that was logged last knows most; of those logged together, the one that says the most
 * about it: deleted before exists before error. */
static bool tells_more(const struct wandb_run *run, int64_t logged_ms, const struct known *k)
{
    static const int rank[WANDB_EXISTS_COUNT] = {[WANDB_ERROR] = 1, [WANDB_EXISTS] = 2, [WANDB_DELETED] = 3};

    if (run->exists == WANDB_NOT_TOLD)
        return false;
    if (k->found == WANDB_NOT_TOLD || logged_ms > k->found_ms)
        return true;
    return logged_ms == k->found_ms && rank[run->exists] > rank[k->found];
}

static int row_put(struct wandb_store *s, const struct wandb_run *run, const struct wandb_day *day, enum wandb_put *ret)
{
    struct known k = {0};
    int rc = row_run_put(s, run, day);

    if (rc == SQLITE_OK)
        rc = run_key(s, run->team, run->project, run->id, &k);
    rc = rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_ERROR : rc;
    if (rc == SQLITE_OK && tells_more(run, day->logged_ms, &k))
        rc = found_put(s, run->team, run->project, run->id, run->exists, day->logged_ms);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_stmt *st = wandb_stmt(s, W_DAY_LOGGED);
    if (!st)
        return sqlite3_errcode(s->h);
    db_bind_int(st, 1, k.key);
    db_bind_int(st, 2, day->day);
    rc = sqlite3_step(st);
    int64_t logged = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    *ret = rc != SQLITE_ROW           ? WANDB_ROW_NEW
           : logged < day->logged_ms  ? WANDB_ROW_NEWER
           : logged == day->logged_ms ? WANDB_ROW_SAME
                                      : WANDB_ROW_OLDER;
    sqlite3_reset(st);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return rc;
    return *ret == WANDB_ROW_NEW || *ret == WANDB_ROW_NEWER ? day_put(s, k.key, day, true) : SQLITE_OK;
}

int wandb_row_put(struct wandb_store *s, const struct wandb_run *run, const struct wandb_day *day, enum wandb_put *ret,
                  struct err *err)
{
    enum wandb_put put = WANDB_ROW_NEW;
    int r = key_check(run->team, run->project, run->id, err);

    if (r == 0)
        r = begin(s, err);
    if (r == 0)
        r = end(s, row_put(s, run, day, &put), err);
    if (r == 0)
        *ret = put;
    return r;
}

int wandb_exists_set(struct wandb_store *s, const char *team, const char *project, const char *id,
                     enum wandb_exists exists, int64_t now_ms, struct err *err)
{
    struct known k;
    int r = key_check(team, project, id, err);

    if (r == 0)
        r = begin(s, err);
    if (r < 0)
        return r;
    int rc = run_key(s, team, project, id, &k);
    if (rc == SQLITE_DONE)
        return err_set(err, -ENOENT, "run '%s/%s/%s' is not stored", team, project, id);
    return end(s, rc == SQLITE_ROW ? found_put(s, team, project, id, exists, now_ms) : rc, err);
}

int wandb_barred_set(struct wandb_store *s, const struct wandb_run *runs, size_t n, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = key_check(runs[i].team, runs[i].project, runs[i].id, err);
    if (r == 0)
        r = begin(s, err);
    if (r < 0)
        return r;
    int rc = run_stmt(s, wandb_stmt(s, W_UNBAR_ALL));
    for (size_t i = 0; rc == SQLITE_OK && i < n; i++)
        rc = run_stmt(s, with_key(s, W_BAR, runs[i].team, runs[i].project, runs[i].id));
    return end(s, rc, err);
}

/* ---- events ---- */

int wandb_event_put(struct wandb_store *s, const struct wandb_event *e, struct err *err)
{
    int r = begin(s, err);

    if (r < 0)
        return r;
    sqlite3_stmt *st = wandb_stmt(s, W_PUT_EVENT);
    if (st) {
        db_bind_int(st, 1, e->at_ms);
        db_bind_int(st, 2, e->kind);
        wandb_bind(st, 3, e->subject, 2 * WANDB_NAME_MAX + 1);
        wandb_bind(st, 4, e->text, WANDB_TEXT_MAX);
    }
    int rc = run_stmt(s, st);
    st = wandb_stmt(s, W_DROP_EVENTS);
    if (st)
        db_bind_int(st, 1, WANDB_EVENTS_KEPT);
    return end(s, rc == SQLITE_OK ? run_stmt(s, st) : rc, err);
}
