/* schema.h: the tables of muster.db and every statement run on them, for main_db.c, recall.c and the *_table.c files.
 */
#pragma once

#include "sql/lease.h"
#include "store/main_db.h"

/* Exists while a move into this store is in progress (backup/move.c); no hub opens the store then. */
#define STORE_MOVING "moving"
/* Set in the transactions of a move on a server: the records put were counted before. */
#define STORE_IS_MOVED "muster.is_moved"

enum { /* values below these: the put statements, by enum store_kind */
       R_BEFORE = STORE_TABLES - 1,
#define QUERY(name, sql) R_##name,
#include "store/schema.def"
       R_COUNT
};
extern const char *const records_sql[R_COUNT], *const records_pg[R_COUNT];
extern const struct db_kind records_kind;

struct records {
    struct db *db;
    struct db_stmts st;
    struct usage_known *known; /* usage_table.c */
    struct leases leases;
};

int records_begin_snapshot(struct records *r,
                           struct err *err); /* starts a snapshot for reading, until records_rollback() */
/* Runs a statement without result rows: 0 or -errno. */
#define RECORDS_RUN(r, stmt, ...)  DB_RUN(&(r)->st, (stmt), __VA_ARGS__)
#define RECORDS_POST(r, stmt, ...) DB_POST(&(r)->st, (stmt), __VA_ARGS__)
