/* pg_tables.h: tables on a PostgreSQL server and their version, see db_engine; private to pg.c. */
#pragma once

#include "sql/db.h"

int pg_get_version(struct db *db, const struct db_kind *kind, int64_t *ret);
int pg_set_version(struct db *db, const struct db_kind *kind);
/* Adds what was added to its tables after they were created. */
int pg_add_later(struct db *db, const struct db_kind *kind);
int64_t pg_used_bytes(struct db *db, const char *table);
