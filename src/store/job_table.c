/*
 * job_table.c: jobs in muster.db. A time span is looked up by duration: a job's class means that it ran for less than a
 * limit, so jobs of a class that overlap a time started at most that limit before it. A query walks each class by
 * start, newest first, and so reads little more than it returns, independent of the total number.
 */
#include <errno.h>

#include "base/mem.h"
#include "base/order.h"
#include "sql/record_sql.h"
#include "store/main_db.h"
#include "store/schema.h"

#define CLASS_BITS  16 /* class 0 is below 2^16 ms, about a minute; each next class is four times as long */
#define CLASS_LAST  12 /* the longest: below 2^40 ms, 35 years, and any longer time */
#define CLASS_OPEN  13 /* not ended */
#define CLASS_COUNT 14

static int class_of(const struct job_fact *j)
{
    int class = 0;

    if (!j->end_ms)
        return CLASS_OPEN;
    for (uint64_t took = (uint64_t)(j->end_ms - j->start_ms) >> CLASS_BITS; took && class < CLASS_LAST; took >>= 2)
        class ++;
    return class;
}

/* No job of this class that started before the result reaches from_ms. */
static int64_t class_start(int class, int64_t from_ms)
{
    if (class >= CLASS_LAST)
        return INT64_MIN;
    int64_t most = 1ll << (CLASS_BITS + 2 * class);
    return from_ms < INT64_MIN + most ? INT64_MIN : from_ms - most;
}

/* ---- writing ---- */

static int put_devices(struct records *r, const struct job_fact *j)
{
    struct str rest = str_of(j->devices), one;
    int code = 0;

    while (code == 0 && str_cut(&rest, ',', &one)) {
        struct db_stmt *st = db_stmt(&r->st, R_PUT_JOB_DEVICE);
        if (!one.len)
            continue;
        db_bind_str(st, 1, one);
        db_bind_int(st, 2, class_of(j));
        db_bind_int(st, 3, j->start_ms);
        db_bind_int(st, 4, j->id);
        code = db_post(st);
    }
    return code;
}

static void bind_job(struct db_stmt *st, const struct job_fact *j)
{
    record_bind(st, &job_record, j);
    db_bind_int(st, RECORD_MORE, class_of(j));
}

int records_put_job(struct records *r, const struct job_fact *j)
{
    struct db_stmt *st = db_stmt(&r->st, STORE_JOB);

    bind_job(st, j);
    int code = db_run(st);
    return code < 0 || db_changes(r->db) == 0 ? code : put_devices(r, j);
}

int records_change_job(struct records *r, const struct job_change *c)
{
    AUTO_FREE struct job_fact *old = NULL;
    int code = records_get(r, GET_JOB(c->id, &old), NULL);

    if (code <= 0 || !old)
        return code;
    struct job_fact j = job_changed(old, c);
    struct db_stmt *st = db_stmt(&r->st, R_CHANGE_JOB);
    bind_job(st, &j);
    code = db_run(st);
    bool found_alike = class_of(old) == class_of(&j) && old->start_ms == j.start_ms;
    if (code < 0 || (found_alike && strcmp(old->devices, j.devices) == 0))
        return code;
    code = RECORDS_RUN(r, R_DROP_JOB_DEVICES, DB_INT(j.id));
    return code < 0 ? code : put_devices(r, &j);
}

/* ---- reading ---- */

/* The newest jobs so far: at most twice the limit, truncated when full. */
struct newest {
    struct job_fact **v;
    size_t n, cap, limit;
    int64_t least_ms; /* jobs that started earlier are not included */
};

static void newest_cut(struct newest *w)
{
    SORT(w->v, w->n, job_order);
    while (w->n > w->limit)
        free(w->v[--w->n]);
    if (w->n == w->limit)
        w->least_ms = w->v[w->n - 1]->start_ms;
}

static void newest_add(struct newest *w, const struct job_fact *j)
{
    VEC_ADD(w->v, w->n, w->cap, job_copy(j));
    if (w->n >= 2 * w->limit)
        newest_cut(w);
}

static struct db_stmt *ask_stmt(struct records *r, const struct job_query *ask)
{
    struct db_stmt *st;

