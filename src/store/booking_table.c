/* booking_table.c: bookings in muster.db, by id; those of a time are found by their end: few of them are ever open. */
#include "base/mem.h"
#include "store/record_sql.h"
#include "store/records.h"
#include "store/schema.h"

int records_put_booking(struct records *r, const struct booking *h)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_PUT_HOLD);

    record_bind(st, &booking_record, h);
    return db_errno(r->h, st ? db_run(st) : sqlite3_errcode(r->h));
}

static int each_row(struct records *r, sqlite3_stmt *st, void (*each)(void *arg, const struct booking *h), void *arg,
                    struct err *err)
{
    int rc, n = 0;

    while ((rc = st ? sqlite3_step(st) : sqlite3_errcode(r->h)) == SQLITE_ROW) {
        struct booking h;
        record_read(st, &booking_record, &h);
        each(arg, &h);
        n++;
    }
    int code = rc == SQLITE_DONE ? n : db_fail(r->h, rc, "read", err);
    sqlite3_reset(st);
    return code;
}

static void copy_one(void *arg, const struct booking *h)
{
    *(struct booking **)arg = booking_copy(h);
}

int records_booking(struct records *r, int64_t id, struct booking **ret, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, id ? R_HOLD : R_LAST_HOLD);

    if (id)
        db_bind_int(st, 1, id);
    return each_row(r, st, copy_one, ret, err);
}

int records_holds(struct records *r, int64_t from_ms, int64_t to_ms, void (*each)(void *arg, const struct booking *h),
                  void *arg, struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_HOLDS);

    db_bind_int(st, 1, from_ms);
    db_bind_int(st, 2, to_ms ? to_ms : INT64_MAX);
    int code = each_row(r, st, each, arg, err);
    return MIN(code, 0);
}
