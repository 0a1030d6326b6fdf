/* pg_conn.h: the connection struct of pg.c and pg_open.c; private to them. */
#pragma once

#include "base/buf.h"
#include "sql/db.h"
#include "sql/pg_lib.h"

#define PG_AHEADS 8 /* rows that are read in parts in parallel */

struct pg_stmt;
struct pg_db {
    struct db db;
    struct pg_lib pq;
    PGconn *c;
    char *place;            /* the URL without its password */
    struct pg_stmt *active; /* the statement with remaining rows */
    struct db_stmt *part;   /* of read_part */
    struct pg_ahead {       /* the last read, in this transaction */
        int64_t id;
        size_t off;
        struct buf bytes;
    } ahead[PG_AHEADS];
    size_t next_ahead;    /* the next one to overwrite */
    uint64_t connections; /* statements prepared in an earlier one are gone */
    uint64_t statements;  /* for names */
    int64_t changes;
    int64_t limit_ms; /* pg_set_limit */
    bool in;          /* within a transaction */
    size_t posted;    /* statements without a result yet; if not 0, libpq is in pipeline mode */
    bool piped;       /* pipeline mode for `active`, and no more was posted */
    bool waits;       /* pg_set_posts */
    bool pooled;      /* a pooler in between may assign another server process to each transaction */
    bool over;        /* the server ended the connection, even if libpq has not noticed */
    bool hung;        /* the last connection was dropped on a timeout */
    bool unsure;      /* the server warned: for a commit that means it stopped waiting for the standby */
    int failed;       /* the last failure */
    char why[256];
};

int pg_open(struct db **ret, const char *url, const struct db_kind *kind, enum db_mode mode, struct err *err);
void pg_close(struct db *db);

int pg_set_error(struct pg_db *d, int code, const char *text); /* keeps the first line as the message; returns code */
bool pg_is_lost(const struct pg_db *d);
void pg_on_notice(void *arg, const PGresult *res); /* arg: struct pg_db */
void pg_detect_pooler(struct pg_db *d); /* pgbouncer and similar poolers report an invented process id to the client */

int pg_read_part(struct db *db, const char *table, int64_t id, size_t off, size_t len, void *to); /* db_read_part */
void pg_forget_parts(struct pg_db *d); /* they were of another snapshot */
