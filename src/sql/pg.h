/*
 * pg.h: PostgreSQL as an engine of db.h, for a store whose place is a URL. All kinds of tables lie side by side in one
 * database; muster_version has a row for each.
 *
 * The connection comes by itself: when it is lost, what is under way gives -ENOTCONN, and so does everything else until
 * that transaction is rolled back; the next one connects again. A commit that the server did not answer, or of which it
 * says that the standby may not have it, is a failed one.
 */
#pragma once

#include "sql/db.h"

extern const struct db_engine pg_engine;
bool pg_is_place(const char *place); /* postgres://... */
