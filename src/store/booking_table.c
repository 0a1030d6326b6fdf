/* booking_table.c: holds in muster.db, by id; those of a time are found by their end: few of them are ever open. */
#include "base/mem.h"
#include "store/records.h"
#include "store/schema.h"

int records_put_booking(struct records *r, const struct booking *h)
{
    sqlite3_stmt *st = db_stmt(&r->st, R_PUT_HOLD);
    const int64_t numbers[] = {h->id,       h->kind,       h->changes,    h->count,      h->from_ms,
                               h->until_ms, h->created_ms, h->changed_ms, h->released_ms};
    const char *const texts[] = {h->person, h->by, h->devices, h->places, h->model, h->where, h->comment};

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        db_bind_int(st, (int)i + 1, numbers[i]);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        db_bind_text(st, (int)(ARRAY_LEN(numbers) + i) + 1, texts[i]);
    return db_errno(r->h, st ? db_run(st) : sqlite3_errcode(r->h));
}

/* Borrowed until the next step. */
static struct booking hold_here(sqlite3_stmt *st)
{
    return (struct booking){.id = sqlite3_column_int64(st, 0),
                            .kind = sqlite3_column_int(st, 1),
                            .changes = sqlite3_column_int(st, 2),
                            .count = sqlite3_column_int(st, 3),
                            .from_ms = sqlite3_column_int64(st, 4),
                            .until_ms = sqlite3_column_int64(st, 5),
                            .created_ms = sqlite3_column_int64(st, 6),
                            .changed_ms = sqlite3_column_int64(st, 7),
                            .released_ms = sqlite3_column_int64(st, 8),
                            .person = db_text(st, 9),
                            .by = db_text(st, 10),
                            .devices = db_text(st, 11),
                            .places = db_text(st, 12),
                            .model = db_text(st, 13),
                            .where = db_text(st, 14),
                            .comment = db_text(st, 15)};
}

static int each_row(struct records *r, sqlite3_stmt *st, void (*each)(void *arg, const struct booking *h), void *arg,
                    struct err *err)
{
    int rc, n = 0;

    while ((rc = st ? sqlite3_step(st) : sqlite3_errcode(r->h)) == SQLITE_ROW) {
        struct booking h = hold_here(st);
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
