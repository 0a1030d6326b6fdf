/*
 * record_sql.h: SQL for records by the table of their fields (model/record.h). Marks in a statement:
 *
 *   {jobs}    its columns, to read: id, parent, ...        {jobs?}   the values to put: ?1, ?2, ...
 *   {jobs=}   all except the key, to change: parent = ?2, ...
 *   {jobs#}   its key                                      {jobs!}   as {jobs=}, but by enum field_put
 *   {.jobs}   the table's name: on a server with the prefix of its kind
 *
 * ?N is the field of number N. Other values of a statement have numbers from RECORD_MORE on.
 */
#pragma once

#include "model/record.h"
#include "sql/db.h"

struct buf;

#define RECORD_MORE 100

/*
 * Appends sql with its marks expanded to out. A column that this file lacks (written by an older muster and open
 * read-only) reads as unknown.
 */
void record_sql(struct db *db, const struct record_kind *const *kinds, const char *sql, struct buf *out);

/* Expands only the {.table} marks of sql, as used in a schema. prefix NULL: none. */
void record_tables(const char *prefix, const char *sql, struct buf *out);

bool record_lacks_columns(struct db *db, const struct record_kind *kind); /* as far as that can be queried */
/* Adds columns that the file lacks. Within the caller's transaction. Returns 0 or -errno. */
int record_add_columns(struct db *db, const struct record_kind *kind);

void record_bind(struct db_stmt *st, const struct record_kind *kind, const void *record);
/* Reads the columns of {table}, starting at `first`: text and bytes are borrowed until the next step. */
void record_read_at(struct db_stmt *st, int first, const struct record_kind *kind, void *ret);
static inline void record_read(struct db_stmt *st, const struct record_kind *kind, void *ret)
{
    record_read_at(st, 0, kind, ret);
}
