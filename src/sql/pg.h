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
#include "sql/pg_place.h"

extern const struct db_engine pg_engine;
/*
 * A pool that gives each transaction to another process of the server, or may (pgbouncer). It is found out on each
 * connection. Nothing is prepared there, and LISTEN is of no use.
 */
bool pg_is_pooled(const struct db *db);
/* The server wanted a password, and got one. */
bool pg_used_password(const struct db *db);
static inline bool pg_is(const struct db *db)
{
    return db->engine == &pg_engine;
}
/* The statements by which tables of a kind are made. */
void pg_print_tables(const struct db_kind *kind, struct buf *out);
/* Begins a transaction in which nobody else makes, changes or drops tables. */
int pg_own_tables(struct db *db);
/* A value of a type by its number, in PostgreSQL's binary form; it must live until the step. */
void pg_bind_as(struct db_stmt *st, int place, uint32_t type, struct str bytes);
/*
 * From now on no statement and no commit is waited for longer than this: the connection is dropped then, and it gives
 * -ENOTCONN. (A commit that waits for a standby the server itself does not end.) 0: as long as it takes.
 */
void pg_set_limit(struct db *db, int64_t ms);
/* From now on db_post waits, so that whoever failed is known; true again at first. */
void pg_set_posts(struct db *db, bool posts);
/*
 * Until somebody says NOTIFY on a channel that this connection listens to (1), wake_fd can be read, or the time is over
 * (0). -ENOTCONN: the connection was lost, and who listens must say so again. Outside of a transaction.
 */
int pg_wait(struct db *db, int wake_fd, int64_t ms);
/* Which of its connections it is: another number than before, and what was said to the server in the last one is
 * forgotten. */
uint64_t pg_connection(const struct db *db);
/*
 * Whether its disk has room for some 100 KB, as a file that a question needs for a moment: 1, 0 or -errno. What has
 * room in files that are there is still written when it has not. Outside of a transaction.
 */
int pg_has_room(struct db *db, struct err *err);