    if (ask->parent) {
        st = db_stmt(&r->st, R_JOBS_OF_PARENT);
        db_bind_int(st, 4, ask->parent);
        return st;
    }
    const struct {
        size_t which;
        const char *text;
    } by[] = {{R_JOBS_OF_DEVICE, ask->device}, {R_JOBS_OF_NODE, ask->node}, {R_JOBS_OF_PERSON, ask->person}};
    for (size_t i = 0; i < ARRAY_LEN(by); i++)
        if (by[i].text && by[i].text[0]) {
            st = db_stmt(&r->st, by[i].which);
            db_bind_text(st, 4, by[i].text);
            return st;
        }
    return db_stmt(&r->st, R_JOBS);
}

static int ask_class(struct records *r, const struct job_query *ask, int class, struct newest *w, struct err *err)
{
    struct db_stmt *st = ask_stmt(r, ask);
    size_t found = 0;
    int code = 0;

    db_bind_int(st, 1, class);
    db_bind_int(st, 2, MAX(class_start(class, ask->from_ms), w->least_ms));
    db_bind_int(st, 3, ask->to_ms ? ask->to_ms - 1 : INT64_MAX);
    while (found < w->limit && (code = db_next(st, err)) == 1) {
        struct job_fact j;
        record_read(st, &job_record, &j);
        if (ask->stop && ask->stop(ask->stop_arg)) {
            code = err_set(err, -ECANCELED, "stopped");
            break;
        }
        if (!job_fits(&j, ask))
            continue;
        newest_add(w, &j);
        found++;
    }
    db_reset(st);
    return MIN(code, 0);
}

int records_has_jobs(struct records *r, struct err *err)
{
    int64_t there = 0;
    int code = db_one(db_stmt(&r->st, R_JOB_CLASSES), &there, err);

    return code < 0 ? code : there != 0;
}

int records_jobs(struct records *r, const struct job_query *ask, void (*each)(void *arg, const struct job_fact *j),
                 void *arg, struct err *err)
{
    struct newest w = {.limit = MAX(ask->limit, 1u), .least_ms = INT64_MIN};
    int64_t there = -1;                        /* a bit for each class that has jobs */
    int code = records_begin_snapshot(r, err); /* one snapshot: no job changes its class meanwhile */

    if (code == 0)
        code = MIN(db_one(db_stmt(&r->st, R_JOB_CLASSES), &there, err), 0);
    for (int class = CLASS_COUNT; code == 0 && class -- > 0;)
        if (there >> class & 1)
            code = ask_class(r, ask, class, &w, err);
    records_rollback(r);
    newest_cut(&w);
    for (size_t i = 0; code == 0 && i < w.n; i++)
        each(arg, w.v[i]);
    for (size_t i = 0; i < w.n; i++)
        free(w.v[i]);
    free(w.v);
    return code;
}

/* ---- retention ---- */

int records_drop_old(struct records *r, int64_t before_ms, int64_t max)
{
    static const int steps[] = {R_DROP_OLD_PROCS, R_DROP_OLD_EVENTS, R_DROP_OLD_JOB_DEVICES, R_DROP_OLD_JOBS,
                                R_DROP_OLD_HOLDS, R_DROP_OLD_NOTES,  R_DROP_OLD_SPANS};
    int64_t gone = 0;
    int code = records_begin(r, NULL);

    if (code < 0)
        return code;
    for (size_t i = 0; i < ARRAY_LEN(steps) && code == 0; i++) {
        code = RECORDS_RUN(r, (size_t)steps[i], DB_INT(before_ms), DB_INT(max));
        if (code == 0 && steps[i] != R_DROP_OLD_JOB_DEVICES && steps[i] != R_DROP_OLD_SPANS)
            gone = MAX(gone, db_changes(r->db));
    }
    code = records_end(r, code, NULL);
    return code < 0 ? code : (int)gone;
}

int records_drop_first_notes(struct records *r, int32_t kind, int64_t first, int64_t most, int64_t max)
{
    int code = RECORDS_RUN(r, R_DROP_FIRST_NOTES, DB_INT(kind), DB_INT(first), DB_INT(most), DB_INT(max));

    return code < 0 ? code : (int)db_changes(r->db);
}
