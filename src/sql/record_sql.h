/*
 * record_sql.h: records by the table of their fields (model/record.h), in SQL. In a statement these marks stand for
 * what the fields of a table say:
 *
 *     {jobs}    its columns, to be read: id, parent, ...     {jobs?}   the values to be put: ?1, ?2, ...
 *     {jobs=}   all but the key, to be changed: parent = ?2, ...
 *     {jobs#}   its key                                      {jobs!}   as {jobs=}, but as enum field_put says
 *     {.jobs}   what the table is called here: on a server with the prefix of its kind
 *
 * ?N is the field of number N. What else a statement binds has numbers from RECORD_MORE on.
 */
#pragma once

#include "model/record.h"
#include "sql/db.h"

struct buf;

#define RECORD_MORE 100

/* sql with its marks filled in, onto out. A column that this file lacks, written by an older muster and open for
 * reading only, reads as not known. */
void record_sql(struct db *db, const struct record_kind *const *kinds, const char *sql, struct buf *out);

/* sql with its {.table} marks alone filled in, as there are in a schema. prefix NULL: none. */
void record_tables(const char *prefix, const char *sql, struct buf *out);

bool record_lacks_columns(struct db *db, const struct record_kind *kind); /* as far as it can be asked */
/* Columns that the file lacks are added. 0 or -errno; within the caller's transaction. */
int record_add_columns(struct db *db, const struct record_kind *kind);

void record_bind(struct db_stmt *st, const struct record_kind *kind, const void *record);
/* The columns of {table}, which begin at `first`: text and bytes are borrowed until the next step. */
void record_read_at(struct db_stmt *st, int first, const struct record_kind *kind, void *ret);
static inline void record_read(struct db_stmt *st, const struct record_kind *kind, void *ret)
{
    record_read_at(st, 0, kind, ret);
}
