/*
 * pg.h: PostgreSQL as an engine of db.h, for a store whose place is a URL. All kinds of tables share one database;
 * muster_version has a row for each.
 *
 * It connects automatically. After a lost connection the pending call returns -ENOTCONN, and so does every other until
 * that transaction is rolled back; the next transaction reconnects. A commit without a reply, or one that the standby
 * may not have according to the server, has failed.
 */
#pragma once

#include "sql/db.h"
#include "sql/pg_place.h"

extern const struct db_engine pg_engine;
/*
 * Whether a pooler (pgbouncer) in between may assign another server process to each transaction. Detected for each
 * connection. Then nothing is prepared, and LISTEN does not work.
 */
bool pg_is_pooled(const struct db *db);
/* The server requested a password, and got one. */
bool pg_used_password(const struct db *db);
static inline bool pg_is(const struct db *db)
{
    return db->engine == &pg_engine;
}
/* The statements that create the tables of a kind. */
void pg_print_tables(const struct db_kind *kind, struct buf *out);
/* Starts a transaction in which no other client creates, changes or drops tables. */
int pg_lock_tables(struct db *db);
/* A value of a type by its number, in PostgreSQL's binary form; it must live until the step. */
void pg_bind_as(struct db_stmt *st, int place, uint32_t type, struct str bytes);
/*
 * Limits the wait for each statement and commit: after it the connection is dropped and the call returns -ENOTCONN.
 * (The server does not end a commit that waits for a standby.) 0: no limit.
 */
void pg_set_limit(struct db *db, int64_t ms);
/* false: db_post waits, so that a failure can be attributed to its statement. Default: true. */
void pg_set_posts(struct db *db, bool posts);
/*
 * Waits for a NOTIFY on a channel that this connection listens to (returns 1), for wake_fd to become readable, or for
 * the timeout (0). -ENOTCONN: the connection was lost; the caller must LISTEN again. Outside of a transaction.
 */
int pg_wait(struct db *db, int wake_fd, int64_t ms);
/* Number of the connection: if it changed, the server has lost all session state. */
uint64_t pg_connection(const struct db *db);
/*
 * Whether its disk has room for about 100 KB, the size of a query's temporary file: 1, 0 or -errno. Without room,
 * writes that fit into existing files still succeed. Outside of a transaction.
 */
int pg_has_room(struct db *db, struct err *err);
