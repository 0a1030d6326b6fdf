/* schema.h: the tables of muster.db and every statement run on them, for main_db.c, recall.c and the *_table.c files.
 */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include "store/main_db.h"

enum {
    R_PUT_BLOB = STORE_TABLES, /* before it: puts one, by enum store_kind */
    R_TOUCH_BLOB,
    R_CHANGE_JOB,
    R_PUT_JOB_DEVICE,
    R_DROP_JOB_DEVICES,
    R_ALIAS,
    R_DROP_OLD_SPANS,
    R_SPAN_AT,
    R_UPSET_AT,
    R_PROCS_AT,
    R_PROCS_IN,
    R_FIRST_SEEN,
    R_MOVE_NODE,
    R_DROP_NODE,
    R_PUT_LOG,
    R_PUT_SEEN,
    R_DROP_LOG,
    R_DROP_SEEN,
    R_DROP_BLOBS,
    R_DROP_OLD_PROCS,
    R_DROP_OLD_EVENTS,
    R_DROP_OLD_JOB_DEVICES,
    R_DROP_OLD_JOBS,
    R_DROP_OLD_HOLDS,
    R_DROP_OLD_NOTES,
    R_DROP_NOTE,
    R_NOTES,
    R_OPEN_NOTES,
    R_SEEN,
    R_LOGS,
    R_COMPACTED,
    R_DROP_OLD_LOGS,
    R_OLDEST_LOG,
    R_LAST_LOG,
    R_ALIASES,
    R_HAS_BLOB,
    R_GET_BLOB,
    R_NODES,
    R_PROCS,
    R_PROCS_OF,
    R_EVENTS,
    R_EVENTS_OF,
    R_JOB,
    R_JOBS,
    R_JOBS_OF_PARENT,
    R_JOBS_OF_DEVICE,
    R_JOBS_OF_NODE,
    R_JOBS_OF_PERSON,
    R_HOLD,
    R_LAST_HOLD,
    R_HOLDS,
    R_USAGE_NAME,
    R_PUT_USAGE_NAME,
    R_USAGE_NAMES,
    R_USAGE_TEXT,
    R_PUT_USAGE_HOUR,
    R_PUT_USAGE_DAY,
    R_DROP_USAGE_HOUR,
    R_DROP_USAGE_DAY,
    R_USAGE_HOURS,
    R_USAGE_HOURS_OF,
    R_USAGE_DAYS,
    R_USAGE_REACH,
    R_DROP_USAGE_MARK,
    R_DROP_USAGE_MARKS_AT,
    R_USAGE_MARKS,
    R_DROP_OLD_USAGE_HOURS,
    R_DROP_OLD_USAGE_DAYS,
    R_DROP_OLD_USAGE_MARKS,
    R_TOKEN_PUT_NOW,
    R_TOKEN_GET,
    R_TOKENS,
    R_TOKENS_OF,
    R_DROP_TOKENS_OF,
    R_SETTING_GET,
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

#endif
