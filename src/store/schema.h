/* schema.h: the tables of muster.db and every statement run on them, for main_db.c, recall.c and the *_table.c files.
 */
#pragma once

#include "store/main_db.h"

enum { /* before these: what puts a record, by enum store_kind */
       R_BEFORE = STORE_TABLES - 1,
#define QUERY(name, sql) R_##name,
#include "store/schema.def"
       R_COUNT
};
extern const char *const records_sql[R_COUNT];
extern const struct db_kind records_kind;

struct records {
    sqlite3 *h;
    struct db_stmts st;
    int wal_pages;
    struct usage_known *known; /* usage_table.c */
};

int records_run(struct records *r, sqlite3_stmt *st); /* 0 or -errno */
#define RECORDS_RUN(r, stmt, ...) records_run((r), DB_STMT(&(r)->st, (stmt), __VA_ARGS__))
/* Rows of a node become another's; what cannot is there already under the new name, and goes. to NULL: all go. */
int records_move_rows(struct records *r, const char *table, const char *from, const char *to);
