/* pg_conn.h: a connection as pg.c and pg_open.c have it; private to them. */
#pragma once

#include "base/buf.h"
#include "sql/db.h"
#include "sql/pg_lib.h"

#define PG_AHEADS 8 /* rows that are read in parts side by side */

struct pg_stmt;
struct pg_db {
    struct db db;
    struct pg_lib pq;
    PGconn *c;
    char *place;            /* the URL without its password */
    struct pg_stmt *active; /* whose rows are still to come */
    struct db_stmt *part;   /* of read_part */
    struct pg_ahead {       /* what it read last, in this transaction */
        int64_t id;
        size_t off;
        struct buf bytes;
    } ahead[PG_AHEADS];
    size_t next_ahead;    /* the one that is read over next */
    uint64_t connections; /* what was prepared in an earlier one is gone */
    uint64_t statements;  /* for names */
    int64_t changes;
    int64_t limit_ms; /* pg_set_limit */
    bool in;          /* within a transaction */
    size_t posted;    /* statements whose answers are still to come; not 0: libpq is in its pipeline mode */
    bool piped;       /* so it is for `active`, and no more was posted */
    bool waits;       /* pg_set_posts */
    bool pooled;      /* something stands between that may give each transaction to another server process */
    bool over;        /* the server ended the connection, whatever libpq has seen of that */
    bool hung;        /* the last connection was given up: something took too long */
    bool unsure;      /* the server warned: of a commit it does so when the wait for the standby was cut off */
    int failed;       /* the last failure */
    char why[256];
};

int pg_open(struct db **ret, const char *url, const struct db_kind *kind, enum db_mode mode, struct err *err);
void pg_close(struct db *db);

int pg_keep_why(struct pg_db *d, int code, const char *text); /* its first line is what is told; gives code */
bool pg_is_lost(const struct pg_db *d);
void pg_hear_notice(void *arg, const PGresult *res); /* arg: struct pg_db */
void pg_look_for_pool(struct pg_db *d); /* pgbouncer and its like tell the client a number of a process they made up */

int pg_read_part(struct db *db, const char *table, int64_t id, size_t off, size_t len, void *to); /* db_read_part */
void pg_forget_parts(struct pg_db *d); /* they were of another moment */
