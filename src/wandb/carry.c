/*
 * carry.c: reads all tables of one place and puts their rows into another, where pulls and runs have other numbers. One
 * table is read to its end before the next: a connection to a server gives one list at a time.
 */
#include "wandb/carry.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "sql/pg_place.h"
#include "wandb/store_sql.h"

#define MARK_FILE  "wandb.carried"
#define MARK_MAX   256
#define STOP_EVERY 256 /* rows */

struct renamed { /* a number there and here */
    int64_t was, is;
};
struct renames {
    struct renamed *v; /* in the order of `was` */
    size_t n, cap;
};

struct delivery {
    struct wandb_store *from, *to;
    bool (*stop)(void *arg);
    void *arg;
    struct renames pulls, runs;
    struct wandb_delivered sum;
    uint64_t rows;
};

static int64_t rename_of(const struct renames *r, int64_t was)
{
    size_t at = COUNT_BEFORE(r->n, i, r->v[i].was < was);

    return at < r->n && r->v[at].was == was ? r->v[at].is : 0;
}

static void add_rename(struct renames *r, int64_t was, int64_t is)
{
    VEC_ADD(r->v, r->n, r->cap, (struct renamed){was, is});
}

/* ---- a row of each table ---- */

static int carry_pull(struct delivery *c, struct db_stmt *st)
{
    struct wandb_pull p;
    int64_t done = db_number(st, (int)wandb_pull_record.n), is = 0;

    record_read(st, &wandb_pull_record, &p);
    int rc = wandb_ints(DB_STMT(&c->to->st, W_SAME_PULL, DB_INT(p.from), DB_INT(p.to), DB_INT((int64_t)p.config),
                                DB_INT(p.begun_ms)),
                        &is, 1);
    if (rc == 0)
        rc = wandb_ints(DB_STMT(&c->to->st, W_CARRY_PULL, DB_INT(p.from), DB_INT(p.to), DB_INT((int64_t)p.config),
                                DB_INT(p.begun_ms), DB_INT(done)),
                        &is, 1);
    add_rename(&c->pulls, p.id, is);
    return MIN(rc, 0);
}

static int carry_project(struct delivery *c, struct db_stmt *st)
{
    return DB_RUN(&c->to->st, W_CARRY_PROJECT, DB_INT(rename_of(&c->pulls, db_number(st, 0))), DB_TEXT(db_text(st, 1)),
                  DB_TEXT(db_text(st, 2)), DB_TEXT(db_text(st, 3)), DB_INT(db_number(st, 4)), DB_INT(db_number(st, 5)),
                  DB_TEXT(db_text(st, 6)));
}

static int carry_listed(struct delivery *c, struct db_stmt *st)
{
    return DB_RUN(&c->to->st, W_PUT_LISTED, DB_TEXT(db_text(st, 1)), DB_TEXT(db_text(st, 2)),
                  DB_INT(rename_of(&c->pulls, db_number(st, 0))), DB_TEXT(db_text(st, 3)));
}

static int carry_run(struct delivery *c, struct db_stmt *st)
{
    const int more = (int)wandb_run_record.n;
    struct wandb_run r;
    int64_t v[3] = {0};

    record_read(st, &wandb_run_record, &r);
    struct db_stmt *put = wandb_stmt_record(c->to, W_CARRY_RUN, &wandb_run_record, &r);
    db_bind_int(put, RECORD_MORE, db_number(st, more + 1));
    db_bind_int(put, RECORD_MORE + 1, rename_of(&c->pulls, db_number(st, more + 2)));
    db_bind_int(put, RECORD_MORE + 2, rename_of(&c->pulls, db_number(st, more + 3)));
    int rc = db_run(put);
    if (rc == 0)
        rc = wandb_ints(DB_STMT(&c->to->st, W_RUN_KEY, RUN_ID(&r)), v, 3);
    if (rc == 1)
        add_rename(&c->runs, db_number(st, more), v[0]);
    c->sum.runs++;
    return rc == 1 ? 0 : rc < 0 ? rc : -EIO;
}

static int carry_day(struct delivery *c, struct db_stmt *st)
{
    int64_t run = rename_of(&c->runs, db_number(st, (int)wandb_day_record.n));
    struct wandb_day d;

    if (!run) /* of no run */
        return 0;
    record_read(st, &wandb_day_record, &d);
    struct db_stmt *put = wandb_stmt_record(c->to, W_PUT_DAY, &wandb_day_record, &d);
    db_bind_int(put, RECORD_MORE, run);
    c->sum.days++;
    return db_run(put);
}

