/* schema.h: the tables of muster.db and every statement run on them, for records.c, recall.c and the *_table.c files.
 */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include "store/records.h"

enum {
    R_PUT_BLOB,
    R_TOUCH_BLOB,
    R_PUT_NODE,
    R_PUT_PROC,
    R_PUT_EVENT,
    R_PUT_JOB,
    R_CHANGE_JOB,
    R_PUT_JOB_DEVICE,
    R_DROP_JOB_DEVICES,
    R_PUT_HOLD,
    R_ALIAS,
    R_MOVE_PROCS,
    R_DROP_PROCS,
    R_MOVE_EVENTS,
    R_DROP_EVENTS,
    R_MOVE_SPANS,
    R_DROP_SPANS,
    R_DROP_OLD_SPANS,
    R_SPAN_AT,
    R_UPSET_AT,
    R_PROCS_AT,
    R_MOVE_JOBS,
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
    R_TOKEN_PUT,
    R_TOKEN_NOTE,
    R_TOKEN_GET,
    R_TOKENS,
    R_TOKENS_OF,
    R_SETTING_GET,
    R_SETTING_PUT,
    R_COUNT
};
extern const char *const records_sql[R_COUNT];
extern const struct db_kind records_kind;

struct records {
    sqlite3 *h;
    struct db_stmts st;
    int wal_pages;
};

#endif
