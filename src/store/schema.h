/* schema.h: the tables of muster.db and every statement run on them, for main_db.c, recall.c and the *_table.c files.
 */
#pragma once

#include "sql/lease.h"
#include "store/main_db.h"

/* The table that says that a move into this store is under way (backup/move.c): until its end no hub opens it. */
#define STORE_MOVING "moving"
/* Set in its transactions on a server: what is put was counted before. */
#define STORE_IS_MOVED "muster.is_moved"

enum { /* before these: what puts a record, by enum store_kind */
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

int records_moment(struct records *r, struct err *err); /* what is read until records_rollback is of one moment */
/* Runs a statement that gives no rows: 0 or -errno. */
#define RECORDS_RUN(r, stmt, ...)  DB_RUN(&(r)->st, (stmt), __VA_ARGS__)
#define RECORDS_POST(r, stmt, ...) DB_POST(&(r)->st, (stmt), __VA_ARGS__)
