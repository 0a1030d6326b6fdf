/* note_table.c: notes in muster.db, by kind and id. */
#include "store/records.h"
#include "store/schema.h"

int records_put_note(struct records *r, const struct note *n)
{
    sqlite3_stmt *st = db_stmt(&r->st, n->gone ? R_DROP_NOTE : R_PUT_NOTE);

    db_bind_int(st, 1, n->kind);
    db_bind_int(st, 2, n->id);
    if (!n->gone) {
        db_bind_int(st, 3, n->over_ms);
        db_bind_bytes(st, 4, n->bytes);
    }
    return db_errno(r->h, st ? db_run(st) : sqlite3_errcode(r->h));
}

int records_notes(struct records *r, int32_t kind, bool open, void (*each)(void *arg, const struct note *n), void *arg,
                  struct err *err)
{
    sqlite3_stmt *st = db_stmt(&r->st, open ? R_OPEN_NOTES : R_NOTES);
    int rc;

    db_bind_int(st, 1, kind);
    while ((rc = st ? sqlite3_step(st) : sqlite3_errcode(r->h)) == SQLITE_ROW) {
        struct note n = {.kind = kind,
                         .id = sqlite3_column_int64(st, 0),
                         .over_ms = sqlite3_column_int64(st, 1),
                         .bytes = str_n(sqlite3_column_blob(st, 2), (size_t)sqlite3_column_bytes(st, 2))};
        each(arg, &n);
    }
    int code = rc == SQLITE_DONE ? 0 : db_fail(r->h, rc, "read", err);
    sqlite3_reset(st);
    return code;
}
