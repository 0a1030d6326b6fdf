/* pg_tables.h: of which version the tables on a PostgreSQL server are, as db_engine says; private to pg.c. */
#pragma once

#include "sql/db.h"

int pg_get_version(struct db *db, const struct db_kind *kind, int64_t *ret);
int pg_set_version(struct db *db, const struct db_kind *kind);
