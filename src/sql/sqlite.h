/* sqlite.h: SQLite as an engine of db.h, for the files of a folder; and its handle, for direct use. */
#pragma once

#include <sqlite3.h>

#include "sql/db.h"

#define DB_PAGE 4096

extern const struct db_engine sqlite_engine;
sqlite3 *sqlite_handle(struct db *db); /* of a database opened by this engine */
/* Sets err to "cannot DOING 'path': why" from SQLite's result. Returns -errno. */
int sqlite_fail(sqlite3 *h, int rc, const char *doing, struct err *err);
int sqlite_sound(struct db *db, struct err *err); /* checks every page; 0 or -errno */