static int carry_barred(struct delivery *c, struct db_stmt *st)
{
    return DB_RUN(&c->to->st, W_BAR, DB_TEXT(db_text(st, 0)), DB_TEXT(db_text(st, 1)), DB_TEXT(db_text(st, 2)));
}

static int carry_event(struct delivery *c, struct db_stmt *st)
{
    struct wandb_event e;

    record_read(st, &wandb_event_record, &e);
    return db_run(wandb_stmt_record(c->to, W_CARRY_EVENT, &wandb_event_record, &e));
}

/* ---- all of them ---- */

static int carry_table(struct delivery *c, size_t statement, int (*row)(struct delivery *c, struct db_stmt *st),
                       struct err *err)
{
    struct db_stmt *st = db_stmt(&c->from->st, statement);
    int put = 0, r = 0;

    while (put == 0 && (r = db_next(st, err)) == 1) {
        if (++c->rows % STOP_EVERY == 0 && c->stop && c->stop(c->arg))
            put = err_set(err, -ECANCELED, "it was stopped");
        else
            put = wandb_put_begin(c->to, err) ?: wandb_put_end(c->to, row(c, st), err);
    }
    if (put < 0)
        db_reset(st);
    return put < 0 ? put : r;
}

static int carry_all(struct delivery *c, struct err *err)
{
    static const struct {
        size_t statement;
        int (*row)(struct delivery *c, struct db_stmt *st);
    } tables[] = {
        {W_ALL_PULLS, carry_pull}, {W_ALL_PROJECTS, carry_project}, {W_ALL_LISTED, carry_listed},
        {W_ALL_RUNS, carry_run},   {W_ALL_DAYS, carry_day},         {W_ALL_BARRED, carry_barred},
        {W_EVENTS, carry_event},
    };
    const char *zone = wandb_store_zone(c->from);
    int r = zone[0] ? wandb_zone_set(c->to, zone, err) : 0;

    db_bind_int(db_stmt(&c->from->st, W_EVENTS), 1, INT64_MIN);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(tables); i++)
        r = carry_table(c, tables[i].statement, tables[i].row, err);
    return r ?: wandb_store_flush(c->to, err);
}

/* Prevents writes to the source meanwhile. */
static int lock_source(struct wandb_store *s, const char *where, struct err *err)
{
    return pg_is_place(where) ? wandb_claim_take(&s->claim, where, err) : wandb_store_lock(where, &s->lock_fd, err);
}

int wandb_carry(const char *from, const char *to, bool (*stop)(void *arg), void *arg, struct wandb_delivered *ret,
                struct err *err)
{
    AUTO_WANDB_STORE *a = NULL, *b = NULL;
    struct err none = {0};
    int r = wandb_store_open(&a, from, false, &none);

    *ret = (struct wandb_delivered){0};
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return err_set(err, r, "%s", none.msg);
    r = lock_source(a, from, err) ?: wandb_store_open(&b, to, true, err);
    if (r < 0)
        return r;
    struct delivery c = {.from = a, .to = b, .stop = stop, .arg = arg};
    r = carry_all(&c, err);
    FREE_ALL(c.pulls.v, c.runs.v);
    if (r < 0)
        return r;
    *ret = c.sum;
    return 1;
}

/* ---- a folder's file, once ---- */

static void add_file(struct buf *out, const char *dir, const char *name)
{
    AUTO_FREE char *path = mem_fmt("%s/%s", dir, name);
    struct stat st;

    if (stat(path, &st) == 0 && st.st_size > 0)
        buf_addf(out, "%s %lld %lld.%09ld\n", name, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
                 st.st_mtim.tv_nsec);
}

int wandb_adopt(const char *dir, const char *to, bool (*stop)(void *arg), void *arg, struct wandb_delivered *ret,
                struct err *err)
{
    AUTO_FREE char *mark = mem_fmt("%s/" MARK_FILE, dir);
    AUTO_BUF now = BUF_INIT(MARK_MAX), before = {0};

    *ret = (struct wandb_delivered){0};
    add_file(&now, dir, WANDB_FILE);
    if (!now.len)
        return 0;
    add_file(&now, dir, WANDB_FILE "-wal");
    if (file_read(mark, MARK_MAX, &before, NULL) == 0 && str_eq(buf_str(&before), now.p))
        return 0;
    int r = wandb_carry(dir, to, stop, arg, ret, err);
    int noted = r > 0 ? file_write(mark, 0600, now.p, now.len, err) : 0;
    return noted < 0 ? noted : r;
}
